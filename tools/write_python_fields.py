#!/usr/bin/env python3
"""Writes python/compatcheck/fields.py, the fields of reports as typed Python classes, from the JSON schemas in reports/.

    write_python_fields.py            writes the file
    write_python_fields.py --check    exits with 1 if the file is out of date
"""
import json, keyword, pathlib, sys, textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
FILE = ROOT / "python/compatcheck/fields.py"
HEAD = '''"""The fields of reports as attributes. Written by tools/write_python_fields.py from the JSON schemas in reports/."""
from __future__ import annotations

from typing import Any, Literal

from .record import Record
'''

# The class of the object at a property; at one below another where the property alone doesn't say.
CLASSES = {
    "tool": "Tool", "model": "ModelInfo", "parameters": "Parameters", "inputs": "TensorInfo", "outputs": "TensorInfo",
    "quantization": "Quantization", "state": "StateInfo", "assumed": "AssumedInput", "because": "Reason", "summary": "Summary",
    "operators": "OperatorSummary", "rows": "RowUse", "mapping": "MappingPlace", "findings": "Finding", "sites": "Site",
    "suppressed": "Suppression", "targets": "TargetSummary", "older_forms": "OlderForm", "TargetSummary.operators": "TargetOperator", "graph": "GraphSummary",
    "gate": "Gate", "totals": "Totals", "Totals.missing": "MissingOperator", "runs": "RunInputs", "dimensions": "NamedDimension",
    "VerificationFields.outputs": "OutputVerification", "VerificationFields.gate": "VerifyGate", "first_bad": "FirstBad",
    "bisection": "Bisection", "signature": "Signature", "Signature.inputs": "SignatureValue", "Signature.outputs": "SignatureValue",
}


class Fields:
    def __init__(self, schema):
        self.schema, self.classes = schema, {}

    def type_of(self, schema, owner, name):
        """The annotation, and the class of the object or of the objects in the list."""
        if "$ref" in schema:
            target = self.schema
            for part in schema["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            return self.type_of(target, owner, name)
        if "const" in schema:
            return type(schema["const"]).__name__, None
        if "enum" in schema:
            return f"Literal[{', '.join(map(json.dumps, schema['enum']))}]" if isinstance(schema["enum"][0], str) else "int", None
        if "anyOf" in schema or isinstance(schema.get("type"), list):
            parts = schema.get("anyOf") or [{"type": each} for each in schema["type"]]
            found = [self.type_of(part, owner, name) for part in parts]
            return " | ".join(annotation for annotation, _ in found), next((kind for _, kind in found if kind), None)
        match schema.get("type"):
            case "array":
                annotation, kind = self.type_of(schema.get("items") or {}, owner, name)
                return f"tuple[{annotation}, ...]", kind
            case "object" if "properties" in schema:
                kind = CLASSES.get(f"{owner}.{name}") or CLASSES[name]
                self.add(kind, schema)
                return kind, kind
            case "object" if isinstance(schema.get("additionalProperties"), dict):
                return f"dict[str, {self.type_of(schema['additionalProperties'], owner, name)[0]}]", None
            case "object":
                return "dict[str, Any]", None
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}.get(schema.get("type"), "Any"), None

    def add(self, name, schema):
        """Objects of one class at several places have the fields of all; those that one of them lacks are optional."""
        known = self.classes.get(name)
        fields = self.classes[name] = {} if known is None else known
        for field, about in schema["properties"].items():
            annotation, kind = self.type_of(about, name, field)
            optional = field not in schema["required"] or (known is not None and field not in known)
            optional |= field in fields and fields[field]["optional"]
            fields[field] = {"type": annotation, "kind": kind, "optional": optional, "about": about.get("description", "")}
        for field in fields.keys() - schema["properties"].keys():
            fields[field]["optional"] = True

    def text(self):
        return "".join(self.class_text(name) for name in self.classes)

    def class_text(self, name):
        lines, parts, names = [], {}, {}
        for field, about in self.classes[name].items():
            attribute = field
            if keyword.iskeyword(field):
                attribute = names[field] = f"operator_{field}"
            kind, default = about["type"], ""
            if about["optional"]:
                if about["about"].startswith("absent: ") and kind.startswith("Literal"):
                    word = about["about"].removeprefix("absent: ")
                    kind, default = f'Literal["{word}", {kind.removeprefix("Literal[")}', f' = "{word}"'
                else:
                    default = {"t": " = ()", "b": " = False"}.get(kind[0] if kind.startswith(("tuple", "bool")) else "", " = None")
                    kind += " | None" if default == " = None" and not kind.endswith("None") else ""
            if about["kind"]:
                parts[field] = about["kind"]
            if about["about"]:
                lines += textwrap.wrap(about["about"], 120, initial_indent="    # ", subsequent_indent="    # ")
            lines.append(f"    {attribute}: {kind}{default}")
        if parts:
            listed = "_parts = {" + ", ".join(f'"{field}": {kind}' for field, kind in parts.items()) + "}"
            lines += textwrap.wrap(listed, 140, initial_indent="    ", subsequent_indent=" " * 14, break_on_hyphens=False)
        if names:
            lines.append(f"    _names = {json.dumps(names)}")
        return f"\n\nclass {name}(Record):\n" + "\n".join(lines) + "\n"


def text():
    report, verify = (json.loads((ROOT / f"reports/{name}.schema.json").read_text()) for name in ("report", "verify"))
    fields = Fields(report)
    fields.add("ReportFields", report["$defs"]["report"])
    fields.add("ReportsFields", {**report["oneOf"][2], "properties": {key: value for key, value in report["oneOf"][2]["properties"].items() if key != "reports"}})
    fields.schema, verification = verify, verify["$defs"]["verification"]
    kept = {key: value for key, value in verification["properties"].items() if key != "report"}
    fields.add("VerificationFields", {**verification, "properties": kept})
    # A class stands below those that it holds.
    order = []
    def place(name):
        for about in fields.classes[name].values():
            if about["kind"]:
                place(about["kind"])
        if name not in order:
            order.append(name)
    for name in list(fields.classes):
        place(name)
    fields.classes = {name: fields.classes[name] for name in order}
    return HEAD + fields.text()


def main():
    if sys.argv[1:] == ["--check"]:
        if FILE.read_text() != text():
            sys.exit(f"{FILE.relative_to(ROOT)} is out of date; write it with tools/write_python_fields.py")
        return
    FILE.write_text(text())


if __name__ == "__main__":
    main()
