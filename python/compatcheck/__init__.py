"""Whether a PyTorch model converts to ONNX, and which operators prevent it.

    report = compatcheck.check("model.pt2", opset=17)
    if not report.convertible:
        print(report)
"""
from ._core import Model, RangedFile
from ._core import version as __version__
from .api import Operator, check, convert, explain, load, ops, verify
from .errors import Error, InternalError, ModelError, NotConvertible, TableError, UsageError
from .fields import Finding, OperatorSummary, Site, TargetSummary, TensorInfo
from .registry.scan import ScanTotals, ranged_file, scan
from .registry.spark import check_udf
from .report import Report, Reports, Verification, WrittenModel
from .symbolics import Symbolic, Symbolics, symbolics

__all__ = [
    "Error", "Finding", "InternalError", "Model", "ModelError", "NotConvertible", "Operator", "OperatorSummary", "RangedFile", "Report",
    "Reports", "ScanTotals", "Site", "Symbolic", "Symbolics", "TableError", "TargetSummary", "TensorInfo", "UsageError", "Verification", "WrittenModel",
    "__version__", "check", "check_udf", "convert", "explain", "load", "ops", "ranged_file",
    "scan", "symbolics", "verify",
]
