#include "frontend/torchscript/interpreter_operators.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/jit_type.h>

#include <algorithm>

#include "compatcheck/error.h"
#include "frontend/torchscript/decomposed_operators.h"
#include "frontend/torchscript/interpreter_constants.h"

namespace compatcheck::frontend::torchscript {
namespace {

using c10::FunctionSchema;
using c10::IValue;
using c10::TypePtr;

// wrapping: exported programs also have numbers where tensors stand, as PyTorch's dispatcher takes them.
enum class Fit : std::uint8_t { strict, lenient, wrapping };

// Lenient: element by element, since a list's own type may be wider or narrower than the operator's, and with the
// conversions that TorchScript makes of numbers.
bool fits(const IValue& value, const TypePtr& formal, c10::TypeEnv& variables, Fit fit) {
  if (formal->hasFreeVariables()) return c10::matchTypeVariables(formal, value.type(), variables).success();
  if (formal->kind() == c10::TypeKind::AnyType || value.type()->isSubtypeOf(*formal)) return true;
  if (fit == Fit::strict) return false;
  if (const auto optional = formal->cast<c10::OptionalType>())
    return value.isNone() || fits(value, optional->getElementType(), variables, fit);
  if (const auto list = formal->cast<c10::ListType>()) {
    if (!value.isList()) return false;
    const auto items = value.toListRef();
    return std::all_of(items.begin(), items.end(),
                       [&](const IValue& item) { return fits(item, list->getElementType(), variables, fit); });
  }
  switch (formal->kind()) {
    case c10::TypeKind::FloatType: return value.isInt();
    case c10::TypeKind::NumberType: return value.isScalar() || value.isBool();
    case c10::TypeKind::IntType: return value.isBool();
    case c10::TypeKind::TensorType: return fit == Fit::wrapping && (value.isScalar() || value.isBool());
    default: return false;
  }
}

bool fits(const FunctionSchema& schema, const std::vector<IValue>& arguments, Fit fit) {
  if (schema.is_vararg()) return true;
  const auto& formals = schema.arguments();
  if (arguments.size() > formals.size()) return false;
  c10::TypeEnv variables;
  for (std::size_t i = 0; i < formals.size(); ++i) {
    if (i >= arguments.size()) {
      if (!formals[i].default_value()) return false;
    } else if (!fits(arguments[i], formals[i].type(), variables, fit)) {
      return false;
    }
  }
  return true;
}

// Converts a value that a lenient match accepted to the form that the kernel unboxes.
IValue adapt(const IValue& value, const TypePtr& formal) {
  if (value.isNone() || formal->hasFreeVariables()) return value;
  if (const auto optional = formal->cast<c10::OptionalType>()) return adapt(value, optional->getElementType());
  if (const auto list = formal->cast<c10::ListType>()) {
    if (!value.isList() || *value.toList().elementType() == *list->getElementType() ||
        list->getElementType()->kind() == c10::TypeKind::AnyType)
      return value;
    std::vector<IValue> items;
    for (const IValue& item : value.toListRef()) items.push_back(adapt(item, list->getElementType()));
    return make_list(list->getElementType(), items);
  }
  if (formal->kind() == c10::TypeKind::TensorType && !value.isTensor()) {
    at::Tensor wrapped = at::scalar_to_tensor(value.toScalar());
    wrapped.unsafeGetTensorImpl()->set_wrapped_number(true);
    return wrapped;
  }
  if (formal->kind() == c10::TypeKind::FloatType && value.isInt()) return static_cast<double>(value.toInt());
  if (formal->kind() == c10::TypeKind::IntType && value.isBool()) return static_cast<std::int64_t>(value.toBool());
  return value;
}

std::string types_of(const std::vector<IValue>& arguments) {
  std::string text;
  for (const IValue& argument : arguments) text += (text.empty() ? "" : ", ") + argument.type()->str();
  return text;
}

// Ones that need the node are for libtorch's own executor.
bool callable(const torch::jit::Operator& op) { return op.isC10Op() || op.hasOperation(); }

}  // namespace

const Operators::Candidates& Operators::candidates(const std::string& name) {
  const auto [place, added] = known_.try_emplace(name);
  if (added)
    for (const auto& op : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name)))
      if (callable(*op)) place->second.push_back(op);
  return place->second;
}

const torch::jit::Operator& Operators::choose(const std::string& name, const std::string& overload,
                                              const std::vector<IValue>& arguments) {
  const Candidates& all = candidates(name);
  for (const Fit fit : {Fit::strict, Fit::lenient, Fit::wrapping})
    for (const bool named : {true, false})  // the named overload first
      for (const auto& op : all)
        if ((op->schema().overload_name() == overload) == named && fits(op->schema(), arguments, fit)) return *op;
  if (all.empty()) throw ModelError(name + " is not registered: it can't be run");
  throw ModelError("no overload of " + name + " takes (" + types_of(arguments) + ")");
}

std::vector<IValue> Operators::call(const std::string& name, const std::string& overload, std::vector<IValue> arguments) {
  if (is_decomposed(name)) return call_decomposed(name, arguments);
  const torch::jit::Operator& op = choose(name, overload, arguments);
  const FunctionSchema& schema = op.schema();
  torch::jit::Stack stack;
  if (schema.is_vararg()) {
    stack = std::move(arguments);
    stack.emplace_back(static_cast<std::int64_t>(stack.size()));
  } else {
    const auto& formals = schema.arguments();
    for (std::size_t i = 0; i < formals.size(); ++i)
      stack.push_back(i < arguments.size() ? adapt(arguments[i], formals[i].type()) : *formals[i].default_value());
    arguments.clear();
  }
  op.getOperation()(stack);
  // libtorch's aten::pow.int_to_int leaves a float.
  for (std::size_t i = 0; i < std::min(stack.size(), schema.returns().size()); ++i)
    if (stack[i].isDouble() && schema.returns()[i].type() == c10::IntType::get())
      stack[i] = static_cast<std::int64_t>(stack[i].toDouble());
  return stack;
}

}  // namespace compatcheck::frontend::torchscript
