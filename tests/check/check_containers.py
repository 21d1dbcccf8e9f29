#!/usr/bin/env python3
"""Findings about lists, dictionaries and objects name the Python construct that stands in the way, once, and their advice converts."""
import argparse, json, pathlib, subprocess, sys, tempfile
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn


class Groups(nn.Module):
    def forward(self, x):
        groups: List[List[Tensor]] = [[]]
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0):
                groups.append([])
            groups[-1].append(x[i])
        if len(groups) > 3:
            groups.pop(0)
        return groups


class JoinedGroups(nn.Module):
    def forward(self, x):
        groups: List[Tensor] = [x[:0]]
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0):
                groups.append(x[:0])
            groups[-1] = torch.cat([groups[-1], x[i:i + 1]])
        made: List[Tensor] = []
        for g in groups:
            if len(g) > 0:
                made.append(g.sum(0))
        return made


class CountedGroups(nn.Module):
    def forward(self, x):
        items: List[Tensor] = []
        counts: List[int] = [0]
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0):
                counts.append(0)
            items.append(x[i])
            counts[-1] += 1
        made: List[Tensor] = []
        at = 0
        for count in counts:
            if count > 0:
                made.append(torch.stack(items[at:at + count]).sum(0))
            at += count
        return made


class Pages(nn.Module):
    def forward(self, slots, values, ask: int):
        pages: Dict[int, List[Tensor]] = {}
        for i in range(slots.numel()):
            page = int(slots[i]) // 3
            if page not in pages:
                pages[page] = [torch.zeros(values.size(1)) for _ in range(3)]
            pages[page][int(slots[i]) % 3] = values[i]
        return torch.stack(pages[ask]) if ask in pages else torch.zeros(0, values.size(1))


class TensorPages(nn.Module):
    def forward(self, slots, values, ask: int):
        pages: Dict[int, Tensor] = {}
        for i in range(slots.numel()):
            page = int(slots[i]) // 3
            if page not in pages:
                pages[page] = values[:0]
            pages[page] = torch.cat([pages[page], values[i:i + 1]])
        return pages[ask] if ask in pages else values[:0]


class Numbers(nn.Module):
    def forward(self, marks):
        lists: List[List[List[int]]] = []
        for i in range(marks.size(0)):
            if int(marks[i]) > 0:
                fresh: List[List[int]] = []
                lists.append(fresh)
            elif len(lists) > 0:
                lists[-1].append([i, i + 1])
        return lists


class FlatNumbers(nn.Module):
    def forward(self, marks):
        pairs: List[List[int]] = []
        lengths: List[int] = []
        for i in range(marks.size(0)):
            if int(marks[i]) > 0:
                lengths.append(0)
            elif len(lengths) > 0:
                pairs.append([i, i + 1])
                lengths[-1] += 1
        total = 0
        for length in lengths:
            total = total * 2 + length
        return total


class Counts(nn.Module):
    """A list of dictionaries with computed keys and lists."""

    def forward(self, docs: List[Tensor], words: int):
        counts: List[Dict[int, List[int]]] = []
        for doc in docs:
            count: Dict[int, List[int]] = {}
            for i in range(doc.numel()):
                count[int(doc[i])] = [i]
            counts.append(count)
        return counts


class OneDict(nn.Module):
    def forward(self, docs: List[Tensor], words: int):
        counts: Dict[int, int] = {}
        for row in range(len(docs)):
            for i in range(docs[row].numel()):
                key = words * row + int(docs[row][i])
                counts[key] = counts.get(key, 0) + 1
        made = torch.zeros(len(docs), words)
        for key, n in counts.items():
            row = key // words
            word = key % words
            made[row, word] = n
        return made


class DictOfDicts(nn.Module):
    def forward(self, marks):
        held: Dict[int, Dict[int, List[int]]] = {}
        for i in range(marks.size(0)):
            key = int(marks[i])
            if key not in held:
                held[key] = torch.jit.annotate(Dict[int, List[int]], {})
            held[key][i % 3] = [i]
        return held


class BothKeys(nn.Module):
    def forward(self, marks):
        held: Dict[int, int] = {}
        for i in range(marks.size(0)):
            held[3 * int(marks[i]) + i % 3] = i
        total = 0
        for key, value in held.items():
            total = total + key * value
        return total


class OtherKeys(nn.Module):
    def forward(self, marks):
        held: List[Dict[str, int]] = []
        for i in range(marks.size(0)):
            item: Dict[str, int] = {"place": i}
            if int(marks[i]) > 0:
                item["mark"] = 1
            held.append(item)
        total = 0
        for item in held:
            total = total * 2 + len(item)
        return total


class SameKeys(nn.Module):
    def forward(self, marks):
        held: List[Dict[str, int]] = []
        for i in range(marks.size(0)):
            item: Dict[str, int] = {"place": i, "mark": 0}
            if int(marks[i]) > 0:
                item["mark"] = 1
            held.append(item)
        total = 0
        for item in held:
            total = total * 2 + item["mark"]
        return total


class ByText(nn.Module):
    def forward(self, marks):
        held: Dict[str, Tensor] = {}
        for i in range(marks.size(0)):
            held[str(int(marks[i]))] = marks[i]
        total = torch.zeros_like(marks[0])
        for value in held.values():
            total = total + value
        return total


class ByInt(nn.Module):
    def forward(self, marks):
        held: Dict[int, Tensor] = {}
        for i in range(marks.size(0)):
            held[int(marks[i])] = marks[i]
        total = torch.zeros_like(marks[0])
        for value in held.values():
            total = total + value
        return total


@torch.jit.script
class Track(object):
    def __init__(self, place: int, hits: int):
        self.place = place
        self.hits = hits


class ChangedTracks(nn.Module):
    def forward(self, marks):
        live: List[Track] = []
        for i in range(marks.size(0)):
            kept: List[Track] = []
            for track in live:
                track.hits += int(marks[i])
                kept.append(track)
            if int(marks[i]) > 0:
                kept.append(Track(i, 0))
            live = kept
        return [track.hits for track in live]


class TracksChangedOnceKept(nn.Module):
    def forward(self, marks):
        live: List[Track] = []
        for i in range(marks.size(0)):
            kept: List[Track] = []
            for track in live:
                kept.append(track)
                track.hits += int(marks[i])
            if int(marks[i]) > 0:
                kept.append(Track(i, 0))
            live = kept
        return [track.hits for track in live]


class NewTracks(nn.Module):
    def forward(self, marks):
        live: List[Track] = []
        for i in range(marks.size(0)):
            kept: List[Track] = []
            for track in live:
                kept.append(Track(track.place, track.hits + int(marks[i])))
            if int(marks[i]) > 0:
                kept.append(Track(i, 0))
            live = kept
        return [track.hits for track in live]


class Summed(nn.Module):
    def forward(self, flows: List[Tensor], names: List[int]) -> Dict[int, Tensor]:
        held: Dict[int, Tensor] = {}
        for flow, name in zip(flows, names):
            held[name] = held[name] + flow if name in held else flow
        return held


class KeysAndValues(nn.Module):
    def forward(self, flows: List[Tensor], names: List[int]) -> Tuple[List[int], List[Tensor]]:
        held: Dict[int, Tensor] = {}
        for flow, name in zip(flows, names):
            held[name] = held[name] + flow if name in held else flow
        return list(held.keys()), list(held.values())


class TwoReturns(nn.Module):
    def forward(self, marks) -> Dict[str, Tensor]:
        depth: List[int] = []
        for i in range(marks.size(0)):
            if int(marks[i]) == 0:
                return {"depth": torch.tensor(depth, dtype=torch.long), "ok": torch.tensor(False)}
            depth.append(i)
        return {"depth": torch.tensor(depth, dtype=torch.long), "ok": torch.tensor(True)}


class OneReturn(nn.Module):
    def forward(self, marks) -> Dict[str, Tensor]:
        depth: List[int] = []
        ok = True
        for i in range(marks.size(0)):
            if int(marks[i]) == 0:
                ok = False
                break
            depth.append(i)
        return {"depth": torch.tensor(depth, dtype=torch.long), "ok": torch.tensor(ok)}


class TupleReturns(nn.Module):
    def forward(self, marks) -> Tuple[Tensor, Tensor]:
        depth: List[int] = []
        for i in range(marks.size(0)):
            if int(marks[i]) == 0:
                return torch.tensor(depth, dtype=torch.long), torch.tensor(False)
            depth.append(i)
        return torch.tensor(depth, dtype=torch.long), torch.tensor(True)


class Best(nn.Module):
    def forward(self, marks) -> Optional[Tensor]:
        best: Optional[Tensor] = None
        for i in range(marks.size(0)):
            if int(marks[i]) > 3:
                best = marks[:i]
        return best


class BestOrEmpty(nn.Module):
    def forward(self, marks) -> Tuple[Tensor, bool]:
        best, there = marks[:0], False
        for i in range(marks.size(0)):
            if int(marks[i]) > 3:
                best, there = marks[:i], True
        return best, there


class EarlyList(nn.Module):
    def forward(self, marks) -> List[int]:
        made: List[int] = []
        for i in range(marks.size(0)):
            if int(marks[i]) == 3:
                return []
            made.append(i)
        return made


class LateList(nn.Module):
    def forward(self, marks) -> List[int]:
        made: List[int] = []
        stopped = False
        for i in range(marks.size(0)):
            if int(marks[i]) == 3:
                stopped = True
                break
            made.append(i)
        if stopped:
            made.clear()
        return made


class Path(nn.Module):
    """A dictionary that is empty when the loop over its keys is first met."""

    def forward(self, steps, start: int):
        came: Dict[int, int] = {}
        for i in range(steps.size(0)):
            came[int(steps[i])] = i
        at = start
        path = [at]
        while at in came and len(path) < 9:
            at = came[at]
            path.append(at)
        return path


class History(nn.Module):
    """State in a list that is empty at first."""

    past: List[Tensor]

    def __init__(self):
        super().__init__()
        self.past = []

    def forward(self, x):
        self.past.append(x)
        if len(self.past) > 3:
            self.past.pop(0)
        return x + len(self.past)


class Sometimes(nn.Module):
    """An operator without a mapping, which runs for some sizes only."""

    def forward(self, x):
        if x.size(0) % 2 == 1:
            return torch.linalg.pinv(x)
        return x * 2


# Module, options, words of the message, words of the advice, what the advice says.
CASES = [
    (
        Groups(),
        ["x=f32:n,d"],
        "the length of the list `groups`, and ONNX has no list for its items, which are lists of tensors",
        "make one tensor of each inner list: torch.cat adds to it; or keep all tensors in one list",
        [JoinedGroups(), CountedGroups()],
    ),
    (
        Numbers(),
        ["marks=i64:n"],
        "which are lists of lists of ints",
        "keep what the inner lists hold in one list, and their lengths in a list of ints",
        [FlatNumbers()],
    ),
    (
        Counts(),
        ["docs=i64:n", "words=i64"],
        "the length of the list `counts`, and ONNX has no list for its items, which are dictionaries",
        "use one dictionary, whose keys also say which item of the list is meant: n * place + key",
        [OneDict()],
    ),
    (
        DictOfDicts(),
        ["marks=i64:n"],
        "the keys of the dict `held`, and ONNX has no list for its values, which are dictionaries",
        "use one dictionary, whose keys say both: n * outer key + inner key",
        [BothKeys()],
    ),
    (ByText(), ["marks=i64:n"], "a key of the dict `held`, whose keys are texts", "use ints as keys", [ByInt()]),
]
# Constructs that were refused once, and programs that say the same in another way.
CONVERTING = [
    ([Pages(), TensorPages()], ["slots=i64:n", "values=f32:n,d", "ask=i64"]),
    ([Summed(), KeysAndValues()], ["flows=f32:2", "names=i64:n"]),
    (
        [
            TwoReturns(),
            OneReturn(),
            TupleReturns(),
            Best(),
            BestOrEmpty(),
            EarlyList(),
            LateList(),
            ChangedTracks(),
            TracksChangedOnceKept(),
            NewTracks(),
        ],
        ["marks=i64:n"],
    ),
]


def errors_of(tool, model, *arguments):
    done = subprocess.run([tool, model, "--format", "json", "--no-config", *arguments], capture_output=True, text=True)
    assert done.stdout, done.stderr
    return [each for each in json.loads(done.stdout)["findings"] if each["severity"] == "error"]


def inputs(specs):
    return [word for spec in specs for word in ("--input", spec)]


def verified(tool, model, specs):
    done = subprocess.run([tool, "verify", model, "--no-config", *inputs(specs)], capture_output=True, text=True)
    return done.returncode == 0


def check_cases(tool, save):
    for module, specs, message, advice, answers in CASES:
        what = type(module).__name__
        found = errors_of(tool, save(module), *inputs(specs))
        assert len(found) == 1, (what, found)
        assert message in found[0]["message"] and advice in found[0]["help"], (what, found)
        assert found[0]["sites"][0]["file"].endswith("check_containers.py"), (what, found)
        for answer in answers:
            assert verified(tool, save(answer), specs), (what, type(answer).__name__)


def check_options(tool, save):
    """The option that settles a call and the change of the code that does stand in one finding."""
    (found,) = errors_of(tool, save(OtherKeys()), "--input", "marks=i64:n")
    assert found["id"] == "CC006" and "; or give each of these dictionaries the same keys, from the start" in found["help"], found
    assert verified(tool, save(OtherKeys()), ["marks=i64:16"]) and verified(tool, save(SameKeys()), ["marks=i64:n"])


def check_converting(tool, save):
    for modules, specs in CONVERTING:
        for module in modules:
            assert verified(tool, save(module), specs), type(module).__name__


def check_empty_dictionary(tool, save):
    assert verified(tool, save(Path()), ["steps=i64:n", "start=i64"])


def check_state(tool, save):
    """All writes of one attribute are one finding."""
    (found,) = errors_of(tool, save(History()), "--state", "inputs-outputs", "--input", "x=f32:2")
    assert "attribute 'past'" in found["message"] and "aten::pop (1)" in found["message"], found
    assert "x.clone()" not in found["help"], found


def check_sometimes_missing(tool, save):
    """A call that runs for some sizes only is one finding, with the option that leaves it out."""
    model = save(Sometimes())
    (found,) = errors_of(tool, model, "--input", "x=f32:n,n")
    assert found["id"] == "CC001" and "state sizes with which the call doesn't run: --input x=f32:" in found["help"], found
    assert not errors_of(tool, model, *found["help"].split("doesn't run: ")[1].split()[:2])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    tool = parser.parse_args().program
    with tempfile.TemporaryDirectory() as folder:

        def save(module):
            path = pathlib.Path(folder) / f"{type(module).__name__}.pt"
            torch.jit.script(module.eval()).save(str(path))
            return path

        for check in check_cases, check_options, check_converting, check_empty_dictionary, check_state, check_sometimes_missing:
            check(tool, save)
    print("all findings are as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
