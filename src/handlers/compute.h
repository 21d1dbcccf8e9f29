// Computations that several families need, where ONNX's own operators stop short of what PyTorch defines: reductions of values
// without dimensions, NaN in extremes.
#pragma once

#include <optional>
#include <string_view>

#include "handlers/elementary.h"
#include "handlers/emission.h"

namespace compatcheck::handlers {

Ints all_axes(std::int64_t rank);

// A reduction over axes, none of them negative. A value without dimensions is its own reduction, its magnitude its norm.
Value reduce(Emission& e, std::string_view op, const Value& value, const Ints& axes, bool keep);
// Returns NaN for no elements, as PyTorch does; `shape` is that of `value`.
Value mean(Emission& e, const Value& value, const Shape& shape, const Ints& axes, bool keep);
// Returns input · weightᵀ + bias; the bias may be absent.
Value linear_layer(Emission& e, const Value& input, const Value& weight, const Value& bias);
// A constant of one dimension, of size 0.
Value no_elements(Emission& e, DType dtype);
// How many elements `axes` of a tensor argument have, without dimensions.
Value element_count(Emission& e, std::string_view tensor, const Ints& axes, DType dtype);
// A mean that a running sum of deviations would give, as where PyTorch computes a variance with it: NaN instead of infinity.
Value running(Emission& e, const Value& mean);
bool may_be_empty(const Shape& shape, const Ints& axes);
bool minds_empty(Emission& e, const Shape& shape, const Ints& axes);  // may be empty, and the result must be exact then
// 0 none, 1 mean, 2 sum: what losses do last. `shape` is that of `value`.
Value reduce_loss(Emission& e, const Value& value, const Shape& shape);

// f16 and bf16 as f32, in which PyTorch computes what takes several steps.
Value widened(Emission& e, const Value& value);

// A wide value as `narrow` holds it. ONNX Runtime keeps f32 between f16 nodes; PyTorch doesn't, and overflows.
Value rounded(Emission& e, const Value& value, DType narrow);

enum class Extreme : bool { least, greatest };
// The extreme element; NaN where there is one, which ONNX leaves open.
Value extreme(Emission& e, Extreme which, const Value& value, const Ints& axes, bool keep);
// The place of the first extreme element, or of the first NaN if there is one.
Value place_of_extreme(Emission& e, Extreme which, const Value& value, std::int64_t axis, bool keep);

// A part of `value` along an axis: Slice's bounds.
Value part(Emission& e, const Value& value, std::int64_t axis, std::int64_t start, std::int64_t end);

// A value without dimensions, in all places of a shape given as an i64 vector.
Value filled(Emission& e, const Value& dims, DType dtype, double number);
// (Σ |x|^p)^(1/p). vector_norm computes 0, 1, 2 and infinity without powers.
Value power_norm(Emission& e, const Value& value, double p, const Ints& axes, bool keep);  // uses powers for every p
Value vector_norm(Emission& e, const Value& value, double p, const Ints& axes, bool keep);

}  // namespace compatcheck::handlers
