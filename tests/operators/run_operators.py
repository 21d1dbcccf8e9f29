#!/usr/bin/env python3
"""Converts single calls of operators and compares ONNX Runtime with libtorch: the files <family>.txt beside this script.

    run_operators.py --program BUILD/tests/convert_cases --helper BUILD/libexec/compatcheck-torchscript
                     [--only REGEX] [--families sort,view] [--opsets deciding|all|9,13] [--engine-of OPSET] [--update] [--keep DIR]

call_graphs.py says how calls are written. Behind " @ " stands what is expected:

    aten::histc(f32(9), 7, -1, 2) @ 9- one-to-many
    aten::_cast_Half(f32(2, 3), False) @ 7- one-to-one Cast
    aten::frac({f32|f64}(n, 3)) @ 7-9 one-to-many, 10- one-to-one Mod
    aten::capitalize(str) -> str @ refused: strings are not computed

A range of opsets has the class of the line: one-to-many if the report gives one of its operators that class, "folded" if no node is left.
Names behind the class are the ONNX operators that the report lists. At all other opsets the call must be refused. The words behind "refused"
are part of the reason at the newest opset. Words behind a semicolon:

    finite           no NaN and no infinity among the inputs, beyond those that tests/corpus/open_values.py leaves out
    random           only shapes and dtypes are compared; run_random.py compares how the results are distributed
    integers 0..2    integers among the inputs lie in this range
    floats 0.1..2    so do floating-point numbers
    no kernel 22-    ONNX Runtime can't run the model at these opsets
    no oracle: why   this libtorch can't run the call

A line without " @ " is only tried, by tests/convert/check_rows_reached.py. --update writes what is found behind " @ " of such lines, of those
whose expectation fails, and in place of "?", as in "@ ?; random": read every change before you keep it. "deciding" opsets are the first
and last of each range, those next to it, those from which on another entry of the call's rows holds, and one of the day. --engine-of: in the
forms that an engine takes which knows only the operators of that opset; classes and kernels are others then, and aren't compared.

For each call: check and convert agree; the reported operators are those in the file; the file passes onnx's checker with strict shape inference;
ONNX Runtime computes on several sets of inputs what libtorch does.
"""
import argparse, collections, contextlib, dataclasses, json, os, pathlib, re, subprocess, sys, tempfile, warnings

warnings.filterwarnings("ignore")
import numpy as np
import onnx
import torch

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), *(str(HERE.parent / folder) for folder in ("convert", "corpus", "models"))]
import call_graphs
import library_references
import older_engine
import open_values
import torch.ao.quantization.fx._decomposed  # registers quantized_decomposed
from compare_arrays import compare
from days import opset_of_the_day
from deciding import starts
from same_model import Seen
from torchvision_on_cpu import load_torchvision

FIRST, LAST = 7, 26
OPSETS = range(FIRST, LAST + 1)
DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32,
          "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool, "c64": torch.complex64, "c128": torch.complex128,
          "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64}
# Sizes of the named dimensions, in their order; the numbers of the set of inputs.
SIZES = ((4, 3, 5, 2, 6), (2, 5, 3, 4, 1), (3, 3, 3, 3, 3), (1, 1, 1, 1, 1))
# Ranges of integers, the next where libtorch refuses: then they are indices, counts or lengths.
INTEGERS = ((-6, 9), (0, 9), (1, 4), (0, 2), (0, 1), (1, 1), (0, 0))
NO_KERNEL = re.compile(r"NOT_IMPLEMENTED|Could not find an implementation|Failed to find kernel|type 'tensor\(\w+\)' of input parameter .* is invalid", re.S)
NEVER_EXPECTED = "no handler is written"
# --update leaves lines alone that stand for more calls, for more that differ, or in whose place it would write more lines.
MOST_CALLS, MOST_DIVIDED, MOST_LINES = 100, 40, 4
MOST_SHOWN = 300   # characters of inputs
CALLED = re.compile(r"\b[a-z_]\w*::[\w.]+(?=\()")   # names of operators in a call
LIST = re.compile(r"(\w+)\[\]")


@dataclasses.dataclass
class Expectation:
    ranges: list = dataclasses.field(default_factory=list)   # of (first, last, class, names of ONNX operators)
    refused: str = ""                                        # words of the refusal, where there is no range
    finite: bool = False
    random: bool = False
    integers: tuple = ()
    floats: tuple = ()
    no_kernel: range = range(0)
    no_oracle: str = ""
    unknown: bool = False                                    # --update finds it out

    def at(self, opset):
        """(class, names), or None where the call is refused"""
        return next(((word, names) for first, last, word, names in self.ranges if first <= opset <= last), None)

    def deciding(self):
        ends = {opset for first, last, *_ in self.ranges for opset in (first - 1, first, last, last + 1)} | {FIRST, LAST}
        return sorted(opset for opset in ends if opset in OPSETS)


def opset_range(text):
    first, dash, last = text.partition("-")
    return int(first), int(last or (LAST if dash else first))


def read_expectation(text):
    main, *words = map(str.strip, text.split(";"))
    made = Expectation()
    if main.startswith("refused"):
        made.refused = main.partition(":")[2].strip() or " "
    elif main == "?":
        made.unknown = True
    else:
        for part in main.split(","):
            span, word, *names = part.split()
            made.ranges.append((*opset_range(span), word, tuple(names)))
    for word in words:
        name, _, value = word.partition(":")
        kind, *rest = name.split()
        if kind in ("integers", "floats"):
            setattr(made, kind, tuple(map(float if kind == "floats" else int, rest[0].split(".."))) if rest else ())
        elif word in ("finite", "random"):
            setattr(made, word, True)
        elif name.startswith("no kernel "):
            first, last = opset_range(rest[1])
            made.no_kernel = range(first, last + 1)
        elif name == "no oracle":
            made.no_oracle = value.strip()
        else:
            raise ValueError(f"what is '{word}'?")
    return made


@dataclasses.dataclass
class Line:
    file: pathlib.Path
    number: int
    call: str
    expected: Expectation    # None: the line is only tried
    words: str               # behind the first semicolon, as they stand


def read_lines(files):
    for file in files:
        for number, text in enumerate(file.read_text().splitlines(), 1):
            call, mark, expected = text.partition(" @ ")
            if not call.strip() or call.startswith("#"):
                continue
            try:
                yield Line(file, number, call.strip(), read_expectation(expected) if mark else None, expected.partition(";")[2].strip())
            except (ValueError, IndexError) as error:
                sys.exit(f"{file.name}:{number}: {error}")


class Open:
    """What PyTorch leaves open of a call, as the operator corpus has it."""

    def __init__(self, case):
        self.overloads = overloads_of(case)
        self.aten = sorted({overload.partition(".")[0] for overload in self.overloads})

    def specials(self, tensors):
        """The special values for each of an input's tensors, some of which may be no tensors."""
        dtypes = [str(tensor.dtype).removeprefix("torch.") if isinstance(tensor, torch.Tensor) else "" for tensor in tensors]
        return open_values.specials({"aten": self.aten, "input_dtypes": dtypes}, "pt") if dtypes else []

    def set(self, number):
        return any({1: "ties", 2: "special"}.get(number) in open_values.OPEN_SETS.get(overload, ()) or number == 2 and overload in open_values.OPEN_AT_NAN
                   for overload in self.overloads)

    def outputs(self):
        return set().union(*(open_values.OPEN_AT_TIES.get(overload, ()) for overload in self.overloads))


class Inputs:
    """Arguments for a graph's inputs; the same for the same number."""

    def __init__(self, writer, expected, number, integers, open_):
        self.writer, self.expected, self.number, self.open = writer, expected, number, open_
        self.integers = expected.integers or integers
        self.random = np.random.default_rng(number)
        names = sorted({size for spec in writer.specs for size in spec.partition(":")[2].split(",") if not size.lstrip("-").isdigit() and size != "scalar"})
        self.sizes = dict(zip(names, SIZES[number % len(SIZES)]))

    def number_of(self, kind):
        if kind == "bool":
            return bool(self.random.integers(0, 2))
        if kind == "int":
            return int(self.random.integers(self.integers[0], self.integers[1] + 1))
        low, high = self.expected.floats or (-3.0, 3.0)
        return float(np.float32(self.random.uniform(low, high)))   # a model's input may be in single precision

    def tensor(self, word, sizes):
        dtype, size = DTYPES[word], tuple(self.sizes.get(size) or int(size) for size in sizes)
        if word == "bool":
            return torch.from_numpy(self.random.integers(0, 2, size).astype(bool)) if size else torch.tensor(bool(self.random.integers(0, 2)))
        if word[0] in "iu":
            low, high = self.integers
            return torch.tensor(self.random.integers(max(low, 0) if word[0] == "u" else low, high + 1, size)).to(dtype)
        low, high = self.expected.floats or (-3.0, 3.0)
        elements = np.asarray(self.random.uniform(low, high, size))
        if word[0] == "c":
            return torch.tensor(elements + 1j * self.random.uniform(low, high, size)).to(dtype)
        if not self.expected.floats and self.number == 1:
            elements = np.rint(elements)   # equal elements, whole numbers, zeros
        return torch.tensor(elements).to(dtype)

    def spoil(self, values):
        """NaN, infinities and -0 among the elements."""
        tensors = list(values.values())
        for tensor, specials in zip(tensors, self.open.specials(tensors)):
            if isinstance(tensor, torch.Tensor) and tensor.is_floating_point() and tensor.numel():
                for i, special in enumerate(specials):
                    tensor.view(-1)[i * 7 % tensor.numel()] = float(special)

    def made(self):
        """name → value"""
        values, specs = {}, dict(spec.split("=", 1) for spec in self.writer.specs)
        for text in self.writer.inputs:
            name, kind = text[1:].split(" : ", 1)
            if name in specs:
                word, _, sizes = specs[name].partition(":")
                values[name] = self.tensor(word, [] if sizes == "scalar" else sizes.split(","))
            elif LIST.fullmatch(kind):
                item = LIST.fullmatch(kind)[1]
                values[name] = [torch.tensor([1.0 * i, 2.0]) if item == "Tensor" else self.number_of(item) for i in range(2)]
            elif kind in ("int", "float", "bool"):
                values[name] = self.number_of(kind)
            elif kind in call_graphs.WORDS.values():   # of a rank that nobody states
                values[name] = self.tensor(next(word for word, name in call_graphs.WORDS.items() if name == kind), ["2", "3"])
            else:
                raise TypeError(f"no value is made for an input of type {kind}")
        if self.number == 2 and not self.expected.floats and not self.expected.finite:
            self.spoil(values)
        return values


class Oracle:
    """The call in libtorch. Its tensor constants are inputs: torch's parser keeps no elements."""

    def __init__(self, writer, text):
        self.constants = {name: torch.tensor([float(n) if word[0] in "fbc" and word != "bool" else int(n) for n in numbers]).reshape(sizes).to(DTYPES[word])
                          for name, (word, sizes, numbers) in writer.constants.items()}
        _, *lines = [line for line in text.splitlines() if not any(line.startswith(f"  %{name} : ") for name in self.constants)]
        results = lines.pop().partition("return (")[2].rstrip(")")
        if results.count(",") or not results:   # a function of TorchScript returns one value
            lines.append(f"  %results : ({', '.join(['Tensor'] * len(results.split(',')) if results else [])}) = prim::TupleConstruct({results})")
            results = "%results"
        inputs = [*writer.inputs, *(f"%{name} : Tensor" for name in self.constants)]
        graph = f"graph({', '.join(inputs)}):\n" + "\n".join(lines) + f"\n  return ({results})\n"
        self.function = torch._C._create_function_from_graph("forward", torch._C.parse_ir(graph))

    def __call__(self, values):
        given = [value.clone() if isinstance(value, torch.Tensor) else list(value) if isinstance(value, list) else value for value in values.values()]
        return flat(self.function(*given, *(constant.clone() for constant in self.constants.values())))


def flat(value):
    """Outputs as arrays: a list of numbers is one, quantized tensors are their values, bfloat16 is in single precision."""
    if isinstance(value, list) and value and all(isinstance(item, (int, float)) for item in value):
        return [np.asarray(value)]
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in flat(item)]
    if not isinstance(value, torch.Tensor):
        return [] if value is None else [np.asarray(value)]
    value = value.detach().resolve_conj().resolve_neg()
    return [(value.dequantize() if value.is_quantized else value.float() if value.dtype == torch.bfloat16 else value).numpy()]


def overloads_of(case):
    """The overloads that a call's graph has; the name alone of an operator that libtorch doesn't know."""
    try:
        nodes = list(Oracle(case.writer, case.text).function.graph.nodes())
    except RuntimeError:
        return set(CALLED.findall(case.call))
    found = {node.kind() for node in nodes}
    for node in nodes:
        with contextlib.suppress(RuntimeError):
            found.add(node.schema().partition("(")[0] or node.kind())
    return found


def expected_outputs(case, expected):
    """(number, inputs, libtorch's outputs, those of which only the form counts) of each set that libtorch takes; why it took none."""
    try:
        oracle, left_open = Oracle(case.writer, case.text), Open(case)
    except RuntimeError as error:
        return [], str(error).strip().splitlines()[0]
    runs, why = [], ""
    for number in range(len(SIZES)):
        if left_open.set(number):
            continue
        for integers in INTEGERS:
            try:
                values = Inputs(case.writer, expected, number, integers, left_open).made()
                runs.append((number, values, oracle(values), left_open.outputs()))
                break
            except (RuntimeError, TypeError, ValueError, IndexError) as error:
                why = str(error).strip().splitlines()[-1]
    return runs, why


def array_for(value, kind):
    if isinstance(value, torch.Tensor):
        return value.numpy() if value.dtype != torch.bfloat16 else None
    if kind.startswith("seq("):
        return [item.numpy() for item in value]
    dtype = {"tensor(int64)": np.int64, "tensor(double)": np.float64, "tensor(float)": np.float32, "tensor(bool)": bool}[kind]
    return np.asarray(value, dtype)


def shown(values):
    text = ", ".join(f"{name} = {value.tolist() if isinstance(value, torch.Tensor) else value}" for name, value in values.items())
    return text if len(text) < MOST_SHOWN else text[:MOST_SHOWN] + "…"


def run(file, runs, expected):
    """(problem, whether the runtime lacks a kernel)"""
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    try:
        onnx.checker.check_model(str(file), full_check=True)
    except Exception as error:
        return f"onnx's checker: {str(error)[:300]}", False
    try:
        session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    except Exception as error:
        return str(error)[:300], bool(NO_KERNEL.search(str(error)))
    for number, values, want, ties in runs:
        feed = {given.name: array_for(values[given.name], given.type) for given in session.get_inputs()}
        if any(value is None for value in feed.values()):
            continue   # bfloat16 has no arrays
        try:
            got = flat(session.run(None, feed))
        except Exception as error:
            return f"inputs {number}: {str(error)[:300]}", bool(NO_KERNEL.search(str(error)))
        if expected.random:
            problem = "" if [(g.shape, g.dtype) for g in got] == [(w.shape, w.dtype) for w in want] else "other shapes or dtypes"
        else:
            problem = compare(got, want, ties)
        if problem:
            return f"inputs {number}: {problem}, of {shown(values)}", False
    return "", False


def class_of(operators):
    if not operators:
        return "folded", ()
    names = tuple(sorted({name for op in operators for name in op["onnx"]}))
    return ("one-to-many" if any(op["class"] == "one-to-many" for op in operators) else "one-to-one"), names


@dataclasses.dataclass
class Case:
    line: Line
    call: str
    writer: call_graphs.Writer
    text: str
    id: str = ""
    found: dict = dataclasses.field(default_factory=dict)   # opset → (class, names, whether there is a kernel); None: refused
    refusal: str = ""
    differs: bool = False
    failed: bool = False

    def has_fixed_sizes(self):
        """Otherwise sizes are computed, and their nodes can't be told from the call's."""
        sizes = [size for spec in self.writer.specs for size in spec.partition(":")[2].split(",")]
        return len(self.writer.specs) == len(self.writer.inputs) and all(size.isdigit() or size == "scalar" for size in sizes)


def cases_of(lines):
    for line in lines:
        for call in call_graphs.expanded(line.call):
            writer = call_graphs.Writer(call)
            yield Case(line, call, writer, writer.graph())


def converted(arguments, cases, folder, opsets_of, engine_of=None):
    """(id, opset) → result; cases that are tried at the same opsets are converted together."""
    listed, results = collections.defaultdict(list), {}
    for number, case in enumerate(cases):
        case.id = f"call{number}"
        (folder / f"{case.id}.ir").write_text(case.text)
        listed[",".join(map(str, opsets_of(case)))].append("\t".join([str(folder / f"{case.id}.ir"), *case.writer.specs]) + "\n")
    targets = older_engine.options(engine_of, folder)
    for opsets, lines in ((opsets, lines) for opsets, lines in listed.items() if opsets):
        done = subprocess.run([arguments.program, arguments.helper, str(folder), opsets, "--operators", *targets], text=True, capture_output=True,
                              input="".join(lines), env={**os.environ, "OMP_NUM_THREADS": "1"})
        if done.returncode:
            sys.exit(f"convert_cases ended with {done.returncode}: {done.stderr}")
        results |= {(result["id"], result["opset"]): result for result in map(json.loads, done.stdout.splitlines())}
    return results


def problems_of(case, results, opsets, folder, older):
    """What isn't as expected, by opset; sets `failed` for what no expectation makes right."""
    def failure(opset, problem):
        case.failed = True
        return opset, problem

    expected = case.line.expected or Expectation(ranges=[])
    runs, seen = None, Seen()
    for opset in opsets:
        result = results.get((case.id, opset)) or results.get((case.id, 0)) or {"outcome": "lost"}
        stated, reason = expected.at(opset), result.get("reason", "")
        if result["outcome"] != "converted":
            case.found[opset], case.refusal = None, reason
            if result["outcome"] not in ("refused", "needs_input") or NEVER_EXPECTED in reason:
                yield failure(opset, f"{result['outcome']}: {reason}")
            elif stated or opset == LAST and expected.refused.strip() not in reason:
                yield opset, f"{result['outcome']}: {reason}"
            continue
        if result["differs"] and case.has_fixed_sizes():
            yield failure(opset, result["differs"])
        word, names = class_of(result["operators"])
        case.found[opset] = word, names, True
        if case.line.expected and not stated and not expected.unknown:
            yield opset, "converts, a refusal is expected"
        elif stated and not older and (word != stated[0] or stated[1] and set(names) != set(stated[1])):
            yield opset, f"{word} {' '.join(names)}, expected is {stated[0]} {' '.join(stated[1])}"
        if runs is None:
            runs, why = ([], "") if expected.no_oracle else expected_outputs(case, expected)
            if not runs and not expected.no_oracle:
                yield failure(opset, f"libtorch takes none of the inputs: {why}")
        file = folder / f"{case.id}@{opset}.onnx"
        problem, lacking = seen.outcome(file, lambda: run(file, runs, expected))
        if lacking:
            case.found[opset] = word, names, False
        if lacking and older:
            continue
        if lacking != (opset in expected.no_kernel) and not older and not (lacking and (case.line.expected is None or expected.unknown)):
            yield opset, "no kernel: " + problem if lacking else "ONNX Runtime has kernels, none are expected"
        elif problem and not lacking:
            yield failure(opset, problem)


def spans(values):
    """(first, last, value) of equal neighbours in opset → value."""
    made = []
    for opset, value in sorted(values.items()):
        if made and made[-1][2] == value and made[-1][1] == opset - 1:
            made[-1][1] = opset
        else:
            made.append([opset, opset, value])
    return made


def spelled(first, last):
    return f"{first}-" if last == LAST else f"{first}-{last}" if last > first else str(first)


def found_text(case):
    """What was found for a call, as it stands behind " @ "; empty if something is wrong with it."""
    if case.failed:
        return ""
    with_class = {opset: value for opset, value in case.found.items() if value}
    if not with_class:
        return "refused: " + re.sub(r"^CC\d+ [\w:.]+: ", "", case.refusal)
    named = {opset: (word, names if word == "one-to-one" else ()) for opset, (word, names, _) in with_class.items()}
    text = ", ".join(" ".join([spelled(first, last), word, *names]) for first, last, (word, names) in spans(named))
    lacking = [(first, last) for first, last, has in spans({opset: has for opset, (_, _, has) in with_class.items()}) if not has]
    words = [word for word in map(str.strip, case.line.words.split(";")) if word and not word.startswith("no kernel")]
    return "; ".join([text, *words, *(f"no kernel {spelled(*span)}" for span in lacking)])


def divided(line, texts):
    """Lines with their text that stand for the same calls: alternatives in braces apart where their texts differ."""
    found = {texts[call] for call in call_graphs.expanded(line)}
    if len(found) == 1:
        return [(line, found.pop())]
    ways = []
    for braces in dict.fromkeys(re.findall(r"\{[^{}]*\}", line)):
        parts = collections.defaultdict(list)   # what is found with a choice → the choices
        for choice in braces[1:-1].split("|"):
            parts[tuple(texts[call] for call in call_graphs.expanded(line.replace(braces, choice)))].append(choice)
        if len(parts) == 1:
            continue   # it makes no difference
        ways.append([part for choices in parts.values()
                     for part in divided(line.replace(braces, choices[0] if len(choices) == 1 else "{" + "|".join(choices) + "}"), texts)])
    if ways:
        return min(ways, key=len)
    braces = re.search(r"\{[^{}]*\}", line)[0]   # in others, which make the difference
    return [part for choice in braces[1:-1].split("|") for part in divided(line.replace(braces, choice), texts)]


def updated(line, cases):
    """The lines in place of a line of a file; None if it stays."""
    texts = {case.call: found_text(case) for case in cases}
    known = line.expected and not line.expected.unknown
    if known and not any(case.differs for case in cases) or (known or not line.expected) and any(case.failed for case in cases):
        return None
    made = divided(line.call, texts) if len(texts) <= MOST_DIVIDED or len(set(texts.values())) == 1 else []
    if not made or not line.expected and len(made) > MOST_LINES:
        return None
    return [f"{call} @ {text or line.words and '?; ' + line.words or '?'}" for call, text in made]


def update(lines, cases):
    of_line, by_file = collections.defaultdict(list), collections.defaultdict(dict)
    for case in cases:
        of_line[id(case.line)].append(case)
    for line in lines:
        if made := updated(line, of_line[id(line)]):
            by_file[line.file][line.number] = made
    for file, changed in by_file.items():
        kept = [part for number, text in enumerate(file.read_text().splitlines(), 1) for part in changed.get(number, [text])]
        file.write_text("\n".join(kept) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--helper", required=True)
    parser.add_argument("--only", default="", help="lines that match")
    parser.add_argument("--families", default="", help="files, without .txt; all if none is named")
    parser.add_argument("--opsets", default="deciding")
    parser.add_argument("--engine-of", type=int)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--keep", help="folder for the graphs and the ONNX files")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)   # as whoever serves a model runs it
    load_torchvision()
    library_references.register()
    families = arguments.families.split(",") if arguments.families else [file.stem for file in call_graphs.files()]
    lines = [line for line in read_lines(call_graphs.files()) if line.file.stem in families and re.search(arguments.only, line.call)]
    if not arguments.update:
        lines = [line for line in lines if line.expected]
        for line in lines:
            if line.expected.unknown:
                sys.exit(f"{line.file.name}:{line.number}: --update writes what is found")
    lines = [line for line in lines if line.expected or sum(1 for _ in call_graphs.expanded(line.call)) <= MOST_CALLS]
    if not lines:
        sys.exit("no such lines")
    whole = arguments.update or arguments.opsets == "all"
    chosen = OPSETS if whole or arguments.opsets == "deciding" else [int(opset) for opset in arguments.opsets.split(",")]
    by_line = arguments.opsets == "deciding" and not whole
    deciding = lambda case: {*case.line.expected.deciding(), *starts(CALLED.findall(case.call)), opset_of_the_day(case.line.call)}
    opsets_of = lambda case: sorted(deciding(case)) if by_line else chosen
    cases, bad, ran = list(cases_of(lines)), 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        results = converted(arguments, cases, folder, opsets_of, arguments.engine_of)
        for case in cases:
            opsets, last = opsets_of(case), None
            for opset, problem in problems_of(case, results, opsets, folder, arguments.engine_of):
                case.differs = True
                bad += 1
                if problem != last and not (arguments.update and problem.startswith("no kernel")):
                    print(f"{case.line.file.name}:{case.line.number} {case.writer.text} @{opset}: {problem}")
                last = problem
            ran += len(opsets)
    if arguments.update:
        update(lines, cases)
    print(f"{len(lines)} lines, {len(cases)} calls, {ran} of calls and opsets, {bad} not as expected")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
