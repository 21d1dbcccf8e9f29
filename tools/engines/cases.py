"""Models of one node, with inputs and ONNX's own results: what runtimes are asked.

The seeds are the node tests of the onnx package: documented choices of attributes, with inputs that fit. From each seed come the same
call in the operator's other versions, with other dtypes, with constant inputs, with named dimensions, and without its further outputs.
The expected values are those of onnx.reference.
"""
import contextlib
import functools
import io
import pathlib
import warnings

import ml_dtypes
import numpy as np
import onnx
import yaml
from onnx import defs, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from runtimes import OrtCpu, Trial, array_of, differs

ROOT = pathlib.Path(__file__).resolve().parents[2]

LOWEST, HIGHEST = 7, 26   # as the program's
OPSETS = range(LOWEST, HIGHEST + 1)
TOGETHER = {"Attention", "BatchNormalization"}   # whose further outputs belong to an input or an attribute
RANDOM = {"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
DTYPES = {
    "uint8": "u8", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint16": "u16", "uint32": "u32",
    "uint64": "u64", "float16": "f16", "float": "f32", "double": "f64", "bfloat16": "bf16", "complex64": "c64",
    "complex128": "c128", "bool": "bool", "float8e5m2": "f8e5m2", "float8e4m3fn": "f8e4m3fn", "float8e5m2fnuz": "f8e5m2fnuz",
    "float8e4m3fnuz": "f8e4m3fnuz", "float8e8m0": "f8e8m0", "float4e2m1": "f4e2m1", "int4": "i4", "uint4": "u4", "int2": "i2",
    "uint2": "u2", "string": "string",
}
# Inputs that were attributes in older versions under another name.
ALIASES = {("Pad", "constant_value"): "value", ("TopK", "K"): "k"}
A = onnx.AttributeProto
FORMAL = defs.OpSchema.FormalParameterOption


@functools.cache
def schemas():
    """operator -> its schemas, oldest first"""
    found = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "":
            found.setdefault(schema.name, []).append(schema)
    for each in found.values():
        each.sort(key=lambda schema: schema.since_version)
    return found


@functools.cache
def in_force(op):
    """the versions of the operator in models of opset 7 to 26, each with the newest such opset"""
    found = {}
    for opset in OPSETS:
        with contextlib.suppress(Exception):
            schema = defs.get_schema(op, opset, "")
            if not schema.deprecated:
                found[schema.since_version] = (schema, opset)
    return found


def formal_at(formals, place):
    if place < len(formals):
        return formals[place]
    return formals[-1] if formals and formals[-1].option == FORMAL.Variadic else None


def dtype_name(value):
    """"float" of an array, and of a list's first"""
    if isinstance(value, list):
        return dtype_name(value[0]) if value else None
    if value is None:
        return None
    if value.dtype.kind in "OUST":
        return "string"
    name = helper.tensor_dtype_to_string(helper.np_dtype_to_tensor_dtype(value.dtype)).removeprefix("TensorProto.").lower()
    return name


class Case:
    """inputs: arrays in the order of the node's; None where one is left out. `constant`: places of those that are initializers;
    `named`: whether dimensions are named; `used`: the outputs that the graph gives, by their places."""

    by_onnxruntime = False

    def __init__(self, seed, node, opset, inputs, wanted, constant=(), named=False, used=None, rtol=1e-3, atol=1e-7, value_infos=None):
        self.seed, self.node, self.opset, self.inputs, self.wanted = seed, node, opset, inputs, wanted
        self.constant, self.named, self.rtol, self.atol = frozenset(constant), named, rtol, atol
        self.used = [i for i, name in enumerate(node.output) if name] if used is None else used

    @property
    def schema(self):
        return defs.get_schema(self.node.op_type, self.opset, self.node.domain)

    def changed(self, **fields):
        made = Case.__new__(Case)
        made.__dict__.update(self.__dict__)
        made.__dict__.update(fields)
        return made

    def model(self, strict=False):
        node = onnx.NodeProto()
        node.CopyFrom(self.node)
        del node.input[:]
        node.input.extend("" if value is None else f"x{i}" for i, value in enumerate(self.inputs))
        for place in range(len(node.output)):
            formal = formal_at(self.schema.outputs, place)
            if place not in self.used and formal and formal.option == FORMAL.Optional and node.op_type not in TOGETHER:
                node.output[place] = ""
        while node.output and not node.output[-1]:
            node.output.pop()
        inputs = [self.value_info(i) for i, value in enumerate(self.inputs) if value is not None and i not in self.constant]
        constants = [numpy_helper.from_array(self.inputs[i], f"x{i}") for i in sorted(self.constant) if self.inputs[i] is not None]
        outputs = []
        for place in self.used:
            outputs.append(onnx.ValueInfoProto(name=self.node.output[place]))
        imports = [helper.make_opsetid("", self.opset)]
        if self.node.domain:
            imports.append(helper.make_opsetid(self.node.domain, 1))
        graph = helper.make_graph([node], "one", inputs, outputs, constants)
        model = helper.make_model(graph, opset_imports=imports, ir_version=max(8, helper.find_min_ir_version_for(imports)))
        return onnx.shape_inference.infer_shapes(model, check_type=strict, strict_mode=strict)

    def value_info(self, place):
        value = self.inputs[place]
        if isinstance(value, list):
            return helper.make_tensor_sequence_value_info(f"x{place}", onnx_dtype(value[0]) if value else 1, None)
        dims = [f"x{place}_{i}" for i in range(value.ndim)] if self.named else value.shape
        return helper.make_tensor_value_info(f"x{place}", onnx_dtype(value), dims)

    def trial(self):
        model = self.model()
        feed = [value for i, value in enumerate(self.inputs) if value is not None and i not in self.constant]
        return Trial(model.SerializeToString(), feed, self.wanted, self.rtol, self.atol, self.node.op_type in RANDOM)

    def computed(self):
        """with ONNX's own results; None where it has none, or the model isn't valid"""
        if self.by_onnxruntime:
            return self.computed_by_onnxruntime()
        try:
            model = self.model(strict=True)
            onnx.checker.check_model(model)
            feed = {f"x{i}": value for i, value in enumerate(self.inputs) if value is not None and i not in self.constant}
            with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                wanted = ReferenceEvaluator(model).run(None, feed)
            wanted = [array_of(value) for value in wanted]
            if any(dtype_name(value) != type_of(info) for value, info in zip(wanted, model.graph.output) if isinstance(value, np.ndarray)):
                return None   # the reference contradicts itself
            return self.changed(wanted=wanted)
        except Exception:
            return None

    def is_valid(self):
        try:
            onnx.checker.check_model(self.model(strict=True))
            return True
        except Exception:
            return False

    def computed_by_onnxruntime(self):
        """the same by ONNX Runtime, which knows what an operator meant in older versions; ONNX's reference only knows today's"""
        try:
            self.model(strict=True)
            runtime, trial = onnxruntime_cpu(), self.changed(wanted=[]).trial()
            return self.changed(wanted=runtime.run(runtime.load(trial.model), trial.feed))
        except Exception:
            return None


@functools.cache
def onnxruntime_cpu():
    return OrtCpu()


def type_of(info):
    return onnx.TensorProto.DataType.Name(info.type.tensor_type.elem_type).lower()


def onnx_dtype(array):
    return onnx.TensorProto.STRING if array.dtype.kind in "OUST" else helper.np_dtype_to_tensor_dtype(array.dtype)


def value_of(attribute):
    return helper.get_attribute_value(attribute)


def attributes_of(node):
    return {attribute.name: attribute for attribute in node.attribute}


def default_of(attribute):
    value = attribute.default_value
    return value_of(value) if value.name else None


def seeds():
    """of the node tests with one node of ONNX's own domain: (name, Case at the test's own opset)"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases
        tests = collect_testcases(None)
    for test in tests:
        graph = test.model.graph
        opset = next((one.version for one in test.model.opset_import if one.domain in ("", "ai.onnx")), 0)
        if len(graph.node) != 1 or graph.initializer or test.model.functions or graph.node[0].domain not in ("", "ai.onnx"):
            continue
        if any(value.type.HasField("optional_type") for value in (*graph.input, *graph.output)):
            continue
        inputs, wanted = test.data_sets[0]
        given = dict(zip((value.name for value in graph.input), map(array_of, inputs)))
        node = graph.node[0]
        if any(name and name not in given for name in node.input):
            continue
        arrays = [given.get(name) for name in node.input]
        if [value.name for value in graph.output] != [name for name in node.output if name]:
            continue
        yield Case(test.name, node, opset, arrays, list(map(array_of, wanted)), rtol=max(test.rtol, 1e-3), atol=max(test.atol, 1e-7))


# ---- the same call in another version

def at_version(case, schema, opset):
    """None where the version can't say it"""
    now = defs.get_schema(case.node.op_type, case.opset, "")
    node = onnx.NodeProto(op_type=case.node.op_type, output=case.node.output)
    moved = {}   # attribute -> value
    kept = []
    places = {formal.name: place for place, formal in enumerate(schema.inputs)}
    for place, value in enumerate(case.inputs):
        formal = formal_at(now.inputs, place)
        if formal is None:
            return None
        to = place if place < len(schema.inputs) and place == 0 or formal.option == FORMAL.Variadic else places.get(formal.name)
        if to is None and not value_is_attribute(case.node.op_type, formal, schema) and place < len(schema.inputs):
            to = place   # under another name
        if to is not None:
            kept += [None] * (to + 1 - len(kept))
            kept[to] = value
        elif name := value is not None and value_is_attribute(case.node.op_type, formal, schema):
            if value.size:   # without any, it is as if it weren't set
                moved[name] = value
        elif value is not None:
            return None
    for attribute in case.node.attribute:
        if attribute.name in schema.attributes:
            node.attribute.append(attribute)
            continue
        place = next((i for i, formal in enumerate(schema.inputs) if ALIASES.get((node.op_type, formal.name), formal.name) == attribute.name), None)
        if place is not None:
            kept += [None] * (place + 1 - len(kept))
            kept[place] = np.array(value_of(attribute), np.int64 if attribute.type in (A.INT, A.INTS) else np.float32)
        elif attribute.name in now.attributes and default_of(now.attributes[attribute.name]) != value_of(attribute):
            return None
    for name, value in moved.items():
        kind = schema.attributes[name].type.name
        items = [float(item) if "FLOAT" in kind else int(item) for item in np.ravel(value)]
        if not kind.endswith("S") and len(items) != 1:
            return None
        node.attribute.append(helper.make_attribute(name, items if kind.endswith("S") else items[0], attr_type=getattr(A, kind)))
    while kept and kept[-1] is None:
        kept.pop()
    for place, formal in enumerate(schema.inputs[:len(kept)]):
        if kept[place] is None and formal.option == FORMAL.Single:
            kept[place] = np.zeros(0, np.float32)   # Resize had to have a roi and scales
    if len(kept) > schema.max_input or len(kept) < schema.min_input:
        return None
    return case.changed(node=node, opset=opset, inputs=kept)


def value_is_attribute(op, formal, schema):
    name = ALIASES.get((op, formal.name), formal.name) if formal else None
    return name if name in schema.attributes else None


# ---- other dtypes

@functools.cache
def allowed(schema_key, parameter):
    schema = defs.get_schema(schema_key[0], schema_key[1], "")
    for constraint in schema.type_constraints:
        if constraint.type_param_str == parameter:
            return frozenset(name[name.rindex("(") + 1:].rstrip(")") for name in constraint.allowed_type_strs if "optional" not in name)
    return frozenset()


def cast(value, name):
    if isinstance(value, list):
        return [cast(item, name) for item in value]
    if value is None or value.dtype.kind in "OUST":
        return value
    dtype = helper.tensor_dtype_to_np_dtype(onnx.TensorProto.DataType.Value(name.upper()))
    wide = value.astype(np.float64) if value.dtype.kind not in "c" else value
    if dtype == np.dtype(bool):
        return wide > (0 if (wide < 0).any() else 0.5)
    if np.dtype(dtype).kind in "iu":
        if value.dtype.kind not in "iub":
            finite = np.nan_to_num(wide, nan=0, posinf=9, neginf=-9)
            wide = np.round(finite * 3) if finite.size and np.abs(finite).max() < 3 else np.round(finite)
        if np.dtype(dtype).kind == "u":
            wide = np.abs(wide)
        return np.clip(wide, -100, 100 if np.dtype(dtype).itemsize == 1 else 10_000).astype(dtype)
    return wide.astype(dtype)


def with_value(case, name):
    node = onnx.NodeProto()
    node.CopyFrom(case.node)
    for attribute in node.attribute:
        if attribute.name == "value" and attribute.type == A.TENSOR:
            attribute.t.CopyFrom(numpy_helper.from_array(cast(numpy_helper.to_array(attribute.t), name), "value"))
            return case.changed(node=node)
    return None


def without_overflow(op, place, value):
    """what becomes of integers beyond their range isn't defined"""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu":
        return value
    if op == "Pow":
        return np.clip(value, 0, 3)
    if op in ("Mul", "Add", "Sum", "Sub") or op.startswith("Reduce"):
        value = np.clip(value, -3, 3)
        return value + 3 if op == "Sub" and not place else value
    return value


def parameters(schema):
    """type parameters that leave a choice -> whether they are of outputs alone"""
    found = {}
    for constraint in schema.type_constraints:
        names = allowed((schema.name, schema.since_version), constraint.type_param_str)
        if len(names) > 1:
            found[constraint.type_param_str] = all(formal.type_str != constraint.type_param_str for formal in schema.inputs)
    return found


def with_dtype(case, schema, parameter, name):
    """None where the call can't have it"""
    inputs, touched = list(case.inputs), False
    for place, value in enumerate(inputs):
        formal = formal_at(schema.inputs, place)
        if formal and formal.type_str == parameter and value is not None:
            inputs[place], touched = cast(value, name), True
            inputs[place] = without_overflow(case.node.op_type, place, inputs[place])
    node = case.node
    if name in ("int4", "uint4", "int2", "uint2") and node.op_type in ("Cast", "CastLike") and isinstance(inputs[0], np.ndarray) and inputs[0].dtype.kind == "f":
        inputs[0] = np.round(inputs[0])   # what becomes of fractions isn't defined
    if not touched:
        attribute = next((a for a in ("to", "dtype", "output_dtype", "value") if a in schema.attributes), None)
        if not attribute or not parameters(schema).get(parameter):
            return None
        if attribute == "value":
            return with_value(case, name)
        node = onnx.NodeProto()
        node.CopyFrom(case.node)
        kept = [a for a in node.attribute if a.name != attribute]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute(attribute, onnx.TensorProto.DataType.Value(name.upper()))])
    return case.changed(inputs=inputs, node=node)


# ---- all

SEEDS = 3   # per version of an operator: so many vary in dtype; so many of other versions' calls have several forms


UNDEFINED_BEFORE = {"test_clip_min_greater_than_max": 13}   # versions that don't say what becomes of it


def all_cases(only=()):
    """(what, Case), of all seeds; `only`: these operators"""
    counted = {}
    for seed in [*seeds(), *by_hand()]:
        if seed.node.op_type in schemas() and (not only or seed.node.op_type in only):
            yield from variants(seed, counted)


FEW = {"seed": 4, "version": 4, "named": 1, "constant": 1, "used": 2, "dtype": 8}   # of a version, for an engine that takes its time


def few(all_of_them):
    counted = {}
    for what, case in all_of_them:
        key = case.node.op_type, case.schema.since_version, what
        counted[key] = counted.get(key, 0) + 1
        if counted[key] <= FEW[what]:
            yield what, case


def variants(seed, counted):
    """those of one seed; what ONNX itself has no results for is left out"""
    op = seed.node.op_type
    has_body = any(a.type in (A.GRAPH, A.GRAPHS) for a in seed.node.attribute)
    for version, (schema, opset) in in_force(op).items():
        own = seed.opset in OPSETS and defs.get_schema(op, seed.opset, "").since_version == version
        base = seed if own else at_version(seed, schema, opset)
        if base is None or version < UNDEFINED_BEFORE.get(seed.seed, 0):
            continue
        movable = others(base)
        if not own or seed.wanted is None:
            base = base.changed(by_onnxruntime=has_other_meaning(op, version, seed))
            done = base.computed() or (movable and base.changed(constant=movable).computed()) or base.computed_by_onnxruntime()
            if not done and seed.wanted is not None and not base.by_onnxruntime and base.is_valid():
                done = seed
            if not done:
                continue
            same = base.by_onnxruntime or seed.wanted is None or agree(done.wanted, seed.wanted)
            base = base.changed(wanted=done.wanted if same else seed.wanted, by_onnxruntime=not same or base.by_onnxruntime)
        yield "seed" if own else "version", base
        count = counted[op, version] = counted.get((op, version), 0) + 1
        if has_body:
            continue
        if own or count <= SEEDS:
            yield from forms(base)
        if count <= SEEDS - 1:
            yield from dtypes(base.changed(constant=movable if count == SEEDS - 1 else frozenset()), schema)


def agree(some, others):
    return len(some) == len(others) and not any(differs(a, b, 1e-3, 1e-6) for a, b in zip(some, others))


@functools.cache
def changes():
    return yaml.safe_load((ROOT / "mappings/onnx_changes.yaml").read_text())


def has_other_meaning(op, version, seed):
    """whether what the seed says means something else in that version; of versions that nobody has read yet, yes"""
    own = max(schema.since_version for schema in schemas()[op] if schema.since_version <= seed.opset)
    first, last = sorted((version, own))
    steps = {tuple(map(int, str(step).split("-"))): what for step, what in changes().get(op, {}).items()}
    inner = [schema.since_version for schema in schemas()[op] if first <= schema.since_version <= last]
    return any("meaning" in steps.get(step, {}) for step in zip(inner, inner[1:]))


def others(base):
    """the places of the inputs that may be constants"""
    return frozenset(i for i, value in enumerate(base.inputs) if isinstance(value, np.ndarray) and i)


def with_bodies():
    """(operator, opset, inputs, attributes) of the simplest bodies, which every version takes"""
    value = lambda name, dtype=onnx.TensorProto.FLOAT, dims=(2,): helper.make_tensor_value_info(name, dtype, dims)
    constant = lambda number: helper.make_graph([helper.make_node("Constant", [], ["b"], value=numpy_helper.from_array(np.full(2, number, np.float32)))],
                                                "branch", [], [value("b")])
    counted = [value("i", onnx.TensorProto.INT64, ()), value("c", onnx.TensorProto.BOOL, ()), value("v")]
    loop = helper.make_graph([helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Add", ["v", "v"], ["w"]), helper.make_node("Neg", ["v"], ["s"])],
                             "body", counted, [value("d", onnx.TensorProto.BOOL, ()), value("w"), value("s")])
    scan = helper.make_graph([helper.make_node("Add", ["v", "x"], ["w"]), helper.make_node("Neg", ["w"], ["s"])], "body", [value("v"), value("x")], [value("w"), value("s")])
    ones = np.ones(2, np.float32)
    yield "If", 7, [np.array(True)], {"then_branch": constant(1), "else_branch": constant(2)}, ["y"]
    yield "Loop", 7, [np.array(3), np.array(True), ones], {"body": loop}, ["y", "z"]
    yield "Scan", 9, [ones, np.arange(6, dtype=np.float32).reshape(3, 2)], {"body": scan, "num_scan_inputs": 1}, ["y", "z"]


def by_hand():
    """of operators of which ONNX has no node test with one node"""
    for op, opset, inputs, attributes, outputs in with_bodies():
        yield Case(op, helper.make_node(op, [f"x{i}" for i in range(len(inputs))], outputs, **attributes), opset, inputs, None).computed_by_onnxruntime()
    generator = np.random.default_rng(0)
    floats = lambda *shape: generator.normal(size=shape).astype(np.float32)
    for op, opset, inputs, attributes in (
        ("RandomNormal", 7, [], {"shape": [2, 3], "dtype": 1}),
        ("RandomUniform", 7, [], {"shape": [2, 3], "dtype": 1}),
        ("RandomNormalLike", 7, [floats(2, 3)], {}),
        ("RandomUniformLike", 7, [floats(2, 3)], {}),
        ("MaxRoiPool", 7, [floats(1, 1, 6, 6), np.array([[0, 0, 0, 3, 3], [0, 1, 1, 5, 4]], np.float32)], {"pooled_shape": [2, 2]}),
        ("ConvInteger", 10, [np.arange(9, dtype=np.uint8).reshape(1, 1, 3, 3), np.ones((1, 1, 2, 2), np.uint8), np.array(1, np.uint8)], {"pads": [1, 1, 1, 1]}),
        ("Multinomial", 7, [np.log(np.full((2, 4), 0.25, np.float32))], {"sample_size": 5}),
        ("GlobalLpPool", 7, [floats(1, 3, 5, 5)], {}),
        ("Upsample", 9, [floats(1, 1, 2, 2), np.array([1, 1, 2, 3], np.float32)], {}),
        ("Upsample", 9, [floats(1, 1, 2, 2), np.array([1, 1, 2, 2], np.float32)], {"mode": "linear"}),
    ):
        node = helper.make_node(op, [f"x{i}" for i in range(len(inputs))], ["y"], **attributes)
        yield Case(op, node, opset, inputs, None).computed_by_onnxruntime()


def forms(base):
    movable = others(base)
    if movable:
        yield "constant", base.changed(constant=movable)
        small = frozenset(i for i in movable if base.inputs[i].dtype.kind == "i")
        if small and small != movable:
            yield "constant", base.changed(constant=small)
    if any(isinstance(value, np.ndarray) and value.ndim for value in base.inputs):
        yield "named", base.changed(named=True, constant=movable)
    if len(base.used) > 1:
        for place in base.used:
            yield "used", base.changed(used=[place], wanted=[base.wanted[base.used.index(place)]], constant=movable)


def dtypes(base, schema):
    now = {formal_at(schema.inputs, i).type_str: dtype_name(value) for i, value in enumerate(base.inputs) if value is not None and formal_at(schema.inputs, i)}
    base = base.changed(inputs=[finite(value) for value in base.inputs])   # what becomes of others as integers isn't defined
    choices = parameters(schema)
    tried = set()
    for name in DTYPES:
        if name in ("string", "complex64", "complex128"):
            continue
        together = base
        for parameter, of_outputs in choices.items():
            if name not in allowed((schema.name, schema.since_version), parameter):
                continue
            if made := with_dtype(base, schema, parameter, name):
                yield from once(made, tried)
            if not of_outputs and now.get(parameter) not in ("int64", "int32", "bool", None):
                together = with_dtype(together, schema, parameter, name) or together
        if together is not base:
            yield from once(together, tried)


def finite(value):
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    return np.nan_to_num(value, nan=0, posinf=2, neginf=-2)


def once(made, tried):
    key = tuple(map(dtype_name, made.inputs)), tuple(str(a) for a in made.node.attribute)
    if key in tried:
        return
    tried.add(key)
    done = made.computed() or made.changed(constant=others(made)).computed() or made.computed_by_onnxruntime()
    if not done and made.node.op_type in RANDOM and made.is_valid():   # of them the forms count
        outputs = [onnx.helper.tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type) for one in made.model().graph.output]
        done = made.changed(wanted=[value.astype(dtype) for value, dtype in zip(made.wanted, outputs)])
    if done:
        yield "dtype", done.changed(constant=made.constant)
