#!/usr/bin/env python3
"""What a report names are causes: what only follows from one is counted there, and says neither internal names nor advice of its own."""
import argparse, json, pathlib, subprocess, sys, tempfile, warnings
from collections import OrderedDict
from typing import Dict, List, Optional, Tuple

warnings.filterwarnings("ignore")
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Pyramid(nn.Module):
    """As torchvision's backbones: a dictionary that a loop fills, its keys and values, and lists made of these."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict(OrderedDict((str(i), nn.Conv2d(3, 3, 3, padding=1)) for i in range(3)))

    def forward(self, x):
        out: Dict[str, Tensor] = OrderedDict()
        for name, layer in self.layers.items():
            x = F.relu(layer(x), inplace=True)
            out[name] = x
        names, levels = list(out.keys()), list(out.values())
        last = levels[-1]
        results: List[Tensor] = []
        results.append(last)
        for i in range(len(levels) - 2, -1, -1):
            last = levels[i] + F.interpolate(last, size=levels[i].shape[-2:])
            results.insert(0, last)
        made: Dict[str, Tensor] = OrderedDict([(k, v) for k, v in zip(names, results)])
        if "1" in made:
            return made["1"] * 2
        return made["0"]


class Levels(nn.Module):
    """State that calls keep, and what is asked of it."""

    scales: Optional[List[float]]

    def __init__(self):
        super().__init__()
        self.scales = None

    def forward(self, x):
        if self.scales is None:
            self.scales = [float(x.max()), 0.25]
        scales = self.scales
        assert scales is not None
        return x.relu() * scales[0]


class Images(nn.Module):
    """A list of pairs, as long as the list that it is given."""

    def forward(self, images: List[Tensor]):
        sizes: List[Tuple[int, int]] = []
        for image in images:
            sizes.append((image.size(0), image.size(1)))
        made: List[Tensor] = []
        for i, size in enumerate(sizes):
            made.append(images[i] * size[0])
        return made


class Cached(nn.Module):
    """Two attributes that calls keep: one thing to mend."""

    scales: Optional[List[float]]
    offsets: Optional[List[float]]

    def __init__(self):
        super().__init__()
        self.scales = None
        self.offsets = None

    def forward(self, x):
        if self.scales is None:
            self.scales = [float(x.max()), 0.25]
        if self.offsets is None:
            self.offsets = [float(x.min()), 2.0]
        scales, offsets = self.scales, self.offsets
        assert scales is not None and offsets is not None
        return x.relu() * scales[0] + offsets[1]


class Backbone(nn.Module):
    """As torchvision's segmentation models: dictionaries that begin as dict() and are merged."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict(OrderedDict((name, nn.Conv2d(3, 3, 3, padding=1)) for name in ("low", "inner", "high")))

    def features(self, x):
        out: Dict[str, Tensor] = OrderedDict()
        for name, layer in self.layers.items():
            x = layer(x)
            if name != "inner":
                out[name] = x
        return out

    def forward(self, x):
        losses: Dict[str, Tensor] = {}
        found = self.features(x)
        if self.training:
            losses["low"] = found["low"].sum()
        found.update({"both": found["low"] + found["high"]})
        found.update(losses)
        result: Dict[str, Tensor] = OrderedDict()
        result["out"] = found["both"].relu()
        return result


class Detector(nn.Module):
    """A list of images of three dimensions, as an assertion inside of a loop says; their sizes are merged."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def largest(self, sizes: List[List[int]]) -> List[int]:
        maxes = sizes[0]
        for size in sizes[1:]:
            for i, item in enumerate(size):
                maxes[i] = max(maxes[i], item)
        return maxes

    def forward(self, images: List[Tensor]):
        images = [image for image in images]
        for i in range(len(images)):
            image = images[i]
            if image.dim() != 3:
                raise ValueError("images have three dimensions")
            images[i] = self.conv(image[None])[0]
        size = self.largest([list(image.shape) for image in images])
        first = images[0]
        return torch.nn.functional.pad(first, [0, size[2] - first.shape[2], 0, size[1] - first.shape[1]])


class Spectrum(nn.Module):
    """One call makes complex numbers; others, refused with them, only read them, from lists, loops and branches too."""

    def forward(self, x, n: int):
        f = torch.linalg.eigvals(x)
        for i in range(n):
            f = f * 2
        if n > 3:
            f = torch.cat([f, f + 1], 0)
        return f.abs(), f.prod(), torch.view_as_real(f.tanh()).relu()


class Complex(nn.Module):
    """Calls that make complex numbers convert: one that is refused with them is its own cause."""

    def forward(self, x):
        return torch.fft.irfft(x.to(torch.complex64) * 2), torch.fft.fft(x).prod(0).abs()


class Removed(nn.Module):
    """Changes a list in a way that isn't followed, so that nobody knows what is made of it."""

    def forward(self, x, count: int):
        boxes: List[Tensor] = []
        while len(boxes) < count:
            boxes.append(x)
        boxes.remove(x)
        return torch.sqrt(torch.cat(boxes)) * 2


class Batch(nn.Module):
    """Goes over a dictionary whose keys nobody states."""

    def forward(self, batch: Dict[str, Tensor]):
        out: Dict[str, Tensor] = {}
        for key, value in batch.items():
            out[key + "_unit"] = value / value.norm()
        return out


# name: module, what its errors are, and how many nodes at least follow from the first of them
class Names(nn.Module):
    """Texts that are fixed are computed while converting."""

    def forward(self, x):
        for i, name in enumerate(" a, b".split(",")):
            if name.strip().upper().replace("B", "c") == "c":
                x = x + i
        return x * len("a,b".split(","))


class Summed(nn.Module):
    """Sums of lists that are given."""

    def forward(self, x, sizes: List[int], factors: List[float], flags: List[bool]):
        return x * sum(sizes), x * sum(factors), x * sum(flags)


class Given(nn.Module):
    """No row helps a text that is given."""

    def forward(self, x, names: str):
        return x * len(names.split(","))


class Kept(nn.Module):
    """A list keeps a tensor that the loop goes on writing: what is joined of it has the dtype of the tensor."""

    def forward(self, x, n: int):
        total = torch.zeros(x.size(0))
        kept: List[Tensor] = []
        copies: List[Tensor] = []
        for i in range(n):
            total += x * i
            kept.append(total)
            copies.append(total.clone())
        if n == 0:
            return total
        return torch.stack(kept) - torch.stack(copies)


MODELS = {
    "kept": (Kept(), [("CC007", "aten::add_")], 0),
    "pyramid": (Pyramid(), [], 0),
    "names": (Names(), [], 0),
    "summed": (Summed(), [], 0),
    "given": (Given(), [("CC001", "aten::split")], 1),
    "levels": (Levels(), [("CC007", "prim::SetAttr")], 1),
    "images": (Images(), [], 0),
    "cached": (Cached(), [("CC007", "prim::SetAttr")], 4),
    "backbone": (Backbone(), [], 0),
    "removed": (Removed(), [("CC007", "aten::remove")], 4),
    "batch": (Batch(), [("CC006", None)], 0),
    "detector": (Detector(), [], 0),
    "spectrum": (Spectrum(), [("CC001", "aten::linalg_eigvals")], 2),
    "complex": (Complex(), [("CC005", "aten::prod")], 0),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    program, wrong = parser.parse_args().program, []
    with tempfile.TemporaryDirectory() as folder:
        for name, (module, causes, least) in MODELS.items():
            model = pathlib.Path(folder) / f"{name}.pt"
            torch.jit.script(module.eval()).save(str(model))
            run = subprocess.run([program, model, "--format", "json"], capture_output=True, text=True)
            errors = [each for each in json.loads(run.stdout)["findings"] if each["severity"] == "error"]
            got = [(each["id"], each["op"] if each["id"] != "CC006" else None) for each in errors]
            for each in errors:  # what is asked for is what readers take, and settles it
                if each["id"] == "CC006":
                    option = each["help"].split(" ")[1].rstrip(",;").replace("KEY", "a")
                    again = subprocess.run([program, model, "--format", "json", "--input", option], capture_output=True, text=True)
                    if not again.stdout:
                        wrong.append(f"{name}: {option}: {again.stderr}")
                        continue
                    left = [finding for finding in json.loads(again.stdout)["findings"] if finding["severity"] == "error"]
                    if left:
                        wrong.append(f"{name}: {each['help']}: {[(finding['id'], finding['message']) for finding in left]}")
            if got != causes:
                wrong.append(f"{name}: {[(each['id'], each['op'], each['message']) for each in errors]}, not {causes}")
                continue
            wrong.extend(
                f"{name}: {each['message']} {each['help']}"
                for each in errors
                if "%" in each["message"] + each["help"] or "output 0" in each["message"]
            )
            wrong.extend(f"{name}: a row: {each['row']}" for each in errors if each.get("row"))
            wrong.extend(f"{name}: {each['help']}" for each in errors if each["help"].endswith(":") and not each.get("row"))
            if name == "cached" and "'offsets' and 'scales'" not in errors[0]["message"]:
                wrong.append(f"{name}: {errors[0]['message']}")
            depend = [word for each in errors[:1] for word in each["message"].split() if word.isdigit()]
            if least and (not depend or int(depend[0]) < least):
                wrong.append(f"{name}: {errors[0]['message']}")
            text = subprocess.run([program, model, "--format", "markdown"], capture_output=True, text=True).stdout
            if least and "depend" not in text:
                wrong.append(f"{name}: markdown doesn't count what depends: {text}")
        for name in [name for name, (_, causes, _) in MODELS.items() if not causes]:
            made = subprocess.run([program, "verify", pathlib.Path(folder) / f"{name}.pt"], capture_output=True, text=True)
            if made.returncode:
                wrong.append(f"{name}: {made.stdout}{made.stderr}")
        sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "models"))
        from torchvision_on_cpu import load_torchvision
        torchvision = load_torchvision()
        made = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None)
        model = pathlib.Path(folder) / "detection.pt"
        torch.jit.script(made.eval()).save(str(model))
        for options in ([], ["--input", "images.0=f32:3,800,800"]):
            report = json.loads(subprocess.run([program, model, "--format", "json", *options], capture_output=True, text=True).stdout)
            errors = [each for each in report["findings"] if each["severity"] == "error"]
            if len(errors) > 3 or any("%" in each["message"] + each["help"] or each.get("row") for each in errors):
                wrong.append(f"detection {options}: {[(each['id'], each['op'], each['message'], each['help']) for each in errors]}")
            if not options and not any("--input images.0=f32:3," in each["help"] for each in errors):
                wrong.append(f"detection: {[each['help'] for each in errors]}")
    print("\n".join(wrong) or "all as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
