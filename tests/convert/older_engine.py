"""An engine that knows only the operators of an older opset, in any version: calls then have forms of that opset or an earlier one."""
import onnx


def profile(opset):
    names = sorted({schema.name for schema in onnx.defs.get_all_schemas_with_history() if not schema.domain and schema.since_version <= opset})
    return "\n".join([f"engine: opset{opset}", f"title: the operators of opset {opset}", 'version: "1"', "source: onnx's schemas", "date: 2026-11-29",
                      "match: model", "unlisted: no", "operators:", *(f"  {name}: yes" for name in names)]) + "\n"


def options(opset, folder):
    """of convert_cases; none without an opset"""
    if opset is None:
        return []
    file = folder / f"opset{opset}.yaml"
    file.write_text(profile(opset))
    return ["--target", str(file)]
