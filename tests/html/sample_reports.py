"""Reports as the program's JSON has them, made up: large, many, with engines, hostile."""
import collections
import random

TOOL = {"name": "compatcheck", "version": "0.1.0", "libtorch": "2.13.0", "onnx": "1.23.2"}
ONE, MANY, MISSING, STRUCTURAL = "one_to_one", "one_to_many", "missing", "structural"
OPERATORS = {  # op: (overload, class, what carries it)
    "aten::conv2d": ("", ONE, ["Conv"]), "aten::relu": ("", ONE, ["Relu"]), "aten::batch_norm": ("", ONE, ["BatchNormalization"]),
    "aten::add": ("Tensor", ONE, ["Add"]), "aten::mul": ("Tensor", ONE, ["Mul"]), "aten::matmul": ("", ONE, ["MatMul"]),
    "aten::softmax": ("int", ONE, ["Softmax"]), "aten::reshape": ("", ONE, ["Reshape"]), "aten::permute": ("", ONE, ["Transpose"]),
    "aten::linear": ("", MANY, ["Transpose", "MatMul", "Add"]), "aten::layer_norm": ("", MANY, ["ReduceMean", "Sub", "Mul", "Add", "Sqrt", "Div"]),
    "aten::gelu": ("", MANY, ["Div", "Erf", "Add", "Mul"]), "aten::grid_sampler": ("", MISSING, []), "aten::linalg_pinv": ("", MISSING, []),
    "acme::fused_bias": ("", MISSING, []), "prim::Constant": ("", STRUCTURAL, []), "prim::ListConstruct": ("", STRUCTURAL, []),
}


def full(op):
    overload = OPERATORS[op][0]
    return f"{op}.{overload}" if overload else op


class Graph:
    def __init__(self):
        self.operators, self.modules, self.types, self.calls, self.onnx, self.nodes, self.ops = [], [], [], [], [], [], []
        self.known = {}

    def place(self, names, name):
        key = (id(names), name)
        if key not in self.known:
            self.known[key] = len(names)
            names.append(name)
        return self.known[key]

    def node(self, op, module, inputs, outcome=None):
        outcome = outcome or {MISSING: "missing", STRUCTURAL: "structural"}.get(OPERATORS[op][1], "ok")
        made = ", ".join(OPERATORS[op][2]) if outcome == "ok" else ""
        shape, call = f"f32[batch, {len(self.nodes) % 9}]", f"{op.split('::')[1]}(x)"
        self.nodes.append([self.place(self.operators, full(op)), self.place(self.modules, module), outcome, list(inputs),
                           self.place(self.types, shape), self.place(self.calls, call), self.place(self.onnx, made)])
        self.ops.append(op)
        return len(self.nodes) - 1

    def json(self):
        return {"operators": self.operators, "modules": self.modules, "types": self.types, "calls": self.calls, "onnx": self.onnx, "nodes": self.nodes}


def network(nodes, seed=1, odd=0.04):
    """An image network: stages of residual blocks with attention, skip connections between stages."""
    chance, graph = random.Random(seed), Graph()
    # As in a trace, constants come first, in no order that says anything of the modules that they belong to.
    weights = {name: graph.node("prim::Constant", name + ".conv1", [])
               for name in (f"stages.{i}.blocks.{j}" for i in reversed(range(nodes // 130 + 1)) for j in reversed(range(8)))}
    x = graph.node("aten::conv2d", "stem.conv", [])
    skips, stage = [], 0
    while len(graph.nodes) < nodes - 60:
        for block in range(8):
            if len(graph.nodes) >= nodes - 60:
                break
            name = f"stages.{stage}.blocks.{block}"
            y = graph.node("aten::conv2d", f"{name}.conv1", [x, weights[name]])
            y = graph.node("aten::batch_norm", f"{name}.norm1", [y])
            y = graph.node("aten::relu", name, [y])
            qkv = [graph.node("aten::linear", f"{name}.attention.{part}", [y]) for part in ("query", "key", "value")]
            sizes = graph.node("prim::ListConstruct", f"{name}.attention", qkv[:1])
            score = graph.node("aten::matmul", f"{name}.attention", qkv[:2])
            score = graph.node("aten::softmax", f"{name}.attention", [score])
            y = graph.node("aten::matmul", f"{name}.attention", [score, qkv[2]])
            y = graph.node("aten::reshape", f"{name}.attention", [y, sizes])
            y = graph.node("aten::linear", f"{name}.mlp.0", [y])
            y = graph.node("aten::gelu", f"{name}.mlp.1", [y], "refused" if chance.random() < 0.03 else None)
            y = graph.node("aten::linear", f"{name}.mlp.2", [y])
            if chance.random() < odd:
                y = graph.node(chance.choice(["aten::grid_sampler", "aten::linalg_pinv", "acme::fused_bias"]), f"{name}.warp", [y])
            x = graph.node("aten::add", name, [x, y])
        skips.append(x)
        if len(skips) > 2:
            x = graph.node("aten::add", "fuse", [x, skips[-3]])
        stage += 1
    while len(graph.nodes) < nodes:
        x = graph.node(chance.choice(["aten::mul", "aten::relu", "aten::permute"]), "head", [x, skips[len(graph.nodes) % len(skips)]])
    return graph


def flat(nodes):
    """A frozen model: no modules, one long row with skips."""
    graph = Graph()
    for i in range(nodes):
        graph.node("aten::relu" if i % 3 else "aten::add", "", [i - 1, i - 7] if i > 7 else [i - 1] if i else [])
    return graph


def sites_of(graph, chosen):
    return [{"index": i, "module": graph.modules[graph.nodes[i][1]], "file": "models/net.py", "line": 20 + i % 7, "function": "forward",
             "args": f"{op.split('::')[1]}(x{i}, weight)"} for i, op in enumerate(graph.ops) if chosen(i, op)]


def finding(rule, severity, op, sites, message, help="", **more):
    return {"id": rule, "severity": severity, "op": op, "overload": OPERATORS[op][0] if op in OPERATORS else "", "message": message, "help": help,
            "available_from": more.pop("available_from", None), "nodes": more.pop("nodes", len(sites)), "sites": sites, **more}


def findings_of(graph, opset):
    def by(op, outcome):
        return sites_of(graph, lambda i, at: at == op and graph.nodes[i][2] == outcome)
    found = [
        finding("CC002", "error", "aten::grid_sampler", by("aten::grid_sampler", "missing"), "ONNX has no sampling by a grid before GridSample, which came with opset 16",
                "--opset 16 (GridSample)", available_from=16),
        finding("CC001", "error", "aten::linalg_pinv", by("aten::linalg_pinv", "missing"), "ONNX has no pseudo-inverse",
                "if the matrix has full rank use torch.linalg.inv; or `compatcheck explain aten::linalg_pinv --scaffold yaml`"),
        finding("CC003", "error", "acme::fused_bias", by("acme::fused_bias", "missing"), "a custom operator, and no library that registers it was given",
                "--op-library libacme.so, and a row", row="acme::fused_bias: {9: {to: acme.ops::FusedBias, inputs: [x, bias]}}"),
        finding("CC005", "error", "aten::gelu", by("aten::gelu", "refused"), 'approximate must be "none" or "tanh"', "use approximate='tanh'", baseline="grown"),
        finding("CC009", "warning", "aten::softmax", by("aten::softmax", "ok")[:3], "the operator's meaning changed with opset 13",
                suppressed={"reason": "the axis is the last one in all of our models", "expires": "2027-01-31", "source": "compatcheck.yaml:12"}),
        *(finding("CC004", "note", op, by(op, "ok"), "becomes " + ", ".join(OPERATORS[op][2])) for op in ("aten::linear", "aten::gelu")),
    ]
    found = [one for one in found if one["sites"] and not (opset >= 16 and one["id"] == "CC002")]
    return sorted(found, key=lambda one: (["error", "warning", "note"].index(one["severity"]), -one["nodes"]))


def report(path, graph, opset=11, with_graph=True, targets=()):
    if opset >= 16:
        for i, node in enumerate(graph.nodes):
            if graph.ops[i] == "aten::grid_sampler":
                node[2] = "ok"
    nodes, blocked = collections.Counter(graph.ops), collections.Counter(op for op, node in zip(graph.ops, graph.nodes) if node[2] in ("missing", "refused"))
    operators = []
    for op in sorted(nodes, key=full):
        overload, kind, onnx = OPERATORS[op]
        if op == "aten::grid_sampler" and opset >= 16:
            kind, onnx = ONE, ["GridSample"]
        operators.append({"op": op, "overload": overload, "class": kind, "verified": op != "aten::permute", "onnx": onnx, "since": None if kind == MISSING else 7,
                          "available_from": 16 if op == "aten::grid_sampler" and kind == MISSING else None, "nodes": nodes[op], "blocked": blocked[op],
                          "rows": [{"place": "mappings/operators/net.yaml:5", "nodes": nodes[op]}], "emitted": {name: nodes[op] - blocked[op] for name in onnx}})
    counted = [op for op in operators if op["class"] != STRUCTURAL]
    kinds, total = collections.Counter(op["class"] for op in operators), sum(op["nodes"] for op in counted)
    bad, refused = sum(blocked.values()), sum(1 for op in counted if op["class"] != MISSING and op["blocked"])
    made = {"schema_version": "1.0", "tool": TOOL,
            "model": {"path": path, "identity": "c1381da0dedb677a2afafad9329f7d3ce1293aaeac1566e41d8a1a8678482a4d", "format": "torchscript",
                      "description": "TorchScript (traced)", "bytes": 43_256_789, "parameters": {"count": 10_812_345, "bytes": 43_249_380},
                      "inputs": [{"name": "x", "dtype": "f32", "shape": ["batch", 3, None, 224]}],
                      "outputs": [{"name": "output_0", "dtype": "f32", "shape": None}],
                      "steps": ["inlined 48 calls", "computed 66 numbers beforehand"]},
            "opset": opset, "verdict": "no" if bad else "yes",
            "summary": {"nodes": total, "operators": len(counted), "one_to_one": kinds[ONE], "one_to_many": kinds[MANY],
                        "missing": kinds[MISSING], "refused": refused, "needs_input": 0, "unassessed": 0, "structural": kinds[STRUCTURAL],
                        "convertible": not bad, "coverage_nodes": 1 - bad / total if total else 1.0,
                        "coverage_operators": 1 - (kinds[MISSING] + refused) / len(counted) if counted else 1.0,
                        "lowest_opset": None if bad else min(opset, 16)},
            "operators": operators, "findings": findings_of(graph, opset)}
    if targets:
        made["targets"] = [target(name, made, place) for place, name in enumerate(targets)]
        made["targets_lowest_opset"] = None
    if with_graph:
        made["graph"] = graph.json()
    errors = sum(1 for one in made["findings"] if one["severity"] == "error" and "suppressed" not in one)
    return {**made, "gate": {"passed": not errors, "fail_on": "unconvertible", "violations": errors}, "exit_code": 1 if errors else 0}


def target(name, made, place):
    lines, supports = [], ["yes", "yes", "no", "unknown"]
    emitted = collections.Counter()
    for op in made["operators"]:
        emitted.update(op["emitted"])
    for i, (onnx, nodes) in enumerate(sorted(emitted.items())):
        lines.append({"onnx": onnx, "support": supports[(i + place) % 4] if place else "yes", "nodes": nodes})
    count = {kind: sum(line["nodes"] for line in lines if line["support"] == kind) for kind in ("yes", "no", "unknown")}
    engine, _, version = name.partition("@")
    return {"target": name, "engine": engine, "version": version, "source": f"the operator list of {engine}", "date": "2026-09-01",
            "support": "no" if count["no"] else "unknown" if count["unknown"] else "yes", "nodes": sum(count.values()), "supported": count["yes"], "unsupported": count["no"],
            "unknown": count["unknown"], "partitions": 1 + place * 7, "lowest_opset": 13 if not place else None, "operators": lines,
            **({"older_forms": [{"op": "aten::gelu", "overload": "", "opset": 19, "calls": 12 + place, "more_nodes": 48, "newer": ["Gelu"], "older": ["Div", "Erf"],
                                 "limit": "the engine doesn't support Gelu"}]} if place else {})}


def failure(path):
    return {"schema_version": "1.0", "tool": TOOL, "model": {"path": path}, "error": {"message": "the file ends within its directory\n  at byte 4,096"}, "exit_code": 3}


def totals(reports):
    best = {}
    order = ["yes", "needs_input", "no", "not_checked"]
    for one in reports:
        verdict = "not_checked" if "error" in one else one["verdict"]
        kept = best.get(one["model"]["path"])
        if kept is None or order.index(verdict) < order.index(kept[0]):
            best[one["model"]["path"]] = (verdict, one)
    missing = collections.defaultdict(lambda: [0, 0])
    for _, one in best.values():
        for op in one.get("operators", []):
            if op["class"] == MISSING:
                missing[op["op"]][0] += 1
                missing[op["op"]][1] += op["nodes"]
    verdicts = collections.Counter(verdict for verdict, _ in best.values())
    return {"models": len(best), **{name: verdicts[name] for name in ("yes", "no", "needs_input", "not_checked")},
            "missing": [{"op": op, "models": models, "nodes": nodes} for op, (models, nodes) in sorted(missing.items(), key=lambda item: (-item[1][0], -item[1][1], item[0]))]}


def listed(reports):
    return {"schema_version": "1.0", "reports": reports, "totals": totals(reports)}


def opsets_and_engines():
    reports = [report("models/flow_net.pt", network(400), opset, targets=["ort-cpu@1.31", "tensorrt@10.15", "openvino@2026.3"]) for opset in (11, 13, 16, 17)]
    for one in reports:
        one["findings"].append(finding("CC102", "warning", "", [], "the engine supports models of opset 18 to 24", "--opset 18", nodes=400, target="tensorrt@10.15"))
    return listed(reports)


def many(models):
    chance = random.Random(2)
    reports = []
    for i in range(models):
        path = f"zoo/family_{i % 17}/model_{i:04}.pt"
        if i % 23 == 5:
            reports.append(failure(path))
        elif i % 3 == 0:
            reports.append(report(path, flat(30 + i % 50), 17, with_graph=False))
        else:
            reports.append(report(path, network(100 + chance.randrange(120), i, 0.2), 11, with_graph=False))
    return listed(reports)


HOSTILE = ['</script><script>window.broken = 1</script>', '<img src=x onerror="window.broken = 2">', "<!-- <script>", "]]>", "\u2028\u2029line ends", '"quotes\\" \\u003c &lt;',
           "\u202etxet desrever", "\x00\x1b[31mred\x7f", "__proto__", "constructor", "a." * 3000, "x" * 5000, "{{template}} ${window.broken = 3}", "javascript:window.broken=4"]


def hostile():
    graph, reports = Graph(), []
    for i, text in enumerate(HOSTILE):
        graph.place(graph.operators, text)
        graph.nodes.append([len(graph.operators) - 1, graph.place(graph.modules, text), "missing", [i - 1, i, (i + 1) % len(HOSTILE)] if i else [0],
                            *(graph.place(names, text) for names in (graph.types, graph.calls, graph.onnx))])
        graph.ops.append("aten::linalg_pinv")
    made = report("/".join(HOSTILE), graph, 11)
    for i, (text, one) in enumerate(zip(HOSTILE, made["findings"] * len(HOSTILE))):
        site = {"index": i, "module": text, "file": text, "line": 3, "function": text, "args": text}
        made["findings"].append(finding("CC001", "error", text, [site], text, text, row=text, suppressed={"reason": text, "expires": text, "source": text} if i % 2 else None))
    for one in made["findings"]:
        if one.get("suppressed", 0) is None:
            del one["suppressed"]
    made["operators"].extend({**made["operators"][0], "op": text, "overload": text, "emitted": {text: 1}, "onnx": [text]} for text in HOSTILE)
    made["model"]["inputs"] = made["model"]["outputs"] = [{"name": text, "dtype": text, "shape": [text]} for text in HOSTILE]
    made["model"]["steps"] = made["model"]["warnings"] = HOSTILE
    made["targets"] = [{**target("ort-cpu@1.31", made, 0), "target": text, "source": text} for text in HOSTILE[:4]]
    reports.append(made)
    return listed(reports)


# --- Registries ------------------------------------------------------------------------------------------------------

KINDS = []


def registry_report(place):
    """One of very many, without a graph. Names are as hostile as a bucket's may be."""
    if not KINDS:
        targets = ["ort-cpu@1.31", "tensorrt@10.15"]
        KINDS.extend(report("", flat(10 + 7 * i), 17, with_graph=False, targets=targets) for i in range(20))
        KINDS.extend(report("", network(70 + 9 * i, i, 0.1 + 0.02 * (i % 9)), 17, with_graph=False, targets=targets[: 1 + i % 2]) for i in range(40))
        KINDS.extend({**one, "verdict": "needs_input"} for one in KINDS[:3])
    path = f"s3://models/team{place % 11}/v{place % 5}/model-{place:06}.pt"
    if place % 997 == 3:
        path += HOSTILE[place // 997 % len(HOSTILE)][:60]
    if place % 29 == 7:
        return failure(path)
    kind = KINDS[place * 5 % len(KINDS)]
    return {**kind, "model": {**kind["model"], "path": path}}


def as_page_shows(path):
    """What can't be seen is spelled out, as in dom.js."""
    import re

    unseen = "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
    return re.sub(unseen, lambda found: f"\\u{ord(found[0]):04x}", path)
