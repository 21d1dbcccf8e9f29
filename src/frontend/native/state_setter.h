// Runs a class's __setstate__ on what the file holds of an object, as far as it moves values about. No code of others runs.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "frontend/native/packed_parameters.h"
#include "ir/graph.h"
#include "ir/program.h"

namespace compatcheck::frontend::native {

// "uses aten::add": why it wasn't run to its end.
struct StateNotSet : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct StateContext {
  ir::Program& program;
  std::function<const ir::Function&(const std::string& class_name, const std::string& method)> method;
  std::function<ir::Constant(const PackedParameters&)> add_packed;
  std::function<std::size_t(const std::string& class_name, const std::string& attribute)> slot;  // throws StateNotSet
};

// Sets the attributes of `object`. Throws StateNotSet.
void set_state(const StateContext& context, const std::string& class_name, std::uint32_t object, const ir::Constant& state);

}  // namespace compatcheck::frontend::native
