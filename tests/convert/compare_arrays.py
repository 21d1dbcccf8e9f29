"""Outputs of ONNX Runtime against PyTorch's, as arrays."""
import numpy as np

TOLERANCES = {"bfloat16": (5e-2, 1e-2), "float16": (1e-2, 1e-3), "float32": (1e-3, 1e-5), "float64": (1e-6, 1e-8)}  # relative, absolute: as verify has them


def compare(got, want, ties=(), least="", by_scale=False, tolerance=None):
    """What differs first; empty if nothing does. `ties`: outputs of which only the form counts. `least`: a dtype whose tolerance all have.
    `by_scale`: small elements are as exact as the largest. `tolerance`: relative and absolute, in place of the dtypes'."""
    if len(got) != len(want):
        return f"{len(got)} outputs for {len(want)}"
    for i, (g, w) in enumerate(zip(got, want)):
        if not isinstance(g, np.ndarray):
            return f"output {i} is a {type(g).__name__}"
        if g.shape != w.shape:
            return f"output {i}: shape {list(g.shape)} for {list(w.shape)}"
        if g.dtype != w.dtype:
            return f"output {i}: {g.dtype} for {w.dtype}"
        if str(w.dtype) in TOLERANCES:
            rtol, atol = tolerance or max(TOLERANCES[str(w.dtype)], TOLERANCES.get(least, (0, 0)))
            if by_scale and w.size:
                atol = max(atol, rtol * np.abs(w).max())
            with np.errstate(all="ignore"):
                ok = np.isclose(g.astype(np.float64), w.astype(np.float64), rtol=rtol, atol=atol, equal_nan=True)
        else:
            ok = g == w
        if not ok.all() and i not in ties:
            at = tuple(int(x[0]) for x in np.nonzero(~ok)) if ok.ndim else ()
            return f"output {i}: {int((~ok).sum())}/{ok.size} values, {g[at]!r} for {w[at]!r} at {list(at)}"
    return ""
