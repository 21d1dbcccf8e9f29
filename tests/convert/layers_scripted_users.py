"""Scripted programs: What users script."""
from collections import OrderedDict
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from layers_scripted_optionals import attend
from script_programs import Programs, FLAG, N3, r

programs = Programs()
program = programs.add
cases = programs.cases


class Cell(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.cell = nn.LSTMCell(n, n)

    def forward(self, inputs: Tensor, state: Tuple[Tensor, Tensor]) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        xs = inputs.unbind(0)
        out = torch.jit.annotate(List[Tensor], [])
        for i in range(len(xs)):
            state = self.cell(xs[i], state)
            out += [state[0]]
        return torch.stack(out), state


@program([(r(n, b, 4),) for n, b in ((3, 2), (1, 1), (5, 3))], "f32:n,b,4")
class UserStackedLSTM(nn.Module):
    """custom_lstms.py of PyTorch: states in a list of tuples, layers in a ModuleList."""
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Cell(4), Cell(4)])

    def forward(self, x: Tensor):
        states = [(torch.zeros(x.size(1), 4), torch.zeros(x.size(1), 4)) for _ in range(2)]
        output_states = torch.jit.annotate(List[Tuple[Tensor, Tensor]], [])
        i = 0
        for layer in self.layers:
            x, out_state = layer(x, states[i])
            output_states += [out_state]
            i += 1
        return x, output_states


@program([(r(n, b, 4),) for n, b in ((3, 2), (1, 1), (5, 3))], "f32:n,b,4")
class UserBidirectional(nn.Module):
    def __init__(self):
        super().__init__()
        self.directions = nn.ModuleList([Cell(4), Cell(4)])

    def forward(self, x: Tensor):
        outputs = torch.jit.annotate(List[Tensor], [])
        finals = torch.jit.annotate(List[Tuple[Tensor, Tensor]], [])
        i = 0
        for d in self.directions:
            xs = list(x.unbind(0))
            if i == 1:
                xs.reverse()
            y, s = d(torch.stack(xs), (torch.zeros(x.size(1), 4), torch.zeros(x.size(1), 4)))
            outputs += [y.flip(0) if i == 1 else y]
            finals += [s]
            i += 1
        return torch.cat(outputs, -1), finals[0][1], finals[1][0]


@program([(torch.tensor(v), torch.tensor(n)) for v, n in (([1, 2, 3], 4), ([5], 1), ([0, 6], 6))], "i64:n", FLAG)
class UserKVCache(nn.Module):
    """Greedy decoding with a cache for each layer, while no end token comes."""
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(8, 4)
        self.q = nn.ModuleList([nn.Linear(4, 12) for _ in range(2)])
        self.out = nn.Linear(4, 8)

    def step(self, x: Tensor, cache: List[Tuple[Tensor, Tensor]]) -> Tuple[Tensor, List[Tuple[Tensor, Tensor]]]:
        new: List[Tuple[Tensor, Tensor]] = []
        for i, layer in enumerate(self.q):
            q, k, v = layer(x).chunk(3, -1)
            k = torch.cat([cache[i][0], k], 0)
            v = torch.cat([cache[i][1], v], 0)
            x = x + torch.softmax(q @ k.t(), -1) @ v
            new.append((k, v))
        return x, new

    def forward(self, prompt: Tensor, most: Tensor):
        cache: List[Tuple[Tensor, Tensor]] = []
        for _ in range(2):
            cache.append((torch.zeros(0, 4), torch.zeros(0, 4)))
        x, cache = self.step(self.embed(prompt), cache)
        token = self.out(x[-1:]).argmax(-1)
        tokens = torch.cat([prompt, token])
        n = 1
        while n < int(most) and int(token) != 7:
            x, cache = self.step(self.embed(token), cache)
            token = self.out(x[-1:]).argmax(-1)
            tokens = torch.cat([tokens, token])
            n += 1
        return tokens, cache[1][0], n


@program([(r(n, 4),) for n in (3, 1, 6)], "f32:n,4")
class UserTransducer(nn.Module):
    """RNN-T, greedy: symbols in a list of ints."""
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(6, 4)
        self.cell = nn.GRUCell(4, 4)
        self.joint = nn.Linear(4, 6)

    def forward(self, x: Tensor):
        symbols: List[int] = []
        hidden: Optional[Tensor] = None
        last = 0
        for t in range(x.size(0)):
            emitted = 0
            more = True
            while more and emitted < 3:
                h = torch.zeros(1, 4) if hidden is None else hidden
                g = self.cell(self.embed(torch.tensor([last])), h)
                k = int(self.joint(torch.tanh(x[t : t + 1] + g)).argmax(-1))
                if k == 0:
                    more = False
                else:
                    symbols.append(k)
                    last = k
                    hidden = g
                    emitted += 1
        return torch.tensor(symbols), len(symbols)


@program([(r(n, 4),) for n in (3, 1, 6)], "f32:n,4")
class UserTransducerWithoutNone(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(6, 4)
        self.cell = nn.GRUCell(4, 4)
        self.joint = nn.Linear(4, 6)

    def forward(self, x: Tensor):
        symbols: List[int] = []
        hidden = torch.zeros(1, 4)
        last = 0
        for t in range(x.size(0)):
            emitted = 0
            more = True
            while more and emitted < 3:
                g = self.cell(self.embed(torch.tensor([last])), hidden)
                k = int(self.joint(torch.tanh(x[t : t + 1] + g)).argmax(-1))
                if k == 0:
                    more = False
                else:
                    symbols.append(k)
                    last = k
                    hidden = g
                    emitted += 1
        return torch.tensor(symbols, dtype=torch.int64), len(symbols), hidden


@program([(torch.log_softmax(r(n, 5), -1),) for n in (3, 1, 6)], "f32:n,5")
def user_beam_search(x: Tensor):
    """Beams in lists that each step makes anew: beam width 3."""
    beams = [torch.zeros(1, dtype=torch.long)]
    scores = [x[0, 0] * 0]
    for i in range(3):
        beams.append(torch.zeros(1, dtype=torch.long))
        scores.append(x[0, 0] * 0 - 1e4)
    for t in range(x.size(0)):
        every = torch.stack([s + x[t] for s in scores]).flatten()
        top, at = every.topk(4)
        grown: List[Tensor] = []
        for j in range(4):
            k = at[j] % 5
            parent = torch.stack(beams)[at[j] // 5]
            grown.append(torch.cat([parent, k.unsqueeze(0)]))
        beams = grown
        scores = list(top.unbind(0))
    return torch.stack(beams), torch.stack(scores)


@program([(torch.log_softmax(r(n, 5), -1),) for n in (3, 1, 6)], "f32:n,5")
def user_beam_search_sequences(x: Tensor):
    """Hypotheses in lists of ints, in a list of fixed width."""
    hyps: List[List[int]] = [[0], [0]]
    scores: List[float] = [0.0, -1000.0]
    for t in range(x.size(0)):
        every = torch.stack([x[t] + scores[0], x[t] + scores[1]]).flatten()
        top, at = every.topk(2)
        new: List[List[int]] = []
        for j in range(2):
            which = int(at[j]) // 5
            new.append(hyps[which] + [int(at[j]) % 5])
        hyps = new
        scores = [float(top[0]), float(top[1])]
    return torch.tensor(hyps[0]), scores[0]


@program([(torch.randint(0, 9, (b, n)), r(b, 3)) for b, n in ((2, 4), (1, 1), (3, 2))], "i64:b,n", "f32:b,3")
class UserDictClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeds = nn.ModuleDict({"text": nn.EmbeddingBag(10, 4), "title": nn.EmbeddingBag(10, 4, mode="max")})
        self.fc = nn.Linear(11, 2)

    def features(self, batch: Dict[str, Tensor]) -> Dict[str, Tensor]:
        out: Dict[str, Tensor] = {}
        for name, embed in self.embeds.items():
            if name in batch:
                out[name] = embed(batch[name])
        if "dense" in batch:
            out["dense"] = batch["dense"]
        return out

    def forward(self, ids: Tensor, dense: Tensor):
        batch = {"text": ids, "title": ids + 1, "dense": dense}
        f = self.features(batch)
        logits = self.fc(torch.cat(list(f.values()), 1))
        return {"logits": logits, "probs": logits.softmax(-1)}


@program([(torch.rand(t, k, 4),) for t, k in ((3, 2), (1, 4), (4, 1))], "f32:t,k,4")
def user_tracker(x: Tensor):
    """The boxes of each frame are kept or move to what is nearest."""
    tracks = x[0]
    ages = torch.zeros(x.size(1), dtype=torch.long)
    history: List[Tensor] = [tracks]
    state: Dict[str, Tensor] = {"boxes": tracks, "ages": ages}
    for t in range(1, x.size(0)):
        d = torch.cdist(state["boxes"], x[t])
        near, at = d.min(1)
        hit = near < 0.5
        state["boxes"] = torch.where(hit.unsqueeze(1), x[t][at], state["boxes"])
        state["ages"] = torch.where(hit, state["ages"] * 0, state["ages"] + 1)
        history.append(state["boxes"])
    return state, torch.stack(history)


@program([(torch.rand(n, 4), torch.rand(n), torch.randint(0, 3, (n,))) for n in (5, 1, 0, 8)], "f32:n,4", "f32:n", "i64:n")
def user_detections_per_class(boxes: Tensor, scores: Tensor, labels: Tensor):
    """postprocess: of each class what is good enough, and then all together."""
    all_boxes: List[Tensor] = []
    all_scores: List[Tensor] = []
    for c in range(3):
        keep = torch.where((labels == c) & (scores > 0.3))[0]
        if keep.numel() == 0:
            continue
        all_boxes.append(boxes[keep])
        all_scores.append(scores[keep])
    if len(all_boxes) == 0:
        return {"boxes": boxes[:0], "scores": scores[:0]}
    return {"boxes": torch.cat(all_boxes), "scores": torch.cat(all_scores)}


@program([(torch.rand(n, 4), torch.rand(n)) for n in (5, 1, 0, 8)], "f32:n,4", "f32:n")
def user_detections_lists(boxes: Tensor, scores: Tensor):
    result: List[Dict[str, Tensor]] = []
    for b, s in zip([boxes, boxes * 2], [scores, scores * 0.5]):
        keep = s > 0.25
        result.append({"boxes": b[keep], "scores": s[keep]})
    for i, pred in enumerate(result):
        b = pred["boxes"] * float(i + 1)
        result[i]["boxes"] = b
        pred["labels"] = torch.ones(b.size(0), dtype=torch.long)
    return result


@program([(torch.rand(2, 3, a, b),) for a, b in ((8, 8), (8, 16), (16, 8))], "f32:2,3,h,w")
class UserAnchors(nn.Module):
    """AnchorGenerator, with cell anchors that are set when they are used."""
    cell_anchors: Optional[List[Tensor]]

    def __init__(self):
        super().__init__()
        self.sizes = ((4,), (8,))
        self.cell_anchors = None

    def set_cell_anchors(self, dtype: torch.dtype):
        if self.cell_anchors is not None:
            anchors = self.cell_anchors
            assert anchors is not None
            if anchors[0].device == torch.device("cpu"):
                return
        made: List[Tensor] = []
        for s in self.sizes:
            made.append(torch.tensor([[-1.0, -1.0, 1.0, 1.0]], dtype=dtype) * s[0] / 2)
        self.cell_anchors = made

    def grid(self, sizes: List[List[int]], strides: List[List[int]]) -> List[Tensor]:
        out: List[Tensor] = []
        cells = self.cell_anchors
        assert cells is not None
        for size, stride, base in zip(sizes, strides, cells):
            x = torch.arange(0, size[1]) * stride[1]
            y = torch.arange(0, size[0]) * stride[0]
            yy, xx = torch.meshgrid(y, x, indexing="ij")
            shifts = torch.stack((xx.reshape(-1), yy.reshape(-1), xx.reshape(-1), yy.reshape(-1)), dim=1)
            out.append((shifts.view(-1, 1, 4) + base.view(1, -1, 4)).reshape(-1, 4))
        return out

    def forward(self, x: Tensor):
        maps = [F.max_pool2d(x, 2), F.max_pool2d(x, 4)]
        sizes = [list(m.shape[-2:]) for m in maps]
        strides = [[x.shape[-2] // s[0], x.shape[-1] // s[1]] for s in sizes]
        self.set_cell_anchors(x.dtype)
        per_level = self.grid(sizes, strides)
        anchors: List[List[Tensor]] = []
        for _ in range(x.size(0)):
            anchors.append([a for a in per_level])
        return [torch.cat(a) for a in anchors]


@program([(torch.rand(1, 3, a, b),) for a, b in ((8, 8), (8, 16))], "f32:1,3,h,w")
class UserPyramid(nn.Module):
    """FeaturePyramidNetwork: dict in, lists of names, dict out."""
    def __init__(self):
        super().__init__()
        self.body = nn.ModuleDict({"c1": nn.Conv2d(3, 4, 3, 2, 1), "c2": nn.Conv2d(4, 4, 3, 2, 1)})
        self.inner = nn.ModuleList([nn.Conv2d(4, 4, 1), nn.Conv2d(4, 4, 1)])
        self.layer = nn.ModuleList([nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)])

    def get_result(self, x: Tensor, idx: int) -> Tensor:
        num = len(self.inner)
        if idx < 0:
            idx += num
        out = x
        for i, module in enumerate(self.inner):
            if i == idx:
                out = module(x)
        return out

    def forward(self, x: Tensor):
        feats: Dict[str, Tensor] = OrderedDict()
        for name, m in self.body.items():
            x = m(x)
            feats[name] = x
        names = list(feats.keys())
        xs = list(feats.values())
        last = self.get_result(xs[-1], -1)
        results: List[Tensor] = []
        results.append(self.layer[1](last))
        for idx in range(len(xs) - 2, -1, -1):
            lateral = self.get_result(xs[idx], idx)
            last = lateral + F.interpolate(last, size=lateral.shape[-2:], mode="nearest")
            results.insert(0, self.layer[0](last))
        names.append("pool")
        results.append(F.max_pool2d(results[-1], 1, 2, 0))
        return OrderedDict([(k, v) for k, v in zip(names, results)])


@program([(r(n, 2, 4), r(2, 2, 4)) for n in (1, 3)], "f32:n,2,4", "f32:2,2,4")
class UserIncremental(nn.Module):
    """incremental_state of fairseq."""
    def __init__(self):
        super().__init__()
        self.k = nn.Linear(4, 4)

    def saved(self, state: Optional[Dict[str, Dict[str, Optional[Tensor]]]]) -> Dict[str, Optional[Tensor]]:
        if state is not None and "attn.state" in state:
            return state["attn.state"]
        empty: Dict[str, Optional[Tensor]] = {}
        return empty

    def attend(self, x: Tensor, state: Optional[Dict[str, Dict[str, Optional[Tensor]]]]) -> Tensor:
        k = self.k(x)
        saved = self.saved(state)
        if "prev_key" in saved:
            prev = saved["prev_key"]
            if prev is not None:
                k = torch.cat([prev, k], 0)
        saved["prev_key"] = k
        saved["mask"] = None
        if state is not None:
            state["attn.state"] = saved
        return torch.einsum("tbc,sbc->bts", x, k)

    def forward(self, x: Tensor, y: Tensor):
        state: Dict[str, Dict[str, Optional[Tensor]]] = {}
        a = self.attend(x, state)
        b = self.attend(y, state)
        c = self.attend(x, None)
        return a, b, c


@program([(torch.randint(0, 255, (h, w, 3), dtype=torch.uint8),) for h, w in ((6, 4), (4, 8))], "u8:h,w,3")
class UserPreprocessing(nn.Module):
    means: List[float]
    stds: List[float]

    def __init__(self):
        super().__init__()
        self.means = [0.485, 0.456, 0.406]
        self.stds = [0.2, 0.3, 0.4]
        self.size: Tuple[int, int] = (4, 4)

    def forward(self, image: Tensor):
        x = image.permute(2, 0, 1).float().div_(255)
        info: Dict[str, int] = {"h": x.shape[1], "w": x.shape[2]}
        scale = min(8.0 / max(info["h"], info["w"]), 4.0 / min(info["h"], info["w"]))
        size = [int(info["h"] * scale), int(info["w"] * scale)]
        x = F.interpolate(x[None], size=size, mode="bilinear", align_corners=False)[0]
        for i, (m, s) in enumerate(zip(self.means, self.stds)):
            x[i].sub_(m).div_(s)
        return x, size[0], size[1]


@program([(r(2, 3, a, b), r(k, 5)) for a, b, k in ((8, 8, 3), (8, 16, 0), (16, 8, 1))], "f32:2,3,h,w", "f32:k,5")
def user_level_mapper(x: Tensor, rois: Tensor):
    """MultiScaleRoIAlign's loop: rows of each level written into one result."""
    levels = (rois[:, 1] > 0).to(torch.int64)
    maps = [x, F.max_pool2d(x, 2)]
    result = torch.zeros(rois.size(0), 3)
    for level, per_level in enumerate(maps):
        at = torch.where(levels == level)[0]
        part = rois[at]
        result[at] = (per_level.mean((0, 2, 3)) + part[:, :1]).to(result.dtype)
    return result


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
def user_early_exit(x: Tensor):
    outputs: List[Tensor] = []
    confidence = 0.0
    for k in range(4):
        x = torch.tanh(x * 1.5)
        outputs.append(x)
        confidence = float(x.abs().mean())
        if confidence > 0.7:
            break
    return outputs[-1], len(outputs), confidence


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
def user_topk_sorted_pairs(x: Tensor):
    best: List[float] = [-1e9, -1e9]
    at: List[int] = [-1, -1]
    for i in range(x.size(0)):
        v = float(x[i].sum())
        if v > best[0]:
            best.insert(0, v)
            at.insert(0, i)
            best.pop()
            at.pop()
        elif v > best[1]:
            best[1] = v
            at[1] = i
    return torch.tensor(best), torch.tensor(at)


@program([(torch.randint(0, 3, (n,)),) for n in (6, 1, 3)], "i64:n")
def user_ctc_collapse(x: Tensor):
    out: List[int] = []
    last = 0
    for i in range(x.size(0)):
        k = int(x[i])
        if k != last and k != 0:
            out.append(k)
        last = k
    return torch.tensor(out, dtype=torch.int64), len(out)


@program([(torch.randint(0, 3, (n,)),) for n in (6, 1, 3)], "i64:n")
def user_histogram_dict(x: Tensor):
    counts: Dict[int, int] = {0: 0, 1: 0, 2: 0}
    for i in range(x.size(0)):
        k = int(x[i])
        counts[k] += 1
    return counts[0], counts[1], counts[2]


@program([(r(n, 3), r(m, 3)) for n, m in ((3, 2), (1, 4), (2, 1))], N3, "f32:m,3")
def user_pad_sequence_of_open_sizes(x: Tensor, y: Tensor):
    seqs = [x, y, x[:1]]
    return (
        torch.nn.utils.rnn.pad_sequence(seqs, batch_first=True, padding_value=0.5),
        torch.nn.utils.rnn.pad_sequence(seqs),
        torch.nn.utils.rnn.pad_sequence([(x[:, 0] * 9).long(), (y[:, 1] * 9).long()], True, -1.0, "left"),
    )


@program([(r(n, 3),) for n in (3, 1, 6)], N3)
def user_pad_sequence_of_a_grown_list(x: Tensor):
    seqs: List[Tensor] = []
    for i in range(x.size(0)):
        if i % 3 != 1:
            seqs.append(x[: i + 1])
    whole = [(s * 5).long() for s in seqs]
    vectors = [s[:, 0] for s in seqs]
    return (
        torch.nn.utils.rnn.pad_sequence(seqs, batch_first=True, padding_value=-1.5),
        torch.nn.utils.rnn.pad_sequence(whole, False, 7.0),
        torch.nn.utils.rnn.pad_sequence(vectors, True, 0.0, "left"),
        len(seqs),
    )


@program([(r(n, 3), r(m, 3)) for n, m in ((3, 2), (1, 4), (2, 1))], N3, "f32:m,3")
def user_pad_sequences(x: Tensor, y: Tensor):
    seqs = [x, y, x[:1]]
    lengths = [s.size(0) for s in seqs]
    most = max(lengths)
    padded = [F.pad(s, [0, 0, 0, most - n]) for s, n in zip(seqs, lengths)]
    mask = torch.arange(most)[None] < torch.tensor(lengths)[:, None]
    return torch.stack(padded), mask, lengths
