"""Changes to saved archives: what a file written on another machine, or by another version, holds."""
import re
from typing import Dict

from archives import replace_in


def pickled_text(text: str) -> bytes:
    """A string as TorchScript's pickler writes it (BINUNICODE)."""
    return b"X" + len(text).to_bytes(4, "little") + text.encode()


def on_gpu(records: Dict[str, bytes]) -> None:
    """The file as saved from a GPU: storages live on cuda:0, device constants name it."""
    replace_in(records, ".pkl", pickled_text("cpu"), pickled_text("cuda:0"))
    replace_in(records, ".py", b'torch.device("cpu")', b'torch.device("cuda:0")')


def version_3(records: Dict[str, bytes]) -> None:
    """The file as written by PyTorch 1.5: integer division rounds, gelu has no `approximate`."""
    replace_in(records, "/version", records[next(n for n in records if n.endswith("/version"))], b"3\n")


def without_methods(records: Dict[str, bytes]) -> None:
    """Packed parameters keep their attribute only: what packs and unpacks them belongs to the class renamed below."""
    for name, text in records.items():
        if b"\nclass LinearPackedParams(" in b"\n" + text:
            records[name] = text[:text.index(b"  def _weight_bias")]


def rename_library(records: Dict[str, bytes]) -> None:
    """quantized -> my_matrix, a name as long, so that source positions stay right."""
    replace_in(records, ".py", b"torch.classes.quantized.", b"torch.classes.my_matrix.")
    replace_in(records, "data.pkl", b"torch.classes.quantized\n", b"torch.classes.my_matrix\n")


def class_as_argument(records: Dict[str, bytes]) -> None:
    """Packed parameters as a class of a library that is not there, passed to that library's operator."""
    without_methods(records)
    rename_library(records)
    replace_in(records, ".py", b"ops.quantized.", b"ops.my_matrix.")


def class_with_method(records: Dict[str, bytes]) -> None:
    """The same, with the work done by a method of the class."""
    without_methods(records)
    rename_library(records)
    call = re.compile(rb"ops\.quantized\.linear_dynamic\((\w+), (\w+), True\)")
    for name in [name for name in records if name.endswith(".py")]:
        records[name] = call.sub(
            lambda m: b"(%s).linear_dynamic(%s, True, )".ljust(len(m[0]) + 4) % (m[2], m[1]), records[name])
