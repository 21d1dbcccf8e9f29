"""What is left out of the comparison with PyTorch, by operator, with the reason: it has no defined result."""
import re

NAN, INF, NEGATIVE_INF, NEGATIVE_ZERO = "nan", "inf", "-inf", "-0.0"
SPECIALS = (NAN, INF, NEGATIVE_INF, NEGATIVE_ZERO)

# Positions among equal elements, which PyTorch leaves open: outputs by overload, in models of a single call.
OPEN_AT_TIES = {"aten::topk": {1}, "aten::sort": {1}, "aten::argsort": {0}, "aten::kthvalue": {1}, "aten::mode": {1},
                "aten::median.dim": {1}, "aten::nanmedian.dim": {1}}
# Overloads whose result PyTorch leaves open where there is NaN: it sorts whole rows by <, which is no order then.
OPEN_AT_NAN = {"aten::unique_dim"}
# Sets of inputs in which results are left open, by overload, or by overload and dtype: matrices that are singular or not positive definite, of which only `info` is defined.
OPEN_SETS = {"aten::linalg_inv_ex": {"ties"}, "aten::linalg_solve_ex": {"ties"}, "aten::linalg_cholesky_ex": {"negatives", "ties", "special"},
             # Equal columns: a reflection of what rounding leaves of the second.
             "aten::geqrf": {"ties"},
             # Beyond the largest half: infinite summands of both signs, or their sum, which is finite.
             ("aten::linalg_matrix_exp", "float16"): {"negatives"}}
# Overloads whose small elements PyTorch computes with errors in proportion to the largest: so is the tolerance.
BY_SCALE = {"aten::linalg_matrix_exp"}
# Inputs of which PyTorch demands an order, or that say it: they keep the recorded values in every set.
KEPT_INPUTS = {"aten::searchsorted.Tensor": {0, 2}, "aten::searchsorted.Scalar": {0}, "aten::bucketize.Tensor": {1}, "aten::bucketize.Scalar": {0},
               "aten::histogram.bins_tensor": {1}, "aten::histogramdd.TensorList_bins": set(range(1, 9)),
               "aten::embedding_bag": {2}, "aten::embedding_bag.padding_idx": {2}}

# Values that inputs don't get: (operator, inputs or None for all, values, dtypes of the first input if not all).
OPEN_SPECIALS = [
    # ONNX says nothing of NaN in MaxPool. ONNX Runtime passes it over, onnx's reference evaluator keeps it where it comes last, and nodes
    # that would mend it cost more than the pool.
    (r"aten::(adaptive_)?max_pool\dd(_with_indices)?", None, (NAN,)),
    # The zeros around times a weight of infinity or NaN: NaN, or left out of the sum, which PyTorch decides by the sizes; in halves left out.
    (r"aten::_convolution_mode", {1}, (NAN, INF, NEGATIVE_INF)),
    (r"aten::_convolution", {1}, (NAN, INF, NEGATIVE_INF), ("float16", "bfloat16")),
    # Zero times a slope of infinity or NaN: PyTorch multiplies, ONNX's PRelu gives zero its own value.
    (r"aten::prelu", {1}, (NAN, INF, NEGATIVE_INF)),
    # A cell of weight 0 counts as NaN or doesn't count: PyTorch, ONNX Runtime and onnx's reference evaluator differ.
    (r"aten::grid_sampler.*", {0}, (NAN, INF, NEGATIVE_INF)),
    (r"aten::_?upsample_.*linear.*", None, (NAN, INF, NEGATIVE_INF)),
    # Which infinities an elimination subtracts from each other hangs on where the rows stand: PyTorch gives NaN, or of the same rows in
    # another order infinity.
    (r"aten::((linalg_)?(slog)?det|_linalg_(slog)?det|logdet)", None, (INF, NEGATIVE_INF)),
    # LAPACK works block by block: which elements NaN and infinity reach depends on its blocks.
    (r"aten::(linalg_)?(cholesky.*|lu|lu_.*|qr|inv_ex|solve_ex|householder_product|matrix_exp)|aten::(_lu_with_info|geqrf|ormqr|orgqr)", None, (NAN, INF, NEGATIVE_INF)),
    # Which infinities a transform subtracts from each other hangs on how it splits the points.
    (r"aten::(_?fft_.*|stft|istft)", None, (INF, NEGATIVE_INF)),
    # oneDNN's kernel, which PyTorch takes for f32 where the processor has it, gives NaN for infinity; PyTorch's own, as ours, infinity.
    (r"aten::gelu", None, (INF,)),
    # Rows are sorted by <, which is no order then.
    (r"aten::mode", None, (NAN,)),
    # Their recurrences don't begin at NaN, and PyTorch returns a variable that was never set.
    (r"aten::special_(chebyshev_polynomial_[uvw]|shifted_chebyshev_polynomial_.|laguerre_polynomial_l|legendre_polynomial_p)", {0}, (NAN,)),
    # Rows of NaN: PyTorch's fused kernel gives zeros in some columns, its own composition of matmul and softmax (SDPBackend.MATH) NaN in all.
    (r"aten::scaled_dot_product_attention", None, (NAN, INF, NEGATIVE_INF)),
]
# The same for programs after run_decompositions(), where PyTorch's decomposition and its kernel differ.
OPEN_SPECIALS_OF_CORE = [
    # The kernels pass NaN over (it isn't greater than 0); the decompositions keep it in clamp.
    (r"aten::multi(label)?_margin_loss", {0}, (NAN,)),
]


def specials(case, form):
    """What each input gets in the set of special values."""
    entries = [(inputs, values) for op, inputs, values, *dtypes in OPEN_SPECIALS + (OPEN_SPECIALS_OF_CORE if form == "core" else [])
               if any(re.fullmatch(op, aten) for aten in case["aten"]) and (not dtypes or case["input_dtypes"][0] in dtypes[0])]
    return [[s for s in SPECIALS if not any(s in values and (inputs is None or i in inputs) for inputs, values in entries)]
            for i in range(len(case["input_dtypes"]))]


def kept_inputs(case):
    return set().union(*(KEPT_INPUTS.get(overload, ()) for overload in case["overloads"]))
