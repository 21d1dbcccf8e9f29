"""Writes promotion.tsv: torch.promote_types of every pair of dtypes, and torch.result_type of tensors with and without
dimensions and Python numbers. Run again when the supported torch changes: python promotion_table.py > promotion.tsv"""
import torch

NAMES = {"u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
         "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
         "c32": torch.complex32, "c64": torch.complex64, "c128": torch.complex128, "bool": torch.bool,
         "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64}
SHORT = {dtype: name for name, dtype in NAMES.items()}
NUMBERS = {"int": 1, "float": 1.0, "True": True, "complex": 1j}


def attempt(function, *arguments):
    try:
        return SHORT[function(*arguments)]
    except RuntimeError:
        return "-"


print(f"# torch {torch.__version__}: kind, first, second, result; - where torch refuses")
for a, first in NAMES.items():
    for b, second in NAMES.items():
        print("types", a, b, attempt(torch.promote_types, first, second), sep="\t")
        zero, one = torch.empty((), dtype=second), torch.empty(1, dtype=first)
        print("dimensioned", a, b, attempt(torch.result_type, one, zero), sep="\t")
    for b, number in NUMBERS.items():
        print("number", a, b, attempt(torch.result_type, torch.empty(1, dtype=first), number), sep="\t")
        print("number0", a, b, attempt(torch.result_type, torch.empty((), dtype=first), number), sep="\t")
