#!/usr/bin/env python3
"""--inputs-from on files that torch, NumPy and onnx write: the dtypes and shapes in the report, and the whole word where a file
doesn't fit; every such file cut anywhere or with any byte changed is read or refused with a reason, never worse."""
import argparse, collections, io, json, os, pathlib, random, subprocess, sys, tempfile, warnings, zipfile

import numpy, onnx, torch
from onnx import numpy_helper

warnings.simplefilter("ignore")  # of quantized tensors
ones = torch.ones
Point = collections.namedtuple("Point", ["x", "y"])
MODELS = {
    "one": "graph(%x : Tensor):\n  %z : Tensor = aten::relu(%x)\n  return (%z)\n",
    "passed": "graph(%x : Tensor):\n  return (%x)\n",
    "two": "graph(%x : Tensor, %y : Tensor):\n  %one : int = prim::Constant[value=1]()\n"
           "  %z : Tensor = aten::add(%x, %y, %one)\n  return (%z)\n",
    "pair": "graph(%p : (Tensor, Tensor)):\n  %a : Tensor, %b : Tensor = prim::TupleUnpack(%p)\n  return (%a, %b)\n",
    "list": "graph(%l : Tensor[]):\n  %i : int = prim::Constant[value=1]()\n"
            "  %a : Tensor = aten::__getitem__(%l, %i)\n  return (%a)\n",
    "nested": "graph(%l : (Tensor, Tensor)[]):\n  %i : int = prim::Constant[value=0]()\n"
              "  %p : (Tensor, Tensor) = aten::__getitem__(%l, %i)\n  %a : Tensor, %b : Tensor = prim::TupleUnpack(%p)\n  return (%b)\n",
    "dict": "graph(%d : Dict(str, Tensor)):\n  return (%d)\n",
    "number": "graph(%x : Tensor, %n : int, %m : Tensor?, %s : str):\n  return (%x)\n",
    "either": "graph(%x : Union(Tensor, Tensor[])):\n  %z : bool = prim::isinstance[types=[Tensor]](%x)\n  return (%z)\n",
    "numbers": "graph(%x : Tensor, %l : int[]):\n  return (%x)\n",
    "typed": "graph(%x : Float(2, 3), %y : Long(2)):\n  return (%x, %y)\n",
}


def saved(value, **options):
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    return buffer.getvalue()


def longer_than_it_is(array):
    """An archive with an array whose head states a row more than there is."""
    content = io.BytesIO()
    numpy.save(content, array)
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
        archive.writestr("x.npy", content.getvalue().replace(f"({len(array)},".encode(), f"({len(array) + 1},".encode()))
    return buffer.getvalue()


def torchscript():
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.ReLU()), buffer)
    return buffer.getvalue()


def npz(*arrays, compressed=False, **named):
    buffer = io.BytesIO()
    (numpy.savez_compressed if compressed else numpy.savez)(buffer, *arrays, **named)
    return buffer.getvalue()


def proto(array, name=None):
    return numpy_helper.from_array(numpy.asarray(array), name).SerializeToString()


def typed_proto(data_type, dims, values):
    return onnx.helper.make_tensor("x", data_type, dims, values).SerializeToString()


f16, f64, i64 = (numpy.ones(shape, dtype) for shape, dtype in (((2, 3), "f2"), ((3,), "f8"), ((4,), "i8")))
# model, file's bytes or a folder's, {input: "dtype[sizes]"} of inputs and outputs
READ = [
    ("one", saved(ones(2, 3)), {"x": "f32[2, 3]"}),
    ("one", saved((ones(2, 3),)), {"x": "f32[2, 3]"}),
    ("one", saved(ones(())), {"x": "f32[]"}),
    ("one", saved(ones(0, 3)), {"x": "f32[0, 3]"}),
    ("one", saved(ones(8, 9)[2:, ::3].t()), {"x": "f32[3, 6]"}),
    ("one", saved(ones(2, 3, device="meta")), {"x": "f32[2, 3]"}),
    ("one", saved(torch.nn.Parameter(ones(5))), {"x": "f32[5]"}),
    ("one", saved(ones(2, 3), pickle_protocol=5), {"x": "f32[2, 3]"}),
    ("one", saved(torch.quantize_per_tensor(ones(4), 0.1, 0, torch.quint8)), {"x": "qu8[4]"}),
    *[("one", saved(torch.zeros(2, dtype=getattr(torch, name))), {"x": f"{short}[2]"}) for name, short in (
        ("float16", "f16"), ("bfloat16", "bf16"), ("float64", "f64"), ("int8", "i8"), ("uint8", "u8"), ("int16", "i16"), ("int32", "i32"),
        ("int64", "i64"), ("uint16", "u16"), ("uint32", "u32"), ("uint64", "u64"), ("bool", "bool"), ("complex64", "c64"),
        ("float8_e4m3fn", "f8e4m3fn"))],
    ("two", saved((ones(2, 3), ones(3))), {"x": "f32[2, 3]", "y": "f32[3]", "output_0": "f32[2, 3]"}),
    ("two", saved([ones(2, 3)]), {"x": "f32[2, 3]", "y": "f32[2, 3]"}),  # y is assumed
    ("two", saved({"y": ones(3), "x": ones(2, 3)}), {"x": "f32[2, 3]", "y": "f32[3]"}),
    ("two", saved(collections.OrderedDict(y=ones(3))), {"x": "f32[3]", "y": "f32[3]"}),
    ("two", saved(Point(ones(2), ones(3).long())), {"x": "f32[2]", "y": "i64[3]"}),
    ("pair", saved((ones(2), ones(3))), {"output_0": "f32[2]", "output_1": "f32[3]"}),
    ("pair", saved(((ones(2), ones(3)),)), {"output_0": "f32[2]", "output_1": "f32[3]"}),
    ("pair", saved({"p": (ones(2), ones(3))}), {"output_0": "f32[2]", "output_1": "f32[3]"}),
    ("pair", npz(f16, f64), {"output_0": "f16[2, 3]", "output_1": "f64[3]"}),
    ("pair", npz(**{"p.1": f64, "p.0": f16}), {"output_0": "f16[2, 3]", "output_1": "f64[3]"}),
    ("list", saved([ones(2), ones(3)]), {"output_0": "f32[3]"}),
    ("list", saved(([ones(2), ones(3)],)), {"output_0": "f32[3]"}),
    ("list", npz(**{"l.0": f16, "l.1": f64}), {"output_0": "f64[3]"}),
    ("nested", saved(([(ones(2), ones(3)), (ones(2), ones(3))],)), {"output_0": "f32[3]"}),
    ("dict", saved({"a": ones(2), "b": ones(3)}), {}),
    ("dict", saved({"d": {"a": ones(2)}}), {}),
    ("number", saved((ones(2), 3, None, "text")), {"x": "f32[2]"}),
    ("number", saved((ones(2), True + 2, ones(3), "text")), {"x": "f32[2]"}),
    ("number", saved((ones(2), ones(()))), {"x": "f32[2]"}),
    ("number", saved((ones(2), torch.tensor(7))), {"x": "f32[2]"}),
    ("numbers", saved((ones(2), [torch.tensor(1), 2])), {"x": "f32[2]"}),
    ("either", saved((ones(2, 3),)), {"x": "f32[2, 3]"}),
    ("two", npz(f16, f64), {"x": "f16[2, 3]", "y": "f64[3]"}),
    ("two", npz(y=f16, x=f64), {"x": "f64[3]", "y": "f16[2, 3]"}),
    ("two", npz(f16, i64, compressed=True), {"x": "f16[2, 3]", "y": "i64[4]"}),
    ("one", npz(numpy.asfortranarray(f16)), {"x": "f16[2, 3]"}),
    ("one", npz(numpy.float32(3)), {"x": "f32[]"}),
    ("one", npz(numpy.zeros((1000, 1000)), compressed=True), {"x": "f64[1000, 1000]"}),
    ("two", {"input_0.pb": proto(f16), "input_1.pb": proto(i64), "output_0.pb": b"", "notes.txt": b""}, {"x": "f16[2, 3]", "y": "i64[4]"}),
    ("two", {"input_0.pb": proto(f16, "y"), "input_1.pb": proto(i64, "x")}, {"x": "i64[4]", "y": "f16[2, 3]"}),
    ("two", {"input_0.pb": proto(f16, "input.1"), "input_1.pb": proto(i64, "onnx::7")}, {"x": "f16[2, 3]", "y": "i64[4]"}),
    ("one", {"input_0.pb": typed_proto(onnx.TensorProto.FLOAT, [2, 2], [1.0, 2.0, 3.0, 4.0])}, {"x": "f32[2, 2]"}),
    ("one", {"input_0.pb": typed_proto(onnx.TensorProto.BFLOAT16, [2], [1.0, 2.0])}, {"x": "bf16[2]"}),
    ("one", {"input_0.pb": typed_proto(onnx.TensorProto.INT64, [], [7])}, {"x": "i64[]"}),
]

NONE = "holds no example inputs (expected a .pt file of torch.save, an .npz file, or a folder of input_0.pb, input_1.pb …)"
# model, file's bytes or a folder's, what is said after "--inputs-from FILE: "
REFUSED = [
    ("one", b"", NONE),
    ("one", b"no example", NONE),
    ("one", saved(ones(2), _use_new_zipfile_serialization=False),
     "is in the format of torch.save before 1.6: save it again with torch 1.6 or newer"),
    ("one", torchscript(), "is a TorchScript model, not example inputs: torch.save a tuple of tensors"),
    ("one", saved(torch.nn.ReLU()), "holds a Python object (torch.nn.modules.activation.ReLU), which isn't supported: save tensors, numbers, and "
     "tuples, lists and dicts of these"),
    ("one", saved(numpy.ones(2)), None),
    ("one", saved(ones(3).to_sparse()), "holds a tensor that isn't a strided one (torch._utils._rebuild_sparse_tensor): save its dense form"),
    ("one", saved((ones(2), ones(2))), "holds 2 inputs; the model's inputs are x"),
    ("one", saved({"y": ones(2)}), "holds y; the model's inputs are x"),
    ("two", saved({"x": ones(2), "z": ones(2)}), "holds z; the model's inputs are x, y"),
    ("one", saved((3,)), "holds the int 3 for input 'x', which is Tensor"),
    ("one", saved((None,)), "holds None for input 'x', which is Tensor"),
    ("one", saved(((ones(2), ones(2)),)), "holds a tuple for input 'x', which is Tensor"),
    ("one", saved(({"a": ones(2)},)), "holds a dict for input 'x', which is Tensor"),
    ("one", saved((2**70,)), "holds bytes, a set or a number of more than 64 bits"),
    ("one", saved((torch.float32,)), "holds torch.float32, which is not a tensor, number, text or container of these"),
    ("number", saved((ones(2), True)), "holds the bool True for input 'n', which is int"),
    ("numbers", saved((ones(2), [1, 1.5])), "holds the float 1.5 as member 1 of input 'l', which is int[]"),
    ("pair", saved(((ones(2),),)), "holds 1 member for input 'p', which is (Tensor, Tensor)"),
    ("number", saved((ones(2), ones(1))), "holds a tensor for input 'n', which is int"),
    ("numbers", saved((ones(2), [ones(1), 2])), "holds a tensor for input 'l.0', which is int"),
    ("either", saved((3,)), "holds the int 3 for input 'x', which is Union(Tensor, Tensor[])"),
    ("number", saved((ones(2), 2.5)), "holds the float 2.5 for input 'n', which is int"),
    ("two", npz(x=f16, z=f64), "holds z; the model's inputs are x, y"),
    ("one", npz(f16, f64), "holds 2 inputs; the model's inputs are x"),
    ("one", npz(numpy.array(["a"])), "array arr_0 is of a dtype that no tensor has: <U1"),
    ("one", npz(numpy.array([None])), "array arr_0 holds Python objects, not numbers"),
    ("one", npz(f64.astype(">f8")), "array arr_0 is of big-endian numbers: save it as f8"),
    ("one", npz(numpy.zeros(2, [("a", "f4")])), "array arr_0 is a structured array: save its fields as arrays of their own"),
    ("one", longer_than_it_is(f64), "array x is shorter than its sizes say: it is cut short or damaged"),
    ("one", {}, "has no input_0.pb in it"),
    ("one", {"input_0.pb": proto(f16), "input_2.pb": proto(f16)}, "has no input_1.pb, but later ones"),
    ("one", {"input_0.pb": b""}, "input_0.pb is no TensorProto of a dtype that a tensor can have (data_type 0)"),
    ("one", {"input_0.pb": b"junk"}, None),
    ("one", {"input_0.pb": proto(numpy.array(["a"], dtype=object))}, "input_0.pb holds strings, which no tensor of a TorchScript model does"),
    ("one", {"input_0.pb": numpy_helper.from_list([f16, f16]).SerializeToString()},
     "input_0.pb is a SequenceProto, a list of tensors, which isn't read: torch.save the list in a .pt file"),
    ("one", {"input_0.pb": proto(f16)[:-1]}, "input_0.pb is no TensorProto, or is damaged"),
]


# The same with --input, which wins over the file, member by member.
WITH_INPUT = [
    ("two", saved((ones(2, 3), ones(3))), {"x": "f32[2, 3]", "y": "i64[3]"}, ["y=i64:3"]),
    ("two", saved((ones(2, 3), ones(3))), {"x": "f16['batch', 3]", "y": "f32[3]"}, ["f16:batch,3"]),
    ("pair", saved(((ones(2), ones(3)),)), {"output_0": "f32[2]", "output_1": "f64[9]"}, ["p.1=f64:9"]),
    ("list", saved(([ones(2), ones(3)],)), {"output_0": "i8[5]"}, ["l.1=i8:5"]),
    ("number", saved((ones(2), 3, ones(3))), {"x": "f32[2]"}, ["m=none"]),
]


def pickled(body):
    """An archive as torch.save lays it out around this pickle."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a/data.pkl", b"\x80\x02" + body + b".")
        archive.writestr("a/data/0", bytes(64))
    return buffer.getvalue()


def tensor_pickle(offset=b"K\x00", sizes=b"K\x04\x85", strides=b"K\x01\x85", elements=b"K\x10", key=b"0", begin=b"(", end=b"t"):
    text = lambda word: b"X" + len(word).to_bytes(4, "little") + word
    storage = begin + text(b"storage") + b"ctorch\nFloatStorage\n" + text(key) + text(b"cpu") + elements + end + b"Q"
    return pickled(b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + offset + sizes + strides + b"\x89}tR")


def number(value):
    return b"\x8a\x08" + value.to_bytes(8, "little", signed=True)


def edited(value, old, new):
    """What torch.save writes of the value, with one part of its pickle changed."""
    content = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(value))) as given, zipfile.ZipFile(content, "w") as changed:
        for name in given.namelist():
            data = given.read(name)
            if name.endswith("data.pkl"):
                assert data.count(old) == 1, (old, data)
                data = data.replace(old, new)
            changed.writestr(name, data)
    return content.getvalue()


def quantized(scale, zero_point=7):
    return torch.quantize_per_tensor(ones(4), scale, zero_point, torch.quint8)


CHANNELS = torch.quantize_per_channel(ones(2, 3), torch.tensor([0.1, 0.2, 0.05]).double(), torch.tensor([3, 0, 9]), 1, torch.quint8)
MISFIT = ("holds a quantized tensor whose scales and zero points don't fit it: scales must be finite and above 0, zero points must be in the range "
          "of its dtype, and each position along the axis must have one of both")
NOT_TORCHS = "holds a tensor that torch doesn't write so: the file is damaged"
QUANTIZED = [
    (saved(quantized(-1.0)), MISFIT),   # torch makes such tensors
    (saved(quantized(0.0)), MISFIT),
    (saved(quantized(float("inf"))), MISFIT),
    (edited(quantized(0.5), b"K\x07", b"M\x2c\x01"), MISFIT),              # the zero point is 300
    (edited(quantized(0.5), b"QUInt8Storage", b"ByteStorage"), NOT_TORCHS),
    (edited(CHANNELS, b"q\x1aK\x01t", b"q\x1aK\x02t"), MISFIT),           # the axis is 2, of two dimensions
    (edited(CHANNELS, b"q\x1aK\x01t", b"q\x1aK\x00t"), MISFIT),           # three scales for a size of 2
    (edited(CHANNELS, b"q\x1aK\x01t", b"q\x1aJ\xff\xff\xff\xfft"), MISFIT),
    (edited(CHANNELS, b"K\x03\x85q\x0d", b"K\x02\x85q\x0d"), NOT_TORCHS),   # two scales and three zero points
]
OUTSIDE = "holds a tensor that reaches outside its storage of 64 bytes (data/0)"
HOSTILE = [
    (pickled(b"cos\nsystem\nX\x04\x00\x00\x00true\x85R"),
     "holds a Python object (os.system), which isn't supported: save tensors, numbers, and tuples, lists and dicts of these"),
    (pickled(b")" + b"\x85" * 90000), "nests its containers deeper than 32"),
    (pickled(b")" + b"\x85" * 200000), "its pickle holds more than 100000 values"),
    (pickled(b")" + b"".join(b"r" + n.to_bytes(4, "little") + b"j" + n.to_bytes(4, "little") + b"\x86" for n in range(25))), "holds more than 10000 values"),
    (pickled(b"]q\x00h\x00a"), "nests its containers deeper than 32"),  # a list that holds itself
    (pickled(b"}q\x00X\x01\x00\x00\x00ah\x00s"), "nests its containers deeper than 32"),
    (pickled(b"h\x2a"), "its pickle is damaged"),
    (pickled(b"\x86\x86"), "its pickle is damaged"),
    (pickled(b"("), "its pickle is damaged"),
    (pickled(b"(" * 200000), "its pickle holds more than 100000 values"),
    (pickled(b"X\xff\xff\xff\xff"), "its pickle is cut short or damaged"),
    (pickled(b"ctorch._utils\n_rebuild_tensor_v2\n)R"), "holds a tensor that torch doesn't write so: the file is damaged"),
    (pickled(b"ctorch._tensor\n_rebuild_from_type_v2\n(" + b"(" * 3 + b"tttR"), None),
    (tensor_pickle(sizes=b"K\x11\x85"), OUTSIDE),
    (tensor_pickle(offset=b"K\x0d"), OUTSIDE),
    (tensor_pickle(offset=b"J\xff\xff\xff\xff"), OUTSIDE),
    (tensor_pickle(sizes=number(2**62) + b"\x85", strides=number(2**62) + b"\x85"), OUTSIDE),
    (tensor_pickle(sizes=number(-1) + b"\x85"), OUTSIDE),
    (tensor_pickle(elements=number(2**62)), "record data/0 is too short: 4611686018427387904 elements don't fit its 64 bytes"),
    (tensor_pickle(elements=number(-1)), "record data/0 is too short: -1 elements don't fit its 64 bytes"),
    (pickled(b"ctorch._utils\n_rebuild_tensor_v2\n(X\x07\x00\x00\x00storageQK\x00K\x04\x85K\x01\x85\x89}tR"), NOT_TORCHS),
    (tensor_pickle(begin=b"](", end=b"e"), NOT_TORCHS),   # a list in place of the storage's tuple
    (tensor_pickle(key=b"7"), "record data/7 is missing: a tensor's values aren't in the file"),
]


class Examples:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.wrong, self.count = [], 0
        for name, text in MODELS.items():
            (folder / f"{name}.ir").write_text(text)

    def place(self, content):
        """The content as a file, or a folder of files."""
        self.count += 1
        place = self.folder / f"case{self.count}"
        if isinstance(content, bytes):
            place.write_bytes(content)
        else:
            place.mkdir()
            for name, data in content.items():
                (place / name).write_bytes(data)
        return place

    def run(self, model, place, *arguments):
        command = [self.program, str(self.folder / f"{model}.ir"), "--inputs-from", str(place), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    def read(self, model, content, stated, inputs=()):
        run = self.run(model, self.place(content), "--format", "json", "--exit-zero", *(f"--input={spec}" for spec in inputs))
        if run.returncode:
            return self.wrong.append(f"case {self.count} {model}: exit {run.returncode} {run.stderr}")
        report = json.loads(run.stdout)["model"]
        found = {v["name"]: "?" if v["dtype"] == "?" else f"{v['dtype']}{v['shape']}" for v in report["inputs"] + report["outputs"]}
        if {name: found.get(name) for name in stated} != stated:
            self.wrong.append(f"case {self.count} {model}: {found} instead of {stated}")

    def refused(self, model, content, message):
        place = self.place(content)
        run = self.run(model, place)
        lead = f"compatcheck: --inputs-from {place}: "
        if run.returncode != 2 or not run.stderr.startswith(lead) or (message and run.stderr != lead + message + "\n") or run.stdout:
            self.wrong.append(f"case {self.count} {model}: exit {run.returncode} {run.stderr!r} instead of {message!r}")

    def survives(self, content, in_folder=False, model="one"):
        place = self.place({"input_0.pb": content} if in_folder else content)
        run = self.run(model, place)
        if run.returncode not in (0, 2) or (run.returncode == 2 and not run.stderr.startswith(f"compatcheck: --inputs-from {place}: ")):
            self.wrong.append(f"case {self.count}: exit {run.returncode} {run.stderr}")


def damaged(content, changes):
    """The content cut at some places, and with some bytes changed."""
    chance = random.Random(len(content))
    for _ in range(changes):
        yield content[:chance.randrange(len(content))]
        broken = bytearray(content)
        broken[chance.randrange(len(content))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        yield bytes(broken)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        examples = Examples(options.program, pathlib.Path(folder))
        for case in READ + WITH_INPUT:
            examples.read(*case)
        for case in REFUSED:
            examples.refused(*case)
        for content, message in HOSTILE + QUANTIZED:
            examples.refused("one", content, message)
        os.mkfifo(fifo := examples.folder / "fifo")
        if (run := examples.run("one", fifo)).returncode != 2 or "is neither a file nor a folder" not in run.stderr:
            examples.wrong.append(f"a FIFO: exit {run.returncode} {run.stderr}")
        examples.read("one", tensor_pickle(), {"x": "f32[4]"})
        examples.read("one", saved(CHANNELS), {"x": "qu8[2, 3]"})
        for content, in_folder in ((saved((ones(2, 3),)), False), (npz(f16), False), (npz(f16, compressed=True), False), (proto(f16, "x"), True)):
            for broken in damaged(content, 60):
                examples.survives(broken, in_folder)
        for broken in damaged(saved(CHANNELS), 60):
            examples.survives(broken, model="passed")   # relu has no ONNX form with a scale for each channel
        print(*examples.wrong, sep="\n")
        print(f"{examples.count} files: {len(examples.wrong)} failed")
        return 1 if examples.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
