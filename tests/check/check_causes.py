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
            self.scales = [0.5, 0.25]
        scales = self.scales
        assert scales is not None
        return x.relu() * scales[0]


class Images(nn.Module):
    """The length of the list that it is given decides all else."""

    def forward(self, images: List[Tensor]):
        sizes: List[Tuple[int, int]] = []
        for image in images:
            sizes.append((image.size(0), image.size(1)))
        made: List[Tensor] = []
        for i, size in enumerate(sizes):
            made.append(images[i] * size[0])
        return made


# name: module, what its errors are, and how many nodes at least follow from the first of them
MODELS = {
    "pyramid": (Pyramid(), [("CC001", "aten::dict")], 10),
    "levels": (Levels(), [("CC007", "prim::SetAttr")], 1),
    "images": (Images(), [("CC006", None)], 0),
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
            if got != causes:
                wrong.append(f"{name}: {[(each['id'], each['op'], each['message']) for each in errors]}, not {causes}")
                continue
            wrong.extend(f"{name}: {each['message']} {each['help']}" for each in errors if "%" in each["message"] + each["help"] or "output 0" in each["message"])
            wrong.extend(f"{name}: a row: {each['row']}" for each in errors if each.get("row"))
            depend = [word for word in errors[0]["message"].split() if word.isdigit()]
            if least and (not depend or int(depend[0]) < least):
                wrong.append(f"{name}: {errors[0]['message']}")
            text = subprocess.run([program, model, "--format", "markdown"], capture_output=True, text=True).stdout
            if least and "depend" not in text:
                wrong.append(f"{name}: markdown doesn't count what depends: {text}")
    print("\n".join(wrong) or "all as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
