"""Plants faults into the control flow of ONNX models: each is a copy of the file that has one fault."""
import copy

import numpy
import onnx
from onnx import numpy_helper

COMPARISONS = {"Greater": "Less", "Less": "Greater", "GreaterOrEqual": "LessOrEqual", "LessOrEqual": "GreaterOrEqual"}
EDGES = {"Greater": "GreaterOrEqual", "GreaterOrEqual": "Greater", "Less": "LessOrEqual", "LessOrEqual": "Less"}


def graphs_of(graph, inside=False):
    yield graph, inside
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs_of(attribute.g, True)


def constants_of(model):
    """The scalar constants by name, wherever they are."""
    found = {}
    for graph, _ in graphs_of(model.graph):
        for tensor in graph.initializer:
            if numpy.prod(tensor.dims, dtype=int) == 1:
                found[tensor.name] = numpy_helper.to_array(tensor)
        for node in graph.node:
            if node.op_type == "Constant":
                tensor = numpy_helper.to_array(node.attribute[0].t) if node.attribute[0].name == "value" else None
                if tensor is not None and tensor.size == 1:
                    found[node.output[0]] = tensor
    return found


def types_of(graph):
    return {value.name: value.type.tensor_type.elem_type for value in [*graph.input, *graph.output, *graph.value_info]}


def faults(model):
    """Yields (kind, edited model). A fault is planted into each place once."""
    places = [(g, n) for g, (graph, _) in enumerate(graphs_of(model.graph)) for n in range(len(graph.node))]
    constants = constants_of(model)

    def edited(edit, g, n):
        other = copy.deepcopy(model)
        graph = [each for each, _ in graphs_of(other.graph)][g]
        edit(other, graph, graph.node[n])
        return other

    def shifted(by, place):
        def edit(other, graph, node):
            value = constants[node.input[place]]
            name = f"fault_{node.input[place]}"
            other.graph.initializer.append(numpy_helper.from_array((value + numpy.asarray(by, value.dtype)).astype(value.dtype), name))
            node.input[place] = name
        return edit

    inside = [flag for _, flag in graphs_of(model.graph)]
    graphs = [graph for graph, _ in graphs_of(model.graph)]
    for g, n in places:
        node = graphs[g].node[n]
        known = [name in constants for name in node.input]
        if node.op_type in COMPARISONS:
            yield f"{node.op_type} the other way round", edited(lambda o, gr, x: setattr(x, "op_type", COMPARISONS[x.op_type]), g, n)
            yield f"{node.op_type} at its edge", edited(lambda o, gr, x: setattr(x, "op_type", EDGES[x.op_type]), g, n)
        if node.op_type in [*COMPARISONS, "Equal"]:
            for place, is_known in enumerate(known):
                if is_known and constants[node.input[place]].dtype != bool:
                    by = 1 if constants[node.input[place]].dtype.kind in "iu" else 0.125
                    yield f"{node.op_type} with a larger constant", edited(shifted(by, place), g, n)
        if node.op_type == "If" and all(len(a.g.output) for a in node.attribute):
            def swap(other, graph, node):
                first, second = node.attribute[0].name, node.attribute[1].name
                node.attribute[0].name, node.attribute[1].name = second, first
            yield "branches swapped", edited(swap, g, n)
        if node.op_type == "Add" and inside[g] and any(k and constants[i].dtype.kind == "i" and constants[i].item() == 1
                                                       for k, i in zip(known, node.input)):
            def drop(other, graph, node):
                kept = node.input[0] if not (node.input[0] in constants) else node.input[1]
                output = node.output[0]
                node.CopyFrom(onnx.helper.make_node("Identity", [kept], [output]))
            yield "no addition of 1", edited(drop, g, n)
        if node.op_type in ("And", "Or"):
            yield f"{node.op_type} swapped", edited(lambda o, gr, x: setattr(x, "op_type", "Or" if x.op_type == "And" else "And"), g, n)
        if node.op_type == "Not" and inside[g]:
            yield "no Not", edited(lambda o, gr, x: setattr(x, "op_type", "Identity"), g, n)
        if node.op_type == "Loop":
            carried = len(node.input) - 2
            body = node.attribute[0].g
            types = [(v.type.tensor_type.elem_type, len(v.type.tensor_type.shape.dim) if v.type.HasField("tensor_type") else -1)
                     for v in body.output[1:1 + carried]]
            pairs = [(i, j) for i in range(carried) for j in range(i + 1, carried) if types[i] == types[j]]
            for i, j in pairs[:2]:
                def exchange(other, graph, node, i=i, j=j):
                    outputs = node.attribute[0].g.output
                    a, b = outputs[1 + i].name, outputs[1 + j].name
                    outputs[1 + i].name, outputs[1 + j].name = b, a
                if body.output[1 + i].name != body.output[1 + j].name:
                    yield "carried values swapped", edited(exchange, g, n)
            if node.input[0]:
                def fewer(other, graph, node):
                    name = f"fault_iterations_{node.output[0] if node.output else node.name}"
                    other.graph.initializer.append(numpy_helper.from_array(numpy.asarray(1, numpy.int64), "fault_one_" + name))
                    at = list(graph.node).index(node)
                    graph.node.insert(at, onnx.helper.make_node("Sub", [node.input[0], "fault_one_" + name], [name]))
                    graph.node[at + 1].input[0] = name
                if node.input[0] not in constants or constants[node.input[0]].item() < 1 << 40:
                    yield "one iteration fewer", edited(fewer, g, n)
