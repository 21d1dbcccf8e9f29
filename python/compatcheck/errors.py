"""What the package raises: one type per cause, each with a message that a user can act on."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .report import Report


class Error(Exception):
    """The base of all others."""


class UsageError(Error, ValueError):
    """A wrong option or argument."""


class TableError(Error, ValueError):
    """A mapping file, plugin or engine profile that can't be used, with file, line and column."""


class ModelError(Error):
    """A model that can't be read: absent, damaged, unsupported, or beyond the limits of time and memory."""


class InternalError(Error):
    """A defect of compatcheck."""


class NotConvertible(Error):
    """The model has no ONNX equivalent as it was asked for; `report` says why."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report

    def __reduce__(self) -> tuple[type[NotConvertible], tuple[Report]]:
        return type(self), (self.report,)
