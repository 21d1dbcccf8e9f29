#include "passes/references.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ir/control_flow.h"
#include "passes/container_forms.h"
#include "passes/effects.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

using Operators = std::set<std::string_view>;

// The operand that becomes an item of the first one, or that may be what the operator gives.
std::size_t item_operand(const ir::Node& node) {
  if (node.is("aten::append") || node.is("prim::SetAttr")) return 1;
  const bool second = node.is("aten::insert") || node.is("aten::_set_item") || node.is("aten::get") ||
                      node.is("aten::setdefault") || (node.is("aten::pop") && is_kind(node.input(0), ir::TypeKind::dict));
  return second ? 2 : 0;
}

bool refines(const ir::Node& node) {
  return node.is("prim::unchecked_cast") || node.is("prim::annotate") || node.is("aten::_unwrap_optional");
}

// None, or a container without items.
bool is_empty_constant(const ir::Node& node) {
  const ir::Constant* constant = node.is("prim::Constant") ? ir::constant_of(node.output()) : nullptr;
  if (!constant) return false;
  const auto* list = constant->get<ir::ListConstant>();
  const auto* dict = constant->get<ir::DictConstant>();
  return constant->is_none() || (list && list->items.empty() && !list->identity) ||
         (dict && dict->items.empty() && !dict->identity);
}

}  // namespace

// A tuple that the model returns, or a part of one.
static bool makes_output(const ir::Node& node) {
  return node.is("prim::TupleConstruct") && std::ranges::all_of(node.output()->uses(), [](const ir::Use& use) {
           return (use.user == use.user->owner()->return_node() && !use.user->owner()->owner()) || makes_output(*use.user);
         });
}

bool only_moves(const ir::Node& node, std::size_t operand) {
  if (makes_output(node)) return false;
  static const Operators all{"prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct", "prim::If",
                             "prim::Loop",          "prim::TupleUnpack",    "prim::TupleIndex",    "prim::TupleSlice"};
  if (all.contains(node.op()) || refines(node) || compares_identity(node)) return true;
  if (&node == node.owner()->return_node()) return node.owner()->owner() != nullptr;
  return operand > 0 && operand == item_operand(node);
}

bool gives_references(const ir::Node& node) {
  static const Operators all{"prim::If",         "prim::Loop",    "prim::TupleUnpack",  "prim::TupleIndex", "prim::TupleSlice",
                             "prim::ListUnpack", "prim::GetAttr", "aten::__getitem__",  "aten::get",        "aten::setdefault",
                             "aten::pop",        "aten::popitem", "prim::Uninitialized"};
  const bool none = node.is("prim::Constant") && ir::constant_of(node.output())->is_none();
  return all.contains(node.op()) || refines(node) || none;
}

References::References(const ir::Graph& graph, const ir::Watch& watch) {
  const Nodes nodes = all_nodes(graph, watch);
  for (const ir::Node* node : nodes)
    if (node->is("prim::CreateObject")) {
      const std::string& name = node->output()->type()->name;
      Term*& term = classes_[name];
      if (!term) term = &terms_.emplace_back(Term{.kind = Term::Kind::object, .class_name = name});
    }
  for (const ir::Node* node : nodes) read(*node);
  for (const ir::Value* input : graph.inputs()) make_foreign(of(input));
  const ir::Node& end = *graph.top()->return_node();
  reading_whole_.insert(&end);
  for (const ir::Value* output : graph.outputs()) hand_out(output, end);
  mark_held();
}

References::Term* References::root(Term* term) {
  while (term->same) term = term->same = term->same->same ? term->same->same : term->same;
  return term;
}

References::Term* References::of(const ir::Value* value) {
  Term*& term = of_values_[value];
  if (!term) term = made(value->type());
  return root(term);
}

References::Term* References::made(const ir::TypeRef& type) {
  using enum ir::TypeKind;
  if (ir::is(type, optional)) return made(type->elements[0]);
  if (ir::is(type, named))
    if (const auto found = classes_.find(type->name); found != classes_.end()) return root(found->second);
  Term& term = terms_.emplace_back();
  const auto take = [&](Term::Kind kind, std::size_t first) {
    term.kind = kind;
    for (std::size_t i = first; i < type->elements.size(); ++i) term.parts.push_back(made(type->elements[i]));
  };
  if (ir::is(type, list)) take(Term::Kind::list, 0);
  if (ir::is(type, tuple)) take(Term::Kind::tuple, 0);
  if (ir::is(type, dict)) take(Term::Kind::dict, 1);
  term.foreign = term.kind == Term::Kind::plain && holds_memory(type) && !ir::is(type, tensor) && !ir::is(type, none);
  return &term;
}

// A part of which only None was seen yet.
static bool knows_nothing(const References::Term& term) { return term.kind == References::Term::Kind::plain && !term.foreign; }

void References::unify(Term* a, Term* b) {
  a = root(a);
  b = root(b);
  if (a == b) return;
  if (a->kind == Term::Kind::plain) std::swap(a, b);
  const bool alike = a->kind == b->kind && a->parts.size() == b->parts.size() && a->kind != Term::Kind::object;
  if (!alike && b->kind != Term::Kind::plain) {
    make_foreign(a);
    make_foreign(b);
    return;
  }
  if (b->kind == Term::Kind::plain && a->kind != Term::Kind::plain) {  // None, or a value of any type
    if (b->foreign) make_foreign(a);
    return;
  }
  b->same = a;
  a->foreign = a->foreign || b->foreign;
  for (std::size_t i = 0; i < a->parts.size(); ++i)
    if (knows_nothing(*root(a->parts[i])))
      a->parts[i] = b->parts[i];
    else
      unify(a->parts[i], b->parts[i]);
}

References::Term* References::attribute(Term* object, std::string_view name, const ir::TypeRef& type) {
  Term*& term = object->attributes[std::string(name)];
  if (term && !knows_nothing(*root(term))) return term;
  term = made(type);
  if (object->foreign) make_foreign(term);
  return term;
}

void References::make_foreign(Term* term) {
  Term& all = *root(term);
  if (!std::exchange(all.foreign, true)) make_contents_foreign(all);
}

void References::make_contents_foreign(const Term& term) {
  for (Term* part : term.parts) make_foreign(part);
  for (const auto& [name, attribute] : term.attributes) make_foreign(attribute);
}

// A list can be put in the place of its number where an operator reads it, unless None may stand there.
void References::hand_out(const ir::Value* value, const ir::Node& to) {
  Term* term = of(value);
  const auto is_plain = [](Term* part) { return root(part)->kind == Term::Kind::plain; };
  if (term->kind == Term::Kind::list && !ir::is(value->type(), ir::TypeKind::optional)) {
    const Term* item = part(term, 0);
    if (!reads_whole(to) || item->kind != Term::Kind::list || !std::ranges::all_of(item->parts, is_plain))
      make_contents_foreign(*term);
  } else if (term->kind != Term::Kind::plain)
    make_foreign(term);
}

void References::read(const ir::Node& node) {
  for (const ir::Block* block : node.blocks())
    for (const ir::Value* input : block->inputs()) of(input);
  if (makes_output(node) || (!read_moves(node) && !read_list(node) && !read_dict(node))) read_other(node);
}

bool References::read_moves(const ir::Node& node) {
  if (node.is("prim::If")) {
    for (const ir::Block* block : node.blocks())
      for (std::size_t i = 0; i < node.outputs().size(); ++i) unify(node.output(i), block->outputs()[i]);
  } else if (node.is("prim::Loop")) {
    const ir::LoopView loop(node);
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      for (const ir::Value* value : {loop.initial_values()[i], loop.parameters()[i], loop.next_values()[i]})
        unify(node.output(i), value);
  } else if (refines(node)) {
    unify(node.output(), node.input(0));
  } else if (compares_identity(node)) {
    unify(node.input(0), node.input(1));
    Term *one = of(node.input(0)), *other = of(node.input(1));
    // Lists with equal contents may have become one value before.
    if (one->kind != Term::Kind::object && one->kind == other->kind) make_foreign(one);
  } else if (node.is("prim::TupleConstruct")) {
    for (std::size_t i = 0; i < node.inputs().size(); ++i) unify(part(of(node.output()), i), of(node.input(i)));
  } else if (node.is("prim::TupleUnpack") && of(node.input(0))->parts.size() == node.outputs().size()) {
    for (std::size_t i = 0; i < node.outputs().size(); ++i) unify(of(node.output(i)), part(of(node.input(0)), i));
  } else if (node.is("prim::TupleIndex") && of(node.input(0))->kind == Term::Kind::tuple && known<std::int64_t>(node.input(1))) {
    const auto count = static_cast<std::int64_t>(of(node.input(0))->parts.size());
    const std::int64_t index = *known<std::int64_t>(node.input(1)), at = index < 0 ? index + count : index;
    if (at < 0 || at >= count) return false;
    unify(of(node.output()), part(of(node.input(0)), static_cast<std::size_t>(at)));
  } else if (is_attribute_access(node)) {
    Term* object = of(node.input(0));
    if (object->kind != Term::Kind::object) return false;
    const ir::Value* value = node.is("prim::GetAttr") ? node.output() : node.input(1);
    unify(attribute(object, attribute_name(node), value->type()), of(value));
  } else {
    return node.is("prim::CreateObject") || node.is("prim::Uninitialized") || is_empty_constant(node);
  }
  return true;
}

bool References::read_list(const ir::Node& node) {
  static const Operators copies{"aten::slice", "aten::copy", "aten::list", "aten::mul"};
  static const Operators no_items{"aten::len", "aten::clear", "aten::Delete", "aten::reverse", "aten::mul_"};
  if (node.is("prim::ListConstruct")) {
    if (of(node.output())->kind != Term::Kind::list) return false;
    for (const ir::Value* item : node.inputs()) unify(part(of(node.output()), 0), of(item));
    return true;
  }
  const bool takes_list = !node.inputs().empty() && of(node.input(0))->kind == Term::Kind::list;
  const auto item = [&](const ir::Value* list) { return part(of(list), 0); };
  const auto is_list = [&](const ir::Value* value) { return of(value)->kind == Term::Kind::list; };
  if (node.is("aten::mul") && node.inputs().size() == 2 && is_list(node.input(1)) && is_list(node.output())) {
    unify(item(node.output()), item(node.input(1)));
    return true;
  }
  if (!takes_list) return false;
  const bool gives = node.outputs().size() == 1;
  if (node.is("aten::append") || node.is("aten::insert") || node.is("aten::_set_item"))
    unify(item(node.input(0)), of(node.input(item_operand(node))));
  else if (node.is("aten::__getitem__") || node.is("aten::pop"))
    unify(of(node.output()), item(node.input(0)));
  else if (node.is("prim::ListUnpack"))
    for (const ir::Value* output : node.outputs()) unify(of(output), item(node.input(0)));
  else if ((node.is("aten::extend") || node.is("aten::add_") || node.is("aten::add")) && is_list(node.input(1)))
    unify(item(node.input(0)), item(node.input(1)));
  else if (!no_items.contains(node.op()) && !(copies.contains(node.op()) && gives && is_list(node.output())))
    return false;
  if (gives && (copies.contains(node.op()) || node.is("aten::add"))) unify(item(node.output()), item(node.input(0)));
  if (gives && is_list(node.output()) && gives_what_it_writes(node)) unify(node.output(), node.input(0));
  return true;
}

bool References::read_dict(const ir::Node& node) {
  static const Operators no_values{"aten::len", "aten::clear", "aten::Delete", "aten::keys", "aten::__contains__"};
  const auto is_dict = [&](const ir::Value* value) { return of(value)->kind == Term::Kind::dict; };
  const auto item = [&](const ir::Value* dict) { return part(of(dict), 0); };
  if (node.is("prim::DictConstruct")) {
    for (std::size_t i = 1; i < node.inputs().size(); i += 2) unify(item(node.output()), of(node.input(i)));
    return is_dict(node.output());
  }
  if (node.inputs().empty() || !is_dict(node.input(0))) return false;
  const auto gives_pairs = [&](Term* pair) {
    if (pair->kind != Term::Kind::tuple || pair->parts.size() != 2) return false;
    unify(part(pair, 1), item(node.input(0)));
    return true;
  };
  if (no_values.contains(node.op())) return true;
  if (node.is("aten::_set_item")) {
    unify(item(node.input(0)), of(node.input(2)));
  } else if (node.is("aten::__getitem__") || node.is("aten::get") || node.is("aten::setdefault") || node.is("aten::pop")) {
    unify(of(node.output()), item(node.input(0)));
    if (node.inputs().size() > 2) unify(of(node.input(2)), item(node.input(0)));
  } else if (node.is("aten::popitem")) {
    return gives_pairs(of(node.output()));
  } else if (node.is("aten::items") && of(node.output())->kind == Term::Kind::list) {
    return gives_pairs(part(of(node.output()), 0));
  } else if (node.is("aten::values") && of(node.output())->kind == Term::Kind::list) {
    unify(part(of(node.output()), 0), item(node.input(0)));
  } else if ((node.is("aten::copy") || node.is("aten::dict")) && is_dict(node.output())) {
    unify(item(node.output()), item(node.input(0)));
  } else if (node.is("aten::update") && node.inputs().size() == 2 && is_dict(node.input(1))) {
    unify(item(node.input(0)), item(node.input(1)));
  } else {
    return false;
  }
  return true;
}

// An operator that reads containers whole, or makes some.
void References::read_other(const ir::Node& node) {
  const auto is_container = [&](const ir::Value* output) { return of(output)->kind != Term::Kind::plain; };
  if (makes_output(node) || (!writes(node) && std::ranges::none_of(node.outputs(), is_container))) reading_whole_.insert(&node);
  const bool reads_state =
      is_attribute_access(node) || (node.is("prim::Constant") && ir::identity_of(*ir::constant_of(node.output())));
  for (const ir::Value* value : node.inputs()) {
    Term* term = of(value);
    if (reads_state)
      make_foreign(term);
    else
      hand_out(value, node);
  }
  for (const ir::Value* value : node.outputs()) {
    Term* term = of(value);
    if (gives_what_it_writes(node) && term->is_reference()) unify(term, of(node.input(0)));
    if (reads_state || gives_references(node))
      make_foreign(term);
    else
      hand_out(value, node);
  }
}

void References::mark_held() {
  const auto hold = [&](const auto& self, Term* term) -> void {
    term = root(term);
    if (term->is_reference()) term->held = true;
    if (term->kind == Term::Kind::tuple)
      for (Term* inner : term->parts) self(self, inner);
  };
  for (Term& term : terms_) {
    if (term.same) continue;
    if (term.kind != Term::Kind::tuple)
      for (Term* inner : term.parts) hold(hold, inner);
    for (const auto& [name, inner] : term.attributes) hold(hold, inner);
  }
}

}  // namespace compatcheck::passes
