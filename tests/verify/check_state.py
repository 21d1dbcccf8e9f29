#!/usr/bin/env python3
"""Models that keep state: refused, or with inputs and outputs for it, which ONNX Runtime takes through a sequence of calls as
TorchScript keeps them."""
import argparse, copy, json, pathlib, subprocess, sys

import numpy, onnx, onnxruntime, torch

import state_container_models as containers
import state_models as models
from running import run_cases

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "convert"))
import days

CALLS = 5


def randn(*sizes):
    return lambda generator, call: torch.randn(*sizes, generator=generator)


def rows(*sizes):
    """As many as the call says, from the second one on others than at first."""
    return lambda generator, call: torch.randn((3, 1, 6, 2, 5)[call], *sizes, generator=generator)


def positions(generator, call):
    return torch.tensor([2 * call, 2 * call + 1])


# Inputs by name with how --input states them, the state's names; lowest opset.
STATEFUL = [
    (models.Counter, {"x": ("f32:n,1", randn(2, 1))}, ["count"], 9),
    (models.IntCounter, {"x": ("f32:3", randn(3))}, ["n", "f", "on"], 9),
    (models.RunningMean, {"x": ("f32:n,4", randn(3, 4))}, ["mean"], 9),
    (models.KvIndexCopy, {"x": ("f32:1,2,8", randn(1, 2, 8)), "pos": ("i64:2", positions)}, ["k_cache", "v_cache"], 11),
    (models.KvSlice, {"x": ("f32:1,2,2,4", randn(1, 2, 2, 4))}, ["k_cache", "pos"], 11),
    (models.Nested, {"x": ("f32:n,4", randn(3, 4))}, ["layers.0.mean", "layers.1.mean", "layers.2.count"], 9),
    (models.Shared, {"x": ("f32:3", randn(3))}, ["a"], 11),
    (models.Conditional, {"x": ("f32:3", randn(3))}, ["best", "seen", "last"], 11),
    (models.Loop, {"x": ("f32:3", randn(3)), "n": (None, lambda generator, call: call + 1)}, ["acc", "h"], 11),
    (models.ReturnedAndWritten, {"x": ("f32:3", randn(3))}, ["c"], 9),
    (models.KeepsInput, {"x": ("f32:3", randn(3))}, ["prev"], 9),
    (models.Growing, {"x": ("f32:1,2,3,4", randn(1, 2, 3, 4))}, ["k"], 9),
    (models.OptTensor, {"x": ("f32:3", randn(3))}, ["h"], 9),
    (models.NameClash, {"x": ("f32:3", randn(3))}, ["x"], 9),
    (models.Swap, {"x": ("f32:3", randn(3))}, ["a", "b"], 9),
    (models.Half, {"x": ("f32:4", randn(4))}, ["ids", "mask"], 9),
    (models.ViewKept, {"x": ("f32:3", randn(3))}, ["row"], 9),
    (models.Rnn, {"x": ("f32:1,t,4", randn(1, 3, 4))}, ["h"], 9),
    (models.GrowsInLoop, {"x": ("f32:1,t,4", lambda generator, call: rows(4)(generator, call)[None])}, ["k"], 11),
    (models.Rest, {"x": ("f32:n", rows())}, ["tail"], 11),
    (models.ReplacedInBranch, {"x": ("f32:n,3", rows(3))}, ["prev"], 11),
    (models.Window, {"x": ("f32:n,3", rows(3))}, ["rows"], 11),
    (models.KeptNumbers, {"x": ("f32:n", rows())}, ["ids"], 11),
    (containers.WrittenMembers, {"x": ("f32:3", randn(3))}, ["caches.0", "caches.1"], 9),
    (containers.LayerKeys, {"x": ("f32:1,3", randn(1, 3))}, ["keys.0", "keys.1", "keys.2"], 9),
    (containers.FixedKeys, {"x": ("f32:3", randn(3))}, ["cache.a", "cache.b.c"], 11),
    (containers.IntKeys, {"x": ("f32:3", randn(3))}, ["cache.3", "cache.5"], 9),
    (containers.Hidden, {"x": ("f32:t,1,4", randn(2, 1, 4))}, ["hidden.0", "hidden.1"], 9),
    (
        containers.HiddenOfLayers,
        {"x": ("f32:t,1,4", randn(2, 1, 4))},
        ["layers.0.hidden.0", "layers.0.hidden.1", "layers.1.hidden.0", "layers.1.hidden.1"],
        9,
    ),
    (containers.Named, {"x": ("f32:3", randn(3))}, ["pair.0", "pair.1"], 9),
    (
        containers.Nested,
        {"x": ("f32:1,3", randn(1, 3))},
        ["kv.0.0", "kv.0.1", "kv.1.0", "kv.1.1", "counts.n.0", "counts.m.0", "scale.0", "seen.0"],
        11,
    ),
    (containers.Branches, {"x": ("f32:3", randn(3))}, ["pair.0", "pair.1"], 11),
    (containers.Loops, {"x": ("f32:3", randn(3)), "n": (None, lambda generator, call: call + 1)}, ["acc.0", "acc.1", "named.a"], 11),
    (containers.Rotating, {"x": ("f32:3", randn(3))}, ["window.0", "window.1", "window.2"], 9),
    (containers.OneListTwice, {"x": ("f32:3", randn(3))}, ["a.0", "b.0"], 9),
    (containers.Returned, {"x": ("f32:3", randn(3))}, ["xs.0"], 9),
    (containers.Cell, {"x": ("f32:1,3", randn(1, 3))}, ["memory.k", "memory.n"], 9),
    (containers.Cells, {"x": ("f32:1,3", randn(1, 3))}, ["memories.0.k", "memories.0.both.1", "memories.1.k", "memories.1.both.1"], 9),
    (containers.Optionals, {"x": ("f32:3", randn(3))}, ["hidden.0", "hidden.1", "keys.0"], 9),
    (containers.Labelled, {"x": ("f32:3", randn(3))}, ["held.1"], 9),
    (containers.FromInput, {"x": ("f32:3", randn(3)), "y": ("f32:3", randn(3))}, ["kept.0", "kept.1"], 9),
    (containers.Swapped, {"x": ("f32:3", randn(3))}, ["xs.0", "xs.1"], 9),
    (containers.BesideTensors, {"keys": ("f32:3", randn(3))}, ["total", "keys.1", "n"], 9),
    (containers.History, {"x": ("f32:3", randn(3))}, ["past"], 13),
    (containers.Numbers, {"x": ("f32:3", randn(3))}, ["sizes", "means"], 13),
    (containers.AtMost, {"x": ("f32:3", randn(3))}, ["past"], 13),
    (containers.InLoop, {"x": ("f32:3", randn(3)), "n": (None, lambda generator, call: call + 1)}, ["past"], 13),
    (containers.PrevCur, {"x": ("f32:3", randn(3))}, ["prev.0", "cur.0"], 9),
    (containers.NestedNoInPlace, {"x": ("f32:3", randn(3))}, ["xs.0.0", "xs.1.0"], 9),
    (containers.NestedLayer, {"x": ("f32:1,3", randn(1, 3))}, ["kv.0.0", "kv.0.1", "kv.1.0", "kv.1.1"], 9),
    (containers.NestedReverse, {"x": ("f32:3", randn(3))}, ["xs.0.0", "xs.1.0"], 9),
    (containers.DictSwap, {"x": ("f32:3", randn(3))}, ["d.k.0", "d.v.0"], 9),
    (containers.TensorAndBufferClone, {"x": ("f32:3", randn(3))}, ["b", "xs.0"], 9),
    (containers.ParamInList, {"x": ("f32:3", randn(3))}, ["xs.0"], 9),
    (containers.HistClear, {"x": ("f32:3", randn(3))}, ["past", "n"], 13),
    (containers.HistInts, {"x": ("f32:3", randn(3))}, ["past"], 13),
    (containers.Clash, {"x": ("f32:3", randn(3))}, ["d.a", "d.a.b"], 9),
    (
        containers.Modules,
        {"x": ("f32:3", randn(3))},
        ["m.a.cache.k", "m.a.cache.v", "m.a.started", "m.b.cache.k", "m.b.cache.v", "m.b.started"],
        9,
    ),
    (containers.OptBranchNone, {"x": ("f32:3", randn(3))}, ["h"], 9),
    (containers.SameModule, {"x": ("f32:3", randn(3))}, ["a.xs.0", "b.xs.0"], 9),
    (containers.TwoModulesPlain, {"x": ("f32:3", randn(3))}, ["a.xs.0", "b.xs.0"], 9),
    (containers.Early, {"x": ("f32:3", randn(3))}, ["xs", "n.0"], 13),
    (containers.RuntimeKey, {"x": ("f32:3", randn(3))}, ["d.0", "d.1"], 11),
    (containers.RuntimeIndex, {"x": ("f32:3", randn(3))}, ["xs", "i"], 13),
    (containers.InPlaceLoop, {"x": ("f32:3", randn(3))}, ["xs.0", "xs.1"], 9),
    (containers.InPlaceTuple, {"x": ("f32:3", randn(3))}, ["h.0", "h.1"], 11),
    (containers.ViewsLater, {"x": ("f32:3", randn(3))}, ["xs.0", "xs.1"], 9),
    (containers.HistCopy, {"x": ("f32:3", randn(3))}, ["p", "q"], 13),
    (containers.HistVarSize, {"x": ("f32:n,2", rows(2))}, ["past"], 13),
    (containers.HistKnown, {"x": ("f32:3", randn(3))}, ["past"], 13),
    (containers.FirstTwo, {"x": ("f32:3", randn(3))}, ["past"], 13),
    (containers.HistBranch, {"x": ("f32:3", randn(3))}, ["past"], 13),
    (containers.MaybeAlias, {"x": ("f32:3", randn(3))}, ["a.0", "b.0"], 11),
    (containers.Flag, {"x": ("f32:3", randn(3))}, ["started", "h"], 9),
    (containers.CalledBeforeTuple, {"x": ("f32:3", randn(3))}, ["h.0", "h.1"], 9),
]

# Neither way is right, and the reason names why.
REFUSED = [
    (models.SharedView, "f32:3", "it shares memory with attribute b"),
    (models.ResetAlias, "f32:3", "it shares memory with"),
    (models.TwoNames, "f32:3", "it shares memory with attribute"),
    (models.NoneFirst, "f32:3", "it holds None until a call writes it"),
    (models.Transposed, "f32:2", ""),
    (models.DtypeChange, "f32:3", "f64 after it"),
    (containers.SharedLists, "f32:3", "it shares memory with attribute b"),
    (containers.SharedInFile, "f32:3", "it shares memory with attribute b"),
    (containers.SharedMembers, "f32:3", "two of its members share memory"),
    (containers.SharedLater, "f32:3", "its member 0 can't: it shares memory with attribute xs.1"),
    (containers.SharedWithBuffer, "f32:3", "it shares memory with attribute"),
    (containers.KeepsInputList, "f32:3", "it may hold input given itself, which a later call would write"),
    (containers.NewKey, "f32:3", "it has 1 member before a call and 2 after it"),
    (containers.Reordered, "f32:3", "its keys or their order change in a call"),
    (containers.GrowingPairs, "f32:3", "it has 1 member before a call and 2 after it"),
    (containers.Empty, "f32:3", "it is a list that is empty at first"),
    (containers.NoneAtFirst, "f32:3", "it holds None until a call writes it"),
    (containers.NoneLater, "f32:3", "it may hold None after a call"),
    (containers.Mode, "f32:3", "its type is str"),
    (containers.Modes, "f32:3", "neither a tensor nor a number changes from call to call"),
    (containers.TwoModules, "f32:3", "it shares memory with attribute"),
    (containers.SharedDictInFile, "f32:3", "it shares memory with attribute"),
    (containers.SharedRestored, "f32:3", "it shares memory with attribute"),
    (containers.SharedInTuple, "f32:3", "it shares memory with attribute"),
    (containers.SharedNumbers, "f32:3", "it shares memory with attribute"),
    (containers.RuntimeInPlace, "f32:3", "may or may not share memory with"),
    (containers.InPlaceReplaced, "f32:3", "it may hold input x itself"),
    (containers.ViewsLaterWritten, "f32:3", "it shares memory with attribute"),
    (containers.NestedSame, "f32:3", "can't be followed, or one list or dictionary may stand in two places of it"),
    (containers.NestedSameInFile, "f32:3", "two of its members are one list or dictionary"),
    (containers.NestedInner, "f32:3", "it shares memory with attribute"),
    (containers.NestedMaybe, "f32:3", "can't be followed, or one list or dictionary may stand in two places of it"),
    (containers.NestedLoop, "f32:3", "can't be followed, or one list or dictionary may stand in two places of it"),
    (containers.KeyChangedBranch, "f32:3", "can't be followed, or one list or dictionary may stand in two places of it"),
    (containers.KeptView, "f32:3", "it shares memory with attribute"),
    (containers.DtypeMember, "f32:3", "attribute a.0 is f32 before the call and f64 after it"),
    (containers.RankChange, "f32:3", "attribute xs.0 has rank 1 before the call and rank 2 after it"),
    (containers.ResetToNone, "f32:3", "it may become a value of type NoneType"),
    (containers.OtherObject, "f32:3", "writes an attribute of an object that the model makes as it runs"),
]

# No call reads what another one wrote.
NO_STATE = [(models.Overwritten, "f32:3"), (models.BN, "f32:n,3"), (containers.Cleared, "f32:3")]


def report_of(tool, model, *options):
    done = subprocess.run([tool, "check", model, "--format", "json", *options], capture_output=True, text=True)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def reports_of(tool, model, opsets, *options):
    """At each opset, of one call."""
    words = [tool, "check", model, "--opset", ",".join(map(str, opsets)), "--format", "jsonl", *options]
    return [json.loads(line) for line in subprocess.run(words, capture_output=True, text=True).stdout.splitlines()]


def save(verify, cls):
    torch.manual_seed(0)
    module = torch.jit.script(cls().eval())
    if hasattr(module, "before_saving"):
        module.before_saving()
    file = verify.folder / f"{cls.__name__}.pt"
    module.save(str(file))
    return file


def options_of(inputs):
    return [option for name, (spec, _) in inputs.items() if spec for option in ("--input", f"{name}={spec}")]


def value_of(held, path):
    """Of attributes, members of lists and tuples, and keys, which may have dots."""
    if not path:
        return held
    if isinstance(held, dict):
        key = max((key for key in held if f"{path}.".startswith(f"{key}.")), key=lambda key: len(str(key)))
        return value_of(held[key], path[len(str(key)) + 1:])
    name, _, rest = path.partition(".")
    return value_of(held[int(name)] if isinstance(held, (list, tuple)) else getattr(held, name), rest)


def as_array(value):
    """A list of numbers is a vector, a list of tensors a list."""
    if isinstance(value, list) and value and isinstance(value[0], (torch.Tensor, numpy.ndarray)):
        return [as_array(member) for member in value]
    if value == []:
        return numpy.zeros(0)   # of the floats that are kept
    return numpy.asarray(value.detach().numpy() if isinstance(value, torch.Tensor) else value)


def members(value):
    """Outputs of the ONNX model: of a list of known length, each member."""
    return [member for each in value for member in members(each)] if isinstance(value, (list, tuple)) else [value]


def is_close(right, value):
    if isinstance(right, list):
        return isinstance(value, list) and len(right) == len(value) and all(map(is_close, right, value))
    return right.shape == value.shape and right.dtype == value.dtype and numpy.allclose(right, value, rtol=1e-4, atol=1e-5)


def compare(verify, what, file, onnx_file, inputs, paths):
    """Call after call: ONNX Runtime is given what it gave as state."""
    pairs = {entry.key: entry.value for entry in onnx.load(onnx_file).metadata_props}
    verify.expect(f"{what}: metadata", "compatcheck.state" in pairs, pairs)
    pairs = json.loads(pairs.get("compatcheck.state", "{}"))
    verify.expect(f"{what}: pairs", len(pairs) == len(paths), pairs)
    session = onnxruntime.InferenceSession(str(onnx_file), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    state_first = [entry.name for entry in session.get_inputs()][-len(pairs):]
    verify.expect(f"{what}: order", state_first == list(pairs) and names[-len(pairs):] == list(pairs.values()), (state_first, names, pairs))
    module = torch.jit.load(file)
    held = {name: copy.deepcopy(as_array(value_of(module, path))) for name, path in zip(pairs, paths)}
    generator = torch.Generator().manual_seed(7)
    for call in range(CALLS):
        given = {name: make(generator, call) for name, (_, make) in inputs.items()}
        with torch.no_grad():
            expected = module(**given)
        expected = copy.deepcopy([as_array(value) for value in [*members(expected), *(value_of(module, path) for path in paths)]])
        found = session.run(None, {**{name: as_array(value) for name, value in given.items()}, **held})
        for name, right, value in zip(names, expected, found, strict=True):
            verify.expect(f"{what}: call {call}: {name}", is_close(right, value), (right, value))
        held = dict(zip(pairs, found[-len(pairs):]))


def check_stateful(verify, cls, inputs, paths, lowest):
    file, options = save(verify, cls), options_of(inputs)
    report = report_of(verify.program, file, "--opset", "17", *options)
    verify.expect(f"{cls.__name__}: refused by default", report["verdict"] == "no" and "state" not in report["model"], report["verdict"])
    helps = [finding["help"] for finding in report["findings"]]
    verify.expect(f"{cls.__name__}: advice", any("--state inputs-outputs" in text for text in helps), helps)
    options += ["--state", "inputs-outputs"]
    opsets = sorted({lowest, *(opset for opset in (11, 17, 21) if opset > lowest)})
    for opset, report in zip(opsets, reports_of(verify.program, file, opsets, *options), strict=True):
        what = f"{cls.__name__} at opset {opset}"
        verify.expect(f"{what}: check", report["opset"] == opset and report["verdict"] == "yes", report["findings"])
        states = report["model"].get("state", [])
        verify.expect(f"{what}: state", [state["attribute"] for state in states] == paths, states)
        last = [each["name"] for each in report["model"]["inputs"]][-len(paths):]
        verify.expect(f"{what}: inputs", last == [state["input"] for state in states], report["model"])
    # The files at the lowest and the default opset, and at another one each day.
    other = opsets[days.number_of(cls.__name__) % len(opsets)]
    for opset in opsets if verify.options.whole else sorted({lowest, 17, other} & set(opsets)):
        what = f"{cls.__name__} at opset {opset}"
        onnx_file = verify.folder / f"{cls.__name__}_{opset}.onnx"
        done = subprocess.run(
            [verify.program, "convert", file, "-o", onnx_file, "--opset", str(opset), *options], capture_output=True, text=True
        )
        verify.expect(f"{what}: convert", done.returncode == 0, done.stderr)
        if done.returncode == 0:
            compare(verify, what, file, onnx_file, inputs, paths)
    made = verify.run(f"{cls.__name__}: verify", 0, file, *options)
    verify.expect(f"{cls.__name__}: outputs of state are compared", len(made.get("outputs", [])) > len(paths), made.get("outputs"))


def check_refused(verify, cls, spec, reason):
    file = save(verify, cls)
    options_given = ["--input", f"x={spec}"]
    if cls is containers.KeepsInputList:
        options_given += ["--input", f"given.0={spec}", "--input", f"given.1={spec}"]
    report = report_of(verify.program, file, *options_given)
    verify.expect(f"{cls.__name__}: refused by default", report["verdict"] == "no", report["verdict"])
    helps = [finding["help"] for finding in report["findings"]]
    verify.expect(f"{cls.__name__}: no advice", not any("--state inputs-outputs" in text for text in helps), helps)
    options = [*options_given, "--state", "inputs-outputs"]
    report = report_of(verify.program, file, *options)
    messages = " ".join(finding["message"] for finding in report["findings"])
    verify.expect(f"{cls.__name__}: refused", report["verdict"] == "no" and reason in messages, (report["verdict"], messages))
    done = subprocess.run([verify.program, "convert", file, "-o", verify.folder / "no.onnx", *options], capture_output=True, text=True)
    verify.expect(f"{cls.__name__}: convert agrees", done.returncode == 1 and not (verify.folder / "no.onnx").exists(), done.stderr)


def check_no_state(verify, cls, spec):
    file = save(verify, cls)
    for mode in ("refuse", "inputs-outputs"):
        report = report_of(verify.program, file, "--input", f"x={spec}", "--state", mode)
        verify.expect(f"{cls.__name__}: {mode}", report["verdict"] == "yes" and "state" not in report["model"], report["findings"])
    verify.run(f"{cls.__name__}: verify", 0, file, "--input", f"x={spec}", "--state", "inputs-outputs")


def check_given_file(verify):
    """The file says that it has state; one whose state isn't the model's fails."""
    cls, inputs, _, _ = STATEFUL[2]
    file = save(verify, cls)
    onnx_file = verify.convert(file, "given.onnx", "--opset", "21", "--state", "inputs-outputs", *options_of(inputs))
    verify.run("a file with state", 0, file, onnx_file)
    model = onnx.load(onnx_file)
    for node in model.graph.node:
        if node.op_type == "Add":
            node.op_type = "Sub"
            break
    onnx.save(model, verify.folder / "broken.onnx")
    verify.run("a file with another state", 1, file, verify.folder / "broken.onnx", ids=["CC201"])


class Late(torch.nn.Module):
    """What the second call gives hangs on the state alone."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        y = x + self.count
        self.count.add_(1)
        return y


def check_later_calls(verify):
    """A fault that only the second call shows: the state is given back as it was."""
    file = verify.save(Late(), script=True)
    onnx_file = verify.convert(file, "late.onnx", "--input", "x=f32:3", "--state", "inputs-outputs")
    model = onnx.load(onnx_file)
    output = model.graph.output[-1].name
    (made,) = [node for node in model.graph.node if output in node.output]
    made.CopyFrom(onnx.helper.make_node("Identity", ["count"], [output]))
    onnx.save(model, onnx_file)
    report = verify.run("state that is lost", 1, file, onnx_file, ids=["CC201"])
    verify.expect("the output is named", "count.next" in str(report.get("findings")), report.get("findings"))


def check_stated(verify):
    """Of a list that is kept whole, only what each tensor is can be stated."""
    cases = [
        (containers.History, "past=f32:3", ""),
        (containers.History, "past.0=f32:3", "as past=f32:3"),
        (containers.Numbers, "sizes=i64:3", "a list of numbers"),
        (containers.Numbers, "sizes.0=i64:3", "a list of numbers"),
        (models.IntCounter, "n=i64:3", "which has no size"),
    ]
    for cls, option, says in cases:
        done = subprocess.run(
            [verify.program, "check", save(verify, cls), "--input", "x=f32:3", "--input", option, "--state", "inputs-outputs"],
            capture_output=True,
            text=True,
        )
        verify.expect(f"{cls.__name__}: --input {option}", done.returncode == (2 if says else 0) and says in done.stderr, done.stderr)


def named(check, case):
    run = lambda verify: check(verify, *case)
    run.__name__ = f"{check.__name__}_{case[0].__name__}"
    return run


TABLES = [(check_stateful, STATEFUL), (check_refused, REFUSED), (check_no_state, NO_STATE)]
CASES = [named(check, case) for check, table in TABLES for case in table] + [check_given_file, check_later_calls, check_stated]

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whole", action="store_true", help="files at all opsets")
    sys.exit(run_cases(CASES, __doc__, parser))
