#include "passes/effects.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "passes/rewrite.h"
#include "schema/schema.h"
#include "schema/traits.h"

namespace compatcheck::passes {
namespace {

bool one_of(std::string_view op, std::span<const std::string_view> sorted) {
  return std::binary_search(sorted.begin(), sorted.end(), op);
}

constexpr auto remarks = std::to_array<std::string_view>(
    {"aten::set_grad_enabled", "aten::warn", "prim::Enter", "prim::Exit", "prim::Print", "profiler::_record_function_exit"});

// Prim operators that only compute.
constexpr auto computing = std::to_array<std::string_view>({"prim::Constant",
                                                            "prim::CreateObject",
                                                            "prim::DictConstruct",
                                                            "prim::EnumName",
                                                            "prim::EnumValue",
                                                            "prim::GetAttr",
                                                            "prim::If",
                                                            "prim::ListConstruct",
                                                            "prim::ListUnpack",
                                                            "prim::Loop",
                                                            "prim::ModuleContainerIndex",
                                                            "prim::NumToTensor",
                                                            "prim::OptionalConstruct",
                                                            "prim::StackAppend",
                                                            "prim::StringIndex",
                                                            "prim::TupleConstruct",
                                                            "prim::TupleIndex",
                                                            "prim::TupleSlice",
                                                            "prim::TupleUnpack",
                                                            "prim::Uninitialized",
                                                            "prim::abs",
                                                            "prim::annotate",
                                                            "prim::data",
                                                            "prim::device",
                                                            "prim::dtype",
                                                            "prim::id",
                                                            "prim::is_cpu",
                                                            "prim::is_cuda",
                                                            "prim::isinstance",
                                                            "prim::layout",
                                                            "prim::max",
                                                            "prim::min",
                                                            "prim::rangelist",
                                                            "prim::shape",
                                                            "prim::tolist",
                                                            "prim::type",
                                                            "prim::unchecked_cast"});

bool is_prim(const ir::Node& node) { return node.op().starts_with("prim::"); }

// The constant that the call has for the argument; null if it has none, or if the schema lacks the argument.
template <class T>
const T* known_argument(const ir::Node& node, std::string_view name) {
  const auto i = node.schema()->argument_index(name);
  return i && *i < node.inputs().size() ? known<T>(node.input(*i)) : nullptr;
}

bool is_known_false(const ir::Node& node, std::string_view argument) {
  const bool* flag = known_argument<bool>(node, argument);
  return flag && !*flag;
}

// Dropouts draw only with train=True, attention only with a probability above 0.
bool draws(const ir::Node& node) {
  const double* share = known_argument<double>(node, "dropout_p");
  return !(share && *share == 0) && !is_known_false(node, "train") && !is_known_false(node, "training");
}

// Batch normalisation writes its running statistics in training only.
bool known_not_to_train(const ir::Node& node) {
  return node.is("aten::_native_batch_norm_legit") && is_known_false(node, "training");
}

}  // namespace

bool holds_memory(const ir::TypeRef& type) {
  using enum ir::TypeKind;
  if (!type) return true;
  switch (type->kind) {
    case integer:
    case floating:
    case boolean:
    case complex:
    case number:
    case string:
    case none:
    case device:
    case layout:
    case memory_format:
    case scalar_type:
    case qscheme:
    case function: return false;
    case optional:
    case tuple:
    case union_of: return type->elements.empty() || std::any_of(type->elements.begin(), type->elements.end(), holds_memory);
    default: return true;
  }
}

std::vector<std::size_t> written_operands(const ir::Node& node) {
  if (node.is("prim::SetAttr")) return {0};
  std::vector<std::size_t> operands;
  if (const schema::Schema* schema = node.schema(); schema && !known_not_to_train(node)) {
    const std::size_t count = std::min(schema->arguments.size(), node.inputs().size());
    for (std::size_t i = 0; i < count; ++i)
      if (schema->arguments[i].written && holds_memory(node.input(i)->type())) operands.push_back(i);
  }
  // the schema marks both dictionaries as written; only the first is
  if (node.is("aten::update") && operands.size() > 1) operands.resize(1);
  return operands;
}

bool writes(const ir::Node& node) {
  if (node.is("prim::SetAttr")) return true;
  return node.schema() && node.schema()->writes() && !known_not_to_train(node);
}

bool gives_what_it_writes(const ir::Node& node) {
  const schema::Schema* schema = node.schema();
  if (!schema || !writes(node) || node.outputs().size() != 1 || schema->returns.size() != 1) return false;
  // The schema of l += m doesn't say so.
  return schema->returns[0].written || (node.is("aten::add_") && ir::is(node.input(0)->type(), ir::TypeKind::list));
}

bool writes_anything(const ir::Block& block) {
  for (const ir::Node* node : block)
    if (writes(*node) || std::ranges::any_of(node->blocks(), [](const ir::Block* inner) { return writes_anything(*inner); }))
      return true;
  return false;
}

bool gives_overlapping_parts(const ir::Node& split) {
  if (!split.is("aten::tensor_split") || split.inputs().size() < 2) return false;
  const ir::Value* places = split.input(1);
  if (ir::is(places->type(), ir::TypeKind::integer)) return false;
  std::vector<std::int64_t> known_places;
  if (const ir::Constant* constant = ir::constant_of(places)) {
    const auto ints = ir::as_ints(*constant);
    if (!ints) return true;
    known_places = *ints;
  } else {
    if (!places->producer() || !places->producer()->is("prim::ListConstruct")) return true;
    for (const ir::Value* item : places->producer()->inputs()) {
      const auto* number = known<std::int64_t>(item);
      if (!number) return true;
      known_places.push_back(*number);
    }
  }
  if (known_places.empty()) return false;
  // Places counted from the end lie behind those from the front only in large tensors.
  return !std::ranges::is_sorted(known_places) || (known_places.front() < 0) != (known_places.back() < 0);
}

bool is_random(const ir::Node& node) {
  const schema::Schema* schema = node.schema();
  if (!schema) return false;
  const std::string_view op = schema::without_in_place(node.op());
  if (schema::has_trait(op, schema::Trait::random) || schema::has_trait(op, schema::Trait::dropout)) return draws(node);
  return std::any_of(schema->arguments.begin(), schema->arguments.end(),
                     [](const schema::Argument& argument) { return argument.name == "generator"; });
}

bool has_effect(const ir::Node& node) {
  if (is_prim(node)) return !one_of(node.op(), computing) && !node.schema() && !node.is("prim::SetAttr");
  // An operator without results is there for what it does; of one that nobody knows, nobody knows.
  return (node.outputs().empty() && !writes(node)) || !node.schema();
}

bool is_remark(const ir::Node& node) { return one_of(node.op(), remarks); }

}  // namespace compatcheck::passes
