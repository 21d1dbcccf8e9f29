#!/usr/bin/env python3
"""Writes docs/reference/: commands and options, rules, and the fields of JSON reports, all as the program itself says them.

    write_reference.py [--program build/compatcheck]           writes the pages
    write_reference.py [--program build/compatcheck] --check   exits with 1 and shows the differences if a page is out of date
"""
import argparse, difflib, functools, json, os, pathlib, re, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs/reference"
NOTE = "<!-- Written by tools/write_reference.py. To change this page, change the program's text. -->\n"


class Program:
    def __init__(self, path):
        self.path = path

    @functools.cache
    def output(self, *words):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("COMPATCHECK_") and name != "FORCE_COLOR"}
        return subprocess.run([self.path, *words], check=True, capture_output=True, text=True, env=kept | {"COMPATCHECK_NO_CONFIG": "1"}).stdout

    def commands(self):
        return re.findall(r"^  (\w+) .*$", self.output("--help").partition("\ncommands\n")[2].partition("\n\n")[0], re.M)

    def rules(self):
        return sorted(set(re.findall(r"\bCC\d{3}\b", self.output("completion", "bash"))))


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def table(heads, rows):
    return "\n".join(["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads), *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


# --- Commands ---------------------------------------------------------------------------------------------------------

OPTION = re.compile(r"^  (-.*?)(?:  +|\n +)(\S.*)$", re.M)


def variables(program, command):
    """Those of a command's options, in their order, as its manual page names them."""
    return re.findall(r"\((COMPATCHECK_\w+)\)$", program.output("man", command), re.M)


def command_section(program, command):
    usage, _, rest = program.output(command, "--help").partition("\n\n")
    summary, _, options = rest.partition("\n\noptions\n")
    text = f"## {command}\n\n```text\n{usage.removeprefix('usage: ')}\n```\n\n{cell(summary.strip())[:1].upper()}{cell(summary.strip())[1:]}.\n"
    found = OPTION.findall(options)
    if found:
        rows = [(f"`{option}`".replace("|", "\\|"), cell(meaning), f"`{variable}`")
                for (option, meaning), variable in zip(found, variables(program, command), strict=True)]
        text += "\n" + table(("option", "meaning", "environment variable"), rows)
    return text


def commands_page(program):
    overview, _, codes = program.output("--help").partition("\nexit codes\n")
    names = program.commands()
    exits = re.findall(r"^ *(\d+)  (.*)$", codes, re.M)
    return "\n".join([
        "# Commands and options\n", NOTE,
        " · ".join(f"[{name}](#{name})" for name in names) + "\n",
        "```text\n" + overview.strip() + "\n```\n",
        "## Exit codes\n", table(("exit code", "meaning"), [(code, cell(meaning)) for code, meaning in exits]),
        *(command_section(program, name) for name in names)])


# --- Rules ------------------------------------------------------------------------------------------------------------

def rules_page(program):
    pages = {rule: program.output("explain", rule, "--format", "markdown").strip() for rule in program.rules()}
    heads = {rule: page.partition("\n")[0].removeprefix("# ") for rule, page in pages.items()}
    overview = [(f"[{rule}](#{anchor(heads[rule])})", *re.fullmatch(r"CC\d+ (\S+) \((\w+)\)", heads[rule]).groups(), cell(page.split("\n\n")[1]))
                for rule, page in pages.items()]
    return "\n".join(["# Rules\n", NOTE, "`compatcheck explain CC001` prints a page of this list.\n",
                      table(("rule", "name", "severity", "meaning"), overview), *("#" + page + "\n" for page in pages.values())])


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


# --- JSON -------------------------------------------------------------------------------------------------------------

class Schema:
    """The fields of one schema as tables: of the whole, and of each definition."""

    def __init__(self, command, schema):
        self.command, self.schema = command, schema

    def heading(self, definition):
        return f"{self.command}: {definition}"

    def spell(self, node):
        """The type in words."""
        if "$ref" in node:
            definition = node["$ref"].rpartition("/")[2]
            return f"[{definition}](#{anchor(self.heading(definition))})"
        if "const" in node:
            return f"`{json.dumps(node['const'])}`"
        if "enum" in node:
            return ", ".join(f"`{json.dumps(value)}`" for value in node["enum"])
        for key in "oneOf", "anyOf":
            if key in node:
                return " or ".join(dict.fromkeys(self.spell(each) for each in node[key]))
        kinds = node.get("type", "any")
        return " or ".join(self.spell_kind(kind, node) for kind in ([kinds] if isinstance(kinds, str) else kinds))

    def spell_kind(self, kind, node):
        if kind == "array":
            if "prefixItems" in node:
                return "list: " + ", ".join(self.spell(each) for each in node["prefixItems"])
            member = self.spell(node["items"]) if "items" in node else "any"
            return "list of " + (f"({member})" if " or " in member else member)
        if kind == "object" and isinstance(node.get("additionalProperties"), dict):
            return "object: name → " + self.spell(node["additionalProperties"])
        return kind

    def rows(self, node, path=""):
        for each in (node, *node.get("oneOf", ()), *node.get("anyOf", ())):
            for name, field in each.get("properties", {}).items():
                always = "always" if name in each.get("required", ()) else ""
                yield f"`{path}{name}`", cell(self.spell(field)), always, cell(field.get("description", ""))
                yield from self.rows(field, f"{path}{name}.")
            if isinstance(each.get("items"), dict):
                yield from self.rows(each["items"], path.removesuffix(".") + "[].")
            if isinstance(each.get("additionalProperties"), dict):
                yield from self.rows(each["additionalProperties"], path.removesuffix(".") + ".*.")

    def fields(self, node):
        rows = list(self.rows(node))
        return table(("field", "type", "present", "meaning"), rows) if rows else ""

    def section(self):
        parts = [f"## {self.command}\n", cell(self.schema.get("description", self.schema["title"])) + "\n"]
        if "oneOf" in self.schema:
            parts.append("One of: " + ", ".join(self.spell(each) if "$ref" in each else "an object with the fields" for each in self.schema["oneOf"]) + "\n")
        parts.append(self.fields(self.schema))
        for name, definition in self.schema.get("$defs", {}).items():
            parts.append(f"### {self.heading(name)}\n")
            if "description" in definition:
                parts.append(cell(definition["description"]) + "\n")
            parts.append(self.fields(definition) or cell(self.spell(definition)) + "\n")
        return "\n".join(part for part in parts if part)


def json_page(program):
    schemas = {name: program.output("schema", name) for name in ("check", "verify", "inspect", "diff")}
    sections = [Schema(name, json.loads(text)).section() for name, text in schemas.items()]
    return "\n".join(["# JSON reports\n", NOTE,
                      "The commands of this page print JSON with `--format json`. `compatcheck schema COMMAND` prints the JSON Schema. "
                      "The\nformat is stable, and `schema_version` is its version. `a.b` is the field `b` of the object `a`; `a[].b` is the field of each "
                      "member of the\nlist `a`; `a.*` is each value of the object `a`.\n",
                      " · ".join(f"[{name}](#{name})" for name in schemas) + "\n", *sections])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/compatcheck", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    program = Program(arguments.program)
    made = {"commands.md": commands_page(program), "rules.md": rules_page(program), "json.md": json_page(program)}
    FOLDER.mkdir(exist_ok=True)
    old = 0
    for name, text in made.items():
        page = FOLDER / name
        shown = page.read_text() if page.exists() else ""
        if arguments.check and shown != text:
            old += 1
            difference = difflib.unified_diff(shown.splitlines(), text.splitlines(), f"docs/reference/{name}", "the program", lineterm="", n=1)
            print("\n".join(list(difference)[:60]))
        elif not arguments.check:
            page.write_text(text)
    if arguments.check:
        print(f"{len(made)} pages, {old} out of date" + ("; tools/write_reference.py writes them" if old else ""))
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
