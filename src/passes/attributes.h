// The attributes of the program's objects.
#pragma once

#include <string>
#include <string_view>

#include "ir/program.h"

namespace compatcheck::passes {

// Null if the object has no such attribute.
const ir::Constant* stored_attribute(const ir::Program& program, std::uint32_t object, std::string_view name);
const ir::TypeRef* attribute_type(const ir::Program& program, std::uint32_t object, std::string_view name);  // as declared

// "encoder.layer.0.weight", of a node that reads or writes an attribute.
std::string parameter_name(const ir::Node& access);

}  // namespace compatcheck::passes
