#!/usr/bin/env python3
"""Calls of every operator in every pair of dtypes, as a corpus that run_corpus.py takes.

    dtype_calls.py --out DIR [--ops REGEX] [--part 1/20] [--samples 2]

The calls are the samples of PyTorch's operator database (OpInfo) with other dtypes: each pair for the first two tensors, tensors without
dimensions and Python numbers in the place of the second, Python numbers of other kinds, the in-place form and `out=` of several
dtypes. Integers reach to the ends of their dtype, so results wrap around.

A call that PyTorch refuses for its dtypes becomes a case that must be refused ("refused"): the model is that of the sample, given
inputs of those dtypes. --part 1/20: a twentieth of the calls, chosen by a hash.
"""
import argparse, hashlib, itertools, json, os, pathlib, re, resource, sys, types, warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import opinfo_corpus as corpus

DTYPES = {"u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "f16": "float16", "bf16": "bfloat16",
          "f32": "float32", "f64": "float64", "bool": "bool"}
SHORT = {long: short for short, long in DTYPES.items()}
# Pairs for forms that a call has besides the plain one.
FIRST = ("u8", "i8", "i32", "i64", "f16", "f32", "f64", "bool")
SECOND = ("u8", "i8", "i64", "f16", "f32", "f64", "bool")
OUT = ("u8", "i8", "i64", "f16", "f32", "f64")
NUMBERS = (3, 2.5, True, -1, 300)
INTEGERS = (1, 3, 2, 100, 5, 0, 7, 120, 1, 4, 60, 2)
MOST_ELEMENTS = 2000
MOST_MEMORY = 8 << 30
# What PyTorch's CPU build has no kernel for says nothing about the call, and neither do values that it refuses.
NO_KERNEL = re.compile(r"not implemented for|not implemented|not supported on|could not create a primitive|unsupported|not yet supported|allocate|without overflow")
DTYPE_WORDS = re.compile(r"dtype|type|Half|Float|Double|Long|Int|Byte|Char|Short|Bool|floating|integral|integer", re.I)
# Their values are open, of boundaries that aren't in order too, or their samples take long.
LEFT_OUT = re.compile(r"^(bucketize|searchsorted|empty|new_empty|resize|.*dropout|rand|normal|bernoulli|multinomial|nn\.functional\.fractional|svd|linalg\.svd|"
                      r"linalg\.lstsq|linalg\.eig|pca|svd_lowrank|.*sparse|.*jiterator|torch\.ops|nested|.*ctc_loss|.*gaussian|signal|stft|istft)")


def ends(dtype):
    import torch
    info = torch.iinfo(dtype)
    wide = dtype in (torch.int32, torch.int64)
    return (1000, -1000) if wide else (info.max, info.min)


def converted(tensor, dtype, mild):
    """the sample's tensor in another dtype; integers of a pattern that wraps around in sums and products, unless they are to be mild"""
    import torch
    if dtype == torch.bool or dtype.is_floating_point or tensor.numel() == 0:
        return tensor.to(dtype) if dtype != torch.bool else tensor > 0
    if mild:
        return tensor.abs().ceil().clamp(1, 9).to(dtype)
    pattern = list(INTEGERS) + list(ends(dtype)) + ([] if dtype == torch.uint8 else [-3, -1])
    flat = [pattern[(i * 5 + tensor.dim()) % len(pattern)] for i in range(tensor.numel())]
    return torch.tensor(flat, dtype=torch.int64).to(dtype).reshape(tensor.shape)


class Call:
    """One sample: its tree of arguments, with floating tensors that take dtypes and numbers that take kinds."""

    def __init__(self, op, sample):
        import torch
        import torch.utils._pytree as pytree
        self.op, self.pytree = op, pytree
        self.leaves, self.spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        self.tensors = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]
        self.floating = [i for i in self.tensors if self.leaves[i].dtype == torch.float32]
        self.numbers = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, (int, float)) and not isinstance(leaf, bool)]

    def with_leaves(self, changes, function=None):
        leaves = [changes.get(i, leaf) for i, leaf in enumerate(self.leaves)]
        given, args, kwargs = self.pytree.tree_unflatten(leaves, self.spec)
        return types.SimpleNamespace(op=function or self.op.op, name=self.op.name), types.SimpleNamespace(input=given, args=args, kwargs=kwargs)

    def of_dtypes(self, first, rest, mild, scalar=None):
        """scalar: 0 or 1: the first or the other tensors have no dimensions"""
        import torch
        changes = {}
        for place, i in enumerate(self.floating):
            dtype = getattr(torch, DTYPES[rest if place else first])
            tensor = converted(self.leaves[i], dtype, mild)
            changes[i] = tensor.reshape(-1)[0].clone() if scalar == min(place, 1) and tensor.numel() else tensor
        return changes

    def forms(self):
        """(name of the form, {mild: changes}, function or None)"""
        import torch
        two = len(self.floating) > 1
        for a in DTYPES:
            for b in DTYPES if two else [a]:
                yield f"{a}-{b}", lambda mild, a=a, b=b: self.of_dtypes(a, b, mild), None
        in_place = self.op.get_inplace() if self.op.inplace_variant else None
        for a, b in itertools.product(FIRST, SECOND if two else ("",)):
            if two:
                yield f"{a}-{b}-second0d", lambda mild, a=a, b=b: self.of_dtypes(a, b, mild, 1), None
                yield f"{a}-{b}-first0d", lambda mild, a=a, b=b: self.of_dtypes(a, b, mild, 0), None
            if in_place:
                on_copy = lambda x, *args, **kwargs: in_place(x.clone(), *args, **kwargs)
                yield f"{a}-{b or a}-inplace", lambda mild, a=a, b=b: self.of_dtypes(a, b or a, mild), on_copy
                if two:
                    yield f"{a}-{b}-inplace0d", lambda mild, a=a, b=b: self.of_dtypes(a, b, mild, 1), on_copy
        if two:
            for a, number in itertools.product(FIRST, NUMBERS):
                yield f"{a}-number{number}", lambda mild, a=a, n=number: {**self.of_dtypes(a, a, mild), self.floating[1]: n}, None
                yield f"number{number}-{a}", lambda mild, a=a, n=number: {**self.of_dtypes(a, a, mild), self.floating[0]: n}, None
        for place, (a, number) in itertools.product(self.numbers[:2], itertools.product(FIRST, NUMBERS)):
            if isinstance(self.leaves[place], int) and isinstance(number, int):
                continue
            yield f"{a}-arg{place}is{number}", lambda mild, a=a, p=place, n=number: {**self.of_dtypes(a, a, mild), p: n}, None
        if self.op.supports_out:
            for a, result in itertools.product(FIRST, OUT):
                function = lambda *args, r=result, **kwargs: self.op.op(*args, **kwargs, out=torch.empty(0, dtype=getattr(torch, DTYPES[r])))
                yield f"{a}-out{result}", lambda mild, a=a: self.of_dtypes(a, a, mild), function


def chosen(name, part):
    index, count = part
    return int(hashlib.sha1(name.encode()).hexdigest()[:8], 16) % count == index - 1


def samples_of(op, count):
    import torch
    corpus.seed_all(int(hashlib.sha1(op.name.encode()).hexdigest()[:6], 16))
    found = [Call(op, sample) for sample in itertools.islice(op.sample_inputs("cpu", torch.float32, requires_grad=False), 24)]
    # Those without dimensions last: the forms make them of others.
    for i in sorted(corpus.pick_order(len(found)), key=lambda i: all(found[i].leaves[t].dim() == 0 for t in found[i].tensors)):
        call = found[i]
        elements = sum(call.leaves[t].numel() for t in call.tensors)
        if not call.floating or elements > MOST_ELEMENTS or not elements:
            continue
        yield i, call
        count -= 1
        if not count:
            return


class Writer:
    def __init__(self, out):
        self.folder = pathlib.Path(out) / "dev"
        self.folder.mkdir(parents=True)
        self.index = open(self.folder / "index.jsonl", "w")
        self.count, self.refused = 0, 0

    def line(self, **entry):
        self.index.write(json.dumps(entry) + "\n")

    def write(self, call, name, form, made_by, function):
        path = self.folder / f"{name}.pt"
        error = None
        for mild in (False, True):
            try:
                op, sample = call.with_leaves(made_by(mild), function)
                record = corpus.build(op, sample, str(path), 1)
            except Exception as raised:
                error = raised
                path.unlink(missing_ok=True)
                continue
            self.count += 1
            self.line(id=name, op=call.op.name, variant=call.op.variant_test_name, sample=0, dtype=form, split="dev", min_n=1, **record)
            return
        if isinstance(error, (RuntimeError, TypeError, ValueError)) and DTYPE_WORDS.search(str(error)) and not NO_KERNEL.search(str(error)):
            self.must_refuse(call, name, form, made_by, function, str(error))

    def must_refuse(self, call, name, form, made_by, function, error):
        """The sample's own model, if it is one call, with inputs of these dtypes."""
        changes = made_by(True)
        if "arg" in form or "number" in form or any(not hasattr(value, "dtype") for value in changes.values()):
            return
        base = self.folder / f"{name}.pt"
        shapes = {i: call.leaves[i].reshape(-1)[0].clone() for i, value in changes.items() if value.dim() != call.leaves[i].dim()}
        try:
            op, sample = call.with_leaves(shapes, function)
            record = corpus.build(op, sample, str(base), 1)
        except Exception:
            base.unlink(missing_ok=True)
            return
        if sum(record["aten_counts"].values()) != 1 + ("inplace" in form):
            return base.unlink()
        tensors = [changes.get(i, call.leaves[i]) for i in call.tensors]
        specs = [f"in_{k}={SHORT[corpus.dt(t)]}:{','.join(map(str, t.shape)) or 'scalar'}" for k, t in enumerate(tensors)]
        self.refused += 1
        self.line(id=name, op=call.op.name, variant=call.op.variant_test_name, sample=0, dtype=form, split="dev", min_n=1,
                  refused=corpus.first_line(error), specs=specs, **record)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--ops", default="")
    parser.add_argument("--forms", default="", help="a regular expression of forms")
    parser.add_argument("--part", default="1/1", type=lambda text: tuple(map(int, text.split("/"))))
    parser.add_argument("--samples", type=int, default=2)
    arguments = parser.parse_args()
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))   # integers at the ends of their dtype are sizes, too
    writer = Writer(arguments.out)
    for op in op_db:
        title = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        if LEFT_OUT.search(op.name) or arguments.ops and not re.search(arguments.ops, title) or torch.float32 not in op.supported_dtypes("cpu"):
            continue
        try:
            samples = list(samples_of(op, arguments.samples))
        except Exception:
            continue
        seen = set()
        for number, call in samples:
            for form, made_by, function in call.forms():
                name = re.sub(r"[^A-Za-z0-9_.-]", "_", f"{title}--{form}--{number}")
                if name in seen or not chosen(name, arguments.part) or not re.search(arguments.forms, form):
                    continue
                seen.add(name)
                writer.write(call, name, form, made_by, function)
    print(f"{writer.count} calls, {writer.refused} that PyTorch refuses", file=sys.stderr)
    return 0 if writer.count else 1


if __name__ == "__main__":
    sys.exit(main())
