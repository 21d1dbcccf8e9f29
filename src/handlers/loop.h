// Loops whose trips the values decide.
#pragma once

#include <functional>

#include "handlers/emission.h"

namespace compatcheck::handlers {

// Whether any element of the condition holds; false of no elements. Without dimensions.
Value any(Emission& e, const Value& condition);

// Repeats `step`, which gets the states and gives them anew, while `holds` is true of any element. `trip` counts from 0, in i64.
Values while_any(Emission& e, const Values& states, const std::function<Value(const Value& trip, const Values& states)>& holds,
                 const std::function<Values(const Value& trip, const Values& states)>& step);
// So many times; `count` is an i64 without dimensions.
Values repeat(Emission& e, const Value& count, const Values& states,
              const std::function<Values(const Value& trip, const Values& states)>& step);

}  // namespace compatcheck::handlers
