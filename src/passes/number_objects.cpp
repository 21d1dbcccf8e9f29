#include "passes/number_objects.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

const ir::TypeRef& integer() {
  static const ir::TypeRef type = ir::simple_type(ir::TypeKind::integer);
  return type;
}

bool is_comparison(const ir::Node& node) { return node.is("aten::__is__") || node.is("aten::__isnot__"); }

// Operators that do nothing with an object but move it.
bool moves(const ir::Node& node) {
  static const std::set<std::string_view> operators{
      "prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct",   "prim::TupleUnpack",     "prim::TupleIndex",
      "prim::TupleSlice",    "prim::ListUnpack",     "prim::If",              "prim::Loop",            "prim::Uninitialized",
      "prim::annotate",      "prim::unchecked_cast", "aten::_unwrap_optional", "aten::append",         "aten::extend",
      "aten::insert",        "aten::pop",            "aten::clear",           "aten::reverse",         "aten::copy",
      "aten::list",          "aten::len",            "aten::slice",           "aten::add",             "aten::add_",
      "aten::mul",           "aten::__getitem__",    "aten::_set_item",       "aten::Delete",          "aten::get",
      "aten::setdefault",    "aten::update",         "aten::keys",            "aten::values",          "aten::items",
      "aten::popitem",       "aten::dict",           "aten::__contains__"};
  return operators.contains(node.op());
}

bool is_access_of(const ir::Node& node, const ir::Value* object) {
  return is_attribute_access(node) && node.input(0) == object && (node.inputs().size() == 1 || node.input(1) != object);
}

struct AttributeLists {
  ir::TypeRef type{};           // as the class declares it
  ir::Value* values = nullptr;  // a list; null for an Optional object, whose number stands in `places`
  // For an Optional: a list with the place of each object's value in `values`, or with the number of the object that the
  // attribute is; -1 stands for None.
  ir::Value* places = nullptr;
};

struct NumberedClass {
  std::map<std::string, AttributeLists, std::less<>> attributes{};  // those that the program reads
  ir::Value* first = nullptr;                                  // a list with one item for each object
  std::set<const ir::Node*> first_writes{};                    // by which an object gets its attributes
};

class Numbering {
 public:
  Numbering(ir::Graph& graph, const ir::Watch& watch) : graph_(graph), watch_(watch) {
    for (ir::Node* node : all_nodes(graph, watch)) {
      nodes_.push_back(node);
      if (node->is("prim::CreateObject")) classes_[node->output()->type()->name];
    }
  }

  std::size_t run() {
    do keep_what_is_only_moved();
    while (!find_first_writes());
    if (classes_.empty()) return 0;
    for (ir::Node* node : nodes_)
      if (std::ranges::any_of(node->inputs(), [&](const ir::Value* input) { return holds_objects(input->type()); }))
        node->set_overload({});
    make_lists();
    for (ir::Node* node : nodes_) rewrite(node);
    retype(*graph_.top());
    return classes_.size();
  }

 private:
  NumberedClass* class_of(const ir::TypeRef& type) {
    const auto found = ir::is(type, ir::TypeKind::named) ? classes_.find(type->name) : classes_.end();
    return found == classes_.end() ? nullptr : &found->second;
  }
  bool holds_objects(const ir::TypeRef& type) {
    return type && (class_of(type) || std::ranges::any_of(type->elements, [&](const ir::TypeRef& part) { return holds_objects(part); }));
  }
  void drop_classes_of(const ir::TypeRef& type) {
    if (!type) return;
    if (ir::is(type, ir::TypeKind::named)) classes_.erase(type->name);
    for (const ir::TypeRef& part : type->elements) drop_classes_of(part);
  }

  void keep_what_is_only_moved() {
    for (std::size_t before = 0; before != classes_.size();) {
      before = classes_.size();
      for (const ir::Node* node : nodes_) check(*node);
      for (const ir::Value* value : graph_.inputs()) drop_classes_of(value->type());
      for (const ir::Value* value : graph_.outputs()) drop_classes_of(value->type());
    }
  }

  void check(const ir::Node& node) {
    const bool none = node.is("prim::Constant") && ir::constant_of(node.output())->is_none();
    if (node.is("prim::CreateObject") || none || moves(node)) {
      if (node.is("aten::__contains__")) drop_classes_of(node.input(1)->type());
      return;
    }
    const bool access = is_attribute_access(node) && class_of(node.input(0)->type());
    if (access) return;
    const bool compares = is_comparison(node) && node.inputs().size() == 2;
    const auto is_object = [&](const ir::Value* value) { return class_of(value->type()) != nullptr; };
    if (compares && std::ranges::all_of(node.inputs(), is_object)) return;
    const auto is_none = [](const ir::Value* value) { return ir::is(value->type(), ir::TypeKind::none); };
    if (compares && std::ranges::any_of(node.inputs(), is_none)) return;
    for (const ir::Value* input : node.inputs()) drop_classes_of(input->type());
    for (const ir::Value* output : node.outputs()) drop_classes_of(output->type());
  }

  // Whether each object gets each attribute once, in its __init__, before anything else is done with it. Drops a class for which
  // that isn't so.
  bool find_first_writes() {
    for (auto& [name, of] : classes_) of = {};
    for (const ir::Node* node : nodes_)
      if (node->is("prim::GetAttr"))
        if (NumberedClass* of = class_of(node->input(0)->type()))
          of->attributes[std::string(attribute_name(*node))].type = node->output()->type();
    for (const ir::Node* node : nodes_) {
      if (!node->is("prim::CreateObject") || !class_of(node->output()->type()) || is_initialized(*node)) continue;
      classes_.erase(node->output()->type()->name);
      return false;
    }
    return true;
  }

  bool is_initialized(const ir::Node& made) {
    NumberedClass& of = *class_of(made.output()->type());
    const ir::Value* object = made.output();
    std::set<std::string_view> missing;
    for (const auto& [name, attribute] : of.attributes) missing.insert(name);
    const auto disturbs = [&](const ir::Node& node) {
      const bool uses = std::ranges::find(node.inputs(), object) != node.inputs().end();
      return (uses && !is_access_of(node, object)) || (node.is("prim::CreateObject") && class_of(node.output()->type()) == &of);
    };
    for (const ir::Node* node = made.next(); !missing.empty(); node = node->next()) {
      if (!node || disturbs(*node)) return false;
      bool nested = false;
      for (const ir::Block* block : node->blocks())
        ir::for_each_node(*block, [&](const ir::Node* inner) {
          nested = nested || disturbs(*inner) || std::ranges::find(inner->inputs(), object) != inner->inputs().end();
        });
      if (nested) return false;
      if (!is_access_of(*node, object)) continue;
      const std::string_view name = attribute_name(*node);
      if (node->is("prim::SetAttr") && missing.erase(name) > 0)
        of.first_writes.insert(node);
      else if (missing.contains(name))
        return false;
    }
    return true;
  }

  void make_lists() {
    ir::Node* place = graph_.top()->first();
    const auto list = [&](const ir::TypeRef& item) {
      const ir::TypeRef type = ir::list_of(item);
      return node_before(place, "prim::ListConstruct", {}, {&type, 1})->output();
    };
    for (auto& [name, of] : classes_) {
      for (auto& [attribute_name, attribute] : of.attributes) {
        const bool optional = ir::is(attribute.type, ir::TypeKind::optional);
        const ir::TypeRef value = ir::without_optional(attribute.type);
        if (optional) attribute.places = list(integer());
        if (!optional || !class_of(value)) attribute.values = list(value);
        if (!of.first) of.first = optional ? attribute.places : attribute.values;
      }
      if (!of.first) of.first = list(integer());
    }
  }

  // The type with numbers in the places of objects.
  ir::TypeRef numbered(const ir::TypeRef& type) {
    if (!holds_objects(type)) return type;
    if (class_of(type)) return integer();
    ir::Type made = *type;
    for (ir::TypeRef& part : made.elements) part = numbered(part);
    return std::make_shared<const ir::Type>(std::move(made));
  }

  void retype(ir::Block& block) {
    const auto set = [&](ir::Value* value) {
      if (holds_objects(value->type())) value->set_type(numbered(value->type()));
    };
    for (ir::Value* input : block.inputs()) set(input);
    for (ir::Node* node : block) {
      for (ir::Value* output : node->outputs()) set(output);
      for (ir::Block* inner : node->blocks()) retype(*inner);
    }
  }

  void rewrite(ir::Node* node) {
    if (node->is("prim::CreateObject")) {
      if (const NumberedClass* of = class_of(node->output()->type())) create(node, *of);
      return;
    }
    NumberedClass* of = is_attribute_access(*node) ? class_of(node->input(0)->type()) : nullptr;
    if (of) return node->is("prim::GetAttr") ? get(node, *of) : set(node, *of);
    if (is_comparison(*node) && class_of(node->input(0)->type()) && class_of(node->input(1)->type()))
      node->set_op(node->is("aten::__is__") ? "aten::eq" : "aten::ne");
  }

  void create(ir::Node* node, const NumberedClass& of) {
    ir::Value* number = made(node, "aten::len", std::array{of.first}, node->output()->type());
    if (of.attributes.empty()) append(node, of.first, number);
    replace_by(node, number);
  }

  void get(ir::Node* node, NumberedClass& of) {
    const AttributeLists& attribute = of.attributes.find(attribute_name(*node))->second;
    ir::Value* object = node->input(0);
    if (!attribute.places) return replace_by(node, item(node, attribute.values, object));
    ir::Value* place = item(node, attribute.places, object);
    ir::Value* is_there = made(node, "aten::ge", std::array{place, constant_before(node, {std::int64_t{0}})}, truth());
    ir::Node* branch = branch_before(node, is_there, node->output()->type());
    ir::Node* end = branch->blocks()[0]->return_node();
    give(branch, 0, attribute.values ? item(end, attribute.values, place) : as(end, place, ir::without_optional(attribute.type)));
    give(branch, 1, constant_before(branch->blocks()[1]->return_node(), {}));
    replace_by(node, branch->output());
  }

  void set(ir::Node* node, NumberedClass& of) {
    const auto found = of.attributes.find(attribute_name(*node));
    if (found == of.attributes.end()) return node->erase();
    const AttributeLists& attribute = found->second;
    ir::Value* value = node->input(1);
    ir::Value* list = attribute.places ? attribute.places : attribute.values;
    if (attribute.places) value = place_of(node, attribute, value);
    if (of.first_writes.contains(node))
      append(node, list, value);
    else
      made(node, "aten::_set_item", std::array{list, node->input(0), value}, list->type());
    node->erase();
  }

  // The number that stands for an Optional's value in `places`.
  ir::Value* place_of(ir::Node* node, const AttributeLists& attribute, ir::Value* value) {
    const auto of_value = [&](ir::Node* place, ir::Value* there) {
      if (!attribute.values) return there;
      ir::Value* number = made(place, "aten::len", std::array{attribute.values}, integer());
      append(place, attribute.values, there);
      return number;
    };
    const auto none = [](ir::Node* place) { return constant_before(place, {std::int64_t{-1}}); };
    if (ir::is(value->type(), ir::TypeKind::none) || (ir::constant_of(value) && ir::constant_of(value)->is_none())) return none(node);
    if (!ir::is(value->type(), ir::TypeKind::optional)) return of_value(node, value);
    ir::Value* is_there = made(node, "aten::__isnot__", std::array{value, constant_before(node, {})}, truth());
    ir::Node* branch = branch_before(node, is_there, integer());
    ir::Node* end = branch->blocks()[0]->return_node();
    ir::Value* there = made(end, "prim::unchecked_cast", std::array{value}, ir::without_optional(value->type()));
    give(branch, 0, of_value(end, there));
    give(branch, 1, none(branch->blocks()[1]->return_node()));
    return branch->output();
  }

  // A number as the object that it stands for.
  static ir::Value* as(ir::Node* place, ir::Value* number, const ir::TypeRef& object) {
    return made(place, "prim::unchecked_cast", std::array{number}, object);
  }
  static const ir::TypeRef& truth() {
    static const ir::TypeRef type = ir::simple_type(ir::TypeKind::boolean);
    return type;
  }
  static ir::Value* made(ir::Node* place, const char* op, std::span<ir::Value* const> inputs, const ir::TypeRef& type) {
    return node_before(place, op, inputs, {&type, 1})->output();
  }
  static ir::Value* item(ir::Node* place, ir::Value* list, ir::Value* at) {
    return made(place, "aten::__getitem__", std::array{list, at}, list->type()->elements[0]);
  }
  static void append(ir::Node* place, ir::Value* list, ir::Value* value) {
    made(place, "aten::append", std::array{list, value}, list->type());
  }
  static ir::Node* branch_before(ir::Node* place, ir::Value* condition, const ir::TypeRef& type) {
    ir::Node* branch = node_before(place, "prim::If", {&condition, 1}, {&type, 1});
    branch->add_block();
    branch->add_block();
    return branch;
  }
  static void give(ir::Node* branch, std::size_t way, ir::Value* value) { branch->blocks()[way]->add_output(value); }
  static void replace_by(ir::Node* node, ir::Value* value) {
    replace(node->output(), value);
    node->erase();
  }

  ir::Graph& graph_;
  const ir::Watch& watch_;
  std::vector<ir::Node*> nodes_;
  std::map<std::string, NumberedClass, std::less<>> classes_;
};

}  // namespace

bool creates_objects(const ir::Graph& graph) {
  bool creates = false;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) { creates = creates || node->is("prim::CreateObject"); });
  return creates;
}

std::size_t number_objects(ir::Graph& graph, const schema::Registry& registry, const ir::Watch& watch) {
  const std::size_t numbered = Numbering(graph, watch).run();
  if (numbered > 0) schema::resolve(graph, registry);
  return numbered;
}

}  // namespace compatcheck::passes
