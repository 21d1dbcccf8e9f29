"""Sparse tensors in coordinate form, made by the program: what follows from them is computed densely.

Traced models name the inner operators: _sparse_coo_tensor_unsafe, _sparse_mm, _sparse_sum, _sparse_addmm, _to_dense, _to_sparse,
_sparse_sparse_matmul, and indices, to_sparse and sparse_mask where they are refused.
"""
import torch
from torch import nn

from layer_cases import Case


class Adjacency(nn.Module):
    """A layer of a graph network: edges may repeat, and a node may have none."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 4))

    def forward(self, edges, weights, x):
        nodes = x.size(0)
        adjacency = torch.sparse_coo_tensor(edges, weights, (nodes, nodes)).coalesce()
        degree = torch.sparse.sum(adjacency, (1,)).to_dense().clamp(min=1)
        return torch.relu(torch.sparse.mm(adjacency, x @ self.weight) / degree[:, None])


class Reads(nn.Module):
    def forward(self, edges, weights, x):
        made = torch.sparse_coo_tensor(edges, weights, [4, 5])
        return (torch.mm(made, x), made.matmul(x), made @ x, torch.mv(made, x[:, 0]), made.to_dense(), made.coalesce().to_dense(), made.t().to_dense(),
                torch.sparse.sum(made), torch.sparse.sum(made, (0,)).to_dense(), torch.sparse.sum(made, (-1,)).to_dense(),
                torch.sparse.addmm(x[:4], made, x, beta=0.5, alpha=2.0), torch.addmm(x[:4], made, x), torch.sparse.mm(made.t(), x[:4]),
                made._values() * 2, made._indices() + 1, made.size(1))


class Unread(nn.Module):
    def forward(self, c, i, v, d):
        made = torch.sparse_coo_tensor(i, v, (4, 5))
        return torch.sparse.addmm(c, made, d, beta=0.0), torch.addmm(c, made, d, beta=0, alpha=2)


class Written(nn.Module):
    """A sparse tensor shares the memory of its values."""

    def __init__(self, merges: bool):
        super().__init__()
        self.merges = merges

    def forward(self, i, v):
        v = v * 2
        made = torch.sparse_coo_tensor(i, v, (3, 3))
        if self.merges:
            made = made.coalesce()
        v.mul_(3)
        return made.to_dense(), v


def cases():
    made = {}
    edges = lambda nodes, count: torch.randint(0, nodes, (2, count))
    graphs = [(edges(n, m), torch.randn(m), torch.randn(n, 3)) for n, m in ((5, 9), (3, 1), (8, 30))] + [(torch.zeros(2, 6, dtype=torch.long), torch.randn(6), torch.randn(2, 3))]
    fixed, fixed_specs = [(edges(5, m), torch.randn(m), torch.randn(5, 3)) for m in (9, 1, 33)], ("i64:2,edges", "f32:edges", "f32:5,3")
    specs = ("i64:2,edges", "f32:edges", "f32:nodes,3")
    sized = [(torch.stack([torch.randint(0, 4, (m,)), torch.randint(0, 5, (m,))]), torch.randn(m), torch.randn(5, f)) for m, f in ((6, 3), (1, 2), (40, 3))]
    since9 = range(9, 27)
    for script in (False, True):
        how = "scripted" if script else "traced"
        made[f"sparse_adjacency_{how}"] = Case(Adjacency(), graphs if script else fixed, specs if script else fixed_specs, script=script, opsets=since9)
        made[f"sparse_reads_{how}"] = Case(Reads(), sized, ("i64:2,n", "f32:n", "f32:5,f"), script=script, opsets=since9)
    three = lambda i, v: (torch.sparse_coo_tensor(i, v, (2, 3, 4)).to_dense(), torch.sparse.sum(torch.sparse_coo_tensor(i, v, (2, 3, 4)), (0, 2)).to_dense())
    made["sparse_three_dimensions"] = Case(three, [(torch.randint(0, 2, (3, n)), torch.randn(n).double()) for n in (5, 1, 12)], ("i64:3,n", "f64:n"), opsets=since9)
    made["sparse_integers"] = Case(lambda i, v: torch.sparse_coo_tensor(i, v, (4,)).to_dense(), [(torch.randint(0, 4, (1, n)), torch.randint(-9, 9, (n,))) for n in (5, 1, 0)],
                                   ("i64:1,n", "i64:n"), opsets=since9)
    made["sparse_cast"] = Case(lambda i, v: torch.sparse_coo_tensor(i, v, (4,), dtype=torch.float32).to_dense(),
                               [(torch.randint(0, 4, (1, n)), torch.randint(-9, 9, (n,))) for n in (5, 1)], ("i64:1,n", "i64:n"), opsets=since9)
    values = (torch.randint(0, 3, (2, 6)), torch.randn(6))
    no_values = "ONNX has no sparse tensors | which came with opset 9"
    made["sparse_unmerged_values"] = Case(lambda i, v: torch.sparse_coo_tensor(i, v, (3, 3)).coalesce().values(), [values], ("i64:2,n", "f32:n"), refused=no_values)
    made["sparse_by_sparse"] = Case(lambda i, v: torch.sparse.mm(torch.sparse_coo_tensor(i, v, (3, 3)), torch.sparse_coo_tensor(i, v, (3, 3))).to_dense(),
                                    [values], ("i64:2,n", "f32:n"), refused=no_values)

    for script in (False, True):
        for name, module in (("written", Written(False)), ("merged_before_written", Written(True))):
            made[f"sparse_{name}_{'scripted' if script else 'traced'}"] = Case(module, [values], ("i64:2,n", "f32:n"), script=script, refused=no_values)
    unread = [(torch.full((4, k), float("inf")), torch.tensor([[0], [1]]), torch.ones(1), torch.ones(5, k)) for k in (1, 3)]
    for script in (False, True):
        made[f"sparse_addmm_without_summand_{'scripted' if script else 'traced'}"] = Case(
            Unread(), unread, ("f32:4,k", "i64:2,n", "f32:n", "f32:5,k"), script=script, opsets=since9)
    made["sparse_rows_of_values"] = Case(lambda i, v: torch.sparse_coo_tensor(i, v, (3, 4)).to_dense(), [(torch.randint(0, 3, (1, 6)), torch.randn(6, 4))],
                                         ("i64:1,n", "f32:n,4"), refused="out of range for size 1 | which came with opset 9")
    made["sparse_by_vector"] = Case(lambda i, v, x: (torch.sparse_coo_tensor(i, v, (3, 3)) @ x, torch.sparse_coo_tensor(i, v, (3, 3)).coalesce().matmul(x)),
                                    [(*values, torch.randn(3)), (values[0][:, :1], values[1][:1], torch.randn(3))], ("i64:2,n", "f32:n", "f32:3"), opsets=since9)
    return made
