#include "analysis/findings.h"
#include "ir/text.h"
#include "ir/value_name.h"

namespace compatcheck::analysis {
namespace {

constexpr std::size_t longest_call = 120;
constexpr std::size_t longest_list = 8;
constexpr int deepest_list = 3;

std::string spell_constant(const ir::Constant& constant);

// As much of a list as is shown.
std::string spell_items(const ir::Constants& items) {
  std::string text;
  for (const ir::Constant& item : items) {
    if (text.size() > longest_call) break;
    text += (text.empty() ? "" : ", ") + spell_constant(item);
  }
  return text;
}

std::string spell_constant(const ir::Constant& constant) {
  if (const auto* list = constant.get<ir::ListConstant>()) return "[" + spell_items(list->items) + "]";
  if (const auto* tuple = constant.get<ir::TupleConstant>())
    return "(" + spell_items(tuple->items) + (tuple->items.size() == 1 ? ",)" : ")");
  if (constant.get<ir::DictConstant>()) return "dict";
  if (const auto* text = constant.get<std::string>()) return ir::print({text->substr(0, longest_call)});
  if (constant.is_none()) return "None";
  if (const auto* boolean = constant.get<bool>()) return *boolean ? "True" : "False";
  if (constant.get<ir::TensorView>()) return "tensor";
  if (constant.get<ir::ObjectConstant>()) return "object";
  return ir::print(constant);
}

std::string spell_value(const ir::Value& value, int depth) {
  if (const auto* constant = ir::constant_of(&value)) return spell_constant(*constant);
  const ir::Node* producer = value.producer();
  if (producer && producer->is("prim::ListConstruct") && depth < deepest_list && producer->inputs().size() <= longest_list) {
    std::string text = "[";
    for (const ir::Value* item : producer->inputs()) text += (text.size() > 1 ? ", " : "") + spell_value(*item, depth + 1);
    return text + "]";
  }
  const auto name = ir::source_name(value);
  return name.empty() ? "_" : std::string(name);
}

}  // namespace

std::string spell_call(const ir::Node& node) {
  const auto colon = node.op().rfind("::");
  std::string text = (colon == std::string::npos ? node.op() : node.op().substr(colon + 2)) + "(";
  bool first = true;
  for (const ir::Value* input : node.inputs()) {
    text += (first ? "" : ", ") + spell_value(*input, 0);
    first = false;
    if (text.size() > longest_call) return text.substr(0, longest_call) + "…)";
  }
  return text + ")";
}

}  // namespace compatcheck::analysis
