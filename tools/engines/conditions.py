"""What a runtime's outcomes have in common: from tried calls of one operator in one version to the entries of a profile.

A call is described by features. A feature that only failing calls have, or a pair of them, becomes a condition that the entry demands.
Failing calls that nothing sets apart from passing ones make the calls like them unknown.
"""
import itertools

import numpy as np
from onnx import defs

from runtimes import RIGHT, WRONG
from cases import DTYPES, FORMAL, allowed, attributes_of, default_of, dtype_name, formal_at, parameters, value_of

UNIFORM = {"dilations": 1, "strides": 1, "pads": 0, "output_padding": 0}   # where an absent attribute means as many of these
SKIPPED = {"to", "dtype", "output_dtype", "axes", "perm", "split", "shape", "kernel_shape", "output_shape", "kernel_size"}
MANY = 9
COST = {"size": 1.5, "type": 1, "attr": 1, "given": 1, "used": 1, "const": 1, "named": 1.1, "empty": 0.9, "set": 1.1, "rank": 1.4}


def features(case):
    """{(kind, name): value}"""
    schema, node = case.schema, case.node
    found = {}
    for parameter in parameters(schema):
        for side, values in ((schema.inputs, case.inputs), (schema.outputs, [case.wanted[case.used.index(i)] if i in case.used else None for i in range(len(node.output))])):
            for place, value in enumerate(values):
                formal = formal_at(side, place)
                if formal and formal.type_str == parameter and isinstance(value, list):
                    found["type", parameter] = "seq"
                elif formal and formal.type_str == parameter and value is not None and (name := dtype_name(value)):
                    found["type", parameter] = DTYPES.get(name, name)
    given = attributes_of(node)
    for name, attribute in schema.attributes.items():
        if name in SKIPPED or attribute.type.name in ("GRAPH", "TENSOR", "SPARSE_TENSOR", "GRAPHS", "TYPE_PROTO", "STRINGS"):
            if name not in ("to", "dtype") and not attribute.required:
                found["set", name] = name in given
            continue
        value = value_of(given[name]) if name in given else default_of(attribute)
        kind = attribute.type.name
        if kind == "STRING":
            found["attr", name] = value.decode() if value is not None else None
        elif kind == "INT" and default_of(attribute) is not None:
            found["attr", name] = value if value in (0, 1, default_of(attribute)) else "other"
        elif name in UNIFORM:
            found["attr", name] = "plain" if value is None or all(item == UNIFORM[name] for item in value) else "other"
        elif kind == "FLOAT":
            default = default_of(attribute)
            found["attr", name] = "default" if value == default else "other"
        if not attribute.required:
            found["set", name] = name in given
    for place, formal in enumerate(schema.inputs):
        value = case.inputs[place] if place < len(case.inputs) else None
        if formal.option == FORMAL.Optional:
            found["given", formal.name] = value is not None
        if isinstance(value, np.ndarray):
            found["rank", formal.name] = value.ndim
            if place:
                found["const", formal.name] = place in case.constant
            found["empty", formal.name] = value.size == 0
            if value.ndim == 1 and value.dtype.kind == "i" and place and value.size < MANY:
                found["size", formal.name] = value.size
    for place, formal in enumerate(schema.outputs):
        if len(schema.outputs) > 1:
            found["used", formal.name] = place in case.used
    found["named", schema.inputs[0].name if schema.inputs else ""] = case.named
    return found


class Call:
    def __init__(self, what, case, outcome, why):
        self.what, self.case, self.outcome, self.why, self.passed = what, case, outcome, why, outcome == RIGHT
        self.features = features(case)


def expressible(feature):
    """whether a condition of a profile can ask for it"""
    (kind, _), value = feature
    if kind in ("set", "named", "empty"):
        return value is True
    return not (kind == "attr" and value in ("plain", None)) and not (kind == "used" and value is False)


def learn(calls):
    """(exclusions: tuples of features that a supported call lacks, the failing calls that nothing explains)"""
    failing = [call for call in calls if not call.passed]
    passing = [set(call.features.items()) for call in calls if call.passed]
    found = []
    for size in (1, 2):
        while failing:
            count = {}
            for call in failing:
                own = [f for f in call.features.items() if expressible(f) and (size == 1 or f[0][0] != "set")]
                for some in itertools.combinations(own, size):
                    count[some] = count.get(some, 0) + 1
            first = calls[0].case.schema.inputs[0].name if calls[0].case.schema.inputs else ""   # less likely the one that matters
            cost = lambda feature: COST[feature[0][0]] + 0.05 * (feature[0] == ("rank", first))
            ranked = sorted(count, key=lambda some: (-count[some] / sum(map(cost, some)), str(some)))
            best = next((some for some in ranked if not any(set(some) <= each for each in passing)), None)
            if best is None:
                break
            found.append(best)
            failing = [call for call in failing if not set(best) <= set(call.features.items())]
    return found, [call for call in failing if not may_be_rounding(call)]


def may_be_rounding(call):
    """a grid or a box in half precision may fall on the other side of an edge"""
    return call.what == "dtype" and call.outcome == WRONG and {"f16", "bf16"} & set(call.features.values())


def unsettled(calls, failing):
    """the features, or pairs of them, that hold all failing calls and as few passing ones as can be"""
    left, found = list(failing), []
    passing = [set(call.features.items()) for call in calls if call.passed]
    while left:
        count = {}
        for call in left:
            own = [feature for feature in call.features.items() if expressible(feature) and feature[0][0] != "empty"]
            for some in [*((one,) for one in own), *itertools.combinations(own, 2)]:
                count[some] = count.get(some, 0) + 1
        held = lambda some: sum(set(some) <= each for each in passing) / max(1, len(passing))
        best = min(sorted(count, key=str), key=lambda some: (20 * held(some) + 0.1 + 0.05 * sum(COST[one[0][0]] for one in some)) / count[some])
        found.append(best)
        left = [call for call in left if not set(best) <= set(call.features.items())]
    return found


def grouped(exclusions):
    """pairs with a dtype that differ in it alone are one: ((feature, (kind, name), [values]))"""
    found = {}
    for some in exclusions:
        if len(some) == 2 and some[0][0][0] == "type" and some[1][0][0] != "type":
            some = some[::-1]
        if len(some) == 2 and some[1][0][0] == "type":
            found.setdefault((some[0], some[1][0]), []).append(some[1][1])
        else:
            found[some] = None
    return [key if values is None else (key[0], (key[1], values[0] if len(values) == 1 else tuple(values))) for key, values in found.items()]


def spelled(some, calls):
    """the keys of an entry for nodes with these features: types: {T: [f16]}, when: {mode: cubic, X: {none: false, rank: 3}}"""
    schema = calls[0].case.schema
    predicates = {}
    types = [f"{name}: [{', '.join(names(value))}]" for (kind, name), value in some if kind == "type"]
    for (kind, name), value in some:
        if kind != "type":
            predicates.setdefault(name, []).append(predicate(schema, kind, name, value))
    when = [f"{name}: {together(texts)}" for name, texts in predicates.items()]
    return ", ".join(f"{key}: {{{', '.join(texts)}}}" for key, texts in (("types", types), ("when", when)) if texts)


def together(texts):
    if len(texts) == 1:
        return texts[0]
    maps = [text[1:-1] if text.startswith("{") else f"each: {text}" for text in texts]
    return "{" + ", ".join(dict.fromkeys(part for text in maps for part in text.split(", "))) + "}"


def predicate(schema, kind, name, value):
    if kind == "attr":
        attribute = schema.attributes[name]
        if default_of(attribute) is None and name not in UNIFORM and value in ("default", "other"):
            return f"{{none: {str(value == 'default').lower()}}}"
        if value == "other":
            wanted = f"{{each: {UNIFORM[name]}}}" if name in UNIFORM else scalar(default_of(attribute))
            return f"{{none: false, not: {wanted}}}"
        text = scalar(default_of(attribute) if value == "default" else value)
        return text if default_of(attribute) is not None else f"{{none: false, each: {text}}}"
    return {
        "set": "{used: true}",
        "given": "{none: false}" if value else "{none: true}",
        "used": "{used: true}",
        "rank": f"{{none: false, rank: {value}}}",
        "size": f"{{none: false, size: {{0: {value}}}}}",
        "const": f"{{none: false, constant: {str(value).lower()}}}",
        "empty": "{none: false, elements: 0}",
        "named": "{none: false, elements: unknown}",
    }[kind]


def names(value):
    return map(str, value) if isinstance(value, tuple) else [str(value)]


def scalar(value):
    if isinstance(value, bytes):
        value = value.decode()
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def described(some):
    """the same in words: "layout 1 and X of rank 3" """
    texts = []
    for (kind, name), value in some:
        texts.append({
            "attr": f"another {name} than usual" if value == "other" else f"{name} {scalar(value)}",
            "type": f"{name} {' or '.join(names(value))}",
            "set": f"the attribute {name}",
            "given": f"{name}" if value else f"no {name}",
            "used": f"{name} read",
            "size": f"{value} elements of {name}",
            "rank": f"{name} of rank {value}",
            "const": f"a constant {name}" if value else f"a computed {name}",
            "named": "sizes that aren't fixed",
            "empty": f"an empty {name}",
        }[kind])
    return "with " + " and ".join(texts)
