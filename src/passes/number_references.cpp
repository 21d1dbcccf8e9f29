#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "passes/effects.h"
#include "passes/passes.h"
#include "passes/references.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

using Term = References::Term;
enum class Numbered : std::uint8_t { objects, all };

const ir::TypeRef& integer() {
  static const ir::TypeRef type = ir::simple_type(ir::TypeKind::integer);
  return type;
}
const ir::TypeRef& truth() {
  static const ir::TypeRef type = ir::simple_type(ir::TypeKind::boolean);
  return type;
}

ir::Value* computed(ir::Node* place, const char* op, std::span<ir::Value* const> inputs, const ir::TypeRef& type) {
  return node_before(place, op, inputs, {&type, 1})->output();
}
ir::Value* item_at_place(ir::Node* place, ir::Value* list, ir::Value* at) {
  return computed(place, "aten::__getitem__", std::array{list, at}, list->type()->elements[0]);
}
// Returns its place.
ir::Value* append(ir::Node* place, ir::Value* list, ir::Value* value) {
  ir::Value* at = computed(place, "aten::len", std::array{list}, integer());
  computed(place, "aten::append", std::array{list, value}, list->type());
  return at;
}
ir::Node* branch_before(ir::Node* place, ir::Value* condition, const ir::TypeRef& type) {
  ir::Node* branch = node_before(place, "prim::If", {&condition, 1}, {&type, 1});
  branch->add_block();
  branch->add_block();
  return branch;
}
void give(ir::Node* branch, std::size_t way, ir::Value* value) { branch->blocks()[way]->add_output(value); }
ir::Node* end_of(ir::Node* branch, std::size_t way) { return branch->blocks()[way]->return_node(); }

bool is_none(const ir::Value* value) {
  const ir::Constant* constant = ir::constant_of(value);
  return ir::is(value->type(), ir::TypeKind::none) || (constant && constant->is_none());
}

// Where the values of one attribute stand: a list of them, in the order in which objects were made. Of an Optional, a list has
// each object's place in another list, which holds the values that aren't None; -1 stands for None.
struct Values {
  ir::TypeRef type{};  // as the class declares it
  ir::Value* values = nullptr;
  ir::Value* places = nullptr;
};

struct Objects {
  std::map<std::string, Values, std::less<>> attributes{};  // those that the program reads
  ir::Value* all = nullptr;                                 // a list with one item for each object
  std::set<const ir::Node*> first_writes{};                 // by which an object gets its attributes
};

// A list of what is made of each item of a list, by a loop.
template <class Made>
ir::Value* list_of_each(ir::Node* place, ir::Value* list, const Made& made_of, const ir::TypeRef& item = {}) {
  ir::Node* result = node_before(place, "prim::ListConstruct", {}, {&list->type(), 1});
  const std::array<ir::Value*, 2> how_often{computed(place, "aten::len", std::array{list}, integer()),
                                            constant_before(place, {true})};
  ir::Block* body = node_before(place, "prim::Loop", how_often, {})->add_block();
  const std::array<ir::Value*, 2> at{list, body->add_input(integer())};
  ir::Node* end = body->return_node();
  ir::Value* made = made_of(end, computed(end, "aten::__getitem__", at, item ? item : list->type()->elements[0]));
  result->output()->set_type(ir::list_of(made->type()));
  computed(end, "aten::append", std::array{result->output(), made}, result->output()->type());
  body->add_output(how_often[1]);
  return result->output();
}

// An object as the tuple of its attributes.
ir::Value* read_attributes(ir::Value* value, const ir::Program& program, ir::Node* end, int depth = 0) {
  constexpr int deepest = 8;  // an object may hold itself
  const ir::TypeRef type = value->type();
  const auto found = program.classes.find(ir::is(type, ir::TypeKind::named) ? type->name : "");
  const bool object = found != program.classes.end();
  if (depth < deepest && ir::is(type, ir::TypeKind::list) && ir::holds(*type, ir::TypeKind::named))
    return list_of_each(end, value,
                        [&](ir::Node* place, ir::Value* item) { return read_attributes(item, program, place, depth + 1); });
  if (depth == deepest || (!object && !ir::is(type, ir::TypeKind::tuple))) return value;
  std::vector<ir::Value*> parts;
  ir::Type made = *type;
  if (object) {
    made = {};
    made.kind = ir::TypeKind::tuple;
    for (const ir::ClassAttribute& attribute : found->second.attributes) {
      ir::Node* get = node_before(end, "prim::GetAttr", {&value, 1}, {&attribute.type, 1});
      get->set_attribute("name", {attribute.name});
      parts.push_back(get->output());
      made.field_names.push_back(attribute.name);
    }
  } else {
    const auto outputs = node_before(end, "prim::TupleUnpack", {&value, 1}, type->elements)->outputs();
    parts.assign(outputs.begin(), outputs.end());
  }
  made.elements.clear();
  for (ir::Value*& part : parts) {
    part = read_attributes(part, program, end, depth + 1);
    made.elements.push_back(part->type());
  }
  const ir::TypeRef tuple = std::make_shared<const ir::Type>(std::move(made));
  return node_before(end, "prim::TupleConstruct", parts, {&tuple, 1})->output();
}

// The model's outputs are the attributes of objects, so the objects themselves are numbered.
void return_attributes(ir::Graph& graph, const ir::Program& program) {
  ir::Node* end = graph.top()->return_node();
  for (std::size_t i = 0; i < end->inputs().size(); ++i)
    if (ir::holds(*end->input(i)->type(), ir::TypeKind::named))
      end->replace_input(i, read_attributes(end->input(i), program, end));
}

class Numbering {
 public:
  Numbering(ir::Graph& graph, Numbered which, const ir::Watch& watch) : graph_(graph), which_(which), references_(graph, watch) {
    for (ir::Node* node : all_nodes(graph, watch)) nodes_.push_back(node);
  }

  bool run() {
    while (!find_attributes()) continue;
    if (!finds_any()) return false;
    note_types();
    make_lists();
    for (ir::Node* node : nodes_) rewrite(node);
    open(graph_.top()->return_node());
    for (const auto& [value, type] : types_)
      if (!erased_.contains(value)) retype(value, type);
    return true;
  }

 private:
  bool is_numbered(const Term* term) const {
    if (!term->is_reference() || term->foreign) return false;
    return term->kind == Term::Kind::object || (which_ == Numbered::all && term->held);
  }
  bool is_numbered(const ir::Value* value) { return is_numbered(references_.of(value)); }
  Objects* objects_of(const ir::Value* value) {
    const Term* term = references_.of(value);
    return term->kind == Term::Kind::object && is_numbered(term) ? &objects_[term->class_name] : nullptr;
  }

  bool finds_any() {
    return std::ranges::any_of(nodes_, [&](const ir::Node* node) {
      return std::ranges::any_of(node->outputs(), [&](const ir::Value* output) { return is_numbered(output); });
    });
  }

  // ---- Attributes of objects

  // Whether each object gets each attribute that is read in its __init__, before anything else is done with it. If one doesn't,
  // its class isn't numbered, and the others are looked at again.
  bool find_attributes() {
    objects_.clear();
    for (const ir::Node* node : nodes_)
      if (node->is("prim::GetAttr"))
        if (Objects* objects = objects_of(node->input(0)))
          objects->attributes[std::string(attribute_name(*node))].type = node->output()->type();
    for (const ir::Node* node : nodes_) {
      if (!node->is("prim::CreateObject") || !is_numbered(node->output()) || is_initialized(*node)) continue;
      references_.make_foreign(references_.of(node->output()));
      return false;
    }
    return true;
  }

  bool is_initialized(const ir::Node& made) {
    Objects& objects = *objects_of(made.output());
    const ir::Value* object = made.output();
    std::set<std::string_view> missing;
    for (const auto& [name, attribute] : objects.attributes) missing.insert(name);
    const auto uses = [&](const ir::Node& node) { return std::ranges::find(node.inputs(), object) != node.inputs().end(); };
    const auto accesses = [&](const ir::Node& node) {
      return is_attribute_access(node) && node.input(0) == object && (node.inputs().size() == 1 || node.input(1) != object);
    };
    const auto makes_another = [&](const ir::Node& node) {
      return node.is("prim::CreateObject") && node.output()->type()->name == object->type()->name;
    };
    for (const ir::Node* node = made.next(); !missing.empty(); node = node->next()) {
      if (!node || makes_another(*node) || (uses(*node) && !accesses(*node))) return false;
      bool nested = false;
      for (const ir::Block* block : node->blocks())
        ir::for_each_node(*block, [&](const ir::Node* inner) { nested = nested || makes_another(*inner) || uses(*inner); });
      if (nested) return false;
      if (!accesses(*node)) continue;
      if (node->is("prim::SetAttr") && missing.erase(attribute_name(*node)) > 0)
        objects.first_writes.insert(node);
      else if (missing.contains(attribute_name(*node)))
        return false;
    }
    return true;
  }

  // ---- Types and lists

  // The type with numbers in the places of what is numbered.
  ir::TypeRef numbered(const ir::TypeRef& type, const Term* term) {
    if (ir::is(type, ir::TypeKind::none)) return type;
    if (is_numbered(term)) return ir::is(type, ir::TypeKind::optional) ? ir::optional_of(integer()) : integer();
    return with_numbers(type, term);
  }
  ir::TypeRef with_numbers(const ir::TypeRef& type, const Term* term) {
    if (ir::is(type, ir::TypeKind::optional)) return ir::optional_of(numbered(type->elements[0], term));
    const std::size_t first = ir::is(type, ir::TypeKind::dict) ? 1 : 0;
    if (term->parts.empty() || !type || type->elements.size() != term->parts.size() + first) return type;
    ir::Type made = *type;
    for (std::size_t i = 0; i < term->parts.size(); ++i)
      made.elements[i + first] = numbered(type->elements[i + first], references_.part(term, i));
    return std::make_shared<const ir::Type>(std::move(made));
  }

  void note_types() {
    const auto note = [&](ir::Value* value) {
      const ir::TypeRef type = numbered(value->type(), references_.of(value));
      if (type && value->type() && !ir::equal(*type, *value->type())) types_[value] = type;
    };
    for (ir::Value* input : graph_.inputs()) note(input);
    for (const ir::Node* node : nodes_) {
      for (ir::Value* output : node->outputs()) note(output);
      for (const ir::Block* block : node->blocks())
        for (ir::Value* input : block->inputs()) note(input);
    }
  }

  // A constant without items states the type that they would have.
  static void retype(ir::Value* value, const ir::TypeRef& type) {
    value->set_type(type);
    const ir::Constant* constant = ir::constant_of(value);
    const auto* list = constant ? constant->get<ir::ListConstant>() : nullptr;
    const auto* dict = constant ? constant->get<ir::DictConstant>() : nullptr;
    if (list && list->items.empty()) value->producer()->set_attribute("value", {ir::ListConstant{type->elements[0], {}}});
    if (dict && dict->items.empty())
      value->producer()->set_attribute("value", {ir::DictConstant{type->elements[0], type->elements[1], {}}});
  }

  // The type that the value gets.
  const ir::TypeRef& type_of(ir::Value* value) const {
    const auto changed = types_.find(value);
    return changed == types_.end() ? value->type() : changed->second;
  }

  ir::Value* list_of(const ir::TypeRef& item) {
    const ir::TypeRef type = ir::list_of(item);
    return node_before(start_, "prim::ListConstruct", {}, {&type, 1})->output();
  }

  void make_lists() {
    start_ = constant_before(graph_.top()->first(), {})->producer();  // no rewriting erases it
    for (auto& [class_name, objects] : objects_) {
      const Term* object = references_.classes().find(class_name)->second;
      for (auto& [name, attribute] : objects.attributes) {
        const Term* term = references_.part(object, name);
        const bool optional = ir::is(attribute.type, ir::TypeKind::optional);
        const ir::TypeRef value = numbered(ir::without_optional(attribute.type), term);
        if (optional) attribute.places = list_of(integer());
        if (!optional || !is_numbered(term)) attribute.values = list_of(value);
        if (!objects.all) objects.all = optional ? attribute.places : attribute.values;
      }
      if (!objects.all) objects.all = list_of(integer());
    }
  }

  // The list of all containers of this kind.
  ir::Value* contents_of(const ir::Value* value) {
    return contents_of(references_.of(value), ir::without_optional(value->type()));
  }
  ir::Value* contents_of(const Term* term, const ir::TypeRef& type) {
    ir::Value*& list = contents_[term];
    if (!list) list = list_of(with_numbers(type, term));
    return list;
  }

  // ---- Nodes

  void rewrite(ir::Node* node) {
    if (node->is("prim::CreateObject") && is_numbered(node->output())) return create(node);
    if (Objects* objects = is_attribute_access(*node) ? objects_of(node->input(0)) : nullptr)
      return node->is("prim::GetAttr") ? get(node, *objects) : set(node, *objects);
    if (compares_identity(*node) && is_numbered(node->input(0)) && is_numbered(node->input(1))) return compare(node);
    open(node);
    for (ir::Value* output : node->outputs())
      if (is_numbered(output) && !gives_references(*node)) number(node, output);
  }

  // The containers that the operator needs in the places of their numbers.
  void open(ir::Node* node) {
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      if (only_moves(*node, i)) continue;
      ir::Value *input = node->input(i), *given = input;
      if (!ir::constant_of(input) && is_numbered(input)) {
        if (i == 0 && gives_what_it_writes(*node)) replace(node->output(), input);
        given = item_at_place(node, contents_of(input), input);
      }
      if (references_.reads_whole(*node)) given = with_contents(node, given, input);
      if (given != input) node->replace_input(i, given);
    }
  }

  // A list of lists in the place of a list of their numbers, which was `before`.
  ir::Value* with_contents(ir::Node* place, ir::Value* numbers, const ir::Value* before) {
    const Term* term = references_.of(before);
    if (term->kind != Term::Kind::list || !is_numbered(References::part(term, 0))) return numbers;
    ir::Value* contents = contents_of(References::part(term, 0), ir::without_optional(before->type())->elements[0]);
    const auto copied = [&](ir::Node* at, ir::Value* number) {
      return computed(at, "aten::list", std::array{item_at_place(at, contents, number)}, contents->type()->elements[0]);
    };
    return list_of_each(place, numbers, copied, integer());
  }

  void number(ir::Node* node, ir::Value* output) {
    types_[output] = contents_of(output)->type()->elements[0];
    if (gives_what_it_writes(*node)) return;  // nothing reads it any more
    ir::Node* behind = node->next() ? node->next() : node->owner()->return_node();
    const auto moves = [&](const ir::Use& use) { return !ir::constant_of(output) || only_moves(*use.user, use.operand); };
    std::vector<ir::Use> uses;
    std::ranges::copy_if(output->uses(), std::back_inserter(uses), moves);
    // Operators may have an equal constant as an argument: nothing that is done to the container is done to that.
    ir::Value* own = output;
    if (uses.size() < output->uses().size()) own = computed(behind, "aten::copy", std::array{output}, types_[output]);
    ir::Value* at = append(behind, contents_of(output), own);
    references_.set(at, references_.of(output));
    for (const ir::Use& use : uses) use.user->replace_input(use.operand, at);
  }

  void create(ir::Node* node) {
    const Objects& objects = *objects_of(node->output());
    ir::Value* number = computed(node, "aten::len", std::array{objects.all}, integer());
    if (objects.attributes.empty()) append(node, objects.all, number);
    replace_with(node, number);
  }

  void compare(ir::Node* node) {
    ir::Value* same = is_same(node, node->input(0), node->input(1));
    replace(node->output(), node->is("aten::__is__") ? same : computed(node, "aten::__not__", std::array{same}, truth()));
    erased_.insert(node->output());
    node->erase();
  }

  // Either may be None.
  ir::Value* is_same(ir::Node* place, ir::Value* one, ir::Value* other) {
    if (is_none(other)) return computed(place, "aten::__is__", std::array{one, other}, truth());
    if (!ir::is(type_of(one), ir::TypeKind::optional)) {
      if (ir::is(type_of(other), ir::TypeKind::optional)) return is_same(place, other, one);
      return computed(place, "aten::eq", std::array{one, other}, truth());
    }
    ir::Value* none = constant_before(place, {});
    ir::Node* branch = branch_before(place, computed(place, "aten::__isnot__", std::array{one, none}, truth()), truth());
    ir::Value* there = computed(end_of(branch, 0), "prim::unchecked_cast", std::array{one}, integer());
    give(branch, 0, is_same(end_of(branch, 0), other, there));
    give(branch, 1, computed(end_of(branch, 1), "aten::__is__", std::array{other, none}, truth()));
    return branch->output();
  }

  void replace_with(ir::Node* node, ir::Value* value) {
    references_.set(value, references_.of(node->output()));
    erased_.insert(node->output());
    replace(node->output(), value);
    node->erase();
  }

  void get(ir::Node* node, const Objects& objects) {
    const Values& attribute = objects.attributes.find(attribute_name(*node))->second;
    ir::Value* object = node->input(0);
    if (!attribute.places) return replace_with(node, item_at_place(node, attribute.values, object));
    ir::Value* place = item_at_place(node, attribute.places, object);
    ir::Value* is_there = computed(node, "aten::ge", std::array{place, constant_before(node, {std::int64_t{0}})}, truth());
    ir::Node* branch = branch_before(node, is_there, type_of(node->output()));
    give(branch, 0, attribute.values ? item_at_place(end_of(branch, 0), attribute.values, place) : place);
    give(branch, 1, constant_before(end_of(branch, 1), {}));
    replace_with(node, branch->output());
  }

  void set(ir::Node* node, const Objects& objects) {
    const auto found = objects.attributes.find(attribute_name(*node));
    if (found == objects.attributes.end()) return node->erase();
    const Values& attribute = found->second;
    ir::Value* list = attribute.places ? attribute.places : attribute.values;
    ir::Value* value = attribute.places ? place_of(node, attribute, node->input(1)) : node->input(1);
    if (objects.first_writes.contains(node))
      computed(node, "aten::append", std::array{list, value}, list->type());
    else
      computed(node, "aten::_set_item", std::array{list, node->input(0), value}, list->type());
    node->erase();
  }

  // The number that stands for an Optional's value in `places`.
  ir::Value* place_of(ir::Node* node, const Values& attribute, ir::Value* value) {
    const auto of_value = [&](ir::Node* place, ir::Value* there) {
      return attribute.values ? append(place, attribute.values, there) : there;
    };
    const auto none = [](ir::Node* place) { return constant_before(place, {std::int64_t{-1}}); };
    if (is_none(value)) return none(node);
    if (!ir::is(value->type(), ir::TypeKind::optional)) return of_value(node, value);
    const ir::TypeRef type = ir::without_optional(type_of(value));
    ir::Value* is_there = computed(node, "aten::__isnot__", std::array{value, constant_before(node, {})}, truth());
    ir::Node* branch = branch_before(node, is_there, integer());
    give(branch, 0, of_value(end_of(branch, 0), computed(end_of(branch, 0), "prim::unchecked_cast", std::array{value}, type)));
    give(branch, 1, none(end_of(branch, 1)));
    return branch->output();
  }

  ir::Graph& graph_;
  Numbered which_;
  References references_;
  std::vector<ir::Node*> nodes_;
  std::map<std::string, Objects, std::less<>> objects_;
  std::map<const Term*, ir::Value*> contents_;
  std::map<ir::Value*, ir::TypeRef> types_;  // of values that change theirs
  std::set<const ir::Value*> erased_;
  ir::Node* start_ = nullptr;
};

// False if there is nothing to number, or if it can't be done; the graph may be changed then.
bool number(ir::Graph& graph, Numbered which, const ir::Program* program, const schema::Registry& registry,
            const ir::Watch& watch) {
  if (program) return_attributes(graph, *program);
  if (!Numbering(graph, which, watch).run()) return false;
  schema::resolve(graph, registry);
  // A write without a schema wouldn't be known as one.
  for (const ir::Node* node : all_nodes(graph, watch))
    if (node->op().starts_with("aten::") && !node->schema()) return false;
  return true;
}

}  // namespace

bool has_references(const ir::Graph& graph) {
  bool any = false;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    any = any || node->is("prim::CreateObject");
    for (const ir::Value* output : node->outputs()) {
      const ir::TypeRef& type = ir::without_optional(output->type());
      const bool container = ir::is(type, ir::TypeKind::list) || ir::is(type, ir::TypeKind::dict);
      any = any || (container && (ir::holds(*type->elements.back(), ir::TypeKind::list) ||
                                  ir::holds(*type->elements.back(), ir::TypeKind::dict)));
    }
  });
  return any || holds_optionals(graph, {});
}

bool number_references(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry, const Budget& budget,
                       bool keep_assertions, const ir::Watch& watch) {
  const auto follows_all = [&](ir::Graph& followed) {
    return follows_all_containers(followed, program, registry, budget, keep_assertions, watch);
  };
  const auto numbers = [&](ir::Graph& numbered, Numbered which, bool boxed) {
    return (!boxed || box_optionals(numbered, registry, watch)) && number(numbered, which, program, registry, watch);
  };
  const bool boxes = holds_optionals(graph, watch);
  for (const bool boxed : {true, false}) {
    if (boxed ? !boxes : !has_references(graph) || follows_all(graph)) continue;
    for (const Numbered which : {Numbered::objects, Numbered::all}) {
      ir::Graph copy = graph.clone();
      if (numbers(copy, which, boxed) && follows_all(copy)) return numbers(graph, which, boxed);
    }
  }
  return false;
}

}  // namespace compatcheck::passes
