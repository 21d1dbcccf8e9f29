#include "frontend/torchscript/state_setter.h"

#include <ATen/core/function.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <optional>
#include <string_view>

#include "frontend/torchscript/packed_parameters.h"

namespace compatcheck::frontend::torchscript {
namespace {

using c10::IValue;
using Inputs = std::vector<IValue>;
constexpr std::size_t most_steps = 100'000, deepest = 100;

[[noreturn]] void unsupported(const std::string& why) { throw StateNotSet(why); }

std::optional<bool> equal(const IValue& a, const IValue& b) {
  if (a.isInt() && b.isInt()) return a.toInt() == b.toInt();
  if (a.isBool() && b.isBool()) return a.toBool() == b.toBool();
  if (a.isString() && b.isString()) return a.toStringRef() == b.toStringRef();
  if (a.isDouble() && b.isDouble()) return a.toDouble() == b.toDouble();
  return std::nullopt;
}

bool equal_or_unsupported(const Inputs& in) {
  const auto same = equal(in.at(0), in.at(1));
  if (!same) unsupported("compares values that aren't plain");
  return *same;
}

std::int64_t place(std::int64_t index, std::size_t size) {
  if (index < 0) index += static_cast<std::int64_t>(size);
  if (index < 0 || index >= static_cast<std::int64_t>(size)) unsupported("reads beyond the end of the state");
  return index;
}

IValue item(const IValue& container, const IValue& index) {
  if (container.isTuple() && index.isInt()) {
    const auto& elements = container.toTupleRef().elements();
    return elements[static_cast<std::size_t>(place(index.toInt(), elements.size()))];
  }
  if (container.isList() && index.isInt()) {
    const auto list = container.toList();
    return list.get(static_cast<std::size_t>(place(index.toInt(), list.size())));
  }
  if (container.isGenericDict()) {
    const auto dict = container.toGenericDict();
    const auto found = dict.find(index);
    if (found != dict.end()) return found->value();
  }
  unsupported("reads what the state doesn't hold");
}

Inputs unpack(const IValue& container) {
  if (container.isTuple()) {
    const auto& elements = container.toTupleRef().elements();
    return Inputs(elements.begin(), elements.end());
  }
  if (!container.isList()) unsupported("unpacks what isn't a list");
  Inputs items;
  const auto list = container.toList();
  for (std::size_t i = 0; i < list.size(); ++i) items.push_back(list.get(i));
  return items;
}

IValue construct_list(const torch::jit::Node& node, const Inputs& in) {
  c10::List<IValue> list(node.output()->type()->expectRef<c10::ListType>().getElementType());
  for (const IValue& value : in) list.push_back(value);
  return list;
}

IValue make_dict(const torch::jit::Node& node, const Inputs& in) {
  const auto& type = node.output()->type()->expectRef<c10::DictType>();
  c10::Dict<IValue, IValue> dict(type.getKeyType(), type.getValueType());
  for (std::size_t i = 0; i + 1 < in.size(); i += 2) dict.insert_or_assign(in[i], in[i + 1]);
  return dict;
}

std::size_t slot(const c10::ivalue::Object& object, const std::string& name) {
  const auto found = object.type()->findAttributeSlot(name);
  if (!found || *found >= object.slots().size()) unsupported("uses an attribute that the class lacks: " + name);
  return *found;
}

// Without side effects on anything but the object.
std::optional<Inputs> plain_operation(std::string_view op, const Inputs& in) {
  if (op == "aten::eq") return Inputs{equal_or_unsupported(in)};
  if (op == "aten::ne") return Inputs{!equal_or_unsupported(in)};
  if (op == "aten::__is__") return Inputs{in.at(0).is(in.at(1))};
  if (op == "aten::__isnot__") return Inputs{!in.at(0).is(in.at(1))};
  if (op == "aten::__not__") return Inputs{!in.at(0).toBool()};
  if (op == "aten::__getitem__" || op == "prim::TupleIndex") return Inputs{item(in.at(0), in.at(1))};
  if (op == "prim::TupleUnpack" || op == "prim::ListUnpack") return unpack(in.at(0));
  if (op == "prim::TupleConstruct") return Inputs{c10::ivalue::Tuple::create(in)};
  if (op == "prim::unchecked_cast") return Inputs{in.at(0)};
  if (op == "prim::Uninitialized") return Inputs{IValue()};
  if (op == "aten::len" && in.at(0).isList()) return Inputs{static_cast<std::int64_t>(in[0].toList().size())};
  if (op == "prim::RaiseException") unsupported("raises an exception");
  return std::nullopt;
}

}  // namespace

void StateSetter::run(torch::jit::Function& set_state, const IValue& object, const IValue& state) {
  steps_ = depth_ = 0;
  try {
    call(set_state, {object, state});
  } catch (const StateNotSet&) {
    throw;
  } catch (const std::exception&) {
    unsupported("fails on the saved state");
  }
}

Inputs StateSetter::call(torch::jit::Function& function, const Inputs& arguments) {
  if (++depth_ > deepest) unsupported("calls itself");
  const auto graph = torch::jit::toGraphFunction(function).graph();
  if (graph->inputs().size() != arguments.size()) unsupported("calls a method with default arguments");
  Values values;
  for (std::size_t i = 0; i < arguments.size(); ++i) values[graph->inputs()[i]] = arguments[i];
  Inputs results = block(*graph->block(), values);
  --depth_;
  return results;
}

Inputs StateSetter::block(torch::jit::Block& block, Values& values) {
  for (torch::jit::Node* each : block.nodes()) node(*each, values);
  Inputs results;
  for (const torch::jit::Value* result : block.outputs()) results.push_back(values.at(result));
  return results;
}

void StateSetter::node(torch::jit::Node& node, Values& values) {
  if (++steps_ > most_steps) unsupported("takes more than 100000 steps");
  Inputs in;
  for (const torch::jit::Value* input : node.inputs()) in.push_back(values.at(input));
  const Inputs results = outputs(node, in, values);
  if (results.size() < node.outputs().size()) unsupported("unpacks a state of another form");
  for (std::size_t i = 0; i < node.outputs().size(); ++i) values[node.outputs()[i]] = results[i];
}

Inputs StateSetter::outputs(torch::jit::Node& node, const Inputs& in, Values& values) {
  const std::string op = node.kind().toQualString();
  if (op == "prim::Constant") return {torch::jit::toIValue(node.output()).value()};
  if (op == "prim::ListConstruct") return {construct_list(node, in)};
  if (op == "prim::DictConstruct") return {make_dict(node, in)};
  if (op == "prim::GetAttr") {
    const auto& object = in.at(0).toObjectRef();
    return {object.getSlot(slot(object, node.s(c10::attr::name)))};
  }
  if (op == "prim::SetAttr") {
    const auto object = in.at(0).toObject();
    object->setSlot(slot(*object, node.s(c10::attr::name)), in.at(1));
    return {};
  }
  if (op == "prim::If") return block(*node.blocks().at(in.at(0).toBool() ? 0 : 1), values);
  if (op == "prim::CallMethod") return call_method(node, in);
  if (auto results = plain_operation(op, in)) return *results;
  if (auto packed = packed_from_call(op, in)) return {*packed};
  unsupported("uses " + op);
}

Inputs StateSetter::call_method(torch::jit::Node& node, const Inputs& in) {
  torch::jit::Function* method = in.at(0).toObjectRef().type()->findMethod(node.s(c10::attr::name));
  if (!method || !method->isGraphFunction()) unsupported("calls a method that isn't TorchScript");
  return call(*method, in);
}

}  // namespace compatcheck::frontend::torchscript
