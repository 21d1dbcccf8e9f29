// Sizes and positions while nodes are emitted: numbers where they are known, else computed when the model runs.
#pragma once

#include <functional>

#include "handlers/emission.h"

namespace compatcheck::handlers {

// Null where the rank isn't known.
const Shape* known_shape(const Emission& e, std::string_view tensor);
const Shape* known_output_shape(const Emission& e, std::size_t output = 0);
std::optional<Ints> numbers_of(const Shape& shape);
bool all_zero(const Ints& ints);
// A size that may be 0.
bool may_be_zero(const Dim& dim);
bool has_no_elements(const Shape& shape);  // false if not known

// An int argument, or a tensor in its place: as an i64 vector of one, or without dimensions.
Value int_value(Emission& e, std::string_view argument);
Value int_scalar(Emission& e, std::string_view argument);

// ---- i64 values; folded where both sides are constants. One element stretches.
Value sum(Emission& e, const Value& a, const Value& b);
Value difference(Emission& e, const Value& a, const Value& b);
Value product(Emission& e, const Value& a, const Value& b);
Value quotient(Emission& e, const Value& a, const Value& b);         // neither is negative, and b isn't 0
Value product_of(Emission& e, const Values& factors);                // 1 if there are none; each an i64 vector of one
Value sizes_of(Emission& e, const Value& tensor);                    // shape at run time
Value size_at(Emission& e, const Value& tensor, std::int64_t axis);  // i64 vector of one

// 0, 1, … count − 1 as an i64 vector; `count` is an i64 vector of one.
Value counting(Emission& e, const Value& count);
// The same of a dimension's places: plumbing, in the place of the constant that it is where the size is known.
Value places_of(Emission& e, const Value& size);

// Positions below 0 counted from the end of a dimension of `size`.
Value wrapped(Emission& e, const Value& positions, const Value& size);
// The same where the operators that read by position don't by themselves, below opset 11.
Value wrapped_if_needed(Emission& e, const Value& positions, const Value& size);

// ---- Shapes

// Reshapes to `to` by constants if that is enough, else to the sizes that `sizes` computes. A null shape has an unknown rank.
Value reshape_to(Emission& e, const Value& value, const Shape* from, const Shape* to, const std::function<Value()>& sizes);
// Reshapes to the sizes in `parts`, i64 vectors of one. A constant 0 keeps the size at its index, −1 is inferred.
Value reshape_parts(Emission& e, const Value& value, const Values& parts);
// The parts as one vector; neighbouring constants become one.
Value joined(Emission& e, const Values& parts);
// Broadcast to `to`: Expand, before opset 8 Tile. `sizes` as above.
Value expand_to(Emission& e, const Value& value, const Shape* from, const Shape* to, const std::function<Value()>& sizes);

// One slice along one axis; bounds are i64 vectors of one, constants below opset 10.
Value sliced(Emission& e, const Value& value, std::int64_t axis, const Value& start, const Value& end);
Value sliced(Emission& e, const Value& value, std::int64_t axis, const Value& start, const Value& end, const Value& step);

// The permutation that puts `axes` first, the others in their order; and the one back.
Ints to_front(std::int64_t rank, const Ints& axes);
Ints inverse(const Ints& permutation);

// A tensor full of `number`, which has one element; of the rank that the call's result has.
Value filled(Emission& e, const Value& sizes, const Value& number);

}  // namespace compatcheck::handlers
