#!/usr/bin/env python3
"""compatcheck verify of models that take lists: sequences to ONNX while their length is open, inputs of their own where it is given."""
import argparse, sys, tempfile
from typing import Dict, List, NamedTuple, Optional, Tuple

import numpy, onnx, torch
from torch import Tensor

from running import Verify


class Cat(torch.nn.Module):
    def forward(self, xs: List[Tensor]):
        return torch.cat(xs, 0) * 2


class Map(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, xs: List[Tensor]):
        made: List[Tensor] = []
        for x in xs:
            made.append(self.linear(x))
        return made


class Unpack(torch.nn.Module):
    def forward(self, xs: List[Tensor]):
        a, b = xs
        return a + b


class Mixed(torch.nn.Module):
    def forward(self, xs: List[Tensor], y):
        return torch.cat(xs + [y])


class Ids(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(10, 4)

    def forward(self, ids: List[Tensor]):
        return torch.cat([self.table(each) for each in ids])


class Maybe(torch.nn.Module):
    def forward(self, x, xs: Optional[List[Tensor]]):
        if xs is not None:
            x = x + xs[0]
        return x.relu()


class Pair(torch.nn.Module):
    def forward(self, pair: Tuple[Tensor, List[Tensor]]):
        return pair[0] + torch.stack(pair[1]).sum(0)


class Numbers(torch.nn.Module):
    def forward(self, x, factors: List[float]):
        for factor in factors:
            x = x * factor
        return x


class Reshape(torch.nn.Module):
    def forward(self, x, sizes: List[int]):
        return x.reshape(sizes)


class Wrong(torch.nn.Module):
    def forward(self, xs: List[Tensor]):
        return torch.stack(xs).sum(0)


class Scored(NamedTuple):
    box: Tensor
    score: float


class Numbered(torch.nn.Module):
    def forward(self, x) -> List[int]:
        return [i * i for i in range(x.size(0))]


class Pairs(torch.nn.Module):
    def forward(self, x) -> List[Tuple[int, float]]:
        pairs: List[Tuple[int, float]] = []
        for i in range(x.size(0)):
            if float(x[i].sum()) > 0:
                pairs.append((i, float(x[i].max())))
        return pairs


class Records(torch.nn.Module):
    def forward(self, x) -> List[Dict[str, Tensor]]:
        records: List[Dict[str, Tensor]] = []
        for row in x:
            records.append({"box": row * 2, "area": row.sum()})
        return records


class Detections(torch.nn.Module):
    def forward(self, x) -> Tuple[List[Scored], Tensor]:
        found: List[Scored] = []
        for row in x:
            found.append(Scored(row, float(row.max())))
        return found, x + 1


class Table(torch.nn.Module):
    def forward(self, x) -> Dict[str, List[List[int]]]:
        rows: List[List[int]] = []
        for i in range(x.size(0)):
            rows.append([i] * i)
        return {"rows": rows}


class Nested(torch.nn.Module):
    def forward(self, x) -> List[List[Tensor]]:
        rows: List[Tensor] = []
        for row in x:
            rows.append(row)
        return [rows, rows]


class EmptyFirst(torch.nn.Module):
    def forward(self, x) -> Tuple[List[int], Tensor]:
        none: List[int] = []
        return none, x


class Counted(torch.nn.Module):
    def forward(self, x) -> Tuple[Tensor, Dict[int, Tuple[int, Tensor]]]:
        seen: Dict[int, Tuple[int, Tensor]] = {}
        for i in range(x.size(0)):
            key = int(x[i].sum() * 3)
            count = seen[key][0] if key in seen else 0
            seen[key] = (count + 1, x[i])
        return x * 2, seen


class Grouped(torch.nn.Module):
    def forward(self, x) -> Dict[int, List[int]]:
        groups: Dict[int, List[int]] = {}
        for i in range(x.size(0)):
            key = int(x[i].sum() > 0)
            if key not in groups:
                groups[key] = [i]
            else:
                groups[key].append(i)
        return groups


class Missing(torch.nn.Module):
    def forward(self, x) -> Dict[int, Tensor]:
        found: Dict[int, Tensor] = {}
        if bool(x[0, 0] > 0.5):
            found[4] = x * 2
        if bool(x[0, 1] > 0.5):
            found[2] = x[:1]
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    with tempfile.TemporaryDirectory() as folder:
        verify = Verify(parser.parse_args().program, folder)
        script = lambda module, name=None: verify.save(module, script=True, name=name)
        variations = lambda report: {each["name"]: (each["variation"], len(each["sizes"])) for each in report.get("dimensions", [])}

        # Made values: at several lengths, and at several sizes of the members.
        for module, named in ((Cat(), "xs"), (Map(), "xs"), (Ids(), "ids")):
            what = type(module).__name__
            report = verify.run(what, 0, script(module))
            found = variations(report)
            verify.expect(f"{what}: lengths", found.get(f"len({named})", ("", 0)) == ("alone", 3), found)
            verify.expect(f"{what}: sizes of members", found.get(f"{named}0", ("", 0))[0] == "alone", found)
            inputs = [[each["name"] for each in run["inputs"]] for run in report.get("runs", [])]
            verify.expect(f"{what}: members are told", [f"{named}.0", f"{named}.1", f"{named}.2"] in inputs, inputs)
        report = verify.run("a length that the model fixes", 0, script(Unpack()), ids=["CC205"])
        verify.expect(
            "a length that the model fixes",
            report and report["findings"][0]["severity"] == "note" and variations(report)["len(xs)"] == ("none", 1),
            report,
        )
        report = verify.run("members beside an input", 0, script(Mixed()), ids=["CC205"])
        verify.expect(
            "members beside an input: no advice that --input can't follow",
            report and not report["findings"][0]["help"],
            report.get("findings"),
        )
        report = verify.run("numbers", 0, script(Numbers()))
        verify.expect("numbers: lengths", variations(report).get("len(factors)") == ("alone", 3), report)

        # Recorded inputs: as the call takes them, or by name.
        cat = verify.folder / "Cat.pt"
        rows = [torch.rand(2, 3), torch.rand(5, 3)]
        torch.save((rows,), f"{folder}/call.pt")
        torch.save(rows, f"{folder}/list.pt")
        torch.save({"xs": rows}, f"{folder}/names.pt")
        numpy.savez(f"{folder}/members.npz", **{f"xs.{i}": row.numpy() for i, row in enumerate(rows)})
        sequence = verify.convert(cat, "sequence.onnx")
        for file in ("call.pt", "list.pt", "names.pt", "members.npz"):
            for given in ([], [sequence]):
                report = verify.run(f"{file} {given}", 0, cat, *given, "--inputs-from", f"{folder}/{file}")
                shapes = [[each["shape"] for each in run["inputs"]] for run in report.get("runs", [])]
                verify.expect(f"{file}: its own values", shapes == [[[2, 3], [5, 3]]], shapes)
        verify.run("a file with a sequence", 0, cat, sequence)
        verify.run("a file with a sequence, members stated", 0, cat, sequence, "--input", "xs.0=f32:2,3", "--input", "xs.1=f32:n,3")
        torch.save((torch.rand(2, 3), [torch.rand(2, 3)]), f"{folder}/maybe.pt")
        verify.run("a list that may be None", 0, script(Maybe()), "--inputs-from", f"{folder}/maybe.pt")
        torch.save(((torch.rand(2, 3), rows[:1] * 2),), f"{folder}/pair.pt")
        verify.run("a list in a tuple", 0, script(Pair()), "--inputs-from", f"{folder}/pair.pt")
        torch.save((torch.rand(2, 6), [3, 4]), f"{folder}/sizes.pt")
        verify.run("as many numbers as decide the rank", 0, script(Reshape()), "--inputs-from", f"{folder}/sizes.pt")
        torch.save((torch.rand(2, 6), [2, 0.5, 3]), f"{folder}/factors.pt")
        verify.run("numbers from a file", 0, verify.folder / "Numbers.pt", "--inputs-from", f"{folder}/factors.pt")
        torch.save((torch.rand(2, 6), ["a", 3]), f"{folder}/texts.pt")
        verify.run(
            "texts for numbers", 2, verify.folder / "Reshape.pt", "--inputs-from", f"{folder}/texts.pt", form=None, says="for input 'sizes"
        )

        # Lists as outputs: as lists of their parts while their length is open.
        for module, open_names, known_names in (
                (Numbered(), ["output_0"], ["output_0.0", "output_0.1"]), (Pairs(), ["output_0.0", "output_0.1"], None),
                (Records(), ["box", "area"], ["box", "area", "box_1", "area_1"]),
                (Detections(), ["box", "score", "output_0.1"], ["box", "score", "box_1", "score_1", "output_0.1"]),
                (Counted(), ["output_0.0", "output_0.1.keys", "output_0.1.values.0", "output_0.1.values.1"], None),
                (Grouped(), ["output_0.keys", "output_0.values"], None), (Table(), ["rows"], None),
                (Missing(), ["output_0.keys", "output_0.values"], ["output_0.keys", "output_0.values"])):
            model = script(module)
            for spec, names in (("x=f32:n,3", open_names), ("x=f32:2,3", known_names)):
                file = verify.convert(model, "outputs.onnx", "--input", spec)
                found = [each.name for each in onnx.load(str(file)).graph.output]
                verify.expect(f"{model.name} {spec}: outputs", names is None or found == names, found)
                verify.run(f"{model.name} {spec}", 0, model, file)

        for module in Nested(), EmptyFirst():
            verify.run(type(module).__name__, 0, script(module), "--input", "x=f32:n")

        # What each member of a list is.
        ids = verify.convert(verify.folder / "Cat.pt", "ids.onnx", "--input", "xs=i64:n,4")
        verify.run("stated members", 0, verify.folder / "Cat.pt", ids)
        verify.run("members by position", 0, verify.folder / "Cat.pt", "--input", "i64:n,4", "--input", "i64:2,4")

        # A difference is found, and its operator.
        changed = onnx.load(str(verify.convert(script(Wrong()), "wrong.onnx")))
        for node in changed.graph.node:
            if node.op_type == "ReduceSum":
                node.op_type = "ReduceProd"
                axes = node.input[1]
                values = next(onnx.numpy_helper.to_array(each) for each in changed.graph.initializer if each.name == axes)
                del node.input[1]
                node.attribute.append(onnx.helper.make_attribute("axes", values.tolist()))
        onnx.save(changed, f"{folder}/wrong.onnx")
        report = verify.run(
            "a wrong file", 1, verify.folder / "Wrong.pt", f"{folder}/wrong.onnx", "--bisect", "--repro", f"{folder}/case", ids=["CC201"]
        )
        verify.expect("a wrong file", report and report["first_bad"]["op"] == "aten::sum", report.get("first_bad"))
        return verify.end()


if __name__ == "__main__":
    sys.exit(main())
