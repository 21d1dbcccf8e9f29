"""What a case of layers_*.py is, and how it is traced or scripted and run in PyTorch: layer_store.py keeps the results."""
import contextlib, dataclasses, warnings

import numpy as np
import torch

from layer_store import Stored

DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.int64: "i64", torch.int32: "i32", torch.int8: "i8",
          torch.uint8: "u8", torch.bool: "bool", torch.int16: "i16", torch.bfloat16: "bf16", torch.uint16: "u16", torch.complex64: "c64",
          torch.complex128: "c128"}


@dataclasses.dataclass
class Case:
    module: object                       # nn.Module or function
    inputs: list                         # of tuples; the first is traced
    specs: tuple = ()                    # "f32:batch,3,height,width" for each input; default: the first set's sizes
    script: bool = False
    inferred: bool = False               # scripted, and nothing is said of its inputs: they follow from what reads them
    opsets: range = None                 # at which it converts: all, or none if it is refused; at all others it is refused
    tolerance: tuple = ()
    refused: str = ""                    # the words of the refusal, alternatives parted by " | "
    needs: str = ""                      # what the call needs if it isn't refused: words of the finding
    runs: range = range(7, 27)           # at which ONNX Runtime has the kernels
    zeros: range = range(7, 27)          # at which Reshape can say the sizes: two of 0 from opset 14 on
    untried: range = ()                  # opsets at which only an approximation is stated
    engine: str = ""                     # the only one of PyTorch's engines for quantized tensors that has the kernels
    tabled: bool = False                 # script_outcomes.tsv says at which opsets it converts

    def __post_init__(self):
        if self.opsets is None:
            self.opsets = range(0) if self.refused else range(7, 27)


def settle():
    """Before cases are made: the same numbers each time."""
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)


@contextlib.contextmanager
def engine(name):
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = name or before
    try:
        yield
    finally:
        torch.backends.quantized.engine = before


def save(case, file):
    module = case.module
    if not isinstance(module, torch.nn.Module):
        function = module

        class Wrapped(torch.nn.Module):
            def forward(self, *inputs):
                return function(*inputs)

        module = Wrapped()
    module = module.eval()
    with engine(case.engine):
        made = torch.jit.script(case.module) if case.script or case.inferred else torch.jit.trace(module, case.inputs[0], check_trace=False)
        torch.jit.save(made, str(file))
        return torch.jit.load(str(file))   # in memory tracing's constants still know that they were numbers


def dtype_of(x):
    if not x.is_quantized:
        return DTYPES[x.dtype]
    word = {torch.quint8: "qu8", torch.qint8: "qi8"}[x.dtype]
    if x.qscheme() != torch.per_channel_affine:
        return f"{word}({x.q_scale()!r},{x.q_zero_point()})"
    numbers = [",".join(map(repr, values.tolist())) for values in (x.q_per_channel_scales(), x.q_per_channel_zero_points())]
    return f"{word}([{numbers[0]}],[{numbers[1]}],{x.q_per_channel_axis()})"


def specs_of(case):
    if case.inferred:
        return []
    return case.specs or [f"{dtype_of(x)}:{','.join(map(str, x.shape)) or 'scalar'}" for x in case.inputs[0]]


def flat(value):
    """With each None."""
    if isinstance(value, dict):
        return flat(list(value.values()))
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in flat(item)]
    if hasattr(value, "__dict__") and not isinstance(value, torch.Tensor):   # an object of a scripted class
        return flat(vars(value))
    return [value]


def array(x):
    """What the ONNX model has for it: floats for quantized tensors, arrays for numbers."""
    if not isinstance(x, torch.Tensor):
        return np.asarray(x)
    return (x.detach().dequantize() if x.is_quantized else x.detach()).numpy()


def computed(case, module, inputs):
    """Inputs and results as arrays; a text with the reason if they have none, as numpy has no bfloat16."""
    try:
        results = flat(module(*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]))
        return [array(x) for x in inputs], [None if result is None else array(result) for result in results]
    except Exception as error:
        return [], f"{type(error).__name__}: {str(error)[-300:]}"


def stored(name, case, folder, compared=True):
    module = save(case, folder / f"{name}.pt")
    with engine(case.engine):
        runs = [computed(case, module, inputs) for inputs in case.inputs] if compared and (case.opsets or case.tabled) else []
    return Stored(specs=list(specs_of(case)), opsets=None if case.tabled else list(case.opsets), tolerance=case.tolerance, refused=case.refused,
                  needs=case.needs, runs=list(case.runs), zeros=list(case.zeros), untried=list(case.untried), runs_of=runs)
