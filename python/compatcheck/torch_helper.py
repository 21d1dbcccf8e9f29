"""Runs models with the torch of this Python for `verify`, by the protocol of the helper program (src/frontend/protocol.h).

It stands alone: compatcheck starts it as a process of its own, or calls `answer` in the process of a caller whose operators only
exist there. It needs torch 2.4 or later.
"""
# mypy: ignore-errors
import ctypes, importlib, mmap, os, select, socket, struct, sys, threading

VERSION, SNAPSHOT = 8, 6  # of the protocol and of snapshots
HELLO, LOAD, EXECUTION, OBSERVE, RUN, VALUES, SCHEMAS, ERROR = range(8)
MODEL_ERROR, USAGE_ERROR, INTERNAL_ERROR = range(3)
TENSOR, LIST, OPTIONAL, ANY_CLASS = 0, 16, 19, 29  # kinds of types that matter here
OLDEST = (2, 4)

torch = None  # imported when it is needed: what it says goes to the log of the helper


class ModelError(Exception):
    """The model can't be run."""


class UsageError(Exception):
    """The caller has to change something."""


# ---- Bytes


class Reader:
    def __init__(self, data):
        self.data, self.at = memoryview(data), 0

    def number(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def signed(self):
        coded = self.number()
        return (coded >> 1) ^ -(coded & 1)

    def double(self):
        return struct.unpack("<d", struct.pack("<Q", self.number()))[0]

    def blob(self):
        size = self.number()
        if self.at + size > len(self.data):
            raise ValueError("the bytes end too early")
        self.at += size
        return self.data[self.at - size:self.at]

    def text(self):
        return bytes(self.blob()).decode(errors="replace")

    def many(self, one):
        return [one() for _ in range(self.number())]

    def maybe(self, one):
        return one() if self.number() else None


class Writer:
    def __init__(self):
        self.parts = []

    def number(self, value):
        made = bytearray()
        while value >= 0x80:
            made.append(value & 0x7F | 0x80)
            value >>= 7
        made.append(value)
        self.parts.append(bytes(made))

    def signed(self, value):
        self.number(value << 1 if value >= 0 else (-value << 1) - 1)

    def double(self, value):
        self.number(struct.unpack("<Q", struct.pack("<d", value))[0])

    def blob(self, data):
        self.number(len(data))
        self.parts.append(bytes(data))

    def text(self, text):
        self.blob(text.encode(errors="replace"))

    def many(self, values, one):
        self.number(len(values))
        for value in values:
            one(value)

    def take(self):
        return b"".join(self.parts)


# ---- Snapshots (src/frontend/snapshot.cpp)


class Type:
    def __init__(self, kind, elements, name):
        self.kind, self.elements, self.name = kind, elements, name


class Value:
    def __init__(self, type, name):
        self.type, self.name = type, name


class Block:
    def __init__(self):
        self.inputs, self.nodes, self.outputs = [], [], []


class Node:
    def __init__(self, op, overload, place):
        self.op, self.overload, self.place = op, overload, place


class Constant:
    """A constant that isn't the same in Python."""

    def __init__(self, kind, **parts):
        self.kind = kind
        self.__dict__.update(parts)


class Snapshot(Reader):
    def __init__(self, data, content):
        super().__init__(data)
        if bytes(self.data[:4]) != b"CCSN":
            raise ValueError("it isn't a snapshot")
        self.at = 4
        if self.number() != SNAPSHOT or self.number() != content:
            raise ValueError("a snapshot of another version")
        self.texts = self.many(self.text)
        self.types, self.locations, self.storages = [None], [None], [None]
        for table, one in ((self.types, self.type), (self.locations, self.location), (self.storages, self.storage)):
            for _ in range(self.number()):
                table.append(one())
        self.values, self.blocks = [], []

    def word(self):
        return self.texts[self.number()]

    def held_type(self):
        return self.types[self.number()]

    def quantizer(self):
        per_channel, scale, zero_point = self.number(), self.double(), self.signed()
        return dict(per_channel=per_channel, scale=scale, zero_point=zero_point, scales=self.many(self.double),
                    zero_points=self.many(self.signed), float_zero_points=self.many(self.double), axis=self.signed())

    def type(self):
        kind = self.number()
        if kind == TENSOR:
            self.maybe(self.number)
            for _ in range(2):
                self.maybe(lambda: self.many(lambda: self.maybe(self.signed)))
            self.maybe(self.number)
            self.word()
            self.maybe(self.quantizer)
        made = Type(kind, self.many(self.held_type), self.word())
        self.many(self.word)
        return made

    def location(self):
        file, line = self.word(), self.signed()
        self.signed(), self.word(), self.word(), self.number()
        return f"{file}:{line}" if file else ""

    def storage(self):
        in_file, offset, size = self.number(), self.number(), self.number()
        self.word()
        return dict(in_file=in_file, offset=offset, bytes=size, data=bytearray(self.blob()))

    def tensor(self):
        made = dict(dtype=self.number(), sizes=self.many(self.signed), strides=self.many(self.signed), offset=self.signed())
        made["storage"] = self.storages[self.number()]
        self.number(), self.word()
        made["quantizer"] = self.maybe(self.quantizer)
        return Constant("tensor", **made)

    def constant(self):
        kind = self.number()
        if kind == 0:
            return None
        if kind == 1:
            return self.signed()
        if kind == 2:
            return self.double()
        if kind == 3:
            return bool(self.number())
        if kind == 4:
            return complex(self.double(), self.double())
        if kind == 5:
            return self.word()
        if kind == 6:
            return self.tensor()
        if kind == 7:
            self.number()
            made = Constant("list", items=self.many(self.constant))
            self.number()
            return made
        if kind == 8:
            self.number()
            return Constant("tuple", items=self.many(self.constant))
        if kind == 9:
            self.number(), self.number()
            made = Constant("dict", items=self.many(lambda: (self.constant(), self.constant())))
            self.number()
            return made
        if kind == 10:
            return Constant("object", number=self.number())
        if kind == 11:
            return Constant("enum", name=(self.word(), self.word()), value=self.maybe(self.constant))
        return Constant(("device", "function", "opaque")[kind - 12], name=self.word())

    def defined(self):
        value = Value(self.held_type(), self.word())
        value.position = len(self.values)
        self.values.append(value)
        return value

    def used(self):
        return self.values[self.number()]

    def block(self):
        block = Block()
        block.number = len(self.blocks)
        self.blocks.append(block)
        block.inputs = self.many(self.defined)
        block.nodes = self.many(self.node)
        block.outputs = self.many(self.used)
        return block

    def node(self):
        op, overload = self.word(), self.word()
        self.word()
        node = Node(op, overload, self.locations[self.number()])
        node.inputs = self.many(self.used)
        node.attributes = dict(self.many(lambda: (self.word(), self.constant())))
        node.blocks = self.many(self.block)
        node.outputs = self.many(self.defined)
        return node


class ConstantWriter(Writer):
    """Results as a snapshot: of what PyTorch gives, or of lists, tuples and texts around it."""

    def __init__(self):
        super().__init__()
        self.texts, self.storages = {}, []

    def word(self, text):
        self.number(self.texts.setdefault(text, len(self.texts)))

    def quantizer(self, _):
        raise AssertionError("results hold no quantized tensors")

    def tensor(self, tensor):
        if tensor.is_quantized:
            tensor = tensor.dequantize()
        if tensor.layout != torch.strided:
            tensor = tensor.to_dense()
        tensor = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
        numbers = [number for number, dtype in dtypes().items() if dtype == tensor.dtype]
        if not numbers:
            raise ModelError("gives a tensor of an unknown dtype")
        self.storages.append(ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()) if tensor.numel() else b"")
        self.number(6)
        self.number(numbers[0])
        self.many(list(tensor.shape), self.signed)
        self.many(list(tensor.stride()), self.signed)
        self.signed(0)
        self.number(len(self.storages))
        self.number(0)
        self.word("cpu")
        self.number(0)

    def items(self, kind, items):
        self.number(kind)
        self.number(0)
        self.many(items, self.constant)
        if kind == 7:
            self.number(0)

    def constant(self, value):
        if value is None or value is UNINITIALIZED:
            self.number(0)
        elif isinstance(value, torch.Tensor):
            self.tensor(value)
        elif isinstance(value, bool):
            self.number(3)
            self.number(value)
        elif isinstance(value, int):
            self.number(1)
            self.signed(value)
        elif isinstance(value, float):
            self.number(2)
            self.double(value)
        elif isinstance(value, complex):
            self.number(4)
            self.double(value.real)
            self.double(value.imag)
        elif isinstance(value, str):
            self.number(5)
            self.word(value)
        elif isinstance(value, list):
            self.items(7, value)
        elif isinstance(value, tuple):
            self.items(8, value)
        elif isinstance(value, dict):
            self.number(9)
            self.number(0)
            self.number(0)
            self.number(len(value))
            for key, held in value.items():
                self.constant(key)
                self.constant(held)
            self.number(0)
        elif isinstance(value, torch.ScriptObject) or isinstance(value, torch.jit.ScriptModule):
            raise ModelError("gives an object, which can't be compared by the Python helper")
        else:
            raise ModelError(f"gives a {type(value).__name__}, which can't be compared")

    def snapshot(self, value):
        self.constant(value)
        whole = Writer()
        whole.parts.append(b"CCSN")
        whole.number(SNAPSHOT)
        whole.number(2)
        whole.many(list(self.texts), whole.text)
        whole.number(0)
        whole.number(0)
        whole.number(len(self.storages))
        for data in self.storages:
            for number in (0, 0, len(data), self.texts.get("cpu", 0)):
                whole.number(number)
            whole.blob(data)
        whole.parts.append(self.take())
        return whole.take()


def encoded(value):
    return ConstantWriter().snapshot(value)


UNINITIALIZED = object()

# ---- Values of torch


def dtypes():
    names = {0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32", 7: "float64", 8: "complex32",
             9: "complex64", 10: "complex128", 11: "bool", 12: "qint8", 13: "quint8", 14: "qint32", 15: "bfloat16",
             16: "quint4x2", 17: "quint2x4", 23: "float8_e5m2", 24: "float8_e4m3fn", 25: "float8_e5m2fnuz",
             26: "float8_e4m3fnuz", 27: "uint16", 28: "uint32", 29: "uint64"}
    return {number: getattr(torch, name) for number, name in names.items() if hasattr(torch, name)}


class Constants:
    """Constants of a graph, and arguments, as values of torch."""

    def __init__(self, path, objects=None):
        self.path, self.objects, self.mapped, self.storages = path, objects, None, {}

    def bytes_of(self, storage):
        if not storage["bytes"]:
            return torch.empty(0, dtype=torch.uint8)
        if not storage["in_file"]:
            return torch.frombuffer(storage["data"], dtype=torch.uint8)
        if self.mapped is None:
            with open(self.path, "rb") as file:
                self.mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        return torch.frombuffer(self.mapped, dtype=torch.uint8, offset=storage["offset"], count=storage["bytes"])

    def tensor(self, view):
        dtype = dtypes()[view.dtype]
        plain = {12: torch.int8, 13: torch.uint8, 14: torch.int32}.get(view.dtype, dtype) if view.quantizer else dtype
        if view.storage is None:
            return torch.zeros(view.sizes, dtype=plain)
        if id(view.storage) not in self.storages:
            self.storages[id(view.storage)] = self.bytes_of(view.storage)
        storage = self.storages[id(view.storage)].untyped_storage()
        made = torch.empty(0, dtype=plain).set_(storage, view.offset, view.sizes, view.strides)
        quantizer = view.quantizer
        if not quantizer:
            return made
        if not quantizer["per_channel"]:
            return torch._make_per_tensor_quantized_tensor(made, quantizer["scale"], quantizer["zero_point"])
        zero_points = (torch.tensor(quantizer["float_zero_points"], dtype=torch.float32) if quantizer["float_zero_points"]
                       else torch.tensor(quantizer["zero_points"], dtype=torch.int64))
        scales = torch.tensor(quantizer["scales"], dtype=torch.float64)
        return torch._make_per_channel_quantized_tensor(made, scales, zero_points, quantizer["axis"])

    def read(self, held):
        if not isinstance(held, Constant):
            return held
        if held.kind == "tensor":
            return self.tensor(held)
        if held.kind == "list":
            return [self.read(item) for item in held.items]
        if held.kind == "tuple":
            return tuple(self.read(item) for item in held.items)
        if held.kind == "dict":
            return {self.read(key): self.read(value) for key, value in held.items}
        if held.kind == "device":
            return torch.device("cpu")
        if held.kind == "function":
            return None
        raise ModelError(f"a constant that is an {held.kind} can't be run by the Python helper")


def copied(value):
    """Of its own memory: a call may write to its arguments."""
    if isinstance(value, torch.Tensor):
        return value.clone(memory_format=torch.preserve_format)
    if isinstance(value, list):
        return [copied(item) for item in value]
    if isinstance(value, tuple):  # a NamedTuple, too
        return tuple(copied(item) for item in value)
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return value


def bytes_of(value):
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    return 8 + (sum(map(bytes_of, value)) if isinstance(value, (list, tuple)) else 0)


# ---- Operators


def fits(value, formal, fit):
    """Whether an operator takes the value: 0 as it is, 1 with the conversions of TorchScript, 2 a number for a tensor."""
    kind = formal.kind()
    if kind in ("AnyType", "VarType"):
        return True
    if kind == "OptionalType":
        return value is None or fits(value, formal.getElementType(), fit)
    if kind == "ListType":
        return isinstance(value, list) and all(fits(item, formal.getElementType(), fit) for item in value)
    if isinstance(value, bool):
        return kind == "BoolType" or (fit > 0 and kind in ("NumberType", "IntType")) or (fit > 1 and kind == "TensorType")
    if isinstance(value, (int, float, complex)):
        own = "IntType" if isinstance(value, int) else "FloatType" if isinstance(value, float) else "ComplexType"
        return (kind in (own, "NumberType") or (fit > 0 and kind == "FloatType" and own == "IntType")
                or (fit > 1 and kind == "TensorType"))
    if isinstance(value, torch.Tensor):
        return kind == "TensorType"
    if isinstance(value, torch.device):
        return kind == "DeviceObjType"
    if isinstance(value, str):
        return kind in ("StringType", "DeviceObjType")
    if value is None:
        return kind == "NoneType"
    if isinstance(value, (list, dict, tuple)):
        return kind == {list: "AnyListType", dict: "DictType", tuple: "TupleType"}[type(value)]
    return kind not in ("TensorType", "IntType", "FloatType", "BoolType", "NumberType", "StringType", "ListType")


class Operators:
    def __init__(self):
        self.known = {}

    def schemas(self, op):
        if op not in self.known:
            for space, module in (("torchvision", "torchvision"), ("quantized_decomposed", "torch.ao.quantization.fx._decomposed")):
                if op.startswith(space + "::"):
                    try:
                        importlib.import_module(module)
                    except ImportError as error:
                        raise ModelError(f"{op} isn't registered: {error}") from None
            self.known[op] = torch._C._jit_get_schemas_for_operator(op)
        return self.known[op]

    def choose(self, op, overload, arguments):
        schemas = self.schemas(op)
        for fit in range(3):
            for named in (True, False):  # the named overload first
                for schema in schemas:
                    if (schema.overload_name == overload) == named and self.takes(schema, arguments, fit):
                        return schema
        if not schemas:
            raise ModelError(f"{op} is not registered: it can't be run")
        types = ", ".join(type(argument).__name__ for argument in arguments)
        raise ModelError(f"no overload of {op} takes ({types})")

    @staticmethod
    def takes(schema, arguments, fit):
        formals = schema.arguments
        if len(arguments) > len(formals):
            return False
        if not all(formal.has_default_value() for formal in formals[len(arguments):]):
            return False
        return all(fits(value, formal.type, fit) for value, formal in zip(arguments, formals))

    def call(self, op, overload, arguments):
        if op in PYTHON_OPERATORS and takes_containers(arguments):
            return [PYTHON_OPERATORS[op](*arguments)]
        schema = self.choose(op, overload, arguments)
        function = torch._C._get_operation_overload(op, schema.overload_name)[0]
        given, named = [], {}
        for value, formal in zip(arguments, schema.arguments):
            if formal.kwarg_only:
                named[formal.name] = value
            else:
                given.append(value)
        result = function(*given, **named)
        results = [] if not schema.returns else [result] if len(schema.returns) == 1 else list(result)
        # aten::pow.int_to_int gives a float.
        return [int(made) if isinstance(made, float) and formal.type.kind() == "IntType" else made
                for made, formal in zip(results, schema.returns)]


def takes_containers(arguments):
    return any(isinstance(argument, (list, dict, str)) for argument in arguments[:1])


def written(function):
    """Returns the container that it changes, as the operator does."""
    def call(container, *arguments):
        function(container, *arguments)
        return container
    return call


def sliced(container, start, end, step):
    return container[start:end:step]


def ordered(items, reverse=False):
    items.sort(reverse=reverse)


def removed(container, at):
    del container[at]


def stored(container, at, value):
    container[at] = value


# Of lists, dictionaries and texts, which the operators of torch would take as copies.
PYTHON_OPERATORS = {
    "aten::len": len,
    "aten::__getitem__": lambda container, at: container[at],
    "aten::__contains__": lambda container, key: key in container,
    "aten::append": written(lambda items, item: items.append(item)),
    "aten::extend": written(lambda items, more: items.extend(more)),
    "aten::insert": written(lambda items, at, item: items.insert(at, item)),
    "aten::pop": lambda container, *key: container.pop(*key),
    "aten::clear": written(lambda container: container.clear()),
    "aten::remove": written(lambda items, item: items.remove(item)),
    "aten::reverse": written(lambda items: items.reverse()),
    "aten::sort": written(ordered),
    "aten::sorted": sorted,
    "aten::copy": lambda container: container.copy(),
    "aten::index": lambda items, item: items.index(item),
    "aten::count": lambda container, item: container.count(item),
    "aten::_set_item": written(stored),
    "aten::Delete": written(removed),
    "aten::list": list,
    "aten::add": lambda container, more: container + more,
    "aten::add_": written(lambda items, more: items.extend(more)),
    "aten::mul": lambda container, times: container * times,
    "aten::slice": sliced,
    "aten::eq": lambda one, other: one == other,
    "aten::ne": lambda one, other: one != other,
    "aten::keys": lambda held: list(held.keys()),
    "aten::values": lambda held: list(held.values()),
    "aten::items": lambda held: list(held.items()),
    "aten::get": lambda held, key, *otherwise: held.get(key, *otherwise),
    "aten::setdefault": lambda held, key, value: held.setdefault(key, value),
    "aten::update": written(lambda held, more: held.update(more)),
    "aten::format": lambda text, *values: text.format(*values),
}


# ---- Graphs (src/frontend/torchscript/interpreter.cpp)


def numbers_of(tensor, element):
    if tensor.dim():
        return [numbers_of(tensor[i], element) for i in range(tensor.size(0))]
    return (int, float, bool)[element](tensor.item())


class Interpreter:
    """Runs a graph node by node."""

    def __init__(self, graph, constants, module=None, defined=None, finished=None):
        self.graph, self.constants, self.module = graph, constants, module
        self.defined, self.finished = defined, finished
        self.operators, self.values, self.read, self.located = Operators(), {}, {}, False

    def get(self, value):
        return self.values.get(value.position)  # None where it isn't defined yet: a block is asked for values around it

    def define(self, value, held):
        if self.defined:
            self.defined(value, held)
        self.values[value.position] = held

    def define_all(self, values, held):
        if len(values) != len(held):
            raise ModelError(f"gives {len(held)} values, the graph takes {len(values)}")
        for value, each in zip(values, held):
            self.define(value, each)

    def run(self, inputs):
        if len(inputs) != len(self.graph.inputs):
            raise ModelError(f"the graph takes {len(self.graph.inputs)} inputs, not {len(inputs)}")
        self.define_all(self.graph.inputs, inputs)
        return self.block(self.graph)

    def block(self, block):
        for node in block.nodes:
            try:
                self.node(node)
            except Exception as error:
                if self.located:
                    raise
                self.located = True
                names = ", ".join("%" + output.name for output in node.outputs)
                text = (names + " = " if names else "") + node.op + (f" at {node.place}" if node.place else "")
                raise ModelError(f"{text}: {first_sentence(str(error))}") from error
        outputs = [self.get(value) for value in block.outputs]
        if self.finished:
            self.finished(block, self.get)
        return outputs

    def node(self, node):
        if node.op == "prim::If":
            condition, taken, otherwise = self.get(node.inputs[0]), *node.blocks
            return self.define_all(node.outputs, self.block(taken if bool(condition) else otherwise))
        if node.op == "prim::Loop":
            return self.loop(node)
        inputs = [self.get(value) for value in node.inputs]
        structural = getattr(self, node.op.replace("::", "_"), None) if node.op.startswith("prim::") else None
        if structural:
            return structural(node, inputs)
        if node.op == "aten::wait":
            return self.define(node.outputs[0], inputs[0])
        if self.takes_number(node):
            inputs[1] = inputs[1].item()
        results = self.operators.call(node.op, node.overload, inputs)
        tensors = [each for each in (*results[:1], *inputs[:1]) if isinstance(each, torch.Tensor)]
        if len(results) == 1 and "inplace" in node.attributes and len(tensors) == 2:
            results[0] = results[0].to(inputs[0].dtype)
        self.define_all(node.outputs, results[:len(node.outputs)] if not node.outputs else results)

    def loop(self, node):
        most, going, *carried = [self.get(value) for value in node.inputs]
        (body,) = node.blocks
        turn = 0
        while going and turn < most:
            self.define_all(body.inputs, [turn, *carried])
            going, *carried = self.block(body)
            turn += 1
        self.define_all(node.outputs, carried)

    def takes_number(self, node):
        """As libtorch's executor: of these a constant without dimensions promotes as a number."""
        three, two = node.op in ("aten::add", "aten::sub"), node.op in ("aten::mul", "aten::div")
        if not (three and len(node.inputs) == 3) and not (two and len(node.inputs) == 2):
            return False
        maker = self.read.get(node.inputs[1].position)
        return maker is not None and isinstance(maker[0], torch.Tensor) and not maker[0].dim() and "path" not in maker[1]

    def prim_Constant(self, node, _):
        output = node.outputs[0]
        if output.position not in self.read:
            held = node.attributes.get("value")
            if isinstance(held, Constant) and held.kind == "object":
                made = self.stored(node.attributes.get("path"))
            else:
                made = self.constants.read(held)
            self.read[output.position] = made, node.attributes
        self.define(output, self.read[output.position][0])

    def stored(self, path):
        if not isinstance(path, str) or self.module is None:
            raise ModelError("an object that only the code holds can't be run by the Python helper")
        return member_at(self.module(), path)

    def same(self, node, inputs):
        self.define(node.outputs[0], inputs[0])

    prim_unchecked_cast = prim_unchecked_unwrap_optional = same

    def prim_Uninitialized(self, node, _):
        self.define(node.outputs[0], UNINITIALIZED)

    def prim_StackAppend(self, node, inputs):
        stack, row = inputs
        row = row.unsqueeze(0)
        self.define(node.outputs[0], torch.cat([stack, row]) if isinstance(stack, torch.Tensor) else row)

    def prim_Print(self, node, inputs):
        pass

    def prim_RaiseException(self, node, inputs):
        raise ModelError(f"the model raises {inputs[0] if isinstance(inputs[0], str) else 'an exception'}")

    def prim_ListConstruct(self, node, inputs):
        self.define(node.outputs[0], list(inputs))

    def prim_TupleConstruct(self, node, inputs):
        self.define(node.outputs[0], tuple(inputs))

    def prim_DictConstruct(self, node, inputs):
        self.define(node.outputs[0], dict(zip(inputs[::2], inputs[1::2])))

    def prim_OptionalConstruct(self, node, inputs):
        self.define(node.outputs[0], inputs[1] if bool(inputs[0]) else None)

    def unpacked(self, node, inputs):
        self.define_all(node.outputs, list(inputs[0]))

    prim_ListUnpack = prim_TupleUnpack = unpacked

    def prim_TupleIndex(self, node, inputs):
        self.define(node.outputs[0], inputs[0][inputs[1]])

    def prim_TupleSlice(self, node, inputs):
        self.define(node.outputs[0], inputs[0][node.attributes["beg"]:node.attributes["end"]])

    def prim_tolist(self, node, inputs):
        self.define(node.outputs[0], numbers_of(inputs[0], inputs[2]))

    def prim_GetAttr(self, node, inputs):
        self.define(node.outputs[0], getattr(inputs[0], node.attributes["name"]))

    def prim_SetAttr(self, node, inputs):
        setattr(inputs[0], node.attributes["name"], inputs[1])

    def prim_isinstance(self, node, inputs):
        names = {each: each.__name__ for each in (bool, int, float, complex, str, list, tuple, type(None))}
        own = "Tensor" if isinstance(inputs[0], torch.Tensor) else names.get(type(inputs[0]))
        types = [self.constants.read(item) for item in node.attributes["types"].items]
        if own not in types and own in ("list", "tuple", None) and not {"list", "tuple"} & set(types):
            raise ModelError("prim::isinstance of containers can't be run by the Python helper")
        self.define(node.outputs[0], own in types)


def member_at(held, path):
    """The value that a path leads to: by attributes, places in lists and tuples, and keys of dictionaries, which may have dots."""
    def found(name, member):
        if path == name:
            return [member]
        return member_at(member, path[len(name) + 1:]) if path.startswith(name + ".") else None

    if isinstance(held, (list, tuple)):
        members = [(str(i), item) for i, item in enumerate(held)]
    elif isinstance(held, dict):
        members = [(str(key), item) for key, item in held.items()]
    else:
        parts = path.split(".")
        members = [(name, getattr(held, name)) for name in (".".join(parts[:i]) for i in range(1, len(parts) + 1)) if hasattr(held, name)]
    for name, member in members:
        result = found(name, member)
        if result is not None:
            return result
    return None


def attribute(module, method, path):
    try:
        held = member_at(module, path)
    except RuntimeError:  # an object of TorchScript's own class has no form in Python
        held = [read_by_graph(module, module._c._get_method(method).inlined_graph, path)]
    if held is None:
        raise ModelError(f"has no attribute {path}")
    return held[0]


def read_by_graph(module, method, path):
    """Reads an attribute by a graph of its own, with the types that the method's graph has for the attributes on the way."""
    types = {}

    def note_types(block):
        for node in block.nodes():
            if node.kind() in ("prim::GetAttr", "prim::SetAttr"):
                held = node.output() if node.kind() == "prim::GetAttr" else node.inputsAt(1)
                types[node.inputsAt(0).type().str(), node.s("name")] = held.type()
            for inner in node.blocks():
                note_types(inner)

    note_types(method)
    graph = torch._C.Graph()
    value = graph.addInput("self")
    value.setType(next(method.inputs()).type())
    rest = path.split(".")
    while rest and (value.type().kind() == "ClassType" or holds_objects(value.type())):
        name = rest.pop(0)
        if value.type().kind() == "ClassType":
            node = graph.create("prim::GetAttr", [value], 1)
            node.s_("name", name)
            type = types.get((value.type().str(), name))
        else:
            node = graph.create("aten::__getitem__", [value, graph.insertConstant(int(name))], 1)
            type = value.type().getElementType()
        if type is None:
            raise ModelError(f"keeps {path} in an object that the helper in Python can't read")
        node.output().setType(type)
        graph.appendNode(node)
        value = node.output()
    graph.registerOutput(value)
    held = torch._C._jit_interpret_graph(graph, (module._c,))
    return member_at(held, ".".join(rest))[0] if rest else held


def holds_objects(type):
    return type.kind() == "ListType" and type.getElementType().kind() == "ClassType"


# ---- Answers


def first_sentence(message):
    """What went wrong, without tracebacks and C++ frames (src/frontend/libtorch_message.cpp)."""
    for start in ("\nException raised from ", "\nframe #"):
        message = message.split(start)[0]
    text = message.strip()
    if text.startswith("The following operation failed"):
        text = text.rpartition("RuntimeError: ")[2].strip() if "RuntimeError: " in text else text.splitlines()[-1].strip()
    line = (text.splitlines() or [""])[0].strip()
    at = line.find(". ")
    while at >= 0:
        rest = line[at + 1:].lstrip()
        if rest[:1].isupper() and at and line[at - 1] != ".":
            line = line[:at + 1]
            break
        at = line.find(". ", at + 1)
    inside, check, _ = line.partition(" INTERNAL ASSERT FAILED at \"")
    return "a check inside of libtorch failed: " + inside if check else line.removesuffix(":")


def import_torch():
    global torch
    if torch is not None:
        return
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise UsageError(f"{sys.executable} can't import torch: {error}") from None
    release = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if release < OLDEST:
        raise UsageError(f"{sys.executable} has torch {torch.__version__}; verify needs torch 2.4 or later")


class PlainExecution:
    """One thread, so that sums come out the same; with gradients or without. A caller's process stays as it was."""

    def __init__(self, gradients):
        self.gradients = gradients

    def __enter__(self):
        self.before = torch.get_num_threads(), torch.is_grad_enabled(), torch.get_rng_state()
        torch.set_num_threads(1)
        torch.set_grad_enabled(self.gradients)

    def __exit__(self, *_):
        threads, enabled, generator = self.before
        torch.set_num_threads(threads)
        torch.set_grad_enabled(enabled)
        torch.set_rng_state(generator)


loaded = {}  # schemas that each library or module registered


def load_operators(names):
    """Loads libraries, which have absolute paths, and imports modules; returns the schemas that they register."""
    for name in names:
        if name in loaded:
            continue
        before = {str(schema) for schema in torch._C._jit_get_all_schemas()}
        try:
            torch.ops.load_library(name) if "/" in name else importlib.import_module(name)
        except Exception as error:
            what = "can't load the library" if "/" in name else "can't import the module"
            raise UsageError(f"{what} {name} with {sys.executable}: {first_sentence(str(error)) or type(error).__name__}") from None
        loaded[name] = sorted({str(schema) for schema in torch._C._jit_get_all_schemas()} - before)
    return [schema for name in names for schema in loaded[name]]


class Model:
    def __init__(self, request):
        self.path, self.name = request.text(), request.text()
        self.operators = request.many(request.text)
        request.many(request.text)
        self.gradients = bool(request.number())
        self.module = None

    def load(self):
        if self.module is None:
            self.module = torch.jit.load(self.path, map_location="cpu")
            if hasattr(self.module, "training"):
                self.module.eval()
        return self.module


def arguments_of(held, constants):
    if not isinstance(held, Constant) or held.kind != "tuple":
        raise AssertionError("a request to run holds no arguments")
    return [copied(constants.read(argument)) for argument in held.items]


def nudge_weights(module, method, draw):
    """Flips the last bit of half of the finite floats that aren't zero."""
    generator = torch.Generator().manual_seed(draw)
    whole = {torch.float64: torch.int64, torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
    seen = set()

    def add(tensor):
        if not isinstance(tensor, torch.Tensor) or tensor.is_quantized or tensor.layout != torch.strided or tensor.dtype not in whole:
            return
        storage = tensor.untyped_storage()
        if storage.data_ptr() in seen or not storage.nbytes():
            return
        seen.add(storage.data_ptr())
        flat = torch.empty(0, dtype=tensor.dtype).set_(storage, 0, [storage.nbytes() // tensor.element_size()], [1])
        chosen = (torch.rand(flat.shape, generator=generator) < 0.5) & (flat != 0) & flat.isfinite()
        bits = flat.view(whole[tensor.dtype])
        bits ^= chosen.to(bits.dtype)

    objects = {}  # by the names of the graph's values

    def walk(block):
        for node in block.nodes():
            if node.kind() == "prim::Constant" and node.hasAttribute("value") and node.kindOf("value") == "t":
                add(node.t("value"))
            holder = objects.get(node.inputsAt(0).debugName()) if node.kind() == "prim::GetAttr" else None
            if holder is not None:
                held = getattr(holder, node.s("name"))
                objects[node.output().debugName()] = held
                for tensor in held if isinstance(held, (list, tuple)) else [held]:
                    add(tensor)
            for inner in node.blocks():
                walk(inner)

    with torch.no_grad():
        for tensor in (*module.parameters(), *module.buffers()):
            add(tensor)
        graph = module._c._get_method(method).inlined_graph
        objects[next(graph.inputs()).debugName()] = module
        walk(graph)


def run(request):
    model = Model(request)
    method, arguments, seed, nudge = request.text(), request.blob(), request.number(), request.number()
    state = request.many(request.text)
    load_operators(model.operators)
    snapshot = Snapshot(arguments, 2)
    calls = snapshot.constant()
    with PlainExecution(model.gradients):
        if nudge:
            nudge_weights(model.load(), method, nudge)
        constants, results, states = Constants(None), [], []

        def note_state():
            states.append(copied(tuple(attribute(model.load(), method, path) for path in state)))

        note_state()
        for call in calls.items:
            try:
                given = arguments_of(call, constants)
                torch.manual_seed(seed + len(results))
                results.append((encodable(getattr(model.load(), method)(*given)),))
            except Exception as error:
                results.append(first_sentence(str(error)) or type(error).__name__)
            note_state()
        return RUN, [encoded(results), encoded(states)]


def encodable(result):
    """The result, copied, or an exception if it can't be compared."""
    encoded(result)
    return copied(result)


def values(request):
    model = Model(request)
    graph, arguments = request.blob(), request.blob()
    seed, most = request.number(), request.number()
    wanted = request.many(lambda: (request.number(), request.number(), request.number(), request.many(request.number)))
    load_operators(model.operators)
    graph = Snapshot(graph, 1)
    top = graph.block()
    executions, sizes = [0] * len(graph.blocks), [0] * len(graph.values)
    observed, held_bytes, too_many = [[] for _ in wanted], 0, False

    def defined(value, held):
        sizes[value.position] += bytes_of(held)

    def finished(block, get):
        nonlocal held_bytes, too_many
        execution = executions[block.number]
        executions[block.number] += 1
        for (number, first, end, positions), made in zip(wanted, observed):
            if number != block.number or not first <= execution < end or too_many:
                continue
            values = [get(graph.values[position]) for position in positions]
            held_bytes += sum(map(bytes_of, values))
            if held_bytes > most:
                too_many = True
                for each in observed:
                    each.clear()
                return
            made.append(tuple(copied(value) for value in values))

    constants = Constants(model.path)
    with PlainExecution(model.gradients):
        given = arguments_of(Snapshot(arguments, 2).constant(), constants)
        torch.manual_seed(seed)
        try:
            Interpreter(top, constants, model.load, defined, finished).run(given)
        except Exception as error:
            raise ModelError(f"the graph doesn't run: {first_sentence(str(error))}") from None
        return VALUES, [executions, sizes, too_many, encoded(observed)]


def schemas(request):
    return SCHEMAS, [load_operators(request.many(request.text))]


def encode_reply(kind, parts):
    reply = Writer()
    reply.number(kind)
    for part in parts:
        if isinstance(part, bytes):
            reply.blob(part)
        elif isinstance(part, str):
            reply.text(part)
        elif isinstance(part, list):
            reply.many(part, reply.text if part and isinstance(part[0], str) else reply.number)
        else:
            reply.number(int(part))
    return reply.take()


def answer(message, descriptor=-1):
    """The reply to a request, as bytes. The descriptor is of the model's file."""
    try:
        import_torch()
        request = Reader(message)
        kind = request.number()
        if kind == HELLO:
            return encode_reply(HELLO, [VERSION, 0, torch.__version__.split("+")[0]])
        if kind not in (RUN, VALUES, SCHEMAS):
            raise UsageError("reading a model with libtorch needs the helper program compatcheck-torchscript, which `make` builds")
        if descriptor >= 0 and kind != SCHEMAS:  # the path is the first part of the request
            start = request.at
            request.blob()
            path = Writer()
            path.text(f"/proc/self/fd/{descriptor}")
            request = Reader(bytes(request.data[:start]) + path.take() + bytes(request.data[request.at:]))
            request.at = start
        return encode_reply(*{RUN: run, VALUES: values, SCHEMAS: schemas}[kind](request))
    except UsageError as error:
        return encode_reply(ERROR, [USAGE_ERROR, str(error)])
    except ModelError as error:
        return encode_reply(ERROR, [MODEL_ERROR, str(error)])
    except MemoryError:
        return encode_reply(ERROR, [MODEL_ERROR, "the loader ran out of the memory that it may use (LoadOptions::memory_mb gives it more)"])
    except Exception as error:
        return encode_reply(ERROR, [MODEL_ERROR, first_sentence(str(error)) or type(error).__name__])


# ---- The process


SOCKET = 3


def exit_with_the_tool():
    poll = select.poll()
    poll.register(SOCKET, select.POLLRDHUP)
    poll.poll()
    os._exit(0)


def receive(tool, size, descriptors):
    data = bytearray()
    while len(data) < size:
        part, ancillary, _, _ = tool.recvmsg(min(size - len(data), 1 << 24), socket.CMSG_SPACE(4))
        for level, kind, held in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.append(struct.unpack("i", held[:4])[0])
        if not part:
            return None
        data += part
    return bytes(data)


def serve():
    threading.Thread(target=exit_with_the_tool, daemon=True).start()
    threading.stack_size(256 << 20)
    server = threading.Thread(target=serve_requests)
    server.start()
    server.join()
    os._exit(0)


def serve_requests():
    tool = socket.socket(fileno=SOCKET)
    while True:
        descriptors = []
        header = receive(tool, 16, descriptors)
        message = receive(tool, struct.unpack("<QQ", header)[1], descriptors) if header else None
        if message is None:
            return
        reply = answer(message, descriptors[-1] if descriptors else -1)
        for descriptor in descriptors:
            os.close(descriptor)
        tool.sendall(header[:8] + struct.pack("<Q", len(reply)) + reply)


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())  # modules of operators may stand there
    serve()
