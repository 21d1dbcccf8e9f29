"""Checks in Spark: a function for `DataFrame.mapInPandas`."""
from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator, Mapping, Union

from ..options import CheckOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sys

    from pandas import DataFrame

    if sys.version_info >= (3, 11):
        from typing import Unpack
    else:
        from typing_extensions import Unpack


class CheckUdf:
    """Spark's workers call it. `schema` is the second argument of `mapInPandas`."""

    schema = (
        "path string, opset int, verdict string, identity string, nodes long, missing long, lowest_opset int, "
        "missing_operators array<string>, exit_code int, error string, report string"
    )

    def __init__(self, column: str, opset: Any, options: Mapping[str, Any], storage: Mapping[str, Any]) -> None:
        self.column, self.opset, self.options, self.storage = column, opset, dict(options), dict(storage)

    def __call__(self, frames: Iterator[DataFrame]) -> Iterator[DataFrame]:
        import json

        from pandas import DataFrame

        from .. import _core
        from .results import missing_operators, verdict_of
        from .storage import Found
        from .workers import Worker, check

        worker = Worker(self.opset, self.options)
        names = [field.split()[0] for field in self.schema.split(", ")]
        try:
            for frame in frames:
                rows = []
                for uri in frame[self.column]:
                    if isinstance(uri, str):
                        lines = check(worker, Found(uri, uri), self.storage) or b""
                    else:  # None or NaN: a null of Spark
                        uri, lines = None, _core.failure_report("", f"the column {self.column} has no URI")
                    for line in lines.splitlines():
                        report = json.loads(line)
                        summary = report.get("summary", {})
                        rows.append({
                            "path": uri, "opset": report.get("opset"), "verdict": verdict_of(report),
                            "identity": report["model"].get("identity"), "nodes": summary.get("nodes"), "missing": summary.get("missing"),
                            "lowest_opset": summary.get("lowest_opset"), "missing_operators": sorted(missing_operators(report)),
                            "exit_code": report["exit_code"], "error": report.get("error", {}).get("message"), "report": line.decode(),
                        })
                made = DataFrame(rows, columns=names)
                for name in ("opset", "nodes", "missing", "lowest_opset"):
                    made[name] = made[name].astype("Int64")  # whole numbers, some of which aren't there
                yield made
        finally:
            worker.close()


def check_udf(
    column: str = "path", opset: Union[int, Iterable[int]] = 17, *, storage_options: Union[Mapping[str, Any], None] = None,
    **options: Unpack[CheckOptions],
) -> CheckUdf:
    """For Spark: `models.mapInPandas(udf, udf.schema)` checks the models whose URIs are in a column, one process a task.

    A row of the result is a report; its column `report` holds the JSON. What can't be checked is a row, too."""
    from .scan import checked_options

    opset_setting, plain, _ = checked_options("check_udf", opset, options)
    return CheckUdf(column, opset_setting, plain, storage_options or {})
