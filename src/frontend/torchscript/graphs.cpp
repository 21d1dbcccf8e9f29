#include "frontend/torchscript/graphs.h"

#include <ATen/core/function.h>
#include <torch/csrc/jit/api/function_impl.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "compatcheck/error.h"

namespace compatcheck::frontend::torchscript {
namespace {

constexpr std::size_t deepest_block = 900;  // below snapshot.h's deepest_nesting
using torch::jit::AttributeKind;

template <class Items, class Convert>
ir::Constant list(const Items& items, ir::TypeKind element, Convert&& convert) {
  ir::ListConstant made{ir::simple_type(element), {}};
  for (const auto& item : items) made.items.push_back({convert(item)});
  return {std::move(made)};
}

// libtorch numbers the values of one variable: "x.1".
std::string as_in_code(const std::string& name) {
  const auto dot = name.rfind('.');
  return dot != name.npos && name.find_first_not_of("0123456789", dot + 1) == name.npos ? name.substr(0, dot) : name;
}

}  // namespace

std::vector<torch::jit::Function*> Graphs::take_called() { return std::exchange(called_, {}); }

void Graphs::convert(torch::jit::Function& function) {
  const std::string name = function.qualname().qualifiedName();
  if (program_.functions.contains(name)) return;
  if (!function.isGraphFunction()) throw ModelError(name + " isn't TorchScript");
  function.ensure_defined();
  ir::Function made;
  made.name = name;
  const auto& schema = function.getSchema();
  for (const c10::Argument& argument : schema.arguments()) {
    ir::Parameter parameter{argument.name(), types_.convert(argument.type()), std::nullopt};
    if (argument.default_value()) parameter.default_value = values_.convert(*argument.default_value());
    made.parameters.push_back(std::move(parameter));
  }
  for (const c10::Argument& result : schema.returns()) made.returns.push_back(types_.convert(result.type()));
  name_ = name;
  graph_ = &made.graph;
  value_of_.clear();
  const auto graph = torch::jit::toGraphFunction(function).graph();
  fill_block(*graph->block(), made.graph.top());
  program_.functions.emplace(name, std::move(made));
}

void Graphs::take_name(const torch::jit::Value& from, ir::Value* into) {
  if (from.hasDebugName()) into->set_name(as_in_code(from.debugName()));
  value_of_[&from] = into;
}

void Graphs::fill_block(const torch::jit::Block& from, ir::Block* into) {
  if (++depth_ > deepest_block) throw ModelError(name_ + ": blocks are nested more than 900 deep");
  for (const torch::jit::Value* input : from.inputs()) take_name(*input, into->add_input(types_.convert(input->type())));
  for (const torch::jit::Node* node : from.nodes()) convert_node(*node, into);
  for (const torch::jit::Value* output : from.outputs()) into->add_output(value_of_.at(output));
  --depth_;
}

void Graphs::convert_node(const torch::jit::Node& from, ir::Block* into) {
  std::vector<ir::Value*> inputs;
  for (const torch::jit::Value* input : from.inputs()) inputs.push_back(value_of_.at(input));
  ir::Node* node = graph_->create(from.kind().toQualString(), inputs);
  into->append(node);
  if (from.kind() == c10::prim::Constant)
    convert_constant(from, node);
  else
    for (const c10::Symbol name : from.attributeNames()) node->set_attribute(name.toUnqualString(), attribute(from, name));
  for (const torch::jit::Value* output : from.outputs()) take_name(*output, node->add_output(types_.convert(output->type())));
  node->set_location(sources_.locate(from.sourceRange()));
  for (const torch::jit::Block* block : from.blocks()) fill_block(*block, node->add_block());
}

void Graphs::convert_constant(const torch::jit::Node& from, ir::Node* into) {
  ir::Constant value;
  if (from.hasAttribute(c10::attr::value))
    value = attribute(from, c10::attr::value);
  else if (const auto type = from.output()->type()->cast<c10::FunctionType>()) {
    value = {ir::FunctionConstant{type->function()->qualname().qualifiedName()}};
    called_.push_back(type->function());
  }
  // A bool is stored as an int; the output's type tells.
  if (const auto* number = value.get<std::int64_t>(); number && from.output()->type()->kind() == c10::TypeKind::BoolType)
    value = {*number != 0};
  if (const auto* text = value.get<std::string>(); text && from.output()->type()->kind() == c10::TypeKind::DeviceObjType)
    value = {ir::DeviceConstant{*text}};
  into->set_attribute("value", std::move(value));
}

ir::Constant Graphs::attribute(const torch::jit::Node& from, c10::Symbol name) {
  using ir::TypeKind;
  const auto same = [](const auto& item) { return item; };
  const auto tensor = [&](const at::Tensor& item) { return values_.convert(item).value; };
  const auto type = [](const c10::TypePtr& item) { return item->annotation_str(); };
  switch (from.kindOf(name)) {
    case AttributeKind::f: return {from.f(name)};
    case AttributeKind::i: return {from.i(name)};
    case AttributeKind::s: return {from.s(name)};
    case AttributeKind::c: return {std::complex<double>(from.c(name))};
    case AttributeKind::t: return values_.convert(from.t(name));
    case AttributeKind::ival: return values_.convert(from.ival(name));
    case AttributeKind::fs: return list(from.fs(name), TypeKind::floating, same);
    case AttributeKind::is: return list(from.is(name), TypeKind::integer, same);
    case AttributeKind::ss: return list(from.ss(name), TypeKind::string, same);
    case AttributeKind::cs:
      return list(from.cs(name), TypeKind::complex, [](const auto& item) { return std::complex<double>(item); });
    case AttributeKind::ts: return list(from.ts(name), TypeKind::tensor, tensor);
    case AttributeKind::ty: return {type(from.ty(name))};
    case AttributeKind::tys: return list(from.tys(name), TypeKind::string, type);
    case AttributeKind::g: return {outlined(*from.g(name))};
    case AttributeKind::gs: break;
  }
  throw ModelError(name_ + ": " + from.kind().toQualString() + " has an attribute of a kind that no saved model has");
}

// The body of prim::fork and its like becomes a function of its own.
ir::FunctionConstant Graphs::outlined(const torch::jit::Graph& graph) {
  std::string name = name_ + "$fork";
  for (int n = 1; program_.functions.contains(name); ++n) name = name_ + "$fork" + std::to_string(n);
  program_.functions[name].name = name;  // taken, while its body may name others
  ir::Function made;
  made.name = name;
  auto* const outer_graph = std::exchange(graph_, &made.graph);
  fill_block(*graph.block(), made.graph.top());
  graph_ = outer_graph;
  for (const ir::Value* input : made.graph.inputs()) made.parameters.push_back({input->name(), input->type(), std::nullopt});
  for (const ir::Value* output : made.graph.outputs()) made.returns.push_back(output->type());
  program_.functions[name] = std::move(made);
  return {std::move(name)};
}

}  // namespace compatcheck::frontend::torchscript
