#!/usr/bin/env python3
"""What is random in libtorch is as random in ONNX Runtime: each operator with a row that says `random: true`, with the runtime's default
optimisations, on the lines of <family>.txt that say "random". New rows need such a line.

    run_random.py --program BUILD/tests/convert_cases --helper BUILD/libexec/compatcheck-torchscript [--only REGEX]

A model calls the operator twice on the same arguments. It stands between other nodes, because the optimiser spares a node that reads an input or
makes an output. Of many runs on one input, at the lowest opset, 17 and the highest for which the runtime has kernels: each element is distributed
as libtorch's (Kolmogorov and Smirnov), it changes from run to run, and the two calls don't follow each other. Both sides have seeds: the outcome
is always the same.
"""
import argparse, itertools, pathlib, re, sys, tempfile

import numpy as np
import onnx
import onnxruntime
import torch
import yaml

import run_operators
from days import part_of_the_day
from deciding import row_files
from run_operators import call_graphs

RUNS = 400
FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
OF_ELEMENT, OF_ALL, FOLLOWS = 0.19, 0.08, 0.3   # the largest distances and correlation; chance alone stays far below


def random_operators():
    """Those with a row that is random; other names of an operator have its rows."""
    def is_random(value):
        if isinstance(value, dict):
            return value.get("random") is True or any(map(is_random, value.values()))
        return isinstance(value, list) and any(map(is_random, value))

    return [name for file in row_files() for name, row in yaml.safe_load(file.read_text()).items() if is_random(row)]


def twice(text):
    """The graph with its last call a second time; and the results of both."""
    *lines, call, result = text.rstrip().splitlines()
    results = result.partition("(")[2].rstrip(")")
    again = re.sub(r"%r(\d)", r"%again\1", call), re.sub(r"%r(\d)", r"%again\1", results)
    return "\n".join([*lines, call, again[0], f"  return ({results}, {again[1]})"]) + "\n"


def distance(a, b):
    """Of two samples' distribution functions, at most: Kolmogorov and Smirnov. Rounding makes no difference."""
    at, step = np.concatenate([a, b]), 1e-3 * max(np.abs(a).max(initial=0), np.abs(b).max(initial=0))

    def beyond(a, b):
        return (np.searchsorted(np.sort(a), at - step, "right") / len(a) - np.searchsorted(np.sort(b), at + step, "right") / len(b)).max(initial=0)

    return max(beyond(a, b), beyond(b, a))


def followed(file):
    """A session with nodes before its inputs of floats, which it gets negated and in double precision, and behind its outputs."""
    model = onnx.load(file)
    for given in model.graph.input:
        dtype, name = given.type.tensor_type.elem_type, given.name
        if dtype in FLOATS:
            given.name, given.type.tensor_type.elem_type = name + "_given", onnx.TensorProto.DOUBLE
            cast = onnx.helper.make_node("Cast", [name + "_negated"], [name], to=dtype)
            for node in (cast, onnx.helper.make_node("Neg", [given.name], [name + "_negated"])):
                model.graph.node.insert(0, node)
    for output in model.graph.output:
        name, output.name = output.name, output.name + "_read"
        model.graph.node.add(op_type="Cast", input=[name], output=[name + "_wide"]).attribute.append(onnx.helper.make_attribute("to", onnx.TensorProto.DOUBLE))
        model.graph.node.add(op_type="Neg", input=[name + "_wide"], output=[output.name])
        output.type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    onnxruntime.set_seed(99999999)   # as the time, which it takes by default: small seeds give nodes that follow each other
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def fed(value, given):
    if given.name.endswith("_given"):
        return np.asarray(-value.double() if isinstance(value, torch.Tensor) else -value, np.float64)
    return run_operators.array_for(value, given.type)


def samples_of(outputs):
    """One array of runs × elements for each output"""
    return [np.stack([np.asarray(run[i], np.float64).ravel() for run in outputs]) for i in range(len(outputs[0]))]


def changes(sample):
    return len(np.unique(sample, axis=0)) > 1


def differences(want, got):
    """libtorch's samples are None where it can't run the call."""
    if not want:
        return "" if all(map(changes, got)) else "ONNX Runtime has one result"
    if [w.shape for w in want] != [g.shape for g in got]:
        return "other sizes"
    for i, (w, g) in enumerate(zip(want, got)):
        if changes(w) != changes(g):
            return f"output {i}: libtorch has {'several results' if changes(w) else 'one'}, ONNX Runtime {'several' if changes(g) else 'one'}"
        pairs = [(f"output {i}, element {element}", OF_ELEMENT, w[:, element], g[:, element]) for element in range(w.shape[1])]
        for what, most, w, g in [*pairs, (f"output {i}", OF_ALL, w.ravel(), g.ravel())]:
            if distance(w, g) > most:
                return f"{what}: mean {g.mean():.3g} for {w.mean():.3g}, deviation {g.std():.3g} for {w.std():.3g}"
    return ""


def follows(got):
    """Whether the second call's results go with the first's."""
    half = len(got) // 2
    pairs = [pair for first, second in zip(got[:half], got[half:]) for pair in zip(first.T, second.T)]
    return any(min(a.std(), b.std()) > 1e-6 * np.abs(a).max() and abs(np.corrcoef(a, b)[0, 1]) > FOLLOWS for a, b in pairs)


def drawn(case):
    """Inputs, and libtorch's results of many runs: the first inputs with which these differ."""
    values = why = None
    for number, integers in itertools.product(range(8), run_operators.INTEGERS[1:3]):
        values = run_operators.Inputs(case.writer, case.line.expected, number, integers, run_operators.Open(case)).made()
        torch.manual_seed(1)
        try:
            oracle = run_operators.Oracle(case.writer, case.text)
            want = samples_of([oracle(values) for _ in range(RUNS)])
        except RuntimeError as error:
            why = error
            continue
        if any(map(changes, want)):
            return values, want
    if why and not case.line.expected.no_oracle:
        raise why
    return values, []


def opsets_of(expected):
    has = [opset for opset in run_operators.OPSETS if expected.at(opset) and opset not in expected.no_kernel]
    return sorted({has[0], min(max(17, has[0]), has[-1]), has[-1]}) if has else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--helper", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--part-of-day", type=int, default=1, metavar="N", help="every Nth line, others each day")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    onnxruntime.set_default_logger_severity(4)
    lines = [line for line in run_operators.read_lines(call_graphs.files())
             if line.expected and line.expected.random and re.search(arguments.only, line.call)]
    every, lines = lines, part_of_the_day(lines, "random", arguments.part_of_day)
    cases, met, wrong, checked = list(run_operators.cases_of(lines)), set(), [], 0
    for case in cases:
        case.text = twice(case.text)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        results = run_operators.converted(arguments, cases, folder, lambda case: opsets_of(case.line.expected))
        for case in cases:
            values, want = drawn(case)
            if not want and not case.line.expected.no_oracle:
                wrong.append(f"{case.line.file.name}:{case.line.number} {case.call}: libtorch has one result: this isn't random")
                continue
            for opset in opsets_of(case.line.expected):
                outcome = results.get((case.id, opset), {"outcome": "lost"})
                problem = outcome.get("reason", outcome["outcome"])
                if outcome["outcome"] == "converted":
                    session = followed(folder / f"{case.id}@{opset}.onnx")
                    feed = {given.name: fed(values[given.name.removesuffix("_given")], given) for given in session.get_inputs()}
                    got = samples_of([[-part for part in session.run(None, feed)] for _ in range(RUNS)])
                    problem = differences(want, got) or ("a second call follows the first" if follows(got) else "")
                    met |= run_operators.overloads_of(case)
                    checked += 1
                if problem:
                    wrong.append(f"{case.line.file.name}:{case.line.number} {case.call} @{opset}: {problem}")
    if lines == every and not arguments.only:
        bases = {name.partition(".")[0] for name in met}
        wrong += [f"{op}: no line says that it is random" for op in sorted(random_operators()) if op not in (met if "." in op else met | bases)]
    print(*wrong, sep="\n")
    print(f"{len(cases)} calls, {checked} of calls and opsets, {len(wrong)} not as random as in libtorch")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
