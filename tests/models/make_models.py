#!/usr/bin/env python3
"""Makes the tests' models: real architectures with random weights, traced and scripted.

    make_models.py --out DIR [--small] [--only NAME,...] [--jobs N] [--verify]
    make_models.py --list

DIR then holds `<name>-<form>.pt`, `<name>-<form>.npz` (in_*, out_*: the tensors of inputs and outputs, in order) and
index.json. What is there and made from the same sources is left alone. --small leaves out the full-size models; those
of size "named" are made only by --only. --verify loads every file in a fresh process, without the maker's stubs.
"""
import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import edits
from registry import Model

TRACED, SCRIPTED = ("traced",), ("scripted",)
ALL = ("traced", "scripted", "frozen-traced", "frozen-scripted")

MODELS = [
    Model("convnets", "resnet50", size="full"),
    Model("convnets", "resnet_small", ALL),
    Model("convnets", "mobilenet_v3"),
    Model("convnets", "unet"),
    Model("convnets", "unet_bilinear"),
    Model("convnets", "srcnn"),
    Model("convnets", "resizer"),
    Model("vision_transformers", "vit"),
    Model("vision_transformers", "vit_fused", TRACED),
    Model("vision_transformers", "transformer_encoder"),
    Model("vision_transformers", "swin"),
    Model("vision_transformers", "detr", ALL),
    Model("language", "bert_base", unscriptable=True, size="full"),
    Model("language", "bert", unscriptable=True),
    Model("language", "bert_eager", unscriptable=True),
    Model("language", "bert_dict", unscriptable=True),
    Model("language", "gpt2", unscriptable=True),
    Model("language", "gpt2_eager", unscriptable=True),
    Model("language", "llama", unscriptable=True),
    Model("language", "t5", unscriptable=True),
    Model("language", "whisper_encoder", unscriptable=True),
    Model("language", "vit_hf", unscriptable=True),
    Model("language", "swin_hf", unscriptable=True),
    Model("rotary", "llama_meta", unscriptable=True),
    Model("rotary", "llama_cached"),
    Model("rotary", "rotary_forms"),
    Model("speech", "mfcc"),
    Model("speech", "mfcc_log"),
    Model("speech", "spectrograms"),
    Model("speech", "whisper_features"),
    Model("speech", "nemo_features"),
    Model("speech", "denoiser"),
    Model("speech", "istft_vocoder"),
    Model("speech", "overlap_add"),
    Model("speech", "griffin_lim"),
    Model("fourier", "fno1d"),
    Model("fourier", "fno2d"),
    Model("fourier", "fno_real"),
    Model("fourier", "global_filter"),
    Model("fourier", "fnet"),
    Model("fourier", "autocorrelation"),
    Model("fourier", "long_convolution"),
    Model("gaussian", "gp_exact"),
    Model("gaussian", "gp_conditioned"),
    Model("gaussian", "gp_inducing"),
    Model("gaussian", "kalman"),
    Model("gaussian", "gaussian_mixture"),
    Model("gaussian", "whitening"),
    Model("recurrent", "lstm_packed"),
    Model("recurrent", "gru_packed"),
    Model("recurrent", "recurrent"),
    Model("recurrent", "lstm", ALL),
    Model("recurrent", "lstm_cell"),
    Model("control_flow", "loops", SCRIPTED),
    Model("control_flow", "branches", SCRIPTED),
    Model("control_flow", "lists", SCRIPTED),
    Model("control_flow", "dictionaries", SCRIPTED),
    Model("control_flow", "named_tuples", SCRIPTED),
    Model("control_flow", "optionals", SCRIPTED),
    Model("control_flow", "containers", ("scripted", "frozen-scripted")),
    Model("control_flow", "classes", SCRIPTED),
    Model("control_flow", "interfaces", SCRIPTED),
    Model("control_flow", "strings", SCRIPTED),
    Model("control_flow", "forked", SCRIPTED),
    Model("control_flow", "missing_in_blocks", ("scripted", "frozen-scripted")),
    Model("patterns", "early_return", SCRIPTED),
    Model("patterns", "greedy_decoder", SCRIPTED),
    Model("patterns", "chunks", SCRIPTED),
    Model("patterns", "pyramid", SCRIPTED),
    Model("patterns", "masked_mean"),
    Model("patterns", "shifted_windows"),
    Model("patterns", "optional_mask", SCRIPTED),
    Model("writes", "view_writes"),
    Model("writes", "aliased_writes"),
    Model("writes", "branch_writes", SCRIPTED),
    Model("writes", "list_writes", SCRIPTED),
    Model("writes", "attribute_writes", SCRIPTED),
    Model("writes", "input_writes"),
    Model("writes", "out_writes"),
    Model("writes", "swin_mask"),
    Model("writes", "cached_decoder", SCRIPTED),
    Model("writes", "views_of_views"),
    Model("writes", "nested_writes", SCRIPTED),
    Model("writes", "list_of_steps", SCRIPTED),
    Model("writes", "size_changes"),
    Model("writes", "scratch_buffer"),
    Model("quantized", "quantized_dynamic"),
    Model("quantized", "quantized_linear"),
    Model("quantized", "quantized_static"),
    Model("quantized", "quantized_resnet"),
    Model("quantized", "quantized_resnet_tensor"),
    Model("quantized", "quantized_lstm"),
    Model("quantized", "quantized_lstm_stacked"),
    Model("quantized", "quantized_lstm_dynamic"),
    Model("quantized", "quantized_half"),
    Model("quantized", "quantized_mobile"),
    Model("quantized", "quantized_signal"),
    Model("quantized", "quantized_fx"),
    Model("quantized", "fake_quantized"),
    Model("custom", "my_add", loads=False, runs=False),
    Model("custom", "custom_keywords", SCRIPTED, loads=False, runs=False),
    Model("custom", "custom_tuple", SCRIPTED, loads=False, runs=False),
    Model("custom", "custom_list", SCRIPTED, loads=False, runs=False),
    Model("custom", "custom_several", SCRIPTED, loads=False, runs=False),
    Model("custom", "detector", SCRIPTED, loads=False, runs=False),
    Model("custom", "deformable", SCRIPTED, loads=False, runs=False),
    Model("quantized", "custom_class", TRACED, loads=False, runs=False, edit=edits.class_as_argument),
    Model("quantized", "custom_class_method", TRACED, loads=False, runs=False, edit=edits.class_with_method),
    Model("layers", "convolutions"),
    Model("layers", "norms"),
    Model("layers", "weight_norms", unscriptable=True),
    Model("layers", "rearranged"),
    Model("layers", "indexing"),
    Model("layers", "numbers"),
    Model("layers", "attention"),
    Model("layers", "spectral"),
    Model("layers", "geometry"),
    Model("layers", "embeddings"),
    Model("files", "gpu", ("traced", "scripted", "frozen-traced"), runs=False, same_outputs=True, edit=edits.on_gpu),
    Model("files", "shared_storages"),
    Model("files", "precisions"),
    Model("files", "channels_last"),
    Model("files", "nested"),
    Model("files", "training"),
    Model("files", "methods", SCRIPTED),
    Model("files", "baked_in", TRACED),
    Model("files", "old_version", edit=edits.version_3),
    Model("files", "large", TRACED, size="named"),
    Model("files", "large_twin", TRACED),
    Model("files", "heavy", TRACED),
]


def chosen(arguments: argparse.Namespace) -> list:
    """(model, form) to make."""
    only = set(arguments.only.split(",")) if arguments.only else None
    pairs = []
    for model in MODELS:
        for form in model.forms:
            names = {model.name, f"{model.name}-{form}"}
            if names & only if only else model.size == "small" or model.size == "full" and not arguments.small:
                pairs.append((model, form))
    unknown = (only or set()) - {n for m, f in pairs for n in (m.name, f"{m.name}-{f}")}
    if unknown:
        sys.exit(f"make_models.py: no model named {', '.join(sorted(unknown))}; see --list")
    return pairs


def read_index(path: Path) -> dict:
    """Entries by name; a file made by another version is made again."""
    if not path.exists():
        return {}
    return {entry["name"]: entry for part in json.loads(path.read_text()).values() for entry in part}


def write_index(path: Path, entries: dict) -> None:
    order = [f"{model.name}-{form}" for model in MODELS for form in model.forms]
    known = [entries[name] for name in order if name in entries]
    index = {"models": [e for e in known if "file" in e], "not_made": [e for e in known if "file" not in e]}
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(index, indent=1) + "\n")
    temporary.rename(path)


def attempt(task: tuple) -> tuple:
    """In a process of its own, so that no file depends on what was made before. Returns entry, message."""
    model, form, out = task
    import build
    start = time.monotonic()
    try:
        with build.quiet():
            entry = build.build(model, form, out)
        return entry, f"{entry['name']}: {entry['bytes']} bytes, {time.monotonic() - start:.1f} s"
    except Exception as error:
        name = f"{model.name}-{form}"
        return {"name": name, "reason": build.reason(error), "stamp": build.stamp(model, form)}, f"{name}: {error}"


def make(pairs: list, out: Path, jobs: int) -> bool:
    import build
    out.mkdir(parents=True, exist_ok=True)
    entries = read_index(out / "index.json")

    def current(model: Model, form: str) -> bool:
        old = entries.get(f"{model.name}-{form}", {})
        return old.get("stamp") == build.stamp(model, form) and ("file" not in old or (out / old["file"]).exists())

    tasks = [(model, form, out) for model, form in pairs if not current(model, form)]
    if tasks:
        build.warm_up(sorted({model.family for model, _, _ in tasks}))
    good = True
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=1) as pool:
        for (model, form, _), (entry, message) in zip(tasks, pool.imap(attempt, tasks)):
            unscriptable = form == "scripted" and model.unscriptable
            if unscriptable == ("file" in entry):
                good = False
                print(f"{message} (expected to {'fail' if unscriptable else 'work'})", file=sys.stderr)
            elif not unscriptable:
                print(message, flush=True)
            if unscriptable or "file" in entry:
                entries[entry["name"]] = entry
            write_index(out / "index.json", entries)
    return good


FRESH = """
import json, sys, torch
bad = 0
for entry in json.load(open(sys.argv[1] + "/index.json"))["models"]:
    try:
        torch.jit.load(sys.argv[1] + "/" + entry["file"], map_location="cpu")
        loaded, why = True, ""
    except Exception as error:
        loaded, why = False, next((line for line in str(error).splitlines() if line.strip()), "")
    if loaded != entry["loads"]:
        bad = 1
        print(f"{entry['name']}: loads is {loaded}, the index says {entry['loads']}. {why}")
sys.exit(bad)
"""


def load_afresh(out: Path) -> bool:
    """Each file loads, or doesn't, as the index says, where only PyTorch's own operators are registered."""
    done = subprocess.run([sys.executable, "-c", FRESH, str(out)], stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        print(done.stderr, file=sys.stderr)
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", metavar="NAME,...")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    if arguments.list:
        for model in MODELS:
            print(f"{model.name:22} {model.family:20} {model.size:6} {' '.join(model.forms)}")
        return 0
    if not arguments.out:
        parser.error("--out DIR is needed")
    if os.environ.get("PYTHONHASHSEED") != "0":      # torch.jit.script writes some things in the order of a set
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONHASHSEED": "0"})
    good = make(chosen(arguments), arguments.out, arguments.jobs)
    if arguments.verify:
        good &= load_afresh(arguments.out)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
