// Loops whose iterations the values decide.
#pragma once

#include <functional>

#include "handlers/emission.h"

namespace compatcheck::handlers {

// Whether any element of the condition holds; false of no elements. Without dimensions.
Value any(Emission& e, const Value& condition);

// Repeats `step`, which gets the states and gives them anew, while `holds` is true of any element. `iteration` counts from 0, in
// i64.
Values while_any(Emission& e, const Values& states,
                 const std::function<Value(const Value& iteration, const Values& states)>& holds,
                 const std::function<Values(const Value& iteration, const Values& states)>& step);
// So many times; `count` is an i64 without dimensions.
Values repeat(Emission& e, const Value& count, const Values& states,
              const std::function<Values(const Value& iteration, const Values& states)>& step);

// A sequence of tensors without members.
Value empty_sequence(Emission& e, DType dtype);
// `sequence`, and behind it `count` members of its dtype; `count` is an i64 without dimensions. From opset 13 on.
Value with_more(Emission& e, const Value& sequence, const Value& count,
                const std::function<Value(const Value& iteration)>& member);

}  // namespace compatcheck::handlers
