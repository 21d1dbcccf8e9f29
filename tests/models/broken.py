"""Damaged archives: each function returns the bytes of a file, most of them one small model with one thing wrong."""
import functools
import io
import pickle
import random
import struct
import tarfile
import warnings
import zipfile
from typing import Callable, Dict, List

import torch
from torch import Tensor, nn
from torch.testing._internal.jit_utils import clear_class_registry

import archives
from archives import replace_in

Records = Dict[str, bytes]


class Small(nn.Module):
    """7 inputs, 5 outputs: numbers that stand out in the pickle."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(7, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x).relu()


def module() -> Small:
    torch.manual_seed(5)
    return Small().eval()


def saved(scripted: torch.jit.ScriptModule, **options) -> bytes:
    buffer = io.BytesIO()
    torch.jit.save(scripted, buffer, **options)
    return buffer.getvalue()


@functools.cache
def traced() -> bytes:
    clear_class_registry()      # so that no class is called ___torch_mangle_1
    return saved(torch.jit.trace(module(), torch.ones(1, 7)))


def written(records: Records, compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    archives.write(buffer, records, compression)
    return buffer.getvalue()


def edited(edit: Callable[[Records], None], compression: int = zipfile.ZIP_STORED) -> bytes:
    records = archives.read(io.BytesIO(traced()))
    edit(records)
    return written(records, compression)


def record(records: Records, ending: str) -> str:
    return next(name for name in records if name.endswith(ending))


def replaced(ending: str, content: bytes) -> bytes:
    def edit(records: Records) -> None:
        records[record(records, ending)] = content
    return edited(edit)


def without(ending: str) -> bytes:
    return edited(lambda records: records.pop(record(records, ending)))


def cut(keep: float) -> bytes:
    """The first part of the file: a share below 1, or a number of bytes, from the end where negative."""
    whole = traced()
    return whole[:int(len(whole) * keep)] if 0 < keep < 1 else whole[:int(keep)]


# ------------------------------------------------------------------------------------------------ tensors

SIZES = b"(K\x05K\x07t"        # of linear.weight
STRIDES = b"(K\x07K\x01t"


def number(value: int) -> bytes:
    """A pickled integer of four bytes, or of eight where it needs them."""
    if -2**31 <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    return b"\x8a\x08" + struct.pack("<q", value)


def pair(first: int, second: int) -> bytes:
    return b"(" + number(first) + number(second) + b"t"


def tensor(sizes: bytes = SIZES, strides: bytes = STRIDES, offset: bytes = b"K\x00") -> bytes:
    return edited(lambda records: replace_in(
        records, "/data.pkl", b"K\x00" + SIZES + STRIDES, offset + sizes + strides))


def storage_numel(value: int) -> bytes:
    return edited(lambda records: replace_in(records, "/data.pkl", b"K\x23t", number(value) + b"t"))


def beyond_record() -> bytes:
    """Storage and tensor agree with each other, but not with the file."""
    def edit(records: Records) -> None:
        replace_in(records, "/data.pkl", SIZES + STRIDES, pair(5000, 7) + STRIDES)
        replace_in(records, "/data.pkl", b"K\x23t", number(35000) + b"t")
    return edited(edit)


def short_record() -> bytes:
    def edit(records: Records) -> None:
        for name in [name for name in records if "/data/" in name]:
            records[name] = records[name][:8]
    return edited(edit)


# ------------------------------------------------------------------------------------------------ code and pickles

FORWARD = "  def forward(self: __torch__.broken.Small,\n    x: Tensor) -> Tensor:\n"


def code(body: str, before: str = "") -> bytes:
    """The archive with another forward: `body` is its lines, `before` stands above the class."""
    text = before + "class Small(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n" \
        "  _is_full_backward_hook : Optional[bool]\n  linear : __torch__.torch.nn.modules.linear.Linear\n"
    return replaced("/__torch__/broken.py", (text + FORWARD + body).encode())


def nested_ifs(depth: int) -> str:
    lines = ["  " * (i + 2) + "if bool(torch.any(x)):" for i in range(depth)]
    return "\n".join(lines) + "\n" + "  " * (depth + 2) + "x = torch.neg(x)\n    return x\n"


def nested_type(depth: int) -> str:
    return f"    y = annotate({'List[' * depth}int{']' * depth}, [])\n    return x\n"


def pickle_of(body: bytes) -> bytes:
    return replaced("/data.pkl", b"\x80\x02" + body + b".")


def doubling(levels: int) -> bytes:
    """A tuple of twice the same tuple, and so on: small in the file, endless when walked."""
    body = b")"
    for level in range(levels):
        body += b"r" + struct.pack("<I", level) + b"j" + struct.pack("<I", level) + b"\x86"
    return pickle_of(body)


# ------------------------------------------------------------------------------------------------ __setstate__

class Endless(nn.Module):
    """Restores itself for ever."""

    @torch.jit.export
    def __getstate__(self):
        return (torch.ones(2), self.training)

    @torch.jit.export
    def __setstate__(self, state: tuple[Tensor, bool]):
        count = 0
        while count >= 0:
            count = (count + 1) % 1000
        self.training = state[1]

    def forward(self, x: Tensor) -> Tensor:
        return x + 1


class Hoarding(Endless):
    """Allocates until something gives."""

    @torch.jit.export
    def __setstate__(self, state: tuple[Tensor, bool]):
        kept: List[Tensor] = []
        while len(kept) >= 0:
            kept.append(torch.ones(1 << 20))
        self.training = state[1]


class Greedy(Endless):
    """Asks for everything at once."""

    @torch.jit.export
    def __setstate__(self, state: tuple[Tensor, bool]):
        self.training = bool(torch.ones(1 << 48).sum() > 0)


class Doubling(Endless):
    """Allocates outside of tensors."""

    @torch.jit.export
    def __setstate__(self, state: tuple[Tensor, bool]):
        text = "x"
        for _ in range(1 << 40):
            text = text + text
        self.training = state[1]


class Restoring(nn.Module):
    """An ordinary pair of methods: the table is packed when saved, unpacked when loaded."""
    table: Tensor

    def __init__(self):
        super().__init__()
        self.table = torch.arange(4.0)

    @torch.jit.export
    def __getstate__(self):
        return (self.table * 2, self.training)

    @torch.jit.export
    def __setstate__(self, state: tuple[Tensor, bool]):
        self.table = state[0] / 2
        self.training = state[1]

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table


# ------------------------------------------------------------------------------------------------ foreign files

def torch_saved(value, zipped: bool = True) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer, _use_new_zipfile_serialization=zipped)
    return buffer.getvalue()


def exported() -> bytes:
    buffer = io.BytesIO()
    torch.export.save(torch.export.export(module(), (torch.ones(1, 7),)), buffer)
    return buffer.getvalue()


def mobile() -> bytes:
    """Bytecode for the mobile interpreter beside the code, as _save_for_lite_interpreter writes it."""
    return torch.jit.script(module())._save_to_buffer_for_lite_interpreter()


def bytecode() -> bytes:
    """The same without the code, as mobile builds strip it."""
    records = archives.read(io.BytesIO(mobile()))
    return written({name: content for name, content in records.items() if "/code/" not in name})


def tar() -> bytes:
    """As PyTorch 0.1 saved: a tar of sys_info, pickle, tensors and storages."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in [("sys_info", pickle.dumps({"protocol_version": 1000, "little_endian": True}, 2)),
                              ("pickle", pickle.dumps({"weight": ("tensor", "0")}, 2)),
                              ("tensors", b"\1\0\0\0"), ("storages", b"\1\0\0\0")]:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def onnx() -> bytes:
    import onnx as package
    helper = package.helper
    value = helper.make_tensor_value_info("x", package.TensorProto.FLOAT, [2])
    result = helper.make_tensor_value_info("y", package.TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "small", [value], [result])
    return helper.make_model(graph).SerializeToString()


def safetensors() -> bytes:
    header = b'{"weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    return struct.pack("<Q", len(header)) + header + bytes(8)


def optimized() -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return saved(torch.jit.optimize_for_inference(torch.jit.script(module())))


def engine() -> bytes:
    """A serialized TensorRT engine called from TorchScript, as Torch-TensorRT saves it."""
    def edit(records: Records) -> None:
        top = next(iter(records)).split("/")[0]
        name = "__torch__.torch.classes.tensorrt.Engine"
        call = "    engine = self.engine\n    y = ops.tensorrt.execute_engine([x], engine)\n    return y[0]\n"
        text = f"class Small(Module):\n  training : bool\n  engine : {name}\n" + FORWARD + call
        for record_name in [n for n in records if "/code/" in n or "/data/" in n]:
            del records[record_name]
        records[f"{top}/code/__torch__/broken.py"] = text.encode()
        state = b"X\x04\x00\x00\x00ftrt"
        records[f"{top}/data.pkl"] = (
            b"\x80\x02c__torch__.broken\nSmall\n)\x81}(X\x08\x00\x00\x00training\x89X\x06\x00\x00\x00engine"
            b"c__torch__.torch.classes.tensorrt\nEngine\n)\x81" + state + b"\x85bub.")
    return edited(edit)


# ------------------------------------------------------------------------------------------------ odd but sound

def big_endian() -> bytes:
    """As written on a big-endian machine: tensors' bytes the other way round, and the marker that says so.

    torch.jit.load ignores the marker and computes with the wrong numbers: read them right, or refuse.
    """
    def edit(records: Records) -> None:
        for name in [name for name in records if "/data/" in name]:
            values = struct.unpack(f"<{len(records[name]) // 4}f", records[name])
            records[name] = struct.pack(f">{len(values)}f", *values)
        records[record(records, "/byteorder")] = b"big"
    return edited(edit)


def renamed_folder() -> bytes:
    records = archives.read(io.BytesIO(traced()))
    return written({"my model/" + name.split("/", 1)[1]: content for name, content in records.items()})


def extra_record() -> bytes:
    def edit(records: Records) -> None:
        top = next(iter(records)).split("/")[0]
        records[f"{top}/extra/notes.txt"] = b"labels: cat, dog"
        records[f"{top}/attachment.bin"] = bytes(100)
    return edited(edit)


def unaligned() -> bytes:
    """As a zip program writes it: nothing is aligned."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in archives.read(io.BytesIO(traced())).items():
            archive.writestr(zipfile.ZipInfo(name, (2001, 2, 3, 4, 5, 6)), content)
    return buffer.getvalue()


def without_debug() -> bytes:
    def edit(records: Records) -> None:
        for name in [name for name in records if name.endswith(".debug_pkl")]:
            del records[name]
    return edited(edit)


def junk() -> bytes:
    return random.Random(7).randbytes(4096)


def inflated_code() -> bytes:
    """A compressed code record that unpacks to 256 MB."""
    text = b"\n" * (256 << 20)
    return edited(lambda records: records.update({record(records, "/__torch__/broken.py"): text}),
                  zipfile.ZIP_DEFLATED)


def lying_directory() -> bytes:
    """The zip directory gives data/0 more bytes than the file has."""
    whole = bytearray(traced())
    entry = whole.find(b"PK\x01\x02")
    struct.pack_into("<II", whole, entry + 20, 0x7FFFFFF0, 0x7FFFFFF0)
    return bytes(whole)


def duplicate_record() -> bytes:
    """Two records of one name: which of them counts is anybody's guess."""
    records = archives.read(io.BytesIO(traced()))
    name = record(records, "/broken.py")
    twin = name[:-len("broken.py")] + "brokem.py"
    return written(records | {twin: records[name].replace(b"relu", b"sigmoid")}).replace(twin.encode(), name.encode())
