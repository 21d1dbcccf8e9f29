// Operands of a call on trial.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "conversion/calls.h"
#include "conversion/context.h"
#include "handlers/operand.h"
#include "ir/graph.h"

namespace compatcheck::conversion {

// Constants are operands as they are, small ones also if calls compute them from others; all other values have their facts alone.
// The constructor's arguments must outlive the object.
class TrialOperands {
 public:
  // `open`: values of an unknown dtype are operands, too.
  TrialOperands(const Context& context, Lookups& lookups, onnx::Builder& builder, bool open = false)
      : context_(context), lookups_(lookups), builder_(builder), open_(open) {}

  // Throws Wanting if the facts don't determine the operand.
  const handlers::Operand& of(const ir::Value* value);

  // Null if facts don't determine the value: the node that makes it is judged, or it is never set.
  const handlers::Operand* if_known(const ir::Value* value);

 private:
  class Inside;
  handlers::Operand made_of(const ir::Value* value);
  std::optional<handlers::Operand> computed_constant(const ir::Value& value);

  const Context& context_;
  Lookups& lookups_;
  onnx::Builder& builder_;
  bool open_;
  int calls_behind_ = 0;
  std::unordered_map<const ir::Value*, handlers::Operand> operands_;
};

}  // namespace compatcheck::conversion
