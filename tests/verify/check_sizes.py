#!/usr/bin/env python3
"""compatcheck verify: at which sizes named dimensions are proved, what fails where one can't vary, and what the exit code counts."""
import json, re, subprocess, sys, xml.etree.ElementTree as xml

import onnx
import torch
import torch.nn.functional as F

from running import run_cases


class Zeros(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        z = torch.zeros(int(x.shape[0]), 1)  # baked in
        return y + z


class Flat(torch.nn.Module):
    def forward(self, x):
        rows = int(x.shape[0])
        return x.reshape(rows * 3).exp()


class Two(torch.nn.Module):
    def forward(self, x, y):
        return x + y


class Position(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.position = torch.nn.Parameter(torch.rand(5, 4))

    def forward(self, x):
        return torch.relu(x) + self.position


class Wide(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = torch.nn.Linear(6, 4)

    def forward(self, x):
        return self.wide(x)


class Lambda(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class State(torch.nn.Module):
    """PyTorch's kernel reads beyond a first state that is too small."""

    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.LSTM(4, 5, batch_first=True)

    def forward(self, x):
        h = torch.ones(1, int(x.shape[0]), 5)  # baked in; a state of zeros would be left out
        return self.rnn(x, (h, h))[0]


class Net(torch.nn.Module):
    """Takes images from 15 × 15 on."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 7, stride=2), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Conv2d(4, 4, 2)
        )

    def forward(self, x):
        return self.layers(x)


class Tokens(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(11, 4)

    def forward(self, ids):
        return self.table(ids).cumsum(1)


class Vision(torch.nn.Module):
    def forward(self, x):
        b, n = int(x.shape[0]), int(x.shape[1])
        q, k, v = torch.cat([x, x + 1, x * 2], 2).reshape(b, n, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)  # both frozen
        return (q @ k.transpose(-1, -2)).softmax(-1) @ v


class Video(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x):
        b, t = int(x.shape[0]), int(x.shape[1])
        return self.conv(x.reshape(b * t, 3, 8, 8)).reshape(b, t, 4, 8, 8).mean(1)


class Flattened(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.linear = torch.nn.Conv2d(3, 4, 3, stride=2), torch.nn.Linear(196, 5)

    def forward(self, x):
        y = self.conv(x)
        return self.linear(y.view(int(y.shape[0]), -1))


class Mixing(torch.nn.Module):
    """Each row of the result holds several samples, at other sizes than the trace's."""

    def __init__(self, way):
        super().__init__()
        self.way = way

    def forward(self, x):
        b, c = int(x.shape[0]), int(x.shape[1])
        if self.way == "heads":
            q = x.view(b, -1, 2, 4).transpose(1, 2)
            return (q @ q.transpose(-1, -2)).softmax(-1) @ q
        return {
            "rows": lambda: x.view(b, -1) * 2,
            "columns": lambda: x.reshape(b, c * 2, -1) * 2,
            "parts": lambda: x.reshape(b, 2, 3, -1) * 2,
            "product": lambda: x.view(b * c, -1) * 2,
            "two": lambda: x.flatten(0, 1).reshape(b, c, -1) * 2,
            "indices": lambda: x[torch.arange(b)] * 2,
            "selected": lambda: x.index_select(0, torch.arange(b)) * 2,
        }[self.way]()


class Unsure(torch.nn.Module):
    """Numbers that may be the model's own."""

    def __init__(self, way):
        super().__init__()
        self.way = way

    def forward(self, x):
        if self.way == "loop":
            state = torch.zeros(x.size(0), x.size(2))
            for step in range(x.size(1)):
                state = torch.tanh(state + x[:, step])
            return state
        return {
            "groups": lambda: x.view(2, -1, *x.shape[1:]).mean(0),
            "frames": lambda: x.reshape(-1, 48).mean(1),
            "first": lambda: x[:2] * 2,
            "joined": lambda: torch.cat([x, torch.zeros(2, 6, 8)]),
        }[self.way]()


class Heads(torch.nn.Module):
    """As many heads as the trace has samples: the numbers are the model's own."""

    def __init__(self, way):
        super().__init__()
        self.way = way

    def forward(self, x):
        if self.way == "rows":
            return x.reshape(-1, 2, 4).sum(1)
        q = x.view(x.size(0), -1, 2, 4).transpose(1, 2)
        y = ((q @ q.transpose(-1, -2)).softmax(-1) @ q).transpose(1, 2)
        return y.reshape(x.size(0), -1, 8) if self.way == "joined" else y.flatten(2)


class Double(torch.nn.Module):
    def forward(self, x, y):
        return torch.cat([x, x]) + y


class Grid(torch.nn.Module):
    def forward(self, x):
        return x.reshape(6, 8) * 2


class Rows(torch.nn.Module):
    def forward(self, x):
        return x.view(-1, 4).sum(1)


class Thirds(torch.nn.Module):
    def forward(self, x):
        return x.view(x.size(0) // 3, 3, x.size(1))


class Groups(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.group_norm(x, 6)


class Asserting(torch.nn.Module):
    def forward(self, x):
        if x.size(1) % 5 != 0:
            raise ValueError("a multiple of 5 is needed")
        assert x.size(0) * x.size(1) == 60
        return x.relu()


class Indexed(torch.nn.Module):
    def forward(self, x):
        return x[:, 40] + x[17]


class Never(torch.nn.Module):
    def forward(self, x):
        if x.size(0) * x.size(0) != 7:
            raise ValueError("never")
        return x.relu()


def line_of(marker):
    return next(number for number, line in enumerate(open(__file__), 1) if marker in line and "line_of" not in line)


class Rare(torch.nn.Module):
    """Large numbers count alone."""

    def forward(self, x):
        return torch.relu(x.abs().amax() - 2.5)


NAMED = ["--input", "x=f32:batch,feat"]
TIED = ["--input", "x=f32:n,3", "--input", "y=f32:m,3"]


def saved_zeros(verify):
    return verify.save(Zeros(), torch.rand(2, 3))


def saved_two(verify):
    return verify.save(Two(), torch.rand(2, 3), torch.rand(2, 3), name="tied")


def dimensions(report):
    return {each["name"]: (each["variation"], len(each["sizes"])) for each in report.get("dimensions", [])}


def constants_of_the_trace(verify):
    """A size that tracing took for a constant."""
    zeros = saved_zeros(verify)
    report = verify.run("zeros", 1, zeros, *NAMED, ids=["CC205"])
    if report:
        finding = report["findings"][0]
        verify.expect("zeros: the dimension", "'batch' can't change" in finding["message"], finding)
        verify.expect(
            "zeros: the cause",
            f"aten::zeros at {__file__}:{line_of('# baked' + ' in')}" in finding["help"] or "the shape [2, 1]" in finding["help"],
            finding,
        )
        verify.expect("zeros: severity", finding["severity"] == "error" and not report["passed"], finding)
        verify.expect(
            "zeros: feat varies by itself",
            dimensions(report)["feat"][0] == "alone" and dimensions(report)["batch"] == ("none", 1),
            report["dimensions"],
        )
    text = verify.run("zeros as text", 1, zeros, *NAMED, form=None)
    verify.expect("zeros as text", "NOT VERIFIED" in text, text)
    report = verify.run("zeros, fixed", 0, zeros, *NAMED, "--dim", "batch=2")
    verify.expect("zeros, fixed", dimensions(report) == {"batch": ("fixed", 1), "feat": ("alone", 2)}, report.get("dimensions"))
    report = verify.run("zeros, fixed at another size", 1, zeros, *NAMED, "--dim", "batch=4", ids=["CC205"])
    for what, says in (("message", "'batch' can't be 4: "), ("help", "--dim batch=2 verifies this size alone")):
        verify.expect(f"zeros, fixed at another size: {what}", report and says in report["findings"][0][what], report)
    report = verify.run("zeros, lowered", 0, zeros, *NAMED, "--fail-on", "mismatch", ids=["CC205"])
    verify.expect(
        "zeros, lowered",
        report and not report["passed"] and report["gate"] == {"passed": True, "fail_on": "mismatch", "violations": 0},
        report,
    )
    verify.run("zeros, never", 0, zeros, *NAMED, "--fail-on", "never", ids=["CC205"])
    verify.run("zeros, a word that isn't one", 2, zeros, *NAMED, "--fail-on", "sometimes", says="--fail-on sometimes: expected one of")
    report = verify.run("a multiple", 1, verify.save(Flat(), torch.rand(2, 3)), "--input", "x=f32:batch,3", ids=["CC205"])
    verify.expect("a multiple", not report or "6, a multiple of 2" in report["findings"][0]["help"], report)
    verify.run("a size that another had, too", 1, verify.save(Zeros(), torch.rand(3, 3)), *NAMED, ids=["CC205"])
    report = verify.run(
        "an input left static", 1, verify.save(Two(), torch.rand(2, 3), torch.rand(2, 3)), "--input", "x=f32:batch,3", ids=["CC205"]
    )
    verify.expect("an input left static", not report or "--input y=f32:batch,3" in report["findings"][0]["help"], report)
    report = verify.run("a weight's size", 1, verify.save(Position(), torch.rand(2, 5, 4)), "--input", "x=f32:batch,seq,4", ids=["CC205"])
    verify.expect(
        "a weight's size", not report or "[5, 4]" in report["findings"][0]["help"] and dimensions(report)["batch"][0] == "alone", report
    )


def equal_sizes(verify):
    """Sizes that must be equal."""
    two = saved_two(verify)
    report = verify.run("sizes that must be equal", 0, two, *TIED, ids=["CC205"])
    verify.expect("sizes that must be equal", dimensions(report) == {"m": ("together", 2), "n": ("together", 2)}, report)
    verify.run("sizes that must be equal, warnings count", 1, two, *TIED, "--fail-on", "warning", ids=["CC205"])
    report = verify.run("one name for them", 0, two, "--input", "x=f32:n,3", "--input", "y=f32:n,3")
    verify.expect("one name for them", dimensions(report) == {"n": ("alone", 2)}, report)


def plausible_sizes(verify):
    """Sizes that a model plausibly sees."""
    image = ["--input", "x=f32:batch,3,height,width"]
    for what, model, least in (
        ("scripted", verify.save(Net(), script=True, name="scripted"), 15),
        ("traced", verify.save(Net(), torch.rand(1, 3, 20, 24)), 20),
    ):
        report = verify.run(what, 0, model, *image)
        runs = [run["sizes"] for run in report.get("runs", [])]
        verify.expect(f"{what}: small images", runs and all(run["height"] >= least and run["width"] >= least for run in runs), runs)
        verify.expect(
            f"{what}: each varies",
            all(dimensions(report)[name][0] == "alone" for name in ("batch", "height", "width")),
            report.get("dimensions"),
        )
        verify.expect(f"{what}: all together", runs and any(all(run[name] != runs[0][name] for name in run) for run in runs), runs)
        verify.expect(f"{what}: not only squares", any(run["height"] != run["width"] for run in runs), runs)
        if what == "traced":
            verify.expect("traced: its own sizes come first", runs and runs[0] == {"batch": 1, "height": 20, "width": 24}, runs)

    report = verify.run(
        "a relation of sizes",
        0,
        verify.save(Double(), torch.rand(2, 3), torch.rand(4, 3)),
        "--input",
        "x=f32:n,3",
        "--input",
        "y=f32:m,3",
        ids=["CC205"],
    )
    verify.expect(
        "a relation of sizes",
        all(each["severity"] == "warning" and "2*n must be m" in each["message"] for each in report.get("findings", [])),
        report,
    )


def fixed_products(verify):
    """Sizes that a constant of the trace ties: each fails by itself."""
    vision = verify.save(Vision(), torch.rand(2, 6, 8))
    report = verify.run("a fixed product", 1, vision, "--input", "x=f32:b,seq,8", ids=["CC205"])
    for name, finding in zip(("b", "seq"), report.get("findings", [])):
        for text in (
            finding["message"].startswith(f"the dimension '{name}' can't change, because 24*b*seq must be 288"),
            f"{__file__}:{line_of('# both' + ' frozen')} reads the constant {dict(b=2, seq=6)[name]}, the size" in finding["help"],
        ):
            verify.expect(f"a fixed product: {name}", text and finding["severity"] == "error", finding)
    verify.expect(
        "a fixed product: neither varies", report and dimensions(report) == {"b": ("none", 1), "seq": ("none", 1)}, report.get("dimensions")
    )
    verify.run("a fixed product, lowered", 0, vision, "--input", "x=f32:b,seq,8", "--fail-on", "mismatch", ids=["CC205"])
    verify.run("a fixed product, fixed", 0, vision, "--input", "x=f32:b,seq,8", "--dim", "b=2", "--dim", "seq=6")
    report = verify.run(
        "a product of sizes", 1, verify.save(Video(), torch.rand(2, 4, 3, 8, 8)), "--input", "x=f32:b,t,3,8,8", ids=["CC205"]
    )
    verify.expect(
        "a product of sizes", report and all("reads the constant 8, a multiple of" in each["help"] for each in report["findings"]), report
    )
    report = verify.run(
        "a batch before a weight", 1, verify.save(Flattened(), torch.rand(2, 3, 16, 16)), "--input", "x=f32:b,3,h,w", ids=["CC205"]
    )
    verify.expect(
        "a batch before a weight",
        report
        and [("'b' can't change" in each["message"], "reads the constant 2" in each["help"]) for each in report["findings"]]
        == [(True, True)],
        report,
    )


def mixed_samples(verify):
    """Sizes that run and that the result doesn't have."""
    for way, ids, names in (
        ("heads", [], "b"),
        ("rows", [], "b"),
        ("columns", ["CC012"], "b"),
        ("parts", ["CC012"], "b"),
        ("product", [], "bn"),
        ("two", [], "bn"),
        ("indices", [], "b"),
        ("selected", [], "b"),
    ):
        mixing = verify.save(Mixing(way), torch.rand(2, 6, 8), name=way)
        report = verify.run(way, 1, mixing, "--input", "x=f32:b,n,8", ids=["CC205", *ids])
        errors = [each for each in report.get("findings", []) if each["severity"] == "error"]
        verify.expect(
            f"{way}: the dimensions",
            [each["message"].split("'")[1] for each in errors] == list(names) and {each["id"] for each in errors} == {"CC205"},
            errors,
        )
        verify.expect(
            f"{way}: the constant",
            all(
                f"{__file__}:" in each["message"] and " reads the constant " in each["message"] and "without int(…)" in each["help"]
                for each in errors
            ),
            errors,
        )
        checked = json.loads(
            subprocess.run(
                [verify.program, "check", mixing, "--input", "x=f32:b,n,8", "--format", "json"], capture_output=True, text=True
            ).stdout
        )
        verify.expect(
            f"{way}: the check notes it",
            any(each["id"] == "CC012" and each["severity"] == "note" for each in checked["findings"]),
            checked["findings"],
        )
        verify.run(f"{way}, fixed", 0, mixing, "--input", "x=f32:b,n,8", "--dim", "b=2", "--dim", "n=6")
    for way in ("joined", "groups", "frames", "first", "loop"):
        unsure = verify.save(Unsure(way), torch.rand(2, 6, 8), name=way)
        report = verify.run(way, 0, unsure, "--input", "x=f32:b,n,8" if way != "joined" else "x=f32:b,6,8", ids=["CC012"])
        verify.expect(f"{way}: a warning", report and all(each["severity"] == "warning" for each in report["findings"]), report)
        if way == "joined":
            verify.run("a warning that counts", 1, unsure, "--input", "x=f32:b,6,8", "--fail-on", "warning", ids=["CC012"])
            for form in ("text", "junit", "markdown"):
                reported = verify.run(f"a warning as {form}", 0, unsure, "--input", "x=f32:b,6,8", form=form)
                verify.expect(
                    f"a warning as {form}",
                    "CC012" in reported
                    and "sizes.py:" in reported
                    and "the constant 2 may come from tracing" in reported.replace("\n         ", " "),
                    reported,
                )
    for way in ("rows", "joined", "flat"):
        verify.run(f"heads, {way}", 0, verify.save(Heads(way), torch.rand(2, 6, 8), name=f"heads-{way}"), "--input", "x=f32:b,n,8")
    verify.run("heads of rows", 0, verify.save(Heads("rows"), torch.rand(2, 8), name="heads-of-rows"), "--input", "x=f32:b,8")


def sizes_that_nobody_states(verify):
    """Sizes that nobody states and that the model doesn't take one by one."""
    for module, ties in ((Grid(), "x0*x1 must be 48"), (Rows(), ""), (Thirds(), ""), (Groups(), ""), (Asserting(), "x0*x1 must be 60")):
        what = type(module).__name__
        report = verify.run(what, 0, verify.save(module, script=True), ids=["CC205"] if ties else [])
        reported = [(finding["severity"], ties in finding["message"], finding["help"]) for finding in report.get("findings", [])]
        verify.expect(f"{what}: no more than a warning, and no advice to give one name", set(reported) <= {("warning", True, "")}, reported)
        verify.expect(f"{what}: each size varies", all(len(each["sizes"]) > 1 for each in report["dimensions"]), report.get("dimensions"))
    report = verify.run("sizes that are skipped", 0, verify.save(Indexed(), script=True))
    verify.expect("sizes that are skipped", "refuses x0=2" in report.get("note", "") and "skipped" in report["note"], report)
    verify.run(
        "sizes that don't exist",
        3,
        verify.save(Never(), script=True),
        form=None,
        says="other choices of sizes: builtins.ValueError: never; add --inputs-from FILE",
    )
    verify.run(
        "sizes that don't exist: names",
        3,
        verify.folder / "Never.pt",
        form=None,
        says="or --dim x0=N --dim x1=N, with sizes that the model accepts",
    )


def files_of_other_models(verify):
    """The inputs of another model's file: no size of a named dimension helps."""
    wide, narrow = verify.save(torch.nn.Linear(5, 3), torch.rand(2, 5), name="wide"), verify.save(
        torch.nn.Linear(4, 3), torch.rand(2, 4), name="narrow"
    )
    file = verify.convert(wide, "wide.onnx", "--input", "input=f32:batch,5")
    verify.run("another model's file", 3, narrow, file, form=None, says="must be 4, but is 5; that file isn't a conversion of this model")
    verify.run(
        "another model's sizes",
        3,
        narrow,
        verify.convert(narrow, "narrow.onnx"),
        "--input",
        "input=f32:batch,5",
        form=None,
        says="but is 5; --input or --inputs-from states sizes that the model accepts",
    )


def rare_values(verify):
    """Wrong for some values, at the one size there is."""
    rare = verify.save(Rare(), torch.rand(4, 3))
    wrong = verify.convert(rare, "rare.onnx", "--input", "x=f32:batch,3")
    model = onnx.load(wrong)
    node = next(each for each in model.graph.node if each.op_type == "Relu")
    node.op_type = "Sub"  # of itself: 0
    node.input.append(node.input[0])
    onnx.save(model, wrong)
    report = verify.run("a value that is wrong at times", 1, rare, wrong, "--dim", "batch=4", "--runs", "40", ids=["CC201"])
    verify.expect("a value that is wrong at times: not in the first run", len(report.get("runs", [])) > 1, report.get("runs"))


def numbers_of_the_trace(verify):
    """Numbers that may come from the trace: the model's own, or not."""
    possible = {
        "a window over the whole image": (
            lambda x: F.avg_pool2d(x, (int(x.shape[2]), int(x.shape[3]))).flatten(1),
            (2, 3, 9, 11),
            "b,3,h,w",
        ),
        "a window over whole features": (
            lambda x: F.max_pool2d(x[:, :, ::2, ::2], (int(x.shape[2]) // 2, int(x.shape[3]) // 2)),
            (2, 3, 8, 12),
            "b,3,h,w",
        ),
        "a sum divided by its length": (lambda x: x.sum(0) / int(x.shape[0]), (9, 4), "b,4"),
        "a sum of all divided by their number": (lambda x: x.sum() / (int(x.shape[0]) * 4), (9, 4), "b,4"),
        "a sum times the inverse": (lambda x: x.sum((0, 1)) * (1 / (int(x.shape[0]) * 4)), (9, 4, 2), "b,4,2"),
        "a window over a text": (lambda x: F.max_pool2d(x, (int(x.shape[2]), 1)), (2, 3, 9, 1), "b,3,n,1"),
        "as large as the features": (
            lambda x: F.interpolate(F.max_pool2d(x, 2), size=(int(x.shape[2]), int(x.shape[3]))),
            (1, 3, 10, 14),
            "1,3,h,w",
        ),
        "the best of all": (lambda x: x.topk(int(x.shape[0]), 0)[0], (5, 4), "b,4"),
        "a part for each row": (lambda x: x.chunk(int(x.shape[0]), 0)[0], (5, 4), "b,4"),
        "twice the image": (lambda x: F.interpolate(x, size=(int(x.shape[2]) * 2, int(x.shape[3]) * 2)), (1, 3, 5, 7), "1,3,h,w"),
        "all but the last": (lambda x: x[: int(x.shape[0]) - 1] * 2, (9, 4), "b,4"),
        "half of it": (lambda x: x[: int(x.shape[0]) // 2] * 2, (10, 4), "b,4"),
    }
    for what, (function, shape, sizes) in possible.items():
        model = verify.save(Lambda(function), torch.rand(shape))
        report = verify.run(what, 0, model, "--input", f"x=f32:{sizes}", ids=["CC012"])
        verify.expect(what, "may come from tracing" in str(report.get("findings")), report.get("findings"))
    for what, (function, shape, sizes) in {
        "the model's own window": (lambda x: F.avg_pool2d(x, 2), (2, 3, 9, 11), "b,3,h,w"),
        "a sum of other rows": (lambda x: x.sum(1) / 4, (4, 5), "b,5"),
        "a sum times the number": (lambda x: x.sum(0) * 9, (9, 4), "b,4"),
        "the best two": (lambda x: x.topk(2, 1)[0], (2, 4), "b,4"),
        "all but the last by its place": (lambda x: x[:-1] * 2, (9, 4), "b,4"),
    }.items():
        verify.run(what, 0, verify.save(Lambda(function), torch.rand(shape)), "--input", f"x=f32:{sizes}")


def own_lines(verify):
    """The user's own line, though torch's fails."""
    report = verify.run(
        "a weight's size",
        1,
        verify.save(torch.nn.Sequential(torch.nn.Linear(6, 4)), torch.rand(3, 6)),
        "--input",
        "input=f32:4,n",
        ids=["CC205"],
    )
    verify.expect("a weight's size", not re.search(r"torch/nn", str(report.get("findings"))), report.get("findings"))
    own = verify.save(Wide(), torch.rand(3, 6))
    report = verify.run("a weight's size, in a module of one's own", 1, own, "--input", "x=f32:4,n", ids=["CC205"])
    verify.expect("a weight's size, in a module of one's own", "check_sizes.py" in report["findings"][0]["message"], report)


def crashes_of_pytorch(verify):
    """PyTorch crashes at other sizes: they aren't the model's."""
    state = verify.save(State(), torch.rand(3, 7, 4))
    report = verify.run("a crash of PyTorch", 1, state, "--input", "x=f32:b,t,4", "--dim", "b=100000", "--dim", "t=2", ids=["CC205"])
    verify.expect("a crash of PyTorch: named", "PyTorch crashes" in report["findings"][0]["message"], report)
    text = verify.run("sizes at which PyTorch may crash", 1, state, "--input", "x=f32:b,t,4", form=None)
    verify.expect("sizes at which PyTorch may crash: named", "CC205" in text, text)


def examples_at_other_sizes(verify):
    """Examples at other sizes: their elements again, or fewer of them."""
    tokens = verify.save(Tokens(), torch.zeros(2, 4, dtype=torch.long))
    torch.save((torch.tensor([[10, 3, 7], [1, 2, 9]]),), f"{verify.folder}/ids.pt")
    report = verify.run("examples", 0, tokens, "--input", "ids=i64:batch,seq", "--inputs-from", f"{verify.folder}/ids.pt")
    verify.expect(
        "examples",
        [run["sizes"] for run in report["runs"]][:1] == [{"batch": 2, "seq": 3}]
        and all(each["variation"] == "alone" for each in report["dimensions"]),
        report,
    )


def written_reports(verify):
    zeros, two = saved_zeros(verify), saved_two(verify)
    for form in ("json", "xml", "md", "txt"):
        verify.run(f"a report as {form}", 1, zeros, *NAMED, "--report", f"{verify.folder}/zeros.{form}", form=None)
    verify.run(
        "two reports", 0, two, *TIED, "--report", f"{verify.folder}/two.json", "--report", f"junit={verify.folder}/two.junit", form=None
    )
    verify.expect("report json", json.load(open(f"{verify.folder}/zeros.json"))["exit_code"] == 1)
    suite = xml.parse(f"{verify.folder}/zeros.xml").getroot()
    cases = {case.get("name"): case.find("failure") for case in suite.iter("testcase")}
    verify.expect(
        "report junit", suite.get("failures") == "1" and cases["dimension batch"] is not None and cases["dimension feat"] is None, cases
    )
    verify.expect("report junit of another", xml.parse(f"{verify.folder}/two.junit").getroot().get("failures") == "0")
    page = open(f"{verify.folder}/zeros.md").read()
    verify.expect("report markdown", "not verified" in page and "CC205" in page, page)
    verify.expect("report text", "NOT VERIFIED" in open(f"{verify.folder}/zeros.txt").read())
    verify.run(
        "a report that verify lacks",
        2,
        zeros,
        "--report",
        f"{verify.folder}/zeros.sarif",
        form=None,
        says="verify writes text, json, jsonl, junit, markdown and html",
    )
    verify.expect("quiet, passed", verify.run("quiet, passed", 0, two, "-q", form=None) == "exit 0\n")
    quiet = verify.run("quiet, failed", 1, zeros, *NAMED, "-q", form=None)
    verify.expect("quiet, failed", "CC205" in quiet and "✓" not in quiet, quiet)


CASES = [
    constants_of_the_trace,
    equal_sizes,
    plausible_sizes,
    fixed_products,
    mixed_samples,
    sizes_that_nobody_states,
    files_of_other_models,
    rare_values,
    numbers_of_the_trace,
    own_lines,
    crashes_of_pytorch,
    examples_at_other_sizes,
    written_reports,
]

if __name__ == "__main__":
    sys.exit(run_cases(CASES, __doc__))
