#include "verification/decisions.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "ir/tensor_literal.h"
#include "schema/traits.h"

namespace compatcheck::verification {
namespace {

constexpr std::size_t most_numbers = 64;
constexpr std::int64_t longest_table = 16;          // of thresholds
constexpr double largest_exact = 9007199254740992;  // doubles hold all whole numbers up to it

bool compares(std::string_view op) {
  static const std::set<std::string_view> names = {"aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge"};
  return names.contains(op);
}

// Whether both sides compute the same from numbers with few bits, in whatever order they add.
bool is_exact(const ir::Node& node) {
  static const std::set<std::string_view> names = {"aten::add",           "aten::sub",
                                                   "aten::rsub",          "aten::mul",
                                                   "aten::neg",           "aten::abs",
                                                   "aten::max",           "aten::min",
                                                   "aten::maximum",       "aten::minimum",
                                                   "aten::amax",          "aten::amin",
                                                   "aten::where",         "aten::clamp",
                                                   "aten::relu",          "aten::floor",
                                                   "aten::ceil",          "aten::floor_divide",
                                                   "aten::floordiv",      "aten::sum",
                                                   "aten::cumsum",        "aten::sign",
                                                   "aten::argmax",        "aten::argmin",
                                                   "aten::topk",          "aten::sort",
                                                   "aten::argsort",       "aten::index",
                                                   "aten::gather",        "aten::scatter",
                                                   "aten::index_put",     "aten::index_select",
                                                   "aten::masked_fill",   "aten::masked_select",
                                                   "aten::tensor",        "aten::zeros",
                                                   "aten::ones",          "aten::full",
                                                   "aten::zeros_like",    "aten::ones_like",
                                                   "aten::full_like",     "aten::arange",
                                                   "aten::item",          "aten::Int",
                                                   "aten::Float",         "aten::Bool",
                                                   "aten::append",        "aten::_set_item",
                                                   "aten::copy",          "aten::any",
                                                   "aten::all",           "aten::roll",
                                                   "aten::embedding",     "aten::fill",
                                                   "aten::new_zeros",     "aten::new_full",
                                                   "aten::remainder",     "aten::ScalarImplicit",
                                                   "aten::FloatImplicit", "aten::IntImplicit",
                                                   "aten::len",           "aten::size",
                                                   "aten::is_nonzero",    "aten::triu",
                                                   "aten::tril"};
  const std::string_view op = schema::without_in_place(node.op());
  return compares(op) || names.contains(op) || !op.starts_with("aten::") || schema::has_trait(op, schema::Trait::view) ||
         schema::has_trait(op, schema::Trait::same_order) || schema::has_trait(op, schema::Trait::moves_elements);
}

bool may_hold_floats(const ir::Value& value) {
  if (!value.type()) return true;
  switch (ir::without_optional(value.type())->kind) {
    case ir::TypeKind::integer:
    case ir::TypeKind::boolean:
    case ir::TypeKind::string: return false;
    default: return true;
  }
}

class Collecting {
 public:
  Decisions run(const ir::Graph& graph) {
    ir::for_each_node(*graph.top(), [&](const ir::Node* node) { look(*node); });
    made_.nesting = nesting(*graph.top());
    return std::move(made_);
  }

 private:
  static int nesting(const ir::Block& block) {
    int deepest = 0;
    for (const ir::Node* node : block)
      for (const ir::Block* inner : node->blocks())
        deepest = std::max(deepest, nesting(*inner) + (node->is("prim::Loop") ? 1 : 0));
    return deepest;
  }

  void look(const ir::Node& node) {
    made_.branches |= node.is("prim::If") || node.is("prim::Loop");
    made_.quantizes |= node.op().find("quantize") != std::string::npos;  // quantized::add, aten::quantize_per_tensor
    if (schema::has_trait(node.op(), schema::Trait::distinct_indices)) made_.choosers.push_back(&node);
    if (!is_exact(node) && std::ranges::any_of(node.outputs(), [](const ir::Value* each) { return may_hold_floats(*each); }))
      made_.rounds = true;
    const std::string_view op = schema::without_in_place(node.op());
    static const std::set<std::string_view> computing = {"aten::add", "aten::sub", "aten::full", "aten::tensor"};
    if (!compares(op) && !computing.contains(op)) return;
    for (const ir::Value* input : node.inputs())
      if (const ir::Constant* constant = ir::constant_of(input)) add(*constant, compares(op) ? made_.compared : made_.held);
  }

  static void add(const ir::Constant& constant, std::vector<double>& numbers) {
    if (const auto* integer = constant.get<std::int64_t>()) add(static_cast<double>(*integer), numbers);
    if (const auto* floating = constant.get<double>()) add(*floating, numbers);
    if (const auto* list = constant.get<ir::ListConstant>())
      for (const ir::Constant& item : list->items) add(item, numbers);
    const auto* view = constant.get<ir::TensorView>();
    if (!view || view->dtype == ir::DType::boolean || ir::is_complex(view->dtype) || view->elements() > longest_table) return;
    if (const auto elements = ir::elements_of(*view))
      for (const ir::Element& element : *elements) add(static_cast<double>(element.real()), numbers);
  }

  static void add(double number, std::vector<double>& numbers) {
    if (std::abs(number) < largest_exact && numbers.size() < most_numbers && std::ranges::find(numbers, number) == numbers.end())
      numbers.push_back(number);
  }

  Decisions made_;
};

}  // namespace

Decisions decisions_of(const ir::Graph& graph) { return Collecting().run(graph); }

}  // namespace compatcheck::verification
