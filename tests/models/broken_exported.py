"""Damaged .pt2 archives: each function returns the bytes of a file, most of them one small program with one thing wrong."""
import functools
import io
import json
import struct
import zipfile
from typing import Callable, Dict

import torch
from torch import Tensor, nn

import archives

Records = Dict[str, bytes]
ROOT = "archive/"
PROGRAM, WEIGHTS = ROOT + "models/model.json", ROOT + "data/weights/model_weights_config.json"


class Small(nn.Module):
    """One of everything that an edit needs: weights, a list of numbers, a number, a dtype, a dynamic dimension."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(7, 5)

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x).relu() * 2.5
        return y.reshape(-1, 5).to(torch.float64).sum(1)


@functools.cache
def exported() -> bytes:
    torch.manual_seed(5)
    buffer = io.BytesIO()
    torch.export.save(torch.export.export(Small().eval(), (torch.ones(3, 7),), dynamic_shapes=({0: torch.export.Dim("batch")},)), buffer)
    return buffer.getvalue()


def written(records: Records, compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    archives.write(buffer, records, compression)
    return buffer.getvalue()


def edited(edit: Callable[[Records], None], compression: int = zipfile.ZIP_STORED) -> bytes:
    records = archives.read(io.BytesIO(exported()))
    edit(records)
    return written(records, compression)


def without(*names: str) -> bytes:
    """Without the records whose names begin so."""
    def edit(records: Records) -> None:
        for name in [name for name in records if name.startswith(tuple(ROOT + n for n in names))]:
            del records[name]
    return edited(edit)


def also(more: Records) -> bytes:
    return edited(lambda records: records.update({ROOT + name: content for name, content in more.items()}))


def cut(keep: float) -> bytes:
    whole = exported()
    return whole[:int(len(whole) * keep)] if 0 < keep < 1 else whole[:int(keep)]


# ------------------------------------------------------------------------------------------------ JSON

def program(edit: Callable[[dict], None], record: str = PROGRAM) -> bytes:
    """The archive with another model.json."""
    def change(records: Records) -> None:
        document = json.loads(records[record])
        edit(document)
        records[record] = json.dumps(document).encode()
    return edited(change)


def text(old: str, new: str, record: str = PROGRAM) -> bytes:
    """The archive with one piece of the JSON's text replaced; a text that isn't there is an error of the maker."""
    def change(records: Records) -> None:
        compact = json.dumps(json.loads(records[record]))
        if old not in compact:
            raise ValueError(f"no {old!r} in {record}")
        records[record] = compact.replace(old, new, 1).encode("utf-8", "surrogatepass")
    return edited(change)


def whole(content: bytes) -> bytes:
    return edited(lambda records: records.update({PROGRAM: content}))


def graph(edit: Callable[[dict], None]) -> bytes:
    return program(lambda document: edit(document["graph_module"]["graph"]))


def node_of(document: dict, target: str) -> dict:
    return next(node for node in document["nodes"] if target in node["target"])


def argument(target: str, name: str, value: dict) -> bytes:
    """The node's argument, given or not, is `value`."""
    def edit(document: dict) -> None:
        node = node_of(document, target)
        node["inputs"] = [given for given in node["inputs"] if given["name"] != name] + [{"name": name, "arg": value, "kind": 1}]
    return graph(edit)


def retargeted(old: str, new: str) -> bytes:
    return graph(lambda document: node_of(document, old).update(target=new))


def meta(name: str, **changes) -> bytes:
    """tensor_values: what the file says of a value. `name` is a part of it."""
    def edit(document: dict) -> None:
        values = document["tensor_values"]
        values[next(value for value in values if name in value)].update(changes)
    return graph(edit)


def tensor(**changes) -> bytes:
    """The stored weight of the linear layer."""
    return program(lambda document: document["config"]["linear.weight"]["tensor_meta"].update(changes), WEIGHTS)


def entry(**changes) -> bytes:
    return program(lambda document: document["config"]["linear.weight"].update(changes), WEIGHTS)


def ints(*values: int) -> list:
    return [{"as_int": value} for value in values]


def twice_defined(document: dict) -> None:
    nodes = document["nodes"]
    nodes[1]["outputs"] = nodes[0]["outputs"]


def reads_itself(document: dict) -> None:
    node = document["nodes"][1]
    node["inputs"][0]["arg"] = {"as_tensor": {"name": node["outputs"][0]["as_tensor"]["name"]}}


def reversed_nodes(document: dict) -> None:
    document["nodes"].reverse()


def one_spec_less(document: dict) -> None:
    document["graph_module"]["signature"]["input_specs"].pop()


def unknown_spec(document: dict) -> None:
    spec = document["graph_module"]["signature"]["input_specs"][-1]
    spec["user_prophecy"] = spec.pop("user_input")


def nested_regions(depth: int) -> bytes:
    """Subgraphs inside each other, each called once."""
    def edit(document: dict) -> None:
        node = document["nodes"][1]
        read, made = node["inputs"][0]["arg"], node["outputs"][0]
        meta = document["tensor_values"][made["as_tensor"]["name"]]
        inner = {"inputs": [{"as_tensor": {"name": "a"}}], "outputs": [{"as_tensor": {"name": "b"}}], "sym_int_values": {}, "sym_bool_values": {},
                 "sym_float_values": {}, "custom_obj_values": {}, "is_single_tensor_return": False, "tensor_values": {"a": meta, "b": meta},
                 "nodes": [{"target": "torch.ops.aten.relu.default", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "a"}}, "kind": 1}],
                            "outputs": [{"as_tensor": {"name": "b"}}], "metadata": {}, "is_hop_single_tensor_return": None}]}

        def call(graph: dict, value: dict) -> list:
            return [{"name": "", "arg": {"as_bool": False}, "kind": 1}, {"name": "", "arg": {"as_graph": {"name": "inner", "graph": graph}}, "kind": 1},
                    {"name": "", "arg": value, "kind": 1}]

        region = "torch.ops.higher_order.wrap_with_set_grad_enabled"
        for _ in range(depth):
            outer = {**inner, "nodes": [{"target": region, "inputs": call(inner, {"as_tensor": {"name": "a"}}), "outputs": [{"as_tensor": {"name": "b"}}],
                                         "metadata": {}, "is_hop_single_tensor_return": None}]}
            inner = outer
        node.update(target=region, inputs=call(inner, read))
    return graph(edit)


# ------------------------------------------------------------------------------------------------ zip

def central(name: str, whole: bytearray) -> int:
    """Where the directory's entry of the record begins."""
    at = -1
    while True:
        at = whole.index(b"PK\x01\x02", at + 1)
        if whole[at + 46:at + 46 + len(name)] == name.encode():
            return at


def in_directory(name: str, offset: int, value: int) -> bytes:
    whole = bytearray(written(archives.read(io.BytesIO(exported()))))
    struct.pack_into("<I", whole, central(ROOT + name, whole) + offset, value)
    return bytes(whole)


def overlapping() -> bytes:
    """weight_1 begins inside weight_0."""
    records = archives.read(io.BytesIO(exported()))
    whole = bytearray(written(records))
    first, second = (central(f"{ROOT}data/weights/weight_{i}", whole) for i in (0, 1))
    at = struct.unpack_from("<I", whole, first + 42)[0]
    struct.pack_into("<I", whole, second + 42, at)
    return bytes(whole)


def twice_named() -> bytes:
    whole = written(archives.read(io.BytesIO(exported())))
    return whole.replace(b"weights/weight_1", b"weights/weight_0")


def two_programs() -> bytes:
    """As package_pt2 writes two models."""
    return also({"models/second.json": archives.read(io.BytesIO(exported()))[PROGRAM]})


def bomb() -> bytes:
    return edited(lambda records: records.update({PROGRAM: b" " * (256 << 20) + records[PROGRAM]}), zipfile.ZIP_DEFLATED)


def pickled_program() -> bytes:
    """A program that torch.save pickled, class and all."""
    buffer = io.BytesIO()
    torch.save(torch.export.load(io.BytesIO(exported())).graph_module, buffer)
    return buffer.getvalue()


def pte() -> bytes:
    return struct.pack("<I", 32) + b"ET12" + bytes(64)
