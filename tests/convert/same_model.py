"""Models of which nothing but the opset's number differs: what ONNX Runtime computed for one holds for the other."""
import hashlib

import onnx


def versions(graph, opset, functions, found):
    """The version of each operator that the graph uses."""
    for node in graph.node:
        if node.domain in ("", "ai.onnx"):
            found.add((node.op_type, onnx.defs.get_schema(node.op_type, opset, "").since_version))
        for attribute in node.attribute:
            for part in [attribute.g, *attribute.graphs]:
                versions(part, opset, functions, found)


def identity(file):
    """Equal for models with the same nodes, initializers, types and versions of their operators."""
    model = onnx.load(str(file), load_external_data=False)
    opset = next(imported.version for imported in model.opset_import if imported.domain in ("", "ai.onnx"))
    found = set()
    versions(model.graph, opset, model.functions, found)
    for function in model.functions:
        versions(function, opset, model.functions, found)
    others = sorted((imported.domain, imported.version) for imported in model.opset_import if imported.domain not in ("", "ai.onnx"))
    # ir_version and what producers say don't count.
    parts = [model.graph.SerializeToString(deterministic=True), *(f.SerializeToString(deterministic=True) for f in model.functions)]
    return hashlib.sha256(b"\0".join(parts) + repr((sorted(found), others)).encode()).digest()


class Seen:
    """Outcomes by identity."""

    def __init__(self):
        self.outcomes = {}

    def outcome(self, file, compute):
        key = identity(file)
        if key not in self.outcomes:
            self.outcomes[key] = compute()
        return self.outcomes[key]
