"""Operators of libraries that have no build for the torch of the tests: their schemas as the libraries register them, and what they compute
as plain loops over PyTorch's operators, on CPU. register() adds those of libraries that nobody has registered."""
import itertools

import torch

SCATTER = "Tensor src, Tensor index, int dim, Tensor? out, int? dim_size"
COO = "Tensor src, Tensor index, Tensor? out, int? dim_size"
CSR = "Tensor src, Tensor indptr, Tensor? out"
BOTH = "(Tensor, Tensor)"


def limit(dtype, kind):
    """What nothing is below or above; sums begin with 0, products with 1."""
    info = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    return {"sum": 0, "mean": 0, "mul": 1, "min": info.max, "max": info.min}[kind]


def updated(kind, held, new):
    """The new value, and whether it is beyond the held one."""
    if kind in ("sum", "mean"):
        return held + new, False
    if kind == "mul":
        return held * new, False
    beyond = bool(new < held) if kind == "min" else bool(new > held)
    return new if beyond else held, beyond


def reduced(kind, src, group_of, axis, groups):
    """The reduction, and where along the axis the extremes are: element by element."""
    sizes = list(src.shape)
    sizes[axis] = groups
    made = torch.full(sizes, limit(src.dtype, kind), dtype=src.dtype)
    places = torch.full(sizes, src.shape[axis])
    if src.numel() == 0:
        return torch.zeros(sizes, dtype=src.dtype), places
    for at in itertools.product(*map(range, src.shape)):
        group = group_of(at)
        if group is None:
            continue
        to = (*at[:axis], group, *at[axis + 1:])
        made[to], beyond = updated(kind, made[to], src[at])
        if beyond:
            places[to] = at[axis]
    return made, places


def group_count(index, dim_size):
    return dim_size if dim_size is not None else int(index.max()) + 1 if index.numel() else 0


def stretched(index, like, dim):
    if index.dim() == 1:
        index = index.reshape([1] * dim + [-1])
    return index.reshape([*index.shape, *[1] * (like.dim() - index.dim())]).expand(like.shape)


def with_zeros(kind, made):
    return torch.where(made == limit(made.dtype, kind), torch.zeros_like(made), made)


def scatter(kind, src, index, dim, out, dim_size):
    assert out is None and index.dtype == torch.int64
    axis = dim % src.dim()
    whole = stretched(index, src, axis)
    made, places = reduced(kind, src, lambda at: int(whole[at]), axis, group_count(index, dim_size))
    if kind == "mean":
        own = axis if index.dim() > axis else index.dim() - 1
        counts = torch.zeros([made.shape[axis] if i == own else n for i, n in enumerate(index.shape)], dtype=src.dtype)
        counts = counts.scatter_add(own, index, torch.ones(index.shape, dtype=src.dtype)).clamp(min=1)
        counts = stretched(counts, made, axis)
        return torch.div(made, counts) if src.is_floating_point() else torch.div(made, counts, rounding_mode="floor")
    return (with_zeros(kind, made), places) if kind in ("min", "max") else made


def per_element(made, counts):
    """Divided as C++ does it."""
    return made / counts if made.is_floating_point() else torch.div(made, counts, rounding_mode="trunc")


def segment_coo(kind, src, index, out, dim_size):
    assert out is None and bool((index[..., 1:] >= index[..., :-1]).all())
    axis = index.dim() - 1
    whole = stretched(index.expand(src.shape[:axis + 1]), src, 0) if index.dim() > 1 else stretched(index, src, 0)
    made, places = reduced(kind, src, lambda at: int(whole[at]), axis, group_count(index, dim_size))
    if kind == "mean":
        counts, _ = reduced("sum", torch.ones_like(src), lambda at: int(whole[at]), axis, made.shape[axis])
        return per_element(made, counts.clamp(min=1))
    return (with_zeros(kind, made), places) if kind in ("min", "max") else made


def segment_csr(kind, src, indptr, out):
    assert out is None and indptr.dim() == 1
    ends = indptr.tolist()
    group_of = lambda at: next((i for i in range(len(ends) - 1) if ends[i] <= at[0] < ends[i + 1]), None)
    made, places = reduced(kind, src, group_of, 0, len(ends) - 1)
    counts = (indptr[1:] - indptr[:-1]).reshape([-1] + [1] * (src.dim() - 1))
    if kind == "mean":
        return per_element(made, counts.clamp(min=1).to(src.dtype))
    return (torch.where(counts > 0, made, 0).to(src.dtype), places) if kind in ("min", "max") else made


def gather_coo(src, index, out):
    assert out is None
    axis = index.dim() - 1
    shape = [*index.shape, *src.shape[index.dim():]]
    return torch.gather(src, axis, index.reshape([*index.shape, *[1] * (src.dim() - index.dim())]).expand(shape))


def gather_csr(src, indptr, out):
    assert out is None and indptr.dim() == 1 and indptr[0] == 0
    return torch.repeat_interleave(src, indptr[1:] - indptr[:-1], dim=0)


def torch_scatter():
    for kind in ("sum", "mul", "mean", "min", "max"):
        yield f"scatter_{kind}({SCATTER}) -> {BOTH if kind in ('min', 'max') else 'Tensor'}", lambda *given, k=kind: scatter(k, *given)
    for kind in ("sum", "mean", "min", "max"):
        result = BOTH if kind in ("min", "max") else "Tensor"
        yield f"segment_{kind}_coo({COO}) -> {result}", lambda *given, k=kind: segment_coo(k, *given)
        yield f"segment_{kind}_csr({CSR}) -> {result}", lambda *given, k=kind: segment_csr(k, *given)
    yield "gather_coo(Tensor src, Tensor index, Tensor? out) -> Tensor", gather_coo
    yield f"gather_csr({CSR}) -> Tensor", gather_csr


def ind2ptr(ind, count):
    return torch.tensor([int((ind < i).sum()) for i in range(count + 1)])


def ptr2ind(ptr, count):
    ends = ptr.tolist()
    return torch.tensor([next(i for i in range(len(ends) - 1) if ends[i] <= at < ends[i + 1]) for at in range(count)], dtype=torch.int64)


def spmm(kind, rowptr, col, value, mat):
    """The rows of `mat` at the columns, times the elements, in segments along the last dimension but one."""
    terms = mat[..., col, :]
    terms = terms if value is None else terms * value[:, None]
    made = segment_csr(kind, terms.movedim(-2, 0), rowptr, None)
    return tuple(part.movedim(0, -2).contiguous() for part in made) if isinstance(made, tuple) else made.movedim(0, -2).contiguous()


def torch_sparse():
    yield "ind2ptr(Tensor ind, int M) -> Tensor", ind2ptr
    yield "ptr2ind(Tensor ptr, int E) -> Tensor", ptr2ind
    yield ("spmm_sum(Tensor? row, Tensor rowptr, Tensor col, Tensor? value, Tensor? colptr, Tensor? csr2csc, Tensor mat) -> Tensor",
           lambda row, rowptr, col, value, colptr, csr2csc, mat: spmm("sum", rowptr, col, value, mat))
    yield ("spmm_mean(Tensor? row, Tensor rowptr, Tensor col, Tensor? value, Tensor? rowcount, Tensor? colptr, Tensor? csr2csc, Tensor mat) -> Tensor",
           lambda row, rowptr, col, value, rowcount, colptr, csr2csc, mat: spmm("mean", rowptr, col, value, mat))
    for kind in ("min", "max"):
        yield f"spmm_{kind}(Tensor rowptr, Tensor col, Tensor? value, Tensor mat) -> {BOTH}", lambda *given, k=kind: spmm(k, *given)


def grid(pos, size, start, end):
    points = pos.reshape(pos.shape[0], -1)
    start = points.min(0)[0] if start is None else start
    end = points.max(0)[0] if end is None else end
    counts = [int(n) + 1 for n in ((end - start) / size).tolist()]
    numbers = []
    for point in points:
        number, stride = 0, 1
        for i, coordinate in enumerate((point - start) / size):
            number, stride = number + int(coordinate) * stride, stride * counts[i]
        numbers.append(number)
    return torch.tensor(numbers, dtype=torch.int64)


def knn(x, y, ptr_x, ptr_y, k, cosine, num_workers):
    assert not cosine
    pairs = []
    ends_x, ends_y = (part.tolist() if part is not None else [0, len(whole)] for part, whole in ((ptr_x, x), (ptr_y, y)))
    for i in range(len(ends_x) - 1):
        for row in range(ends_y[i], ends_y[i + 1]):
            others = sorted(range(ends_x[i], ends_x[i + 1]), key=lambda other: float(((y[row] - x[other]) ** 2).sum()))
            pairs += [(row, other) for other in others[:k]]
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).t().contiguous()


def torch_cluster():
    yield "grid(Tensor pos, Tensor size, Tensor? start, Tensor? end) -> Tensor", grid
    yield "knn(Tensor x, Tensor y, Tensor? ptr_x, Tensor? ptr_y, int k, bool cosine, int num_workers) -> Tensor", knn


def flash_attention(q, k, v, dropout_p, softmax_scale, causal, window_size_left, window_size_right, softcap, alibi_slopes, return_softmax):
    """One query of one head after another, in single precision."""
    assert dropout_p == 0 and not return_softmax
    made = torch.zeros(q.shape)
    keys_of = q.shape[2] // k.shape[2]
    right = 0 if causal else window_size_right
    for batch, query, head in itertools.product(*map(range, q.shape[:3])):
        own = query + k.shape[1] - q.shape[1]
        seen = [j for j in range(k.shape[1]) if (right < 0 or j <= own + right) and (window_size_left < 0 or j >= own - window_size_left)]
        if not seen:
            continue
        scores = k[batch, seen, head // keys_of].float() @ q[batch, query, head].float() * softmax_scale
        scores = torch.tanh(scores / softcap) * softcap if softcap > 0 else scores
        if alibi_slopes is not None:
            slope = (alibi_slopes if alibi_slopes.dim() == 1 else alibi_slopes[batch])[head]
            scores = scores - slope * (torch.tensor(seen) - own).abs()
        made[batch, query, head] = scores.softmax(0) @ v[batch, seen, head // keys_of].float()
    empty = torch.zeros(0)
    return made.to(q.dtype), empty.clone(), empty.clone(), empty.clone()


def flash_attn():
    yield ("_flash_attn_forward(Tensor q, Tensor k, Tensor v, float dropout_p, float softmax_scale, bool causal, SymInt window_size_left, "
           "SymInt window_size_right, float softcap, Tensor? alibi_slopes, bool return_softmax) -> (Tensor, Tensor, Tensor, Tensor)"), flash_attention


def lfilter(waveform, a_coeffs, b_coeffs):
    """a[0] y[t] = sum of b[k] x[t - k] - sum of a[k] y[t - k] for k > 0, for each channel."""
    made = torch.zeros_like(waveform)
    for t in range(waveform.shape[2]):
        for k in range(min(a_coeffs.shape[1], t + 1)):
            made[:, :, t] += b_coeffs[:, k] / a_coeffs[:, 0] * waveform[:, :, t - k]
            if k > 0:
                made[:, :, t] -= a_coeffs[:, k] / a_coeffs[:, 0] * made[:, :, t - k]
    return made


def torchaudio():
    yield "_lfilter(Tensor waveform, Tensor a_coeffs, Tensor b_coeffs) -> Tensor", lfilter


LIBRARIES = {"flash_attn": flash_attn, "torchaudio": torchaudio, "torch_scatter": torch_scatter, "torch_sparse": torch_sparse, "torch_cluster": torch_cluster}
registered = []


def numbered(schema):
    """The schema as torch::RegisterOperators infers it from a function of C++: arguments without names."""
    name, _, rest = schema.partition("(")
    arguments, _, result = rest.partition(") -> ")
    types = [argument.rpartition(" ")[0] for argument in arguments.split(", ")]
    return f"{name}({', '.join(f'{type} _{i}' for i, type in enumerate(types))}) -> {result}"


def register():
    for name, operators in LIBRARIES.items():
        if name in [library.ns for library in registered]:
            continue
        library = torch.library.Library(name, "FRAGMENT")
        registered.append(library)
        for schema, run in operators():
            library.define(numbered(schema) if name.startswith("torch_") else schema)
            library.impl(schema.partition("(")[0], run, "CompositeExplicitAutograd")
