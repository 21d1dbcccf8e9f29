// IValues as the IR's constants, objects as entries of the program's table.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/native/packed_parameters.h"
#include "frontend/torchscript/types.h"
#include "frontend/torchscript/weights.h"
#include "ir/program.h"

namespace compatcheck::frontend::torchscript {

class Values {
 public:
  Values(ir::Program& program, Types& types, Weights& weights) : program_(program), types_(types), weights_(weights) {}

  // Throws ModelError for what is nested too deep (a list that holds itself) or too much.
  ir::Constant convert(const c10::IValue& value);
  std::uint32_t object(const c10::intrusive_ptr<c10::ivalue::Object>& object);

 private:
  ir::ContainerIdentity identity(const c10::IValue& container);
  ir::Constant convert_list(const c10::IValue& value);
  ir::Constant convert_tuple(const c10::IValue& value);
  ir::Constant convert_dict(const c10::IValue& value);
  native::PackedParameters packed_parameters(const std::string& class_name, const c10::ivalue::Object& held);

  ir::Program& program_;
  Types& types_;
  Weights& weights_;
  std::unordered_map<const c10::ivalue::Object*, std::uint32_t> objects_;
  std::unordered_map<const void*, ir::ContainerIdentity> containers_;
  std::size_t depth_ = 0;
  std::size_t converted_ = 0;
};

}  // namespace compatcheck::frontend::torchscript
