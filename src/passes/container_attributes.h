// Attributes of the program's objects that a walk over containers follows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ir/graph.h"
#include "passes/heap.h"

namespace compatcheck::passes {

using AttributeKey = std::pair<std::uint32_t, std::string>;  // an object of the program and its attribute

std::optional<AttributeKey> key_of_access(const ir::Node& access);  // nullopt if the object isn't known

inline constexpr Site first_attribute_site = Site{1} << 41;
// The type of an object of which each list and dictionary must be another one at the end, or the object isn't followed.
inline constexpr std::string_view holder_of_distinct_lists = "compatcheck.kept";

// The use of an attribute in one call.
struct AttributeCourse {
  bool read_before_write = false;  // a call may read what the last one left
  bool changed = false;
};

}  // namespace compatcheck::passes
