"""The results of a run: JSON lines, Parquet tables and totals."""
from __future__ import annotations

import collections
import functools
import json
import re
from typing import Any, Iterable, Mapping, Sequence

RESULTS = ("reports", "models", "findings")
TOTALS = "totals.json"
PAGE = "page.html"
_NOT_CHECKED = "not_checked"


def _reason(message: str, path: str) -> str:
    """Without the model's name and the place in it, and without what the lines behind show of it."""
    rest = message[len(path):] if message.startswith(path + ":") else message
    return re.sub(r"^(:\d+)*: ", "", rest).split("\n")[0]


@functools.cache
def schemas() -> tuple[Any, Any]:
    """The schemas of the tables of models and of findings. The column `verdict` is missing: both tables are partitioned by it."""
    import pyarrow as pa

    text, number = pa.string(), pa.int64()
    target = pa.struct([("target", text), ("support", text), ("unsupported", number), ("lowest_opset", number)])
    counts = ("nodes", "operators", "one_to_one", "one_to_many", "missing", "refused", "needs_input", "unassessed")
    models = pa.schema(
        [("path", text), ("opset", number), ("identity", text), ("format", text), ("bytes", number), ("parameters", number),
         *((name, number) for name in counts), ("coverage_nodes", pa.float64()), ("lowest_opset", number),
         ("missing_operators", pa.list_(text)), ("targets", pa.list_(target)), ("targets_lowest_opset", number),
         ("exit_code", number), ("error", text)]
    )
    findings = pa.schema(
        [("path", text), ("opset", number), ("id", text), ("severity", text), ("op", text), ("overload", text), ("message", text),
         ("help", text), ("available_from", number), ("nodes", number), ("target", text), ("module", text), ("file", text),
         ("line", number)]
    )
    return models, findings


def verdict_of(report: Mapping[str, Any]) -> str:
    return _NOT_CHECKED if "error" in report else str(report["verdict"])


def missing_operators(report: Mapping[str, Any]) -> dict[str, int]:
    """Operators without a mapping, with their nodes."""
    found: dict[str, int] = collections.Counter()
    for each in report.get("operators", ()):
        if each["class"] == "missing":
            found[each["op"]] += each["nodes"]
    return dict(found)


def model_row(report: Mapping[str, Any]) -> dict[str, Any]:
    model, summary = report["model"], report.get("summary", {})
    row = {name: summary.get(name) for name in schemas()[0].names}
    if "error" in report:
        return {**row, "path": model["path"], "exit_code": report["exit_code"], "error": report["error"]["message"]}
    targets = [
        {"target": each["target"], "support": each["support"], "unsupported": each["unsupported"], "lowest_opset": each["lowest_opset"]}
        for each in report.get("targets", ())
    ]
    return {
        **row, "path": model["path"], "opset": report["opset"], "identity": model["identity"], "format": model["format"],
        "bytes": model["bytes"], "parameters": model["parameters"]["count"], "missing_operators": sorted(missing_operators(report)),
        "targets": targets, "targets_lowest_opset": report.get("targets_lowest_opset"), "exit_code": report["exit_code"],
    }


def finding_rows(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for finding in report.get("findings", ()):
        site = (finding.get("sites") or [{}])[0]
        rows.append({
            "path": report["model"]["path"], "opset": report["opset"],
            **{name: finding.get(name) for name in ("id", "severity", "op", "overload", "message", "help", "available_from", "nodes", "target")},
            **{name: site.get(name) for name in ("module", "file", "line")},
        })
    return rows


def tables(reports: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """Parquet files by their folders: models/verdict=no, findings/verdict=no, …"""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    models, findings = schemas()
    rows: dict[tuple[str, str], list[dict[str, Any]]] = collections.defaultdict(list)
    for report in reports:
        verdict = verdict_of(report)
        rows["models", verdict].append(model_row(report))
        rows["findings", verdict].extend(finding_rows(report))
    files = {}
    for (table, verdict), each in sorted(rows.items()):
        if not each:
            continue
        sink = pa.BufferOutputStream()
        parquet.write_table(pa.Table.from_pylist(each, schema=models if table == "models" else findings), sink, compression="zstd")
        files[f"{table}/verdict={verdict}"] = sink.getvalue().to_pybytes()
    return files


def best_of(reports: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The report that totals count for a model that was checked at several opsets, as in the totals of other commands."""
    ranks = {"no": 1, "needs_input": 2, "yes": 3}
    return max(reports, key=lambda report: (ranks[report["verdict"]], report["summary"]["coverage_nodes"]) if "error" not in report else (0, 0.0))


class Totals:
    """Counts of models. Those of parts add up to those of the whole, which src/report/totals.cpp can't offer: it counts reports that one
    process holds. Both count the same; test_the_totals_are_those_of_check compares them."""

    def __init__(self, counts: Mapping[str, Any] | None = None) -> None:
        given = counts or {}
        self.verdicts = collections.Counter(given.get("verdicts", {}))
        self.missing = {op: list(counts) for op, counts in given.get("missing", {}).items()}  # models, alone, nodes
        self.lowest_opset = collections.Counter(given.get("lowest_opset", {}))
        self.targets = {target: collections.Counter(counts) for target, counts in given.get("targets", {}).items()}
        self.failures = collections.Counter(given.get("failures", {}))
        self.exit_code = int(given.get("exit_code", 0))

    def add(self, reports: Sequence[Mapping[str, Any]]) -> None:
        """Adds the reports of one model."""
        best = best_of(reports)
        self.verdicts[verdict_of(best)] += 1
        codes = [report["exit_code"] for report in reports]
        enough = any(report.get("gate", {}).get("one_opset_is_enough") for report in reports)
        self.exit_code = max(self.exit_code, min(codes) if enough else max(codes))
        if "error" in best:
            self.failures[_reason(best["error"]["message"], best["model"]["path"])] += 1
            return
        missing = missing_operators(best)
        summary = best["summary"]
        alone = len(missing) == 1 and not summary["refused"] and not summary["needs_input"]
        for op, nodes in missing.items():
            entry = self.missing.setdefault(op, [0, 0, 0])
            entry[0] += 1
            entry[1] += alone
            entry[2] += nodes
        if best["verdict"] != "yes" and summary.get("lowest_opset"):
            self.lowest_opset[str(summary["lowest_opset"])] += 1
        for target in best.get("targets", ()):
            self.targets.setdefault(target["target"], collections.Counter())[target["support"]] += 1

    def merge(self, other: Totals) -> None:
        self.verdicts.update(other.verdicts)
        self.lowest_opset.update(other.lowest_opset)
        self.failures.update(other.failures)
        self.exit_code = max(self.exit_code, other.exit_code)
        for op, counts in other.missing.items():
            entry = self.missing.setdefault(op, [0, 0, 0])
            self.missing[op] = [a + b for a, b in zip(entry, counts)]
        for target, counter in other.targets.items():
            self.targets.setdefault(target, collections.Counter()).update(counter)

    def counts(self) -> dict[str, Any]:
        return {
            "verdicts": self.verdicts, "missing": self.missing, "lowest_opset": self.lowest_opset, "targets": self.targets,
            "failures": self.failures, "exit_code": self.exit_code,
        }

    def to_dict(self) -> dict[str, Any]:
        """The contents of totals.json."""
        missing = sorted(self.missing.items(), key=lambda entry: (-entry[1][0], -entry[1][2], entry[0]))
        opsets = sorted(self.lowest_opset.items(), key=lambda entry: int(entry[0]))
        failures = sorted(self.failures.items(), key=lambda entry: (-entry[1], entry[0]))
        return {
            "models": sum(self.verdicts.values()),
            **{verdict: self.verdicts[verdict] for verdict in ("yes", "no", "needs_input", _NOT_CHECKED)},
            "missing": [{"op": op, "models": models, "alone": alone, "nodes": nodes} for op, (models, alone, nodes) in missing],
            "opsets": [{"opset": int(opset), "frees": models} for opset, models in opsets],
            "targets": [
                {"target": target, **{support: counter[support] for support in ("yes", "no", "unknown")}}
                for target, counter in sorted(self.targets.items())
            ],
            "failures": [{"reason": reason, "models": models} for reason, models in failures[:100]],
            "exit_code": self.exit_code,
        }


def totals_of(models: Iterable[Sequence[Mapping[str, Any]]]) -> Totals:
    totals = Totals()
    for reports in models:
        totals.add(reports)
    return totals


def _counted(models: int) -> str:
    return f"{models:,} model{'' if models == 1 else 's'}"


def words(totals: Mapping[str, Any], output: str) -> str:
    """The totals for people."""
    count = totals["models"]
    lines = [
        f"{_counted(count)}: {totals['yes']:,} convert, {totals['no']:,} don't, "
        f"{totals['needs_input']:,} need input, {totals[_NOT_CHECKED]:,} not checked"
    ]
    for title, rows in (
        ("missing operators", [(each["op"], _counted(each["models"]), f"{each['alone']:,} by it alone") for each in totals["missing"][:10]]),
        ("models that convert from a higher opset", [(f"opset {each['opset']}", _counted(each["frees"]), "") for each in totals["opsets"]]),
        ("engines", [(each["target"], f"{each['yes']:,} supported", f"{each['no']:,} not, {each['unknown']:,} unknown") for each in totals["targets"]]),
        ("not checked", [(each["reason"][:100], _counted(each["models"]), "") for each in totals["failures"][:5]]),
    ):
        if rows:
            lines += ["", title]
            width = max(len(row[0]) for row in rows)
            lines += [f"  {row[0]:{width}}  {row[1]:>16}  {row[2]}".rstrip() for row in rows]
    return "\n".join([*lines, "", f"results: {output}"]) + "\n"
