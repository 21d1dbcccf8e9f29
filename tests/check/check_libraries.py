#!/usr/bin/env python3
"""Models that call operators of libraries convert without the libraries: TorchScript files and exported programs, checked and converted by
the program, computed by ONNX Runtime at sizes that the conversion never saw. A third of the models each day.

    check_libraries.py --program BUILD/compatcheck
"""
import argparse, json, pathlib, subprocess, sys, tempfile, warnings

warnings.filterwarnings("ignore")
import numpy as np
import torch
from torch import nn

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / folder) for folder in ("convert", "models")]
import library_references
from days import part_of_the_day


class Messages(nn.Module):
    """A layer of a graph network: the mean and the greatest of what comes in by the edges."""

    def __init__(self):
        super().__init__()
        self.of_mean, self.of_greatest = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x, edges):
        sent = x[edges[0]]
        mean = torch.ops.torch_scatter.scatter_mean(sent, edges[1], 0, None, 6)
        greatest, places = torch.ops.torch_scatter.scatter_max(sent, edges[1], 0, None, 6)
        return self.of_mean(mean) + self.of_greatest(greatest), places


class Open(nn.Module):
    """As many groups as the index names."""

    def forward(self, x, index):
        return torch.ops.torch_scatter.scatter_sum(x, index, 0, None, None).relu(), torch.ops.torch_scatter.scatter_min(x, index, 0, None, None)[0]


class Sparse(nn.Module):
    def forward(self, x, rowptr, col):
        return torch.ops.torch_sparse.spmm_sum(None, rowptr, col, None, None, None, x), torch.ops.torch_scatter.segment_max_csr(x[col], rowptr, None)[1]


class Nearest(nn.Module):
    def forward(self, x, y):
        pairs = torch.ops.torch_cluster.knn(x, y, None, None, 2, False, 1)
        return pairs, torch.ops.torch_cluster.grid(x, torch.tensor([0.5, 0.7]), None, None)


class Attention(nn.Module):
    def forward(self, q, k):
        return torch.ops.flash_attn._flash_attn_forward(q, k, k, 0.0, 0.25, True, -1, -1, 0.0, None, False)[0]


def quantized():
    """Layers that torchao quantizes: weights in groups, and inputs by what each row holds."""
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
    from torchao.quantization.granularity import PerGroup
    from torchao.utils import unwrap_tensor_subclass
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 5)).eval()
    quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_granularity=PerGroup(32)))
    return unwrap_tensor_subclass(model)


def edges(nodes, count):
    return torch.stack([torch.randint(nodes, (count,)), torch.randint(6, (count,))])


def rows(count, columns, most=3):
    ends = torch.cat([torch.zeros(1, dtype=torch.int64), torch.randint(0, most, (count,)).cumsum(0)])
    return torch.randn(columns, 4), ends, torch.randint(columns, (int(ends[-1]),))


def halves(time, keys):
    return torch.randn(2, time, 4, 8).half(), torch.randn(2, keys, 2, 8).half()


# name → the model; inputs of runs, the first of which is traced or exported; the inputs in the words of --input
MODELS = {
    "messages": (Messages, [(torch.randn(5, 4), edges(5, 9)), (torch.randn(7, 4), edges(7, 20)), (torch.randn(1, 4), edges(1, 1)),
                            (torch.randn(2, 4), edges(2, 0))], ("f32:n,4", "i64:2,e")),
    "open": (Open, [(torch.randn(5, 3), torch.tensor([0, 2, 2, 1, 4])), (torch.randn(3, 3), torch.tensor([1, 0, 7])),
                    (torch.randn(0, 3), torch.zeros(0, dtype=torch.int64))], ("f32:n,3", "i64:n")),
    "sparse": (Sparse, [rows(3, 4), rows(6, 2), rows(1, 1), rows(4, 3, 1)], ("f32:c,4", "i64:r", "i64:e")),
    "nearest": (Nearest, [(torch.randn(5, 2), torch.randn(3, 2)), (torch.randn(9, 2), torch.randn(1, 2)), (torch.randn(1, 2), torch.randn(4, 2))],
                ("f32:n,2", "f32:m,2")),
    "attention": (Attention, [halves(3, 5), halves(6, 6), halves(5, 2), halves(1, 1)], ("f16:2,n,4,8", "f16:2,m,2,8")),
    "quantized": (quantized, [(torch.randn(3, 64),), (torch.randn(1, 64) * 9,), (torch.zeros(7, 64),)], ("f32:n,64",)),
}


def fakes():
    """What torch.export asks of operators: the sizes of their results."""
    def of_groups(src, index, dim, out, dim_size):
        return src.new_empty([dim_size, *src.shape[1:]])

    both = lambda *given: (of_groups(*given), torch.empty_like(of_groups(*given), dtype=torch.int64))
    torch.library.register_fake("torch_scatter::scatter_mean")(of_groups)
    torch.library.register_fake("torch_scatter::scatter_max")(both)
    empty = lambda q, *rest: (torch.empty_like(q), q.new_empty([q.shape[0], q.shape[2], q.shape[1]], dtype=torch.float32), q.new_empty([0]),
                              q.new_empty([2], dtype=torch.int64))
    torch.library.register_fake("flash_attn::_flash_attn_forward")(empty)


EXPORTED = {"messages": ({0: "n"}, {1: "e"}), "attention": ({1: "n"}, {1: "m"}), "quantized": ({0: "n"},)}


def saved(name, kind, folder):
    made, runs, _ = MODELS[name]
    torch.manual_seed(0)
    model, file = made().eval(), folder / f"{name}.{kind}"
    if kind == "pt":
        torch.jit.trace(model, runs[0], check_trace=False).save(str(file))
    else:
        dynamic = tuple({axis: torch.export.Dim.AUTO for axis in axes} for axes in EXPORTED[name])
        torch.export.save(torch.export.export(model, runs[0], dynamic_shapes=dynamic), file)
    return model, file


def run(*words):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True)


def differences(file, model, runs):
    import onnxruntime
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    for number, inputs in enumerate(runs):
        want = model(*inputs)
        want = [value.detach().numpy() for value in (want if isinstance(want, tuple) else (want,))]
        got = session.run(None, dict(zip(names, (value.numpy() for value in inputs))))
        for g, w in zip(got, want, strict=True):
            if g.shape != w.shape or g.dtype != w.dtype or not np.allclose(g, w, rtol=2e-3 if w.dtype == np.float16 else 1e-5, atol=1e-5):
                yield f"inputs {number}: {g.dtype} {g.shape} for {w.dtype} {w.shape}, {g.ravel()[:6]} for {w.ravel()[:6]}"


def check(program, name, kind, folder):
    model, file = saved(name, kind, folder)
    _, runs, specs = MODELS[name]
    checked = run(program, "check", file, "--format", "json")
    given = []
    if kind == "pt":
        inputs = json.loads(checked.stdout)["model"]["inputs"]
        given = [word for one, spec in zip(inputs, specs, strict=True) for word in ("--input", f"{one['name']}={spec}")]
        checked = run(program, "check", file, "--opset", 18, *given)
    made = folder / f"{name}_{kind}.onnx"
    converted = run(program, "convert", file, "--opset", 18, *given, "-o", made, "-q")
    if checked.returncode or converted.returncode:
        yield f"check ends with {checked.returncode}, convert with {converted.returncode}: {checked.stdout[-600:]} {converted.stderr[-600:]}"
    else:
        yield from differences(made, model, runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    program = parser.parse_args().program
    torch.set_grad_enabled(False)
    library_references.register()
    fakes()
    models = [(name, kind) for name in MODELS for kind in ("pt", "pt2") if (name in EXPORTED if kind == "pt2" else name != "quantized")]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for name, kind in part_of_the_day(models, "check_libraries", 3):
            wrong += [f"{name}.{kind}: {problem}" for problem in check(program, name, kind, pathlib.Path(folder))]
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
