"""Products of matrices and vectors, and Einstein sums: what ONNX Runtime gets wrong at its default settings or without elements."""
import torch
import torch.nn.functional as F

from layer_cases import Case


def vectors():
    """Products of matrices, turned or not, with vectors, which ONNX Runtime's FusedMatMul gets wrong."""
    made = {}
    r = torch.randn
    for name, function, matrix, vector in [
            ("turned", lambda a, b: a.t() @ b, (2, 3), 2), ("turned_square", lambda a, b: (a.t() @ b, a.t() @ (a @ b)), (3, 3), 3),
            ("turned_mv", lambda a, b: torch.mv(a.t(), b), (2, 3), 2),
            ("turned_addmv", lambda a, b: torch.addmv(a[0], a.t(), b, alpha=2, beta=0.5), (2, 3), 2), ("turned_batch", lambda a, b: a.transpose(1, 2) @ b, (4, 2, 3), 2),
            ("turned_batches", lambda a, b: a.transpose(-1, -2) @ b, (5, 4, 2, 3), 2), ("turned_before_relu", lambda a, b: torch.relu(a.t()) @ b, (2, 3), 2),
            ("turned_twice", lambda a, b: torch.relu(a.t() * 2).t().t() @ b, (2, 3), 2), ("turned_scaled", lambda a, b: (a.t() * 3) @ b, (2, 3), 2),
            ("turned_and_cast", lambda a, b: a.t().double() @ b.double(), (2, 3), 2), ("turned_inner", lambda a, b: torch.inner(a.t(), b), (2, 3), 2),
            ("turned_linear", lambda a, b: F.linear(a.t(), b), (2, 3), 2), ("turned_chain", lambda a, b: torch.linalg.multi_dot([a.t(), a @ a.t(), b]), (2, 3), 2),
            ("turned_einsum", lambda a, b: torch.einsum("ij,i->j", a, b), (2, 3), 2), ("turned_tensordot", lambda a, b: torch.tensordot(a.t(), b, 1), (2, 3), 2),
            ("moved", lambda a, b: (a.permute(2, 0, 1) @ b, a.permute(1, 0, 2) @ a[0, 0]), (4, 2, 3), 2),
            ("by_turned", lambda a, b: b @ a.t(), (3, 2), 2), ("by_turned_batch", lambda a, b: b @ a.transpose(1, 2), (4, 3, 2), 2)]:
        for word, dtype in (("f32", torch.float32), ("f64", torch.float64), ("f16", torch.float16), ("i64", torch.int64)):
            given = ((r(matrix) * 4).to(dtype), (r(vector) * 4).to(dtype))
            if dtype not in (torch.float32, torch.float64) and name not in ("turned", "turned_batch"):
                continue
            made[f"vector_{word}_{name}"] = Case(function, [given])
    made["vector_named"] = Case(lambda a, b: a.t() @ b, [(r(2, 3), r(2)), (r(4, 1), r(4))], ("f32:n,m", "f32:n"))
    weight = torch.rand(3)
    made["vector_weight"] = Case(lambda a: a.transpose(-1, -2) @ weight, [(r(2, 3, 4),)])
    return made


def doubles_scaled():
    """By numbers that single precision lacks, which ONNX Runtime's FusedMatMul rounds to it."""
    d = lambda *sizes: torch.randn(sizes, dtype=torch.float64)
    third = torch.tensor(3.0, dtype=torch.float64)
    forms = {"factor": lambda a, b: (a * 0.1) @ b, "other_factor": lambda a, b: a @ (b / 3), "product": lambda a, b: (a @ b) * 0.1, "quotient": lambda a, b: (a @ b) / 7,
             "turned": lambda a, b: (a * 0.1).t() @ b, "turned_product": lambda a, b: (a @ b).t() * 0.1,
             "twice": lambda a, b: (a * 1234567) @ (b * 7654321),
             "computed": lambda a, b: (a / torch.sqrt(third)) @ b, "by_size": lambda a, b: (a @ b) / a.size(0) ** 0.5,
             "baddbmm": lambda a, b: torch.baddbmm(a[None], a[None], b[None], alpha=0.1, beta=0.3),
             "addmm": lambda a, b: torch.addmm(a, a, b, alpha=0.1, beta=0.3),
             "addmv": lambda a, b: torch.addmv(a[0], a, b[0], alpha=0.1), "attention": lambda a, b: F.scaled_dot_product_attention(a[None], b[None], b[None], scale=0.1),
             "vectors": lambda a, b: (a[0] * 0.1) @ b[0], "half": lambda a, b: (a * 0.5) @ b}
    return {f"double_scaled_{name}": Case(form, [(d(3, 3), d(3, 3))], tolerance=(1e-13, 1e-13) if name != "twice" else (1e-12, 1e-12)) for name, form in forms.items()}


RESHAPED = [*range(7, 12), *range(14, 27)]   # several dimensions become one


def einsums():
    """Sizes of 0, at which ONNX Runtime's own Einsum ends the process, and of 1, which are repeated."""
    letters = {"b": "b", "d": "d", "i": "i", "h": 2, "j": 3, "k": 4}   # names vary
    made = {}
    for dtype, word in ((torch.float32, "f32"), (torch.int64, "i64")):
        for equation in ("bid,bjd->bij", "bid,bjd->bji", "bhid,bhjd->bhij", "bihd,bjhd->bhij", "bhij,bjhd->bihd", "id,jd->ij", "id,jd->ji",
                         "bid,jd->bij", "bid,jd->jib", "bihd,d->bih", "bd,bd->b", "bi,bd->bid", "...id,...jd->...ij", "bid,bjd,bij->b",
                         "bdi,bdj->b", "bihd,bhjd->bih", "id,jd,jb->ib", "ib,jb,jd->ibd", "bid,d,bj->", "bhid,bhjd,j->", "iid,jd->ij",
                         "iid,jdj->dij", "idi->id", "ijdij->d", "iiid->d", "iijkjdd->dki", "bid,bid->bid", "...id,...jd,...j->...i"):
            zeros = [{}, {"b": 0}, {"d": 0}, {"i": 0}, {"b": 0, "i": 0}]
            terms = [term.replace("...", "b") for term in equation.split("->")[0].split(",")]
            sets = [tuple((torch.randn([{"b": 3, "d": 5, "i": 2, **{k: v for k, v in letters.items() if isinstance(v, int)}, **zero}[c]
                                        for c in term]) * 4).to(dtype) for term in terms) for zero in zeros]
            made[f"einsum_{word}_{equation}"] = Case(lambda *x, equation=equation: torch.einsum(equation, *x), sets,
                                                     [f"{word}:{','.join(str(letters[c]) for c in term)}" for term in terms],
                                                     zeros=RESHAPED if equation == "bid,bjd,bij->b" else range(7, 27),
                                                     opsets=range(12 if any(len(set(term)) < len(term) for term in terms) else 7, 27))
        # Each use of a letter has a name of its own, and may be 1.
        for equation in ("ij,jk->ik", "ij,kj->ik", "bij,bkj->bik", "bij,bkj,bk->i", "i,i->i"):
            terms = equation.split("->")[0].split(",")
            numbers = {"b": 2, "i": 3, "j": 4, "k": 5}
            sizes = [[[numbers[c] for c in term] for term in terms], [[1 if c in "jb" and at == 0 else numbers[c] for c in term] for at, term in enumerate(terms)],
                     [[1 if c in "jb" and at else numbers[c] for c in term] for at, term in enumerate(terms)], [[0 if c == "j" else numbers[c] for c in term] for term in terms],
                     [[0 if c in "ib" else numbers[c] for c in term] for term in terms]]
            made[f"einsum_{word}_apart_{equation}"] = Case(lambda *x, equation=equation: torch.einsum(equation, *x),
                                                           [tuple((torch.randn(shape) * 4).to(dtype) for shape in one) for one in sizes],
                                                           [f"{word}:{','.join(f'{c}{at}' for c in term)}"
                                                            for at, term in enumerate(terms)],
                                                           zeros=RESHAPED if equation == "bij,bkj,bk->i" else range(7, 27))
        made[f"einsum_{word}_repeated"] = Case(lambda a, b: (torch.einsum("ij,jk->ik", a, b), torch.einsum("ij,kj->ik", b, a)),
                                               [(torch.ones(2, 1).to(dtype), torch.arange(12).reshape(3, 4).to(dtype))])
    return made


class SumOfProducts(torch.nn.Module):
    def forward(self, x, y):
        return torch.einsum("i,i->", [x, y])


def bools():
    """What PyTorch computes of bools by products without sums."""
    b = lambda *sizes: torch.rand(sizes) > 0.4
    made = {}
    for equation, *sizes in [("i,j->ij", (3,), (2,)), ("i,i->i", (3,), (3,)), ("ij->ji", (2, 3)), ("ij->i", (2, 3)), ("ii->i", (3, 3)),
                             ("ij,kj->ik", (2, 1), (3, 1)), ("ij,kj->ik", (2, 1), (3, 2)), ("i,j,k->ijk", (2,), (2,), (2,)),
                             ("ij,k->k", (2, 3), (2,)), ("...i,...i->...i", (2, 3), (3,)), (",->", (), ())]:
        label = equation + "_" + "_".join("x".join(map(str, size)) for size in sizes)
        made[f"bool_einsum_{label}"] = Case(lambda *x, equation=equation: torch.einsum(equation, *x),
                                            [tuple(b(*size) for size in sizes) for _ in range(3)],
                                            opsets=range(12 if "ii" in equation else 7, 27))
    made["bool_einsum_named"] = Case(lambda x, y: torch.einsum("bi,bj->bij", x, y), [(b(2, 3), b(2, 4)), (b(0, 3), b(0, 1)), (b(2, 0), b(2, 1))], ("bool:b,i", "bool:b,j"))
    made["bool_einsum_of_floats"] = Case(lambda x, y: torch.einsum("i,j->ij", x, y), [(b(3), torch.randn(2))])
    made["bool_einsum_summed"] = Case(SumOfProducts(), [(b(3), b(3))], script=True, refused="PyTorch multiplies no matrices of bool")
    made["bool_inner"] = Case(lambda x, y, z: (torch.inner(x, z), torch.inner(z, y), torch.inner(z, z)), [(b(3), b(2, 3), b()) for _ in range(2)])
    made["bool_powers"] = Case(lambda x: (torch.linalg.matrix_power(x, 0), torch.linalg.matrix_power(x, 1)), [(b(3, 3),)])
    return made


def grouped():
    """Products of groups, some of them empty, as mixtures of experts have; sizes are multiples of 16 bytes, as PyTorch demands."""
    mm = torch._grouped_mm
    ends = [torch.tensor(v, dtype=torch.int32) for v in ([2, 2, 5, 8], [0, 0, 0, 12], [4, 4, 4, 4], [0, 0, 0, 0])]
    experts = torch.randn(4, 8, 12)
    rows = [(torch.randn(int(end[-1]), 8), end) for end in ends]
    columns = [(torch.randn(8, int(end[-1])), end) for end in ends]
    sums = [(torch.randn(8, int(end[-1])), torch.randn(int(end[-1]), 4), end) for end in ends]
    return {
        "groups_of_rows": Case(lambda x, offs: mm(x, experts, offs=offs), rows, ("f32:n,8", "i32:4"), opsets=range(9, 27)),
        "groups_of_known_rows": Case(lambda x, offs: mm(x, experts, offs=offs), [rows[0], (rows[0][0], torch.tensor([8, 8, 8, 8], dtype=torch.int32))]),
        "groups_of_half_rows": Case(lambda x, offs: mm(x, experts[..., :8].half().contiguous(), offs=offs), [(x.half(), end) for x, end in rows[:3]], ("f16:n,8", "i32:4"),
                                    opsets=range(9, 27)),
        "groups_of_columns": Case(lambda x, offs: mm(experts.transpose(1, 2), x, offs=offs), columns[:3], ("f32:8,n", "i32:4"), opsets=range(9, 27)),
        "groups_of_known_columns": Case(lambda x, offs: mm(experts.transpose(1, 2), x, offs=offs), columns[:1]),
        "groups_summed": Case(lambda x, y, offs: mm(x, y, offs=offs), sums[:3], ("f32:8,n", "f32:n,4", "i32:4"), opsets=range(9, 27)),
        "groups_of_matrices": Case(lambda x: mm(x, experts), [(torch.randn(4, 3, 8),)], ("f32:4,n,8",)),
        "experts_chosen": Case(lambda x, scores: Experts(experts)(x, scores), [(torch.randn(n, 8), torch.randn(n, 4)) for n in (6, 1, 9)],
                               ("f32:n,8", "f32:n,4"), opsets=range(11, 27)),
    }


class Experts(torch.nn.Module):
    """Two of four experts for each row, as transformers writes it."""

    def __init__(self, weights):
        super().__init__()
        self.weights = weights

    def forward(self, x, scores):
        weights, chosen = scores.softmax(-1).topk(2, -1)
        order = torch.argsort(chosen.flatten())
        counts = torch.histc(chosen.flatten().float(), bins=4, min=0, max=3)
        rows = torch._grouped_mm(x[order // 2], self.weights, offs=counts.cumsum(0).to(torch.int32))
        back = torch.empty_like(order)
        back[order] = torch.arange(order.numel())
        return (rows[back].view(-1, 2, 12) * weights.unsqueeze(-1)).sum(1)


def cases():
    return grouped() | vectors() | doubles_scaled() | einsums() | bools()
