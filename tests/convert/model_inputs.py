"""Inputs of the tests' models: as the program is told of them, at other values and at other sizes.

A model's inputs stand in index.json by structure: tensors as {dtype, shape}, and {list}, {tuple}, {dict}, {value}.
"""
import numpy as np

SHORT = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
         "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "bool"}
PLAIN = (bool, int, float)


class Leaf:
    """A tensor, or a number that the model is given, and the name by which --input speaks of it."""

    def __init__(self, name, described):
        self.name = name
        self.number = described.get("value")
        self.dtype = described.get("dtype")
        self.shape = list(described.get("shape", []))

    @property
    def is_tensor(self):
        return self.dtype is not None


def leaves_of(name, described):
    for kind, members in described.items():
        if kind in ("list", "tuple"):
            return [leaf for i, member in enumerate(members) for leaf in leaves_of(f"{name}.{i}", member)]
        if kind == "dict":
            return [leaf for key, member in members.items() for leaf in leaves_of(f"{name}.{key}", member)]
    return [Leaf(name, described)]


def rebuilt(described, values):
    """The structure again, its leaves taken from an iterator."""
    if "list" in described:
        return [rebuilt(member, values) for member in described["list"]]
    if "tuple" in described:
        return tuple(rebuilt(member, values) for member in described["tuple"])
    if "dict" in described:
        return {key: rebuilt(member, values) for key, member in described["dict"].items()}
    return next(values)


class Inputs:
    def __init__(self, described, names, arrays, optional=()):
        """`optional`: arguments that aren't given, and are None."""
        self.described, self.optional = described, list(optional)
        self.leaves = [leaf for name, one in zip(names, described) for leaf in leaves_of(name, one)]
        recorded = iter(arrays)
        self.recorded = [next(recorded) if leaf.is_tensor else leaf.number for leaf in self.leaves]

    def given(self, values, names):
        """Arrays for ONNX inputs: numbers of a list that is one of `names` in one vector."""
        arrays, vectors = [], {}
        for leaf, value in zip(self.leaves, values):
            if not (leaf.is_tensor or isinstance(value, PLAIN)):
                continue
            whole = leaf.name.rsplit(".", 1)[0]
            if not leaf.is_tensor and leaf.name not in names and whole in names:
                if whole not in vectors:
                    vectors[whole] = len(arrays)
                    arrays.append([])
                arrays[vectors[whole]].append(value)
            else:
                arrays.append(value)
        return [np.asarray(array) for array in arrays]

    def texts(self, dims=None):
        """--input of each tensor; `dims` names some: {(leaf, axis): name}."""
        texts = []
        for i, leaf in enumerate(self.leaves):
            if not leaf.is_tensor or leaf.dtype not in SHORT:
                continue
            sizes = [str((dims or {}).get((i, axis), size)) for axis, size in enumerate(leaf.shape)]
            texts.append(f"{leaf.name}={SHORT[leaf.dtype]}:{','.join(sizes) or 'scalar'}")
        return texts + [f"{name}=none" for name in self.optional]

    def sizes(self, dims=None, chosen=None):
        """The shapes with each named dimension at `chosen[name]`."""
        return [[(chosen or {}).get((dims or {}).get((i, axis)), size) for axis, size in enumerate(leaf.shape)]
                for i, leaf in enumerate(self.leaves)]

    def others(self, sizes, seed=7):
        """Values that weren't recorded: random floats, whole numbers out of those that were."""
        random = np.random.default_rng(seed)
        made = []
        for leaf, shape, recorded in zip(self.leaves, sizes, self.recorded):
            if not leaf.is_tensor:
                made.append(recorded)
            elif recorded.dtype.kind == "f" and (recorded.size == 0 or not np.all(recorded == np.round(recorded))):
                low = float(recorded.min()) if recorded.size else -1.0
                uniform = recorded.size and low >= 0 and float(recorded.max()) <= 1
                values = random.random(shape) if uniform else random.standard_normal(shape)
                made.append(values.astype(recorded.dtype))
            elif list(recorded.shape) == list(shape) and recorded.dtype != bool:
                made.append(np.asarray(random.permutation(recorded.reshape(-1)).reshape(shape)))
            else:
                made.append(random.choice(recorded.reshape(-1), shape) if recorded.size else np.zeros(shape, recorded.dtype))
        return made

    def arguments(self, values):
        import torch
        leaves = iter(torch.from_numpy(np.array(v)) if leaf.is_tensor else v for leaf, v in zip(self.leaves, values))
        return [rebuilt(one, leaves) for one in self.described]


def free_dims(inputs, accepts):
    """Names for the dimensions that the model runs with at another size, and such sizes: ({(leaf, axis): name}, {name: size}).

    Equal sizes are tried as one dimension first, then leading ones, then each by itself. `accepts(shapes)` runs the model.
    """
    places = [(i, axis) for i, leaf in enumerate(inputs.leaves) if leaf.is_tensor for axis in range(len(leaf.shape))]
    size = {place: inputs.leaves[place[0]].shape[place[1]] for place in places}
    groups = [[p for p in places if size[p] == one] for one in dict.fromkeys(size.values())]
    groups += [[p for p in places if p[1] == 0 and size[p] == one] for one in dict.fromkeys(size.values())]
    groups += [[p for p in places if p[1] == 1 and size[p] == one] for one in dict.fromkeys(size.values())]
    groups += [[p] for p in places]
    dims, chosen = {}, {}
    for group in groups:
        if not group or any(place in dims for place in group):
            continue
        name = f"d{len(chosen)}"
        more = {**dims, **{place: name for place in group}}
        for other in (size[group[0]] + 1, size[group[0]] * 2, size[group[0]] + 2, size[group[0]] - 1):
            if other > 0 and accepts(inputs.sizes(more, {**chosen, name: other})) and accepts(inputs.sizes(more, {name: other})):
                dims, chosen[name] = more, other
                break
    return dims, chosen
