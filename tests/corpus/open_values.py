"""What has no defined result: left out of the comparison, by operator, with the reason."""

NAN, INF, NEGATIVE_INF, NEGATIVE_ZERO = "nan", "inf", "-inf", "-0.0"
SPECIALS = (NAN, INF, NEGATIVE_INF, NEGATIVE_ZERO)

# Positions among equal elements, which PyTorch leaves open: outputs by overload, in models of a single call.
OPEN_AT_TIES = {"aten::topk": {1}, "aten::sort": {1}, "aten::argsort": {0}, "aten::kthvalue": {1}, "aten::mode": {1},
                "aten::median.dim": {1}, "aten::nanmedian.dim": {1}}
# Overloads whose result PyTorch leaves open where there is NaN.
OPEN_AT_NAN = {"aten::unique_dim"}
# Overloads whose inputs must be in order: other values than the recorded ones have no defined result.
ORDERED_INPUTS = {"aten::searchsorted.Tensor", "aten::searchsorted.Scalar", "aten::bucketize.Tensor", "aten::bucketize.Scalar"}

# What ONNX leaves open and the runtime computes otherwise, so that other numbers stand for these. MaxPool passes NaN over and takes the
# lowest number for negative infinity; nodes that would mend it cost more than the pool. A convolution's zero padding times an infinite
# weight is NaN or isn't computed; so is a neighbour's weight of 0 in an interpolation. PyTorch's fused attention gives 0 for scores of NaN;
# a place that isn't a number is nowhere in a grid.
OPEN_SPECIALS = {r"aten::(adaptive_)?max_pool\dd(_with_indices)?": (INF, NEGATIVE_ZERO), r"aten::_convolution.*": (NEGATIVE_ZERO,),
                 r"aten::grid_sampler.*": (NEGATIVE_ZERO,), r"aten::scaled_dot_product_attention": (NEGATIVE_ZERO,),
                 r"aten::_?upsample_.*(linear|cubic).*": (NEGATIVE_ZERO,)}
