"""Expressions as templates: what stands in braces is chosen from what the program has.

    {x}  a tensor of numbers;  {xf} floats, {xi} integers, {xb} bool, {xa} any;  with e behind: exact ({xe}, {xfe}, {xae})
    {y}  a tensor that broadcasts with x, likewise {yf}, {yi}, {yb}, {ya}, {ye} …;  {z} one more;  {same} of x's sizes and dtype, {samee} exact
    {d}  an axis of x;  {c} another one;  {k} True or False;  {s} a number, {si} an integer, {sf} a float, {sp} a small positive integer
    {t}  a dtype
"""
import re

import torch

from indexing import index
from state import ALL, FLOATS, INTEGERS, NUMERIC, Unfit

KINDS = {"": NUMERIC, "f": FLOATS, "i": INTEGERS, "b": (torch.bool,), "a": ALL}
DTYPES = ["torch.float32", "torch.float64", "torch.float16", "torch.int64", "torch.int32", "torch.uint8", "torch.int8", "torch.bool"]
FLOAT_DTYPES = DTYPES[:3]


def broadcasts(a, b):
    return all(p == q or p == 1 or q == 1 for p, q in zip(reversed(a), reversed(b)))


def fill(state, template, rank=None):
    made = {}
    first = []

    def tensor(word):
        letter, kind = word[0], word[1:]
        exact = kind.endswith("e")
        dtypes = KINDS[kind.removesuffix("e")]
        if letter == "x":
            name = state.tensor(dtypes, exact=exact, rank=rank)
            first.append(name)
            return name
        shapes = [env[first[0]].shape for env in state.envs]
        test = lambda v: broadcasts(v.shape, shapes[0])
        return state.tensor(dtypes, exact=exact, test=test)

    def choose(match):
        word, rng = match.group(1), state.rng
        if word in made:
            return made[word]
        if re.fullmatch("[xyz][fiba]?e?", word):
            text = tensor(word)
        elif word in ("same", "samee"):
            x = state.value(first[0])
            text = state.tensor((x.dtype,), exact=word == "samee", test=lambda v: v.shape == x.shape)
        elif word == "d":
            text = str(state.axis(first[0]))
        elif word == "c":
            rank_of = state.value(first[0]).dim()
            others = [axis for axis in range(-rank_of, rank_of) if axis % rank_of != int(made["d"]) % rank_of]
            if not others:
                raise Unfit
            text = str(rng.choice(others))
        elif word == "k":
            text = rng.choice(["True", "False"])
        elif word == "s":
            text = rng.choice(["0", "1", "2", "-1", "3", "-2", "0.5", "2.0", "-1.5", "1.0", "-0.25", "5"])
            if state.scripted and rng.random() < 0.2:
                text = number(state) or text
        elif word == "si":
            text = rng.choice(["0", "1", "2", "-1", "3", "-2", "4"])
        elif word == "sp":
            text = rng.choice(["1", "2", "3"])
        elif word == "sf":
            text = rng.choice(["0.5", "2.0", "-1.5", "1.0", "-0.25", "0.0", "3.0"])
        elif word == "t":
            text = rng.choice(DTYPES)
        elif word == "tf":
            text = rng.choice(FLOAT_DTYPES)
        elif word == "ix":
            text = index(state, first[0])
        elif word == "n":
            text = state.number(int)
        else:
            raise KeyError(word)
        made[word] = text
        return text

    return re.sub(r"\{(\w+)\}", choose, template)


def number(state):
    try:
        return state.number(state.rng.choice([int, float]))
    except Unfit:
        return None


# Exact: of exact values the result is exact.
EXACT = """
-{x}|abs({x})|torch.relu({x})|torch.sign({xe})|torch.square({xe})|torch.floor({xe})|torch.ceil({xe})|torch.round({xe})|torch.trunc({xe})
torch.frac({xfe})|{xa}.clone()|{xa}.contiguous()|torch.logical_not({xae})|~{xb}|~{xi}|torch.isnan({x})|torch.isinf({x})|torch.isfinite({x})
torch.signbit({xe})|F.relu6({x})|F.hardtanh({xf}, -1.0, {sp})|F.threshold({xe}, 1, {si})|F.leaky_relu({xf}, 0.25)|F.softshrink({xfe}, 0.5)|F.hardshrink({xfe}, 0.5)
torch.nan_to_num({x}, {sf})|torch.heaviside({xfe}, {same})|torch.relu({xf}) * {y}|torch.positive({x})|torch.zeros_like({xa})|torch.ones_like({xa})
torch.full_like({x}, {si})|torch.full_like({xa}, {si}, dtype={t})|{xae}.to({t})|{xe}.to({t})|{xe}.long()|{xa}.float()|{xae}.bool()|{xe}.int()|{xa}.double()|{xe}.type_as({ya})
{x} + {y}|{x} - {y}|{xe} * {ye}|{x} + {s}|{x} - {s}|{s} - {x}|{x} * {s}|{s} * {x}|torch.add({x}, {y}, alpha={si})|torch.sub({x}, {y}, alpha={si})|torch.rsub({x}, {y})
torch.maximum({x}, {y})|torch.minimum({x}, {y})|torch.fmax({x}, {y})|torch.fmin({x}, {y})|torch.clamp({x}, {s}, {s})
torch.clamp({x}, -1, {sp})|torch.clamp({x}, min={s})|torch.clamp({x}, max={s})|torch.clamp({x}, {y}, {z})
{xae} == {yae}|{xe} < {ye}|{xe} >= {ye}|{xe} != {s}|{xe} > {s}|{xe} <= {s}|torch.eq({xe}, {s})|{xb} \\& {yb}|{xb} ^ {yb}|{xi} \\& {yi}
{xi} \\| {yi}|{xi} ^ {yi}|{xi} \\& {sp}|{xb} \\| {yb}
torch.logical_and({xae}, {yae})|torch.logical_or({xae}, {yae})|torch.logical_xor({xae}, {yae})
{xe} // {sp}|{xe} % {sp}|torch.remainder({xe}, {sp})|torch.fmod({xe}, {sp})|torch.div({xe}, {sp}, rounding_mode="floor")
torch.div({xe}, {sp}, rounding_mode="trunc")|torch.div({xe}, -2, rounding_mode="trunc")|torch.floor_divide({xe}, {si})|{xe} // {ye}
torch.fmod({xe}, {ye})
torch.where({xb}, {y}, {z})|torch.where({xae} > 0, {ya}, {z})|torch.where({xe} > 1, {ye}, {s})|torch.lerp({xf}, {same}, 0.5)
torch.addcmul({xe}, {ye}, {ze}, value={si})|torch.bitwise_left_shift({xi}, {sp})|torch.bitwise_right_shift({xi}, {sp})
torch.copysign({xfe}, {ye})
torch.gcd({xi}, {yi})|torch.pow({xe}, 2)|torch.pow({xe}, {sp})|{xe} ** 3|torch.isclose({xe}, {same})|torch.ldexp({xe}, {yi})|torch.xlogy({xe}, 1)|torch.dist({xfe}, {yfe}, 1)
{x}.sum()|{x}.sum({d})|{xa}.sum({d}, keepdim={k})|{x}.sum(({d}, {c}))|{xe}.sum({d}, dtype={t})|{x}.amax({d}, {k})|{x}.amin({d}, {k})
{x}.amax()|torch.aminmax({x})[0]|{x}.max()|{x}.min()|{x}.max({d})[0]|{x}.min({d}, {k})[0]|{xe}.max({d})[1]|{xe}.argmax()
{xe}.argmax({d}, {k})|{xe}.argmin({d})
{xae}.all()|{xae}.any()|{xae}.all({d})|{xae}.any({d}, {k})|torch.count_nonzero({xae}, {d})|torch.count_nonzero({xae})|{x}.nansum({d})
{x}.cumsum({d})|{xe}.cumsum({d}, dtype={t})|{xe}.cumprod({d})|{xe}.cummax({d})[0]|{xe}.cummin({d})[0]|torch.diff({x}, dim={d})
{xe}.median()|{xe}.median({d})[0]|{xe}.clamp(-1, 1).prod()|{xfe}.prod({d}, {k})|torch.trace({x})|torch.dot({x}, {same})
torch.inner({xe}, {ye})|torch.outer({xe}, {ye})|torch.tensordot({xe}, {ye}, 1)|torch.matmul({xe}, {ye})|{xe} @ {ye}|torch.kron({xe}, {ye})
torch.linalg.vecdot({xfe}, {yfe})|torch.mv({xe}, {ye})|torch.vdot({xe}, {same})|torch.cross({xe}, {same}, dim={d})
torch.chain_matmul({xfe}, {same})
torch.sum({xae} > 0)|torch.cov({xfe})|torch.equal({xae}, {same})|{x}.trapezoid(dim={d})|torch.trapezoid({x}, dim={d})
torch.cumulative_trapezoid({x}, dim={d})|torch.einsum("...i,...i->...", {xe}, {same})|torch.einsum("...i->...", {xe})
{xa}.t()|{xa}.transpose({d}, {c})|{xa}.flatten()|{xa}.flatten({d})|{xa}.squeeze()|{xa}.squeeze({d})|{xa}.unsqueeze({d})|{xa}.unsqueeze(0)
{xa}.unsqueeze(-1)|{xa}.flip({d})|{xa}.flip(({d}, {c}))|{xa}.roll({si}, {d})|{xa}.roll({si})|torch.rot90({xa}, {si}, ({d}, {c}))
{xa}.movedim({d}, {c})|{xa}.tril({si})|{xa}.triu({si})|{xa}.diagonal({si}, {d}, {c})|torch.diag({xa}, {si})|torch.diag_embed({xa}, {si})
{xa}.fliplr()|torch.diagflat({xa}, {si})
{xa}.narrow({d}, {si}, {sp})|{xa}.select({d}, {si})|{xa}.unfold({d}, {sp}, {sp})|{xa}.chunk({sp}, {d})[0]|{xa}.chunk({sp}, {d})[-1]
{xa}.split({sp}, {d})[0]|{xa}.split({sp}, {d})[-1]|torch.tensor_split({xa}, {sp}, {d})[-1]|{xa}.unbind({d})[-1]|{xa}.expand_as({ya})
torch.cat([{xa}, {same}], {d})|torch.stack([{xa}, {same}], {d})|torch.cat([{x}, {same} * 2, {x}], {d})|torch.stack([{x}, {same}], -1)
torch.broadcast_tensors({xa}, {ya})[1]|torch.hstack([{xa}, {same}])|torch.vstack([{xa}, {same}])
{xa}.repeat_interleave({sp}, {d})|{xa}.repeat_interleave({sp})|torch.atleast_2d({xa})|torch.atleast_3d({xa})|{xa}.view(-1)|{xa}.reshape(-1)
{xa}.reshape({xa}.size(0), -1)|{xa}.view({xa}.shape)|{xa}.reshape(-1, {sp})|{xa}.view({sp}, -1)|{xa}.ravel()|{xa}.swapaxes({d}, {c})
{xa}.unflatten({d}, [-1, {sp}])
{xe}.sort({d})[0]|{xe}.sort({d}, descending={k})[0]|torch.argsort({xe}, dim={d}, stable=True)
torch.sort({xe}, stable=True, dim={d}, descending={k})[1]|{xe}.topk({sp}, {d})[0]|{xe}.topk({sp}, {d}, largest={k})[0]
torch.kthvalue({xe}, {sp}, {d}, {k})[0]|torch.msort({xe})|torch.unique({xe})|torch.unique({xe}, return_inverse=True)[1]
torch.unique({xe}, return_counts=True)[1]|torch.unique_consecutive({xe})
{x} + {y}.sum()|{x} * {y}.max()|{xe}.flatten()[0] * {y}|{x} - torch.tensor({s})|torch.tensor({sf}) * {x}|torch.tensor({si}) + {x}
torch.maximum({x}, torch.tensor({si}))|torch.where({xb}, {ya}, torch.tensor({si}))|torch.where({xae} > 0, {s}, {ye})|{xe}.sum().to({t})
{xa}.flatten()[-1].unsqueeze(0)|torch.stack([{x}.sum(), {x}.max()])
{x}[{x} > {s}]|{xa}[{xae}.to(torch.bool)]|{xe}[{xe} != {si}].sum()|{xe}[{xe} > {s}] * 2|{xa}[torch.isfinite({xa})].numel() + {xa}
torch.where({xae})[0]|{xa}.flatten()[torch.nonzero({xae}.flatten())[:, 0]]|{xae}.flatten()[torch.where({xae}.flatten())[0]]
({xe} > {s}).sum({d})|({xe} > {s}).to({t}).cumsum({d})
{xa}[torch.arange({xa}.size(0) - 1, -1, -1)]|torch.arange({sp} + 3, 0, -2)|torch.arange({sp}, -3, -1, dtype={t})|{xa}.flip({d})[::2]
{xa}[::2].flip(0)|{xa}[-2:].flip(-1)|{xa}[..., ::3]
torch.nonzero({xae})|torch.argwhere({xae})|torch.isin({xe}, {ye})|torch.isin({xe}, {ze})|torch.bincount({xi}.flatten())
torch.masked_select({xa}, {yb})|torch.searchsorted({xe}.sort(-1)[0], {xe})|torch.bucketize({xe}, torch.tensor([-1.0, 0.0, 2.0]))
torch.histc({xfe}, 4, -2, 2)
F.one_hot({xi}.long() % 3, 3)|F.one_hot({xi}.long().abs() % 3)|torch.arange({sp}, {sp} + 4, dtype={t})|torch.zeros({sp}, 4, dtype={t})
torch.ones({xa}.shape, dtype={t})|torch.full(({sp}, 4), {s})|{x} + {n}|{x} * {n}|torch.full(({n},), {si})|torch.arange({n})
torch.zeros({n}, 2)|{xa}.narrow({d}, 0, {n})|{xa}.select({d}, {n} - 1)|{xa}[:{n}]|{xa}[{n}:]|{xa}.view({n}, -1)|{xa}.expand({n}, -1, -1)
{xa}.repeat({n}, 1)|{xa}.roll({n}, {d})|torch.eye({sp}, dtype={t})|{xa}.new_zeros(({sp}, 4))|{xa}.new_ones({xa}.size())
{xa}.new_full((2,), {si})|torch.arange({xa}.size(0))|torch.arange({xa}.numel())|torch.zeros({xa}.size(0), {sp})
torch.tensor([{sf}, {sf}, 1.5])|torch.tensor({si})|torch.tensor({sf})|torch.tensor([True, False, True, True])|torch.linspace(0, 4, 5)
torch.tril_indices({sp}, 3)
F.pad({xa}, (1, {si}))|F.pad({x}, ({si}, 1), value={s})|F.pad({x}, (1, 0, {si}, 2))|F.pad({xf}, (1, 1), mode="reflect")
F.pad({xf}, (1, 2), mode="replicate")|F.pad({xf}, (1, 2), mode="circular")
F.pad(torch.cat([{xf}, {xf}, {xf}], -1), (-1, 2), mode="circular")|F.pad({xf}, (1, -1, 2, 1), mode="replicate")
F.pad(torch.cat([{xf}, {xf}, {xf}], -1), (2, -1), mode="circular")|F.pad({xa}, ({si}, {sp}, {sp}, -1))
torch.meshgrid({xa}.flatten(), {ya}.flatten(), indexing="ij")[1]|torch.cartesian_prod({xa}.flatten(), {same}.flatten())
torch.combinations({xa}.flatten())|torch.block_diag({x}, {same})
{xa}.masked_fill({yb}, {si})|{x}.masked_fill({ye} > 1, {s})|{xa}.masked_scatter({yb}, torch.ones_like({xa}))
{xa}.index_select({d}, torch.tensor([0, 0]))|{xa}.gather({d}, torch.zeros_like({xa}, dtype=torch.int64))|{xa}.take(torch.tensor([0, -1]))
torch.take_along_dim({xe}, {xe}.argsort({d}, stable=True) if False else torch.zeros_like({xe}, dtype=torch.int64), {d})
torch.take_along_dim({xa}, torch.tensor([[0]]), {d})
{xa}.scatter({d}, torch.zeros_like({xa}, dtype=torch.int64)[:1], {xa})|{xe}.scatter_add({d}, {xe}.argmax({d}, True), {xe})
{xe}.scatter_reduce({d}, {xe}.argmax({d}, True), {xe}, "amax", include_self={k})
{xe}.scatter_reduce({d}, {xe}.argmin({d}, True), {xe}, "sum", include_self={k})|{xa}.index_fill({d}, torch.tensor([0]), {si})
{x}.index_add({d}, torch.tensor([0, 0]), {x}.narrow({d}, 0, 2))|{xa}.index_copy({d}, torch.tensor([1]), {xa}.narrow({d}, 0, 1))
{xa}.slice_scatter({xa}.narrow({d}, 0, 1), {d}, {si}, {si})|{xa}.select_scatter({xa}.select({d}, 0), {d}, {si})
{xe}.index_reduce({d}, torch.tensor([0, 0]), {xe}.narrow({d}, 0, 2), "amax", include_self={k})
F.max_pool1d({xf}, 2, {sp})|F.max_pool2d({xf}, 2, {sp}, 1)|F.max_pool1d({xf}, 3, 2, ceil_mode=True)|F.adaptive_max_pool1d({xf}, {sp})
F.avg_pool1d({xfe}, 2, {sp})|F.avg_pool2d({xfe}, 2, 1, 1)|F.pixel_shuffle({xa}, 2)|F.pixel_unshuffle({xa}, 2)|F.channel_shuffle({xf}, 2)
F.interpolate({xf}, scale_factor=2.0)|F.interpolate({xfe}, size=3)|F.interpolate({xf}, scale_factor=0.5, mode="nearest-exact")
F.interpolate({xf}, scale_factor=1.5, mode="nearest", recompute_scale_factor={k})|F.unfold({xf}, (2, 2))|F.fold({xf}, (3, 3), (2, 2))
F.embedding({xi}.long() % 3, torch.tensor([[1.0, 2.0], [3.0, 0.5], [0.0, -1.0]]))
F.linear({xfe}, torch.tensor([[1.0, 0.5, -1.0, 2.0]]).to({xfe}.dtype))|F.conv1d({xf}, torch.ones(2, 3, 2).to({xf}.dtype), padding=1)
F.mse_loss({xfe}, {same}, reduction="sum")|F.l1_loss({x}, {same}, reduction="none")|F.smooth_l1_loss({xfe}, {same}, reduction="sum")
F.nll_loss({xf}, torch.zeros({xf}.size(0), dtype=torch.int64), reduction="sum")
F.hinge_embedding_loss({xfe}, {samee}.sign(), reduction="none")
"""

INEXACT = """
torch.exp(torch.clamp({x}, -3, 3))|torch.sin({x})|torch.cos({x})|torch.tanh({x})|torch.sigmoid({x})|torch.sqrt(abs({x}))
torch.rsqrt(abs({x}) + 1)|torch.log1p(abs({x}))|torch.log(abs({x}) + 0.5)|torch.log2(abs({x}) + 2)|torch.erf({x})|F.gelu({xf})|F.silu({xf})
F.softplus({xf})|F.elu({xf})|F.selu({xf})|F.mish({xf})|F.hardswish({xf})|F.hardsigmoid({xf})|F.celu({xf}, 0.5)|F.logsigmoid({xf})
F.softsign({xf})|F.tanhshrink({xf})|F.glu({xf}, {d})|torch.atan({x})|torch.asinh({x})|torch.reciprocal(abs({x}) + 1)
torch.expm1(torch.clamp({x}, -3, 3))|torch.exp2(torch.clamp({x}, -3, 3))|torch.sinc({xf})|torch.erfc({x}.clamp(max=1.5))
torch.special.expit({x})|torch.lgamma(abs({xf}) + 1)
F.softmax({xf}, {d})|F.log_softmax({xf}, {d})|F.softmin({xf}, {d})|torch.softmax({xf}, {d}, dtype={tf})|{xf}.mean()|{xf}.mean({d})
{xf}.mean({d}, keepdim={k})|{x}.mean({d}, dtype={tf})|{xf}.mean(({d}, {c}))|{xf}.nanmean({d})|{xf}.var({d})|{xf}.std({d}, unbiased={k})
{xf}.var({d}, correction=0, keepdim={k})|torch.var_mean({xf}, {d}, correction=0)[0]|torch.var_mean({xf}, {d}, unbiased={k})[1]|{xf}.norm()
torch.norm({xf}, p=1, dim={d})|torch.linalg.vector_norm({xf}, {sp}, {d})|torch.logsumexp({xf}, {d})|torch.logcumsumexp({xf}, {d})
torch.linalg.norm({xf}, dim={d})|F.normalize({xfe}, dim={d})
{x} / {s}|{x} / 3|{x} / (abs({y}) + 1)|torch.div({x}, abs({y}) + 1)|torch.atan2({x}, {y})|torch.hypot({xf}, {same})
torch.pow(abs({xf}) + 0.5, {s})|torch.pow(2.0, torch.clamp({x}, -3, 3))|torch.addcdiv({xf}, {yf}, abs({same}) + 1)
torch.logaddexp({xf}, {same})|torch.xlogy({x}, abs({y}) + 1)|torch.cdist({xf}, {same})|F.pairwise_distance({xf}, {same})
F.cosine_similarity({xf}, {same}, dim={d})|torch.lerp({xf}, {same}, {sf})|torch.float_power(abs({x}) + 1, 2)
{x} @ {y}|torch.matmul({x}, {y})|torch.bmm({x}, {y})|torch.mm({x}, {same}.t())|torch.addmm({x}, {x}, {same}.t())
torch.einsum("ij,ij->i", {x}, {same})|torch.einsum("ij,kj->ik", {x}, {same})|torch.einsum("i,j->ij", {x}, {same})
torch.baddbmm({xf}, {same}, {same})|torch.linalg.multi_dot([{xf}, {same}.t()])|torch.det({xf})|torch.corrcoef({xfe})
F.layer_norm({xf}, {xf}.shape[-1:])|F.layer_norm({xf}, [4])|F.instance_norm({xf})|F.group_norm({xf}, 1)
F.batch_norm({xf}, torch.zeros({xf}.size(1)).to({xf}.dtype), torch.ones({xf}.size(1)).to({xf}.dtype))|F.rms_norm({xf}, [4])
F.local_response_norm({xf}, 2)|F.adaptive_avg_pool1d({xf}, {sp})|F.avg_pool1d({xf}, 3, 2, 1, count_include_pad={k})|F.lp_pool1d({xf}, 2, 2)
F.interpolate({xf}, scale_factor=1.5, mode="linear", align_corners={k})|F.interpolate({xf}, size=(3, 5), mode="bilinear", align_corners={k})
F.interpolate({xf}, size=4, mode="area")|F.scaled_dot_product_attention({xf}, {same}, {same})
F.upsample({xf}, scale_factor=2, mode="nearest")
F.mse_loss({xf}, {same})|F.cross_entropy({xf}, torch.zeros({xf}.size(0), dtype=torch.int64))
F.cross_entropy({xf}, torch.ones({xf}.size(0), dtype=torch.int64), reduction="none", label_smoothing=0.25)
F.cross_entropy({xf}, F.softmax({xf}, 1))|F.binary_cross_entropy_with_logits({xf}, torch.sigmoid({same}))
F.kl_div({xf}, torch.sigmoid({same}), reduction="sum")|F.huber_loss({xf}, {same})|F.soft_margin_loss({xf}, {samee}.sign())
F.poisson_nll_loss({xf}, {same})|F.gaussian_nll_loss({xf}, {same}, torch.ones_like({xf}))|F.triplet_margin_loss({xf}, {same}, {xf} * 2)
F.margin_ranking_loss({xf}, {same}, torch.ones_like({xf}))|F.cosine_embedding_loss({xf}, {same}, torch.ones({xf}.size(0)))
torch.quantile({xf}, 0.25)|torch.nanquantile({xf}, 0.75, {d})|torch.renorm({xf}, 2, {d}, 1.0)|torch.special.entr(abs({xf}))
torch.polar(torch.clamp(abs({xf}), max=1), {same}).real|torch.fft.rfft({xf}).abs()|torch.trapezoid({xf}, {same})
torch.gradient({xf}, dim={d})[0]|torch.logit(torch.sigmoid(torch.clamp({xf}, -3, 3)))|torch.dist({xf}, {same})|{xf}.logsumexp({d}, {k})
F.prelu({xf}, torch.tensor([0.25]).to({xf}.dtype))|torch.mean({xf}, -1) + {y}
"""

# Written to the tensor before the dot or the bracket.
WRITES = """
{x}.add_({y})|{x}.sub_({y}, alpha={si})|{xe}.mul_({ye})|{x}.mul_({s})|{x} += {y}|{x} -= {s}|{xe} *= {ye}|{xa}.fill_({si})|{xa}.zero_()
{xae}.copy_({yae})|{x}.clamp_({s}, {s})|{x}.clamp_(max={sp})|{x}.clamp_({y}, {z})|{xa}.masked_fill_({yb}, {si})|{x}.relu_()|{x}.neg_()
{x}.abs_()|{xae}.logical_not_()|{xi}.bitwise_and_({yi})|{xfe}.floor_()|{xb}.logical_and_({yae})|{x}.cumsum_({d})|{xe}.cumprod_({d})
{xa}.t_()|{xa}.unsqueeze_({d})|{xa}.squeeze_({d})|{xa}.transpose_({d}, {c})|{xe}.remainder_({sp})|{xe}.fmod_({sp})|{xe} //= {sp}
{xe}.pow_(2)|{xe}.eq_({ye})|{xe}.gt_({s})|{x}.tril_({si})|{xa}.index_fill_({d}, torch.tensor([0, -1]), {si})
{x}.index_add_({d}, torch.tensor([0, 0]), {x}.clone().narrow({d}, 0, 2))|{xa}.scatter_({d}, torch.zeros_like({xa}, dtype=torch.int64), {si})
{x}.masked_fill_({ye} > 0, {s})|{xa}.index_copy_({d}, torch.tensor([0]), {xa}.clone().narrow({d}, -1, 1))|{x}.lerp_({same}, 0.5)
{xe}.addcmul_({ye}, {ze})|{x}.clip_({si}, 3)|{xa}.fill_diagonal_({si})
{xa}[{ix}] = {si}|{x}[{ix}] += {si}|{x}[{ix}] *= 2|{x}[{ix}] -= {y}|{xae}[{ix}] = {yae}|{xa}[{ix}].zero_()|{x}[{ix}].add_({s})
{xa}[{ix}].fill_({si})|{xa}[{ix}] = {xa}.flip(0)[{ix}]|{x}[{ix}] = -{x}[{ix}]|{xa}[{ix}].copy_({xa}.clone()[{ix}])
{x}.transpose({d}, {c}).add_({s})|{xa}.select({d}, {si}).fill_({si})|{x}.narrow({d}, {si}, {sp}).mul_(2)|{x}.view(-1)[{si}] = {si}
{xa}.diagonal().fill_({si})|{xa}.unsqueeze(0).squeeze(0).zero_()|{x}.squeeze({d}).mul_(3)|{x}.flatten().add_(1)
{xa}.chunk(2, {d})[0].fill_({si})|{xa}.split(1, {d})[-1].zero_()|{x}.unbind({d})[0].add_(1)|{x}.expand_as({x})[0] = 1
{x}[0] += {x}[-1]|{x}[..., -1].mul_({s})|{x}[1:].sub_({x}[:-1].clone())|{xa}[{xae}.to(torch.bool)] = {si}|{xe}[{xe} > {s}] = {si}
{xe}[{xe} < {s}] += 1|{x}[{x} != {x}] = 0|{xa}[::2] = {xa}[-1:]|{xa}.flip(0)[0] = {si}|{x}.t()[0] += {si}|{x}.diagonal().mul_(2)
{x}.movedim(0, -1)[..., 0].zero_()|{x}.view(-1)[::2].neg_()|{x}.select(-1, 0).unsqueeze(-1).add_({si})|{x}.transpose({d}, {c})[0] = {si}
{x}.unfold({d}, 1, 2).zero_()|{x}.chunk(2, {d})[-1].add_({x}.chunk(2, {d})[-1].clone())
"""


def parts(text):
    return [template.replace("\\&", "&").replace("\\|", "|") for line in text.strip().splitlines() for template in re.split(r"(?<!\\)\|", line)]


TABLE = [(t, True) for t in parts(EXACT)] + [(t, False) for t in parts(INEXACT)]
WRITE_TABLE = parts(WRITES)
