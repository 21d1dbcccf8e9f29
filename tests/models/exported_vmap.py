"""Programs with torch.vmap: torch.export leaves its regions in the program, with batch dimensions that the nodes don't see."""
import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from exported import AUTO, BATCH, Program, of, program

ROWS = ({0: AUTO}, {0: AUTO})


def mask_program(mask) -> Program:
    """A mask of attention, as transformers writes it: a function of four numbers, for each dimension once."""
    def forward(x: Tensor):
        expanded = mask
        for dims in [(None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)]:
            expanded = torch.vmap(expanded, in_dims=dims, out_dims=0)
        length = torch.arange(x.shape[1])
        return x.unsqueeze(1) * expanded(torch.arange(x.shape[0]), torch.arange(1), length, length)
    return of(forward, (torch.randn(3, 5),), (torch.randn(2, 9),), (torch.randn(4, 2),), dynamic=({0: AUTO, 1: AUTO},))


@program
def vmap_causal_mask() -> Program:
    return mask_program(lambda b, h, q, kv: kv <= q)


@program
def vmap_sliding_mask() -> Program:
    def mask(b, h, q, kv):
        window = q.new_ones((), dtype=torch.bool)
        for part in (lambda: kv > q - 3, lambda: kv <= q):
            window = window & part().to(window.device)
        return window
    return mask_program(mask)


@program
def vmap_chunked_mask() -> Program:
    return mask_program(lambda b, h, q, kv: (kv // 2 == q // 2) & (b >= 0) | (kv == h))


class Places(nn.Module):
    """Batch dimensions in other places than the first, also negative ones, in arguments and results."""
    out_dims = (0, 0, 0)

    def forward(self, x: Tensor, y: Tensor):
        own, second, third = self.out_dims
        return (torch.vmap(lambda a, b: a - b, in_dims=(-1, 1), out_dims=own)(x, y),
                *torch.vmap(lambda a: (a.sum(0), a * 2), in_dims=1, out_dims=(second, third))(x))


@program
def vmap_places() -> Program:
    """torch.export of this release fails for a result whose batch dimension isn't the first. It is moved in the program."""
    def move(made: Program, program):
        made.module.out_dims = (-1, 1, -2)
        removals = [node for node in program.graph.nodes if "_remove_batch_dim" in str(node.target)]
        for node, place in zip(removals, made.module.out_dims):
            node.args = (*node.args[:3], place)
            node.meta["val"] = node.meta["val"].movedim(0, place)

    return Program(Places(), inputs=[(torch.randn(3, 4, 5), torch.randn(3, 5, 4)), (torch.randn(3, 4, 5), torch.randn(3, 5, 4))], edit=move)


@program
def vmap_unused() -> Program:
    """A result that doesn't depend on the batch, and one that has no batch dimension."""
    def forward(x: Tensor, y: Tensor):
        return torch.vmap(lambda a: (a + 1, y + 1, y.sum()), out_dims=(0, 0, None))(x)
    return of(forward, (torch.randn(3, 4), torch.randn(2, 2)), (torch.randn(5, 4), torch.randn(2, 2)), dynamic=(BATCH, None))


@program
def vmap_nested() -> Program:
    """Distances of all pairs; the inner function doesn't see the outer batch dimension."""
    def forward(x: Tensor, y: Tensor):
        distance = lambda a, b: (a - b).abs().sum(-1)
        kernel = lambda a, b: (a * b).softmax(-1).sum() + torch.arange(4) * a.amax()
        return (torch.vmap(torch.vmap(distance, in_dims=(None, 0)), in_dims=(0, None))(x, y),
                torch.vmap(torch.vmap(kernel, in_dims=(0, None)), in_dims=(None, 0))(x, y))
    return of(forward, (torch.randn(3, 4), torch.randn(2, 4)), (torch.randn(5, 4), torch.randn(6, 4)), dynamic=ROWS)


@program
def vmap_dimensions() -> Program:
    """Dimensions among the arguments count those that the function sees."""
    def each(a: Tensor):
        return (a.sum(), a.sum(0), a.mean((-1, 0)), a.amax(1, keepdim=True), a.max(-2).values, a.argmax(), a.argmin(0),
                a.var(1), a.std(), a.prod(), a.prod(-1), a.any(), a.all(0), a.max(), a.min(), a.softmax(0), a.log_softmax(-1),
                a.cumsum(0), a.logsumexp((0, 1)), a.norm(dim=0), a.sort(0).values, a.topk(2, 0).indices, a.flip(0))
    def forward(x: Tensor):
        return torch.vmap(each, in_dims=1)(x)
    return of(forward, (torch.randn(3, 2, 4),), (torch.randn(3, 5, 4),), dynamic=({1: AUTO},))


@program
def vmap_shapes() -> Program:
    def each(a: Tensor, v: Tensor):
        return (a.view(-1), a.reshape(2, 6), a.t(), a.transpose(0, 1), a.permute(1, 0), a.unsqueeze(0), a.unsqueeze(-1), a[1], a[:, 1:3],
                a.flatten(), a.unflatten(1, (2, 2)), a.expand(5, 3, 4), v.expand(2, -1), v.repeat(2, 3), torch.cat([a, v[None]], 0),
                torch.stack([v, a[0]], -1), *a.split(2, 1), *a.chunk(2, -1), *v.unbind(0), a.roll(1, 0), a.diagonal(), a.tril(),
                a.movedim(0, 1), a.new_zeros(2, 2), torch.zeros_like(a), a.squeeze(0), v[None].squeeze(0), a.narrow(1, 1, 2),
                torch.arange(a.shape[0]) + a[:, 0])
    def forward(x: Tensor, y: Tensor):
        return torch.vmap(each, in_dims=(0, 1))(x, y)
    return of(forward, (torch.randn(3, 3, 4), torch.randn(4, 3)), (torch.randn(3, 3, 4), torch.randn(4, 3)))


@program
def vmap_unbatched_partner() -> Program:
    """Tensors from outside, of more and of fewer dimensions than the function sees."""
    def forward(x: Tensor, y: Tensor):
        def each(a: Tensor):
            return (a + y, y * a[0], torch.where(a > 0, a, y), torch.cat([a, y]), torch.stack([y, a]), a.masked_fill(y > 0, 0.5),
                    torch.maximum(y.unsqueeze(0), a), a.clamp(min=y), y.gather(0, a.argsort()), a.gather(0, y.argsort()))
        return torch.vmap(each, in_dims=1)(x)
    return of(forward, (torch.randn(4, 3), torch.randn(4)))


@program
def vmap_index() -> Program:
    def forward(x: Tensor, i: Tensor, j: Tensor):
        table = x[0]
        def each(a: Tensor, i: Tensor, j: Tensor):
            return (a[i], a[:, j], a[i, j], a[i.unsqueeze(1), j], table[i], table[i, :, j], table[i, j],
                    a.index_select(0, i), F.embedding(i, table[0]), a[:, :, i], a[i, :, j])
        return torch.vmap(each)(x, i, j)
    def inputs(n):
        return torch.randn(n, 4, 4, 5), torch.randint(0, 4, (n, 3)), torch.randint(-4, 4, (n, 3))
    return of(forward, inputs(3), inputs(3))


@program
def vmap_products() -> Program:
    def forward(x: Tensor, w: Tensor, v: Tensor):
        def each(a: Tensor, w: Tensor, v: Tensor):
            return (a @ w, w.t() @ a.t(), a @ v, v @ w, v.dot(v), torch.mv(a, v), torch.addmm(w[0], a, w), F.linear(a, w.t()),
                    F.linear(v, w.t(), w[0]), torch.outer(v, v), torch.einsum("ij,jk->ki", a, w), torch.einsum("i,i->", v, v),
                    torch.bmm(a[None], w[None]))
        every = torch.vmap(each)(x, w, v)
        shared = torch.vmap(lambda a: (a @ w[0], F.linear(a, w[1].t(), w[0, 0]), w[0].t() @ a.t(), a @ v[0],
                                       torch.einsum("ij,jk->ik", a, w[0])))(x)
        return every, shared, torch.vmap(lambda w, v: (x[0] @ w, v @ w, F.linear(x[0], w.t(), v[:4])))(w, v)
    return of(forward, *[(torch.randn(n, 2, 5), torch.randn(n, 5, 4), torch.randn(n, 5)) for n in (3, 7)], dynamic=({0: AUTO},) * 3)


@program
def vmap_ensemble() -> Program:
    """Several models as one, as torch.func's tutorial does it: weights have the batch dimension, inputs may have it."""

    class Ensemble(nn.Module):
        def __init__(self):
            super().__init__()
            models = [nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3)) for _ in range(3)]
            for model in models:
                nn.init.normal_(model[1].weight), nn.init.normal_(model[1].bias)
            stacked, _ = torch.func.stack_module_state(models)
            self.weights = nn.ParameterDict({name.replace(".", "_"): weight.detach() for name, weight in stacked.items()})
            self.names = list(stacked)
            self.__dict__["base"] = copy.deepcopy(models[0]).to("meta")

        def forward(self, x: Tensor):
            state = {name: self.weights[name.replace(".", "_")] for name in self.names}
            call = lambda state, x: torch.func.functional_call(self.base, state, (x,))
            return torch.vmap(call, in_dims=(0, None))(state, x), torch.vmap(call)(state, x[:3].unsqueeze(1))

    return Program(Ensemble(), inputs=[(torch.randn(5, 4),)])


@program
def vmap_images() -> Program:
    """Convolutions and pools of images that the function sees one by one, or with a batch of their own."""

    class Images(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3, padding=1)

        def forward(self, x: Tensor):
            one = torch.vmap(lambda image: F.max_pool2d(self.conv(image).relu(), 2), in_dims=1)(x)
            many = torch.vmap(lambda images: F.avg_pool2d(self.conv(images), 2), in_dims=-1)(x.movedim(0, 1).unsqueeze(-1))
            return one, many

    return Program(Images(), inputs=[(torch.randn(3, 2, 8, 8),)])


@program
def vmap_writes() -> Program:
    def forward(x: Tensor, y: Tensor):
        def each(a: Tensor, b: Tensor):
            a = a.clone()
            a.mul_(2).add_(b)
            made = a.new_zeros(4)
            made.copy_(b)
            return a, made
        return torch.vmap(each)(x, y)
    return of(forward, *[(torch.randn(n, 3, 4), torch.randn(n, 4)) for n in (3, 5)], dynamic=ROWS)


@program
def vmap_by_loop() -> Program:
    """Operators for which the batch dimension isn't made explicit: each element by itself."""
    def forward(x: Tensor, y: Tensor):
        def each(a: Tensor, b: Tensor):
            scalar = a[0, 0].double()
            return torch.cdist(a, b), a * scalar, a.squeeze(), torch.linalg.vector_norm(b[0] - a, ord=1)
        return torch.vmap(each)(x, y)
    return of(forward, *[(torch.randn(n, 3, 4), torch.randn(n, 5, 4)) for n in (3, 6)], dynamic=ROWS)


@program
def vmap_loops_within() -> Program:
    """A loop for the inner function alone, whose results have the outer batch dimension, and loops for both."""
    def forward(x: Tensor, y: Tensor):
        nested = lambda function: torch.vmap(torch.vmap(function, in_dims=(None, 0)), in_dims=(0, None))(x, y)
        return nested(lambda a, b: torch.cdist(b, b).sum() + a.amax(0)), nested(lambda a, b: torch.cdist(a, b))
    return of(forward, (torch.randn(3, 3, 4), torch.randn(2, 5, 4)), (torch.randn(4, 3, 4), torch.randn(6, 5, 4)), dynamic=ROWS)


@program
def vmap_empty() -> Program:
    def forward(x: Tensor):
        return x + torch.vmap(lambda a: a * 2 + a)(x[:0]).sum(0)
    return of(forward, (torch.randn(3, 4),))


@program
def vmap_dtypes() -> Program:
    """A number of the batch doesn't decide the dtype, as one without dimensions doesn't."""
    def forward(x: Tensor, n: Tensor):
        half = torch.ones(2, dtype=torch.float16)
        def each(a: Tensor, k: Tensor):
            return (half * a, k * half, a * k, k / 2, half + k.double(), a * 2 ** k, torch.arange(2) * a,
                    torch.arange(2, dtype=torch.int32) + k, a > k, n[0] * a, x[0] + k)
        return torch.vmap(each)(x, n)
    return of(forward, (torch.randn(3), torch.tensor([1, 2, 3])), (torch.randn(5), torch.tensor([5, 4, 3, 2, 1])), dynamic=ROWS)


@program
def vmap_same_noise() -> Program:
    def forward(x: Tensor):
        return torch.vmap(lambda a: a + torch.rand_like(a), randomness="same")(x)
    return of(forward, (torch.randn(3, 4),))
