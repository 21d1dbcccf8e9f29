#!/usr/bin/env python3
"""Makes malformed, foreign and odd files:  make_broken.py --out DIR

DIR/index.json names each: file, what it is, the exit codes allowed for `compatcheck FILE`, and the format that should
be recognised where there is one. Files that must load are listed too: a refusal of everything fails the tests.
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
import build
import registry

UNREADABLE = (3,)
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
    Case("exported.pt2", "a torch.export program", b.exported, format="exported_program"),
    Case("bytecode.ptl", "mobile bytecode without code", b.bytecode, format="mobile_bytecode"),
    Case("tar.pth", "the tar of PyTorch 0.1", b.tar, format="legacy_tar"),
    Case("model.onnx", "an ONNX model", b.onnx, format="onnx"),
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    sources = [registry.HERE / name for name in ("make_broken.py", "broken.py", "archives.py")]
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
                        "bytes": len(content)})
    index.write_text(json.dumps({"stamp": stamp, "files": entries}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
