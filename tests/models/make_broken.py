#!/usr/bin/env python3
"""Makes malformed, foreign and odd files:  make_broken.py --out DIR

DIR/index.json names each: file, what it is, the exit codes allowed for `compatcheck FILE`, and the format that should
be recognised where there is one, and "words" that the message must have. Files that must load are listed too: a refusal of
everything fails the tests.
"""
import argparse
import dataclasses
import hashlib
import json
import sys
import zipfile
from pathlib import Path
from typing import Callable, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent))
import torch

import broken as b
import broken_exported as e
import build
import registry

UNREADABLE = (3,)
REFUSED = (1,)        # readable, but one of its calls isn't
SOUND = (0,)          # every operator in it has an ONNX form
LOADS = (0, 1)
BOUNDED = (0, 1, 3)   # may load or not, but in bounded time, memory and stack


@dataclasses.dataclass
class Case:
    file: str
    what: str
    content: Callable[[], bytes]
    exits: tuple = UNREADABLE
    format: Optional[str] = None
    words: str = ""       # what the message or the report says


CUTS = [4, 30, 100, 1000, 0.25, 0.5, 0.75, 0.9, -200, -66, -22, -1]

CASES = [
    Case("empty.pt", "no bytes at all", lambda: b""),
    Case("junk.pt", "4 KB of noise", b.junk, format="unknown"),
    Case("zeros.pt", "4 KB of zeros", lambda: bytes(4096), format="unknown"),
    Case("text.pt", "prose", lambda: b"This is not a model.\n" * 20, format="unknown"),
    *[Case(f"cut{at}.pt", f"a model cut at {at}", lambda at=at: b.cut(at)) for at in CUTS],

    # Zip archives
    Case("no_code.zip", "a zip of other things", lambda: b.written({"readme.txt": b"hello"})),
    Case("empty_zip.pt", "a zip without records", lambda: b.written({})),
    Case("only_code.pt", "code, but no pickles",
         lambda: b.written({"m/code/__torch__/broken.py": b"", "m/version": b"3"})),
    Case("no_data_pickle.pt", "data.pkl is not there", lambda: b.without("/data.pkl")),
    Case("no_constants.pt", "constants.pkl is not there", lambda: b.without("/constants.pkl")),
    Case("no_storage.pt", "a tensor's record is not there", lambda: b.without("/data/0")),
    Case("no_class.pt", "the class's code is not there", lambda: b.without("/__torch__/broken.py")),
    Case("lying_directory.pt", "the directory gives a record more bytes than the file has", b.lying_directory),
    Case("inflated_code.pt", "a compressed code record that unpacks to 256 MB", b.inflated_code, BOUNDED),
    Case("duplicate_record.pt", "two records of one name", b.duplicate_record, BOUNDED),
    Case("version_future.pt", "a format version of tomorrow", lambda: b.replaced("/version", b"999\n")),
    Case("version_word.pt", "a version that is no number", lambda: b.replaced("/version", b"new\n")),

    # Tensors
    Case("tensor_larger.pt", "sizes beyond the storage", lambda: b.tensor(sizes=b.pair(5000, 7))),
    Case("tensor_overflow.pt", "sizes whose product overflows", lambda: b.tensor(sizes=b.pair(2**33, 2**33))),
    Case("tensor_negative.pt", "a negative size", lambda: b.tensor(sizes=b.pair(-5, 7))),
    Case("tensor_offset.pt", "an offset beyond the storage", lambda: b.tensor(offset=b.number(1 << 20))),
    Case("tensor_offset_negative.pt", "an offset before the storage", lambda: b.tensor(offset=b.number(-8))),
    Case("tensor_strides.pt", "strides that leave the storage", lambda: b.tensor(strides=b.pair(1 << 30, 1))),
    Case("tensor_strides_negative.pt", "a negative stride", lambda: b.tensor(strides=b.pair(-7, 1))),
    Case("storage_larger.pt", "a storage larger than its record", lambda: b.storage_numel(1 << 20)),
    Case("storage_huge.pt", "a storage of 2^60 elements", lambda: b.storage_numel(1 << 60)),
    Case("storage_negative.pt", "a storage of -1 elements", lambda: b.storage_numel(-1)),
    Case("storage_beyond.pt", "tensor and storage larger than the record", b.beyond_record),
    Case("storage_short.pt", "records cut to 8 bytes", b.short_record),

    # Code
    Case("code_syntax.pt", "code that does not parse", lambda: b.code("    return torch.neg(x\n")),
    Case("code_name.pt", "code that reads an unknown name", lambda: b.code("    return y\n")),
    Case("code_type.pt", "code of a type that is not there",
         lambda: b.code("    y = annotate(__torch__.Lost, x)\n    return x\n")),
    Case("code_bytes.pt", "code that is no text", lambda: b.replaced("/__torch__/broken.py", bytes(range(256)) * 4)),
    Case("code_empty.pt", "empty code", lambda: b.replaced("/__torch__/broken.py", b"")),
    Case("deep_calls.pt", "20,000 calls inside each other",
         lambda: b.code("    return " + "torch.neg(" * 20000 + "x" + ")" * 20000 + "\n"), BOUNDED),
    Case("deep_brackets.pt", "20,000 brackets",
         lambda: b.code("    return " + "(" * 20000 + "x" + ")" * 20000 + "\n"), BOUNDED),
    Case("deep_minus.pt", "20,000 signs", lambda: b.code("    y = " + "-" * 20000 + "1\n    return x\n"), BOUNDED),
    Case("deep_ifs.pt", "2,000 ifs inside each other", lambda: b.code(b.nested_ifs(2000)), BOUNDED),
    Case("deep_type.pt", "20,000 lists of lists", lambda: b.code(b.nested_type(20000))),
    Case("wide_code.pt", "20,000 statements, which is sound",
         lambda: b.code("    x0 = torch.neg(x)\n" + "    x0 = torch.neg(x0)\n" * 20000 + "    return x0\n"), SOUND),

    # Pickles
    Case("pickle_empty.pt", "an empty data.pkl", lambda: b.replaced("/data.pkl", b"")),
    Case("pickle_junk.pt", "noise as data.pkl", lambda: b.replaced("/data.pkl", b.junk())),
    Case("pickle_number.pt", "a number where the module should be", lambda: b.pickle_of(b"K\x07")),
    Case("pickle_deep.pt", "100,000 tuples inside each other", lambda: b.pickle_of(b")" + b"\x85" * 100000)),
    Case("pickle_doubling.pt", "a tuple of twice the same tuple, 60 times", lambda: b.doubling(60)),
    Case("pickle_command.pt", "a pickle that would run a command in Python",
         lambda: b.pickle_of(b"cos\nsystem\nX\x04\x00\x00\x00true\x85R")),
    Case("pickle_memo.pt", "a memo entry that was never stored", lambda: b.pickle_of(b"h\x2a")),
    Case("pickle_stack.pt", "a stack that runs empty", lambda: b.pickle_of(b"\x86\x86")),

    # __setstate__
    Case("setstate_endless.pt", "a __setstate__ that never ends",
         lambda: b.saved(torch.jit.script(b.Endless())), BOUNDED),
    Case("setstate_hoarding.pt", "a __setstate__ that allocates without bound",
         lambda: b.saved(torch.jit.script(b.Hoarding())), BOUNDED),
    Case("setstate_greedy.pt", "a __setstate__ that asks for 2^50 bytes",
         lambda: b.saved(torch.jit.script(b.Greedy())), BOUNDED),
    Case("setstate_doubling.pt", "a __setstate__ whose string doubles",
         lambda: b.saved(torch.jit.script(b.Doubling())), BOUNDED),
    Case("setstate.pt", "an ordinary __setstate__", lambda: b.saved(torch.jit.script(b.Restoring())), LOADS),

    # Foreign files
    Case("state_dict.pt", "a state_dict", lambda: b.torch_saved(b.module().state_dict()), format="state_dict"),
    Case("state_dict_old.pth", "a state_dict in the format before 1.6",
         lambda: b.torch_saved(b.module().state_dict(), False), format="state_dict"),
    Case("checkpoint.ckpt", "a training checkpoint", lambda: b.torch_saved(
        {"epoch": 3, "model": b.module().state_dict(), "loss": 0.5}), format="checkpoint"),
    Case("checkpoint_old.ckpt", "a training checkpoint in the format before 1.6", lambda: b.torch_saved(
        {"epoch": 3, "model": b.module().state_dict(), "loss": 0.5}, False), format="checkpoint"),
    Case("tensor.pt", "a tensor", lambda: b.torch_saved(torch.ones(2)), format="tensor"),
    Case("parameter.pt", "a parameter", lambda: b.torch_saved(torch.nn.Parameter(torch.ones(2))), format="tensor"),
    Case("vocabulary.pt", "a dict of numbers", lambda: b.torch_saved({"a": 1}), format="saved_object"),
    Case("list.pt", "a list of tensors", lambda: b.torch_saved([torch.ones(2)]), format="saved_object"),
    Case("text.pt", "a text file", lambda: b"hello\n", format="text"),
    Case("pickled.pt", "a pickled module", lambda: b.torch_saved(b.module()), format="pickled_module"),
    Case("pickled_old.pth", "a pickled module in the format before 1.6",
         lambda: b.torch_saved(b.module(), False), format="pickled_module"),
    Case("bytecode.ptl", "mobile bytecode without code", b.bytecode, format="mobile_bytecode"),
    Case("tar.pth", "the tar of PyTorch 0.1", b.tar, format="legacy_tar"),
    Case("model.onnx", "an ONNX model", b.onnx, SOUND, format="onnx"),
    Case("onnx_as_pt.pt", "an ONNX model named .pt", b.onnx, format="onnx"),
    Case("model.safetensors", "safetensors", b.safetensors, format="safetensors"),
    Case("engine.ts", "a TensorRT engine inside TorchScript", b.engine, (1, 3)),

    # Odd, but sound
    Case("sound.pt", "the model that the damaged ones are made from", b.traced, SOUND, "torchscript"),
    Case("no_suffix", "the same, without an ending", b.traced, SOUND, "torchscript"),
    Case("deflated.pt", "compressed records",
         lambda: b.edited(lambda records: None, zipfile.ZIP_DEFLATED), SOUND, "torchscript"),
    Case("unaligned.pt", "stored records at odd places", b.unaligned, SOUND, "torchscript"),
    Case("big_endian.pt", "tensors of a big-endian machine", b.big_endian, (0, 3), "torchscript"),
    Case("mobile.ptl", "mobile bytecode beside the code", b.mobile, LOADS, "torchscript"),
    Case("renamed_folder.pt", "another top folder, with a space", b.renamed_folder, SOUND, "torchscript"),
    Case("extra_record.pt", "records that nobody knows", b.extra_record, SOUND, "torchscript"),
    Case("extra_files.pt", "files attached by torch.jit.save",
         lambda: b.saved(torch.jit.trace(b.module(), torch.ones(1, 7)), _extra_files={"labels.txt": "cat"}),
         SOUND, "torchscript"),
    Case("frozen.pt", "a frozen model",
         lambda: b.saved(torch.jit.freeze(torch.jit.script(b.module()))), LOADS, "torchscript"),
    Case("optimized.pt", "optimized for inference", b.optimized, LOADS, "torchscript"),
    Case("no_debug.pt", "without source positions", b.without_debug, SOUND, "torchscript"),
]


def exported(name: str, what: str, content: Callable[[], bytes], exits: tuple = UNREADABLE, words: str = "", format: str = "exported_program") -> None:
    CASES.append(Case(f"pt2_{name}.pt2", what, content, exits, format, words))


# Exported programs: sound
exported("sound", "the program that the damaged ones are made from", e.exported, SOUND)
exported("deflated", "compressed records", lambda: e.edited(lambda records: None, zipfile.ZIP_DEFLATED), SOUND)
exported("unknown_key", "a key of a later release", lambda: e.program(lambda d: d.update(colour="red")), SOUND)
exported("newer_minor", "a compatible later schema", lambda: e.program(lambda d: d["schema_version"].update(minor=99)), SOUND)
exported("guard_is_code", "a guard that would run a command in Python",
         lambda: e.program(lambda d: d.update(guards_code=["__import__('os').system('true') == 0"])), SOUND)
exported("compiled_too", "beside the program what AOTInductor compiled", lambda: e.also({"data/aotinductor/model/a.so": b"x"}), SOUND)
exported("no_samples", "no sample inputs", lambda: e.without("data/sample_inputs/"), SOUND)
exported("sample_pickle", "sample inputs that would run a command in Python",
         lambda: e.also({"data/sample_inputs/model.pt": b.pickle_of(b"cos\nsystem\nX\x04\x00\x00\x00true\x85R")}), SOUND)
exported("expanded", "a weight of 7 * 10^9 elements in 28 bytes", lambda: e.tensor(sizes=e.ints(10**9, 7), strides=e.ints(0, 1)), BOUNDED)

# The archive
for at in (100, 1000, 0.25, 0.5, 0.75, -200, -22, -1):
    exported(f"cut{at}", f"an archive cut at {at}", lambda at=at: e.cut(at), format=None)
exported("overlap", "a record that begins inside another", e.overlapping, words="overlap")
exported("two_of_a_name", "two records of one name", e.twice_named, words="weight_0")
exported("past_the_end", "a record of more bytes than the file", lambda: e.in_directory("data/weights/weight_0", 20, 0x7FFFFFF0))
exported("past_the_end_unpacked", "a stored record whose sizes differ", lambda: e.in_directory("data/weights/weight_0", 24, 0x7FFFFFF0))
exported("outside", "a record that begins behind the file", lambda: e.in_directory("data/weights/weight_0", 42, 0x7FFFFFF0))
exported("checksum", "a program whose checksum is another", lambda: e.in_directory("models/model.json", 16, 7), words="checksum")
exported("two_roots", "records below two folders", lambda: e.edited(lambda records: records.update({"other/models/model.json": b"{}"})), words="other")
exported("bomb", "a program that unpacks to 256 MB of spaces", e.bomb, words="too large")
exported("no_program", "weights without a program: saving was interrupted", lambda: e.without("models/"), words="interrupted")
exported("aotinductor", "only what AOTInductor compiled", lambda: e.edited(lambda r: (r.pop(e.PROGRAM), r.update({e.ROOT + "data/aotinductor/model/a.so": b"x"}))),
         words="AOTInductor")
exported("executorch", "an ExecuTorch program in an archive", lambda: e.edited(lambda r: (r.pop(e.PROGRAM), r.update({e.ROOT + "data/executorch/model.pte": b"x"}))),
         words="ExecuTorch")
exported("pte", "an ExecuTorch program", e.pte, words="ExecuTorch", format=None)
exported("pickled", "a graph that torch.save pickled", e.pickled_program, words="pickled", format=None)
exported("several", "two programs", e.two_programs, words="choose one with --model")
exported("archive_version", "a later archive", lambda: e.also({"archive_version": b"1"}), words="version")
exported("big_endian", "of a big-endian machine", lambda: e.also({"byteorder": b"big"}), words="endian")

# The JSON
exported("empty", "an empty program", lambda: e.whole(b""), words="model.json")
exported("no_json", "prose", lambda: e.whole(b"once upon a time"), words="model.json")
exported("list", "a list", lambda: e.whole(b"[]"), words="model.json")
exported("deep", "200,000 brackets", lambda: e.whole(b"[" * 200000), words="deep")
exported("deep_value", "200,000 brackets as a value", lambda: e.text('"kind": 1', '"kind": ' + "[" * 200000 + "]" * 200000), words="deep")
exported("trailing", "text after the end", lambda: e.edited(lambda records: records.update({e.PROGRAM: records[e.PROGRAM] + b" x"})), words="model.json")
exported("bom", "a byte order mark", lambda: e.edited(lambda records: records.update({e.PROGRAM: b"\xef\xbb\xbf" + records[e.PROGRAM]})), words="byte order")
exported("not_utf8", "bytes that are no text", lambda: e.edited(lambda records: records.update(
    {e.PROGRAM: records[e.PROGRAM].replace(b"relu", b"re\xff\xfe", 1)})), words="model.json")
exported("surrogate", "half a surrogate pair", lambda: e.text('"relu"', '"\\ud800"'), words="model.json")
exported("nan", "a bare NaN", lambda: e.text('"as_float": 2.5', '"as_float": NaN'), words="NaN")
exported("infinity", "a bare Infinity as a size", lambda: e.text('"as_int": 7', '"as_int": Infinity'), words="Infinity")
exported("beyond_int64", "a whole number beyond 64 bits", lambda: e.text('"as_int": 7', '"as_int": 18446744073709551617'), words="64 bits")
exported("beyond_int64_little", "2^63", lambda: e.text('"as_int": 7', '"as_int": 9223372036854775808'), words="64 bits")
exported("key_twice", "one key twice", lambda: e.text('"as_float": 2.5', '"as_float": 2.5, "as_float": 3.5'), words="as_float")
exported("two_tags", "a union of two values", lambda: e.text('"as_float": 2.5', '"as_float": 2.5, "as_int": 2'), words="as_int")
exported("no_tag", "a union of none", lambda: e.text('"as_float": 2.5', ""), words="model.json")
exported("huge_expression", "an expression of 100 KB", lambda: e.meta("relu", sizes=[{"as_expr": {"expr_str": "Add(" + "Integer(1), " * 9000 + "Integer(1))", "hint": None}},
                                                                              *e.ints(5)]), BOUNDED)
exported("deep_expression", "an expression 5,000 deep", lambda: e.meta("relu", sizes=[{"as_expr": {"expr_str": "Add(" * 5000 + "Integer(1)" + ")" * 5000, "hint": None}},
                                                                              *e.ints(5)]), BOUNDED)
exported("power_tower", "an expression whose value has no end", lambda: e.meta("relu", sizes=[{"as_expr": {"expr_str": "Pow(Integer(10), Pow(Integer(10), Integer(10)))",
                                                                                                "hint": None}}, *e.ints(5)]), BOUNDED)

# Versions and codes
for major in (9, 6, 3):
    exported(f"major{major}", f"schema {major}", lambda major=major: e.program(lambda d: d["schema_version"].update(major=major)), words=f"{major}.")
exported("no_schema", "no schema version", lambda: e.program(lambda d: d.pop("schema_version")), words="schema version")
exported("unknown_tag", "an argument of a later kind", lambda: e.argument("aten.mul", "other", {"as_quaternion": [1, 2, 3, 4]}), (1, 3), "as_quaternion")
exported("unknown_spec", "an input of a later kind", lambda: e.program(e.unknown_spec), words="user_prophecy")
exported("unknown_dtype", "a value of an unknown dtype", lambda: e.meta("relu", dtype=99), (1, 3), "99")
exported("unknown_dtype_argument", "an argument that is an unknown dtype", lambda: e.argument("aten.to", "dtype", {"as_scalar_type": 99}), (1, 3), "99")
exported("unknown_argument", "an argument that the schema lacks", lambda: e.argument("aten.relu", "slope", {"as_float": 0.1}), REFUSED, "slope")
exported("lacking_argument", "a call without a required argument",
         lambda: e.graph(lambda g: e.node_of(g, "aten.mul")["inputs"].pop()), (1, 3), "other")
exported("unknown_operator", "an operator of a later release", lambda: e.retargeted("aten.relu", "torch.ops.aten.relu7.default"), REFUSED, "relu7")
exported("unknown_overload", "an overload of a later release", lambda: e.retargeted("aten.relu", "torch.ops.aten.relu.Later"), REFUSED, "relu")
exported("unknown_library", "an operator of a library that isn't there", lambda: e.retargeted("aten.relu", "torch.ops.my_lib.relu.default"), REFUSED, "my_lib")
exported("unknown_target", "a target that is no operator", lambda: e.retargeted("aten.relu", "os.system"), (1, 3), "os.system")
exported("registered_extension", "a node of a registered extension", lambda: e.retargeted("aten.relu", "#my:node"), (1, 3), "#my:node")
exported("delegate", "a node lowered for a backend", lambda: e.retargeted("aten.relu", "torch.ops.higher_order.executorch_call_delegate"), REFUSED,
         "executorch_call_delegate")

# The graph
exported("twice_defined", "a value defined twice", lambda: e.graph(e.twice_defined), words="twice")
exported("reads_itself", "a node that reads its own result", lambda: e.graph(e.reads_itself), words="before")
exported("reversed", "nodes in the reverse order", lambda: e.graph(e.reversed_nodes), words="before")
exported("unknown_value", "a node that reads nothing that is there", lambda: e.argument("aten.relu", "self", {"as_tensor": {"name": "nothing"}}), words="nothing")
exported("spec_missing", "fewer input specs than inputs", lambda: e.program(e.one_spec_less), words="inputs")
exported("no_nodes", "a graph without its list of nodes", lambda: e.graph(lambda g: g.pop("nodes")), words="nodes")
exported("no_meta", "a value of which nothing is said", lambda: e.graph(lambda g: g["tensor_values"].pop("relu")), (0, 3))
exported("false_sizes", "sizes that the operators contradict", lambda: e.meta("relu", sizes=e.ints(3, 9)), BOUNDED)
exported("false_dtype", "a dtype that the operators contradict", lambda: e.meta("relu", dtype=5), BOUNDED)
exported("nested_regions", "100 subgraphs inside each other", lambda: e.nested_regions(100), words="deep")
exported("few_regions", "5 subgraphs inside each other", lambda: e.nested_regions(5), SOUND)

# The weights
exported("no_weight", "the record of a weight isn't there", lambda: e.without("data/weights/weight_0"), words="weight_0")
exported("no_config", "the list of weights isn't there", lambda: e.without("data/weights/model_weights_config.json"), words="linear")
exported("no_entry", "a weight isn't in the list", lambda: e.program(lambda d: d["config"].pop("linear.bias"), e.WEIGHTS), words="linear.bias")
exported("no_path", "a weight without a record's name", lambda: e.program(lambda d: d["config"]["linear.weight"].pop("path_name"), e.WEIGHTS), words="path_name")
for name, path in {"path_up": "../../etc/passwd", "path_slash": "a/weight_0", "path_root": "/etc/passwd", "path_empty": "", "path_unknown": "weight_99"}.items():
    exported(name, f"the record {path!r}", lambda path=path: e.entry(path_name=path), words="weight_99" if name == "path_unknown" else "path_name")
exported("fake_weight", "a weight without its values", lambda: e.also({"data/weights/weight_0": b""}), words="values")
exported("short_weight", "8 bytes for 140", lambda: e.also({"data/weights/weight_0": bytes(8)}), words="linear.weight")
exported("sizes_larger", "sizes beyond the record", lambda: e.tensor(sizes=e.ints(5000, 7)), words="linear.weight")
exported("sizes_negative", "a negative size", lambda: e.tensor(sizes=e.ints(-5, 7)), words="linear.weight")
exported("sizes_overflow", "sizes whose product overflows", lambda: e.tensor(sizes=e.ints(2**62, 7), strides=e.ints(7, 1)), words="linear.weight")
exported("offset_beyond", "an offset beyond the record", lambda: e.tensor(storage_offset={"as_int": 1 << 40}), words="linear.weight")
exported("offset_negative", "an offset before the record", lambda: e.tensor(storage_offset={"as_int": -8}), words="linear.weight")
exported("strides_beyond", "strides that leave the record", lambda: e.tensor(strides=e.ints(1 << 40, 1)), words="linear.weight")
exported("strides_negative", "a negative stride", lambda: e.tensor(strides=e.ints(-7, 1)), words="linear.weight")
exported("strides_more", "more strides than sizes", lambda: e.tensor(strides=e.ints(7, 1, 1)), words="strides")
exported("rank65", "65 dimensions", lambda: e.tensor(sizes=e.ints(*[1] * 65), strides=e.ints(*[1] * 65)), words="dimensions")
exported("weight_dtype", "an unknown dtype", lambda: e.tensor(dtype=99), words="99")
exported("weight_sparse", "a sparse layout", lambda: e.tensor(layout=1), words="sparse")
exported("pickled_weight", "a pickled weight that would run a command in Python", lambda: e.edited(lambda records: (
    records.update({e.WEIGHTS: records[e.WEIGHTS].replace(b'"use_pickle": false', b'"use_pickle": true')}),
    records.update({e.ROOT + "data/weights/weight_0": b.torch_saved(b.module())}))), words="pickle")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    sources = [registry.HERE / name for name in ("make_broken.py", "broken.py", "broken_exported.py", "archives.py")]
    stamp = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    index = out / "index.json"
    if index.exists() and json.loads(index.read_text())["stamp"] == stamp:
        return 0
    out.mkdir(parents=True, exist_ok=True)
    entries = []
    for case in CASES:
        with build.quiet():
            content = case.content()
        (out / case.file).write_bytes(content)
        entries.append({"file": case.file, "what": case.what, "exits": case.exits, "format": case.format,
                        "words": case.words, "bytes": len(content)})
    index.write_text(json.dumps({"stamp": stamp, "files": entries}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
