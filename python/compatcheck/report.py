"""Reports: the JSON's fields as attributes, and every format of the command line."""
from __future__ import annotations

import html
import json
from typing import Any, Iterator, Literal, Sequence, Union, overload

from . import _core
from .fields import ReportFields, ReportsFields, VerificationFields
from .options import Path
from .record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pandas import DataFrame

Format = Literal["text", "json", "jsonl", "sarif", "junit", "github", "gitlab", "markdown", "html", "allowlist-yaml"]
Table = Literal["operators", "findings"]


class WrittenModel(Record):
    """What `convert` wrote."""

    opset: int
    nodes: int
    initializers: int
    bytes: int
    dynamic_dimensions: tuple[str, ...]
    functions: tuple[str, ...]
    external_files: tuple[dict[str, Any], ...]


class _Rendered:
    """Reports as text."""

    _graph = True

    def _texts(self) -> list[bytes]:
        raise NotImplementedError

    def _as_list(self) -> bool:
        return False

    def render(
        self, format: Format, *, source_root: Path = "", verbosity: int = 0, quiet: bool = False, color: bool = False, width: int = 100
    ) -> str:
        """In any format of the command line. `source_root`: the folder of the model's Python files, for html, sarif and gitlab."""
        options = _core.RenderOptions()
        options.as_list = self._as_list()
        options.source_root, options.verbosity, options.quiet = source_root, verbosity, quiet
        options.color, options.width = color, width
        return _core.render(self._texts(), format, options, self._graph or format == "html")

    def to_text(self, *, verbosity: int = 0, quiet: bool = False, color: bool = False, width: int = 100) -> str:
        return self.render("text", verbosity=verbosity, quiet=quiet, color=color, width=width)

    def to_json(self) -> str:
        return self.render("json")

    def to_html(self, *, source_root: Path = "") -> str:
        return self.render("html", source_root=source_root)

    def to_sarif(self, *, source_root: Path = "") -> str:
        return self.render("sarif", source_root=source_root)

    def to_junit(self) -> str:
        return self.render("junit")

    def to_markdown(self) -> str:
        return self.render("markdown")

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        """The page of to_html() in a frame, for notebooks."""
        page = html.escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{page}" sandbox="allow-scripts" style="width: 100%; height: 40em; border: 0"></iframe>'


class Report(ReportFields, _Rendered):
    """What `check` finds for one model at one opset."""

    written: WrittenModel | None
    """What `convert` wrote."""
    onnx: bytes | None
    """The ONNX model, where `convert` was given no file."""

    def __init__(
        self, text: bytes, *, graph: bool = False, written: dict[str, Any] | None = None, onnx: bytes | None = None
    ) -> None:
        fields = json.loads(text)
        if not graph:
            fields.pop("graph", None)
        super().__init__(fields)
        self._text, self._graph, self._written, self.onnx = text, graph, written, onnx
        self.written = WrittenModel(written) if written else None

    @property
    def convertible(self) -> bool:
        return self.verdict == "yes"

    def to_pandas(self, table: Table = "operators") -> DataFrame:
        """A row for each operator, or for each finding and place in the code."""
        from pandas import DataFrame

        return DataFrame(self._rows(table))

    def _rows(self, table: Table) -> list[dict[str, Any]]:
        run = {"model": self.model.path, "opset": self.opset}
        if table == "operators":
            return [{**run, **_flat(each.to_dict())} for each in self.operators]
        if table != "findings":
            raise ValueError(f"there is no table '{table}': expected operators or findings")
        return [
            {**run, **_flat(finding.to_dict()), **{name: value for name, value in site.items()}}
            for finding in self.findings
            for site in [each.to_dict() for each in finding.sites] or [{}]
        ]

    def _texts(self) -> list[bytes]:
        return [self._text]

    def __repr__(self) -> str:
        words = {"yes": "convertible", "no": "not convertible", "needs_input": "needs input"}[self.verdict]
        return f"<Report {self.model.path}, opset {self.opset}: {words}, {len(self.findings)} findings>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._text, self._graph, self._written, self.onnx)


def _restored(text: bytes, graph: bool, written: dict[str, Any] | None, onnx: bytes | None) -> Report:
    return Report(text, graph=graph, written=written, onnx=onnx)


def _flat(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in ("rows", "mapping", "sites", "suppressed")}


class Reports(ReportsFields, _Rendered, Sequence[Report]):
    """The reports of one model at several opsets, in their order, and their totals."""

    def __init__(self, reports: Sequence[Report]) -> None:
        self._reports = tuple(reports)
        self._graph = all(report._graph for report in reports)
        super().__init__({name: value for name, value in json.loads(self.to_json()).items() if name != "reports"})

    @overload
    def __getitem__(self, place: int) -> Report: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Report]: ...
    def __getitem__(self, place: Union[int, slice]) -> Union[Report, Sequence[Report]]:
        return self._reports[place]

    def __len__(self) -> int:
        return len(self._reports)

    def __iter__(self) -> Iterator[Report]:
        return iter(self._reports)

    def at(self, opset: int) -> Report:
        """The report of this opset."""
        for report in self._reports:
            if report.opset == opset:
                return report
        raise KeyError(opset)

    def to_pandas(self, table: Table = "operators") -> DataFrame:
        """As of a report, with the rows of all of them."""
        from pandas import DataFrame

        return DataFrame([row for report in self._reports for row in report._rows(table)])

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "reports": [report.to_dict() for report in self._reports]}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reports) and self._reports == other._reports

    def _texts(self) -> list[bytes]:
        return [report._text for report in self._reports]

    def _as_list(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<Reports {', '.join(map(repr, self._reports))}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Reports, (self._reports,)


class Verification(VerificationFields):
    """How the ONNX model's outputs compare with PyTorch's."""

    report: Report | None
    """Why the model doesn't convert."""

    def __init__(self, core: _core.Verification) -> None:
        fields = json.loads(core.render("json"))
        super().__init__({name: value for name, value in fields.items() if name != "report"})
        self._core = core
        self.report = Report(json.dumps(fields["report"]).encode()) if "report" in fields else None

    def to_text(self) -> str:
        return self._core.render("text")

    def to_json(self) -> str:
        return self._core.render("json")

    def to_junit(self) -> str:
        return self._core.render("junit")

    def to_markdown(self) -> str:
        return self._core.render("markdown")

    def to_html(self) -> str:
        return self._core.render("html")

    def to_pandas(self) -> DataFrame:
        """A row for each output."""
        from pandas import DataFrame

        return DataFrame([each.to_dict() for each in self.outputs])

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<Verification {self.model}: {'passed' if self.passed else 'failed'}, {len(self.findings)} findings>"
