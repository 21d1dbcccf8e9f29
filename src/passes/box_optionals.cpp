// List[Optional[T]] becomes a list of objects with one attribute, an Optional[T]: numbers then stand for the objects.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

constexpr std::string_view attribute = "value";

bool is_list_of_optionals(const ir::TypeRef& type) {
  return ir::is(type, ir::TypeKind::list) && ir::is(type->elements[0], ir::TypeKind::optional);
}

bool holds_optionals(const ir::TypeRef& type) {
  return type && (is_list_of_optionals(type) || std::ranges::any_of(type->elements, holds_optionals));
}

ir::TypeRef boxed(const ir::TypeRef& type) {
  if (!holds_optionals(type)) return type;
  ir::Type made = *type;
  for (ir::TypeRef& element : made.elements) {
    if (!is_list_of_optionals(type)) {
      element = boxed(element);
      continue;
    }
    ir::Type box;
    box.kind = ir::TypeKind::named;
    box.name = "Box of " + ir::to_string(*element);  // no class of a program has such a name
    element = std::make_shared<const ir::Type>(std::move(box));
  }
  return std::make_shared<const ir::Type>(std::move(made));
}

// Operators that only move lists, or move items in and out.
bool keeps_boxes(const ir::Node& node) {
  static const std::set<std::string_view> all{"prim::ListConstruct",
                                              "prim::TupleConstruct",
                                              "prim::DictConstruct",
                                              "prim::TupleUnpack",
                                              "prim::TupleIndex",
                                              "prim::ListUnpack",
                                              "prim::If",
                                              "prim::Loop",
                                              "prim::Uninitialized",
                                              "prim::unchecked_cast",
                                              "prim::annotate",
                                              "aten::append",
                                              "aten::insert",
                                              "aten::_set_item",
                                              "aten::__getitem__",
                                              "aten::pop",
                                              "aten::len",
                                              "aten::slice",
                                              "aten::add",
                                              "aten::add_",
                                              "aten::extend",
                                              "aten::copy",
                                              "aten::list",
                                              "aten::mul",
                                              "aten::mul_",
                                              "aten::clear",
                                              "aten::reverse",
                                              "aten::Delete"};
  if (all.contains(node.op()) || &node == node.owner()->return_node()) return node.owner()->owner() || all.contains(node.op());
  const auto* list = node.is("prim::Constant") ? ir::constant_of(node.output())->get<ir::ListConstant>() : nullptr;
  return list && !list->identity && is_list_of_optionals(node.output()->type());
}

class Boxes {
 public:
  explicit Boxes(ir::Graph& graph, const ir::Watch& watch) : graph_(graph) {
    for (ir::Node* node : all_nodes(graph, watch)) nodes_.push_back(node);
    nodes_.push_back(graph.top()->return_node());
  }

  bool run() {
    bool any = false;
    for (const ir::Value* input : graph_.inputs())
      if (holds_optionals(input->type())) return false;
    for (ir::Node* node : nodes_) {
      const auto holds = [](const ir::Value* value) { return holds_optionals(value->type()); };
      bool touches = std::ranges::any_of(node->inputs(), holds) || std::ranges::any_of(node->outputs(), holds);
      for (const ir::Block* block : node->blocks()) touches = touches || std::ranges::any_of(block->inputs(), holds);
      any = any || touches;
      if (touches && !keeps_boxes(*node)) return false;
    }
    if (!any) return false;
    for (ir::Node* node : nodes_) rewrite(node);
    for (ir::Node* node : nodes_) {
      const bool constant = node->is("prim::Constant") && holds_optionals(node->output()->type());
      for (ir::Value* output : node->outputs()) output->set_type(boxed(output->type()));
      for (ir::Block* block : node->blocks())
        for (ir::Value* input : block->inputs()) input->set_type(boxed(input->type()));
      if (constant) node->set_attribute("value", {ir::ListConstant{node->output()->type()->elements[0], {}}});
    }
    return true;
  }

 private:
  void rewrite(ir::Node* node) {
    if (node->is("prim::Constant")) return make_list(node);
    if (node->is("prim::ListConstruct") && is_list_of_optionals(node->output()->type()))
      for (std::size_t i = 0; i < node->inputs().size(); ++i) box(node, i, node->output()->type()->elements[0]);
    if (node->inputs().empty() || !is_list_of_optionals(node->input(0)->type())) return;
    node->set_overload({});
    const ir::TypeRef item = node->input(0)->type()->elements[0];
    if (node->is("aten::append")) box(node, 1, item);
    if (node->is("aten::insert") || node->is("aten::_set_item")) box(node, 2, item);
    if (node->is("aten::__getitem__") || node->is("aten::pop") || node->is("prim::ListUnpack"))
      for (ir::Value* output : node->outputs()) unbox(node, output, item);
  }

  void box(ir::Node* node, std::size_t operand, const ir::TypeRef& item) {
    const ir::TypeRef type = boxed(ir::list_of(item))->elements[0];
    ir::Value* object = node_before(node, "prim::CreateObject", {}, {&type, 1})->output();
    ir::Value* inputs[] = {object, node->input(operand)};
    node_before(node, "prim::SetAttr", inputs, {})->set_attribute("name", {std::string(attribute)});
    node->replace_input(operand, object);
  }

  void unbox(ir::Node* node, ir::Value* output, const ir::TypeRef& item) {
    ir::Node* place = node->next() ? node->next() : node->owner()->return_node();
    output->set_type(boxed(ir::list_of(item))->elements[0]);
    const std::vector<ir::Use> uses(output->uses().begin(), output->uses().end());
    const ir::TypeRef type = boxed(item);
    ir::Node* read = node_before(place, "prim::GetAttr", {&output, 1}, {&type, 1});
    read->set_attribute("name", {std::string(attribute)});
    for (const ir::Use& use : uses) use.user->replace_input(use.operand, read->output());
  }

  // A constant with items, such as [None, None].
  void make_list(ir::Node* node) {
    const ir::Constant* constant = ir::constant_of(node->output());
    const auto* list = constant->get<ir::ListConstant>();
    if (!list || list->items.empty() || !is_list_of_optionals(node->output()->type())) return;
    std::vector<ir::Value*> items;
    for (const ir::Constant& item : list->items) items.push_back(constant_before(node, item));
    ir::Node* made = node_before(node, "prim::ListConstruct", items, {&node->output()->type(), 1});
    for (std::size_t i = 0; i < items.size(); ++i) box(made, i, made->output()->type()->elements[0]);
    made->output()->set_type(boxed(made->output()->type()));
    replace(node->output(), made->output());
  }

  ir::Graph& graph_;
  std::vector<ir::Node*> nodes_;
};

}  // namespace

bool holds_optionals(const ir::Graph& graph, const ir::Watch& watch) {
  const auto holds = [](const ir::Value* value) { return holds_optionals(value->type()); };
  for (const ir::Node* node : all_nodes(graph, watch))
    if (std::ranges::any_of(node->outputs(), holds)) return true;
  return false;
}

bool box_optionals(ir::Graph& graph, const schema::Registry& registry, const ir::Watch& watch) {
  if (!Boxes(graph, watch).run()) return false;
  schema::resolve(graph, registry);
  return true;
}

}  // namespace compatcheck::passes
