#include "passes/container_walk.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "compatcheck/error.h"
#include "passes/effects.h"
#include "passes/evaluate.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

// They may return a list or dictionary that somebody else holds, too.
bool hands_on(const ir::Node& node) {
  constexpr auto operators =
      std::to_array<std::string_view>({"aten::__getitem__", "aten::get", "aten::pop", "aten::popitem", "aten::setdefault",
                                       "aten::_unwrap_optional", "prim::GetAttr", "prim::ListUnpack", "prim::TupleIndex",
                                       "prim::TupleUnpack", "prim::Uninitialized", "prim::annotate", "prim::unchecked_cast"});
  return std::ranges::find(operators, node.op()) != operators.end() || gives_what_it_writes(node);
}

}  // namespace

bool is_unknown_tuple(const Abstract& abstract) {
  return !abstract.followed() && ir::is(abstract.value->type(), ir::TypeKind::tuple) && !abstract.value->type()->elements.empty();
}

// Whether columns of type `structure` can hold items of type `item`.
bool fits_columns(const ir::Type& structure, const ir::Type& item) {
  const bool dict = item.kind == ir::TypeKind::dict, tuple = item.kind == ir::TypeKind::tuple;
  if (structure.kind != ir::TypeKind::tuple) return structure.kind == ir::TypeKind::list && !dict && !tuple;
  const std::size_t parts = structure.elements.size();
  if (item.kind == ir::TypeKind::named) return structure.field_names.size() == parts;
  if (dict ? structure.field_names.size() != parts : !tuple || item.elements.size() != parts) return false;
  for (std::size_t i = 0; i < parts; ++i)
    if (!fits_columns(*structure.elements[i], *item.elements[dict ? 1 : i])) return false;
  return true;
}

// A graph's text may say anything: as many inputs and outputs as the operator has, and a result of its type.
bool has_usual_form(const ir::Node& node) {
  const std::size_t inputs = node.inputs().size(), outputs = node.outputs().size();
  const auto gives = [&](ir::TypeKind kind) { return ir::is(node.output()->type(), kind); };
  if (!node.blocks().empty()) return ir::arity_fault(node).empty();
  if (node.is("prim::SetAttr")) return inputs == 2 && outputs == 0;
  if (node.is("prim::TupleUnpack") || node.is("prim::ListUnpack")) return inputs == 1;
  if (outputs > 1 || (outputs == 0 && !writes(node))) return false;
  // A list of Any may hold itself.
  if (!node.outputs().empty() && ir::holds(*node.output()->type(), ir::TypeKind::any)) return false;
  if (node.is("prim::ListConstruct")) return gives(ir::TypeKind::list);
  if (node.is("prim::ColumnsConstruct") && gives(ir::TypeKind::dict))
    return inputs == 1 && ir::is(node.input(0)->type(), ir::TypeKind::tuple) && node.input(0)->type()->elements.size() == 2;
  if (node.is("prim::ColumnsConstruct"))
    return inputs == 1 && gives(ir::TypeKind::list) && fits_columns(*node.input(0)->type(), *node.output()->type()->elements[0]);
  if (node.is("prim::OptionalConstruct")) return inputs == 2;
  if (node.is("prim::DictConstruct")) return gives(ir::TypeKind::dict) && inputs % 2 == 0;
  if (node.is("prim::TupleConstruct")) return gives(ir::TypeKind::tuple) && node.output()->type()->elements.size() == inputs;
  if (node.is("prim::CreateObject") || node.is("aten::dict") || node.is("aten::list")) return true;
  return inputs >= (node.is("prim::TupleIndex") ? 2u : 1u);
}

// Whether it may become an Optional that is None only in some runs.
bool is_settled(const Abstract& abstract) {
  return abstract.followed() || abstract.is_none() ||
         !(ir::is(abstract.value->type(), ir::TypeKind::optional) || ir::is(abstract.value->type(), ir::TypeKind::any));
}

bool has_cells(const Abstract& abstract) { return abstract.cell || abstract.holds_cells; }

bool is_plain_element(const ir::TypeRef& type) {
  using enum ir::TypeKind;
  if (!type) return false;
  switch (type->kind) {
    case list:
    case dict:
    case named:
    case module:
    case any:
    case any_list:
    case any_tuple:
    case any_class:
    case capsule:
    case future:
    case rref:
    case await_of:
    case var: return false;
    default: return std::ranges::all_of(type->elements, is_plain_element);
  }
}

bool has_whole_items(const ir::TypeRef& list) {
  return is_plain_element(list->elements[0]) && !ir::is(list->elements[0], ir::TypeKind::optional);
}

ContainerWalk::ContainerWalk(ir::Graph& graph, Options options)
    : graph_(graph),
      program_(options.program),
      registry_(options.registry),
      budget_(options.budget),
      watch_(options.watch),
      unfollowed_(options.unfollowed),
      marks_(options.marks),
      attributes_(options.attributes),
      work_left_(options.most_work),
      tracks_names_(options.tracks_names),
      exception_(options.exception) {}

void ContainerWalk::run() {
  label(*graph_.top());
  load_attributes();
  walk(*graph_.top());
  safely(graph_.top()->return_node(), &ContainerWalk::tell_kept_apart);
  safely(graph_.top()->return_node(), &ContainerWalk::put_outputs);
}

void ContainerWalk::put_outputs(ir::Node* node) {
  gives_outputs_ = true;
  put_operands(node);
}

void ContainerWalk::run_again(const ir::Graph& original) {
  ir::Block* top = graph_.top();
  gives_outputs_ = false;
  for (const auto& [key, holder] : holders_) heap_.change(holder).untouched = true;
  read_before_write_.clear();
  keep_snapshot();
  ir::Node* last = top->last();
  std::vector<Site> labels;
  ir::for_each_node(*original.top(), [&](const ir::Node*) { labels.push_back(labels.size() + 1); });
  const std::vector<ir::Value*> inputs(top->inputs().begin(), top->inputs().end());
  const auto outputs = graph_.copy_block_contents(*original.top(), inputs, top, nullptr);
  for (ir::Value* output : outputs) top->add_output(output);
  next_ = last ? last->next() : top->first();
  label_copy(next_, nullptr, labels);
  if (!next_) return;
  second_call_ = node_before(next_, "prim::SecondCall", {}, {});  // no pass knows this operator, so none removes it
  while (next_) {
    ir::Node* node = next_;
    next_ = node->next();
    safely(node, &ContainerWalk::visit);
  }
  safely(top->return_node(), &ContainerWalk::put_outputs);
}

// A container that isn't followed holds the very objects that it gets, so these can't be followed either.
std::set<Site> ContainerWalk::failed_with_contents() {
  std::set<Site> all = failed_;
  const auto fails = [&](CellId id) {
    return std::ranges::any_of(heap_.origin(id).sites, [&](Site site) { return all.contains(site); });
  };
  for (std::size_t before = 0; before != all.size();) {
    before = all.size();
    for (auto id = static_cast<CellId>(heap_.size()); id-- > 0;)
      if (fails(id))
        for (const Abstract& item : heap_.at(id).items)
          if (has_cells(item)) {
            add_sites(item, all);
            mark_held(item, heap_.origin(id).sites);
          }
  }
  all.erase(0);
  return all;
}

void ContainerWalk::finish() {
  for (std::size_t i = dropped_.size(); i-- > 0;)
    if (!erase_if_unused(dropped_[i])) throw InternalError("following containers: a dropped " + dropped_[i]->op() + " is read");
}

// ---- Values and cells

// Nodes are numbered in order, so that a place has the same number in each copy of the graph.
void ContainerWalk::label(const ir::Block& block) {
  ir::for_each_node(block, [&](const ir::Node* node) { labels_.emplace(node, labels_.size() + 1); });
}

std::vector<Site> ContainerWalk::labels_of(const ir::Block& block) {
  std::vector<Site> labels;
  ir::for_each_node(block, [&](const ir::Node* node) { labels.push_back(labels_[node]); });
  return labels;
}

void ContainerWalk::label_copy(const ir::Node* first, const ir::Node* end, std::span<const Site> labels) {
  const auto set = [&](const auto& self, const ir::Node* node) -> void {
    if (labels.empty()) return;
    labels_[node] = labels.front();
    labels = labels.subspan(1);
    for (const ir::Block* block : node->blocks())
      for (const ir::Node* inner : *block) self(self, inner);
  };
  for (const ir::Node* node = first; node && node != end; node = node->next()) set(set, node);
}

Site ContainerWalk::site_of(const ir::Node* node) const {
  const auto label = labels_.find(node);
  return label == labels_.end() ? 0 : label->second;
}

Site ContainerWalk::site_of(const ir::Value* value) const {
  constexpr Site inputs = Site{1} << 40;
  return value->producer() ? site_of(value->producer()) : inputs + value->index();
}

void ContainerWalk::leave(std::set<Site> sites, Unfollowed why) const {
  sites.erase(0);
  if (sites.empty()) throw NothingToLeaveOut{};
  throw LeftOut{.sites = std::move(sites), .why = why};
}

void ContainerWalk::leave(const Abstract& abstract, Unfollowed why) const {
  std::set<Site> sites;
  add_sites(abstract, sites);
  leave(std::move(sites), why);
}

void ContainerWalk::add_sites(const Abstract& abstract, std::set<Site>& sites) const {
  if (abstract.present || abstract.code) sites.insert(abstract.site);
  if (abstract.cell) sites.insert(heap_.origin(*abstract.cell).sites.begin(), heap_.origin(*abstract.cell).sites.end());
  if (abstract.parts)
    for (const Abstract& part : *abstract.parts) add_sites(part, sites);
}

// Marks containers as left. Reasons that have a container in common get one place.
void ContainerWalk::mark(const LeftOut& left) {
  if (left.why == Unfollowed::unknown) return;
  std::set<std::int64_t> places;
  if (left.place) places.insert(left.place);
  for (const Site site : left.sites)
    if (const auto known = marks_.find(site); known != marks_.end()) places.insert(known->second.place);
  const std::int64_t place = places.empty() ? static_cast<std::int64_t>(marks_.size()) + 1 : *places.begin();
  for (auto& [site, mark] : marks_)
    if (places.contains(mark.place)) mark.place = place;
  for (const Site site : left.sites) marks_.try_emplace(site, UnfollowedMark{left.why, place});
}

// Marks the containers that one which is left holds.
void ContainerWalk::mark_held(const Abstract& item, const std::set<Site>& holder) {
  LeftOut left{.sites = {}, .why = Unfollowed::of_holder};
  add_sites(item, left.sites);
  for (const Site site : holder)
    if (const auto known = marks_.find(site); known != marks_.end()) left.place = known->second.place;
  if (left.place) mark(left);
}

CellId ContainerWalk::add_cell(Cell cell, const ir::TypeRef& type, std::set<Site> sites, const ir::Value* value) {
  const bool input = value && !value->producer();
  return heap_.add(std::move(cell), {ir::without_optional(type), std::move(sites), input ? value->name() : std::string(), value});
}

bool ContainerWalk::existed(CellId id, const ir::Node& before, std::size_t cells) const {
  const ir::Value* value = heap_.origin(id).value;
  return value ? available_in(value, before.owner()) : id < cells;
}

void ContainerWalk::know(const ir::Value* value, Abstract abstract) {
  const auto name = [&](const auto& self, const Abstract& part) -> void {
    if (!has_cells(part)) return;
    work();
    if (part.cell) names_[*part.cell].push_back(value);
    if (part.parts)
      for (const Abstract& inner : *part.parts) self(self, inner);
  };
  name(name, abstract);
  known_[value] = std::move(abstract);
}

Abstract ContainerWalk::look(ir::Value* value) {
  if (const auto found = known_.find(value); found != known_.end()) return found->second;
  if (const ir::Constant* constant = ir::constant_of(value)) return look_at_constant(value, *constant);
  const ir::TypeRef& type = value->type();
  const bool list = ir::is(type, ir::TypeKind::list) && is_plain_element(type->elements[0]) && !is_undefined(value);
  if (!list || is_left_out(value)) return Abstract::of(value);
  know(value, Abstract::of_cell(add_cell({.whole = true, .made = value}, type, {site_of(value)}, value)));
  return known_.at(value);
}

// A constant's items become constants beside it.
Abstract ContainerWalk::look_at_constant(ir::Value* value, const ir::Constant& constant) {
  if (is_left_out(value)) return Abstract::of(value);
  std::size_t items = 0;
  const ir::Constant* path = value->producer()->attribute("path");
  const auto item = [&](const ir::Constant& inner, const ir::TypeRef& type) {
    ir::Value* made = constant_before(value->producer(), inner);
    if (path && holds_memory(made->type()))
      made->producer()->set_attribute("path", {*path->get<std::string>() + "." + std::to_string(items++)});
    if (type && !inner.is_none() && !inner.get<ir::TensorView>() && !inner.get<ir::ObjectConstant>()) made->set_type(type);
    labels_[made->producer()] = site_of(value);
    return look(made);
  };
  const auto* given = constant.get<ir::ListConstant>();
  const bool odd = given && !ir::is(ir::without_optional(value->type()), ir::TypeKind::list);
  const ir::TypeRef type = odd ? ir::list_of(given->element) : ir::without_optional(value->type());
  const auto element = [&](std::size_t i) { return i < type->elements.size() ? type->elements[i] : nullptr; };
  Cell cell{.made = value};
  if (const auto* list = constant.get<ir::ListConstant>()) {
    // Operators on long lists of numbers are evaluated as they are.
    constexpr std::size_t long_list = 64;
    const bool numbers = is_plain_element(list->element) && !holds_memory(list->element);
    work(list->items.size());
    if (numbers && (list->items.size() > long_list || !spend(budget_.listed, list->items.size()))) {
      cell.whole = true;
    } else {
      for (const ir::Constant& inner : list->items) cell.items.push_back(item(inner, list->element));
    }
  } else if (const auto* dict = constant.get<ir::DictConstant>()) {
    work(dict->items.size());
    cell.kind = Cell::Kind::dict;
    for (const auto& [key, inner] : dict->items) {
      cell.keys.push_back(key);
      cell.items.push_back(item(inner, dict->value));
    }
  } else if (const auto* tuple = constant.get<ir::TupleConstant>()) {
    work(tuple->items.size());
    std::vector<Abstract> parts;
    for (std::size_t i = 0; i < tuple->items.size(); ++i) parts.push_back(item(tuple->items[i], element(i)));
    know(value, Abstract::of_parts(std::move(parts), type, value));
    return known_.at(value);
  } else {
    return Abstract::of(value);
  }
  know(value, Abstract::of_cell(add_cell(std::move(cell), type, {site_of(value)}, value)));
  return known_.at(value);
}

// A write to an input, which the caller doesn't get.
void ContainerWalk::note_lost(const std::string& input, const ir::Node* writer) {
  const auto noted = [&](const ir::LostWrite& lost) { return lost.name == input; };
  if (!input.empty() && std::ranges::none_of(lost_writes_, noted))
    lost_writes_.push_back({input, writer->op(), writer->location(), writer->module()});
}

Cell& ContainerWalk::change(CellId id, const ir::Node* writer) {
  const CellOrigin& origin = heap_.origin(id);
  // It may be read under another name.
  for (const CellId other : heap_.sharing(id)) {
    if (!ir::same_structure(*origin.type, *heap_.origin(other).type)) continue;  // a part of the same item of a list
    writes_under_names_ = true;
    if (!is_live(other, writer)) continue;
    const ir::Block* block = writer->owner();
    const bool known = std::ranges::all_of(heap_.identities(id), [&](const auto& entry) {
      const auto found = heap_.identities(other).find(entry.first);
      return found == heap_.identities(other).end() || (entry.second.is_known_in(block) && found->second.is_known_in(block));
    });
    if (!known) {
      if (!tracks_names_) throw LeftOut{.sites = {}, .lacks_names = true};
      std::set<Site> sites = origin.sites;
      sites.insert(heap_.origin(other).sites.begin(), heap_.origin(other).sites.end());
      leave(std::move(sites), Unfollowed::of_names);
    }
    to_spread_.emplace_back(id, other);
  }
  reach_lists(id, writer);
  note_lost(origin.input, writer);
  for (const CellId other : heap_.sharing(id)) note_lost(heap_.origin(other).input, writer);
  Cell& cell = heap_.change(id);
  cell.made = nullptr;
  return cell;
}

// Spreads writes to cells that may be the same object.
void ContainerWalk::spread(ir::Node* place, Site site) {
  do {
    write_back(place);
    while (!to_spread_.empty()) {
      const auto [from, to] = to_spread_.back();
      to_spread_.pop_back();
      if (ir::Value* same = sameness(from, to, place)) select(same, from, to, place, site);
    }
  } while (!to_write_back_.empty());
}

const Cell* ContainerWalk::known_list(const Abstract& list) {
  if (!list.cell) return nullptr;
  const Cell& cell = heap_.at(*list.cell);
  return cell.kind == Cell::Kind::list && !cell.whole ? &cell : nullptr;
}

std::optional<ir::Constant> ContainerWalk::as_constant(const Abstract& abstract) const {
  if (abstract.value && !abstract.parts) {
    const ir::Constant* constant = ir::constant_of(abstract.value);
    return constant ? std::optional(*constant) : std::nullopt;
  }
  if (!abstract.cell) return std::nullopt;
  const Cell& cell = heap_.at(*abstract.cell);
  if (cell.kind != Cell::Kind::list) return std::nullopt;
  if (cell.whole) return cell.made ? as_constant(Abstract::of(cell.made)) : std::nullopt;
  if (!is_plain_element(heap_.origin(*abstract.cell).type->elements[0])) return std::nullopt;
  ir::ListConstant list{heap_.origin(*abstract.cell).type->elements[0], {}};
  for (const Abstract& item : cell.items) {
    auto constant = as_constant(item);
    if (!constant) return std::nullopt;
    list.items.push_back(*std::move(constant));
  }
  return ir::Constant{std::move(list)};
}

// Whether the value has what `abstract` holds now.
bool ContainerWalk::holds(const ir::Value* value, const Abstract& abstract) {
  if (abstract.present || abstract.code) return false;
  if (!abstract.followed()) return value == abstract.value;
  const Cell* cell = abstract.cell ? &heap_.at(*abstract.cell) : nullptr;
  const std::vector<Abstract>& items = cell ? cell->items : *abstract.parts;
  const bool nested = std::ranges::any_of(items, has_cells);
  if (cell && !nested && cell->made) return cell->made == value;
  const ir::Node* node = value->producer();
  if ((cell && (cell->whole || !cell->is_settled())) || !node) return false;
  if (!nested && !cell && value == abstract.value && node->is("prim::Constant")) return true;
  const bool dict = cell && cell->kind == Cell::Kind::dict;
  if (!node->is(!cell ? "prim::TupleConstruct" : dict ? "prim::DictConstruct" : "prim::ListConstruct")) return false;
  const std::size_t stride = dict ? 2 : 1;
  if (node->inputs().size() != items.size() * stride) return false;
  work(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const ir::Constant* key = dict ? ir::constant_of(node->input(2 * i)) : nullptr;
    if ((dict && (!key || !ir::equal(*key, cell->keys[i]))) || !holds(node->input(stride * i + stride - 1), items[i]))
      return false;
  }
  return true;
}

ir::Value* ContainerWalk::leaf(const Abstract& abstract, ir::Node* place) {
  if (!abstract.followed()) return abstract.value;
  if (abstract.present) return option(abstract, place);
  if (abstract.code) return spelled(abstract, place);
  if (abstract.parts) {
    if (abstract.value && holds(abstract.value, abstract)) return abstract.value;
    std::vector<ir::Value*> parts;
    for (const Abstract& part : *abstract.parts) parts.push_back(leaf(part, place));
    return node_before(place, "prim::TupleConstruct", parts, {&abstract.type, 1})->output();
  }
  const Cell& cell = heap_.at(*abstract.cell);
  if (cell.made && holds(cell.made, abstract)) return cell.made;
  ir::Value* made = make(cell, heap_.origin(*abstract.cell), place);
  heap_.change(*abstract.cell).made = made;
  return made;
}

ir::Value* ContainerWalk::make(const Cell& cell, const CellOrigin& origin, ir::Node* place) {
  if ((cell.layout || cell.is_table()) && gives_outputs_) return spread_out(cell, origin, place);
  if (cell.layout || cell.is_table()) leave(origin.sites);
  if (cell.whole) return cell.made;
  if (cell.kind == Cell::Kind::object || !cell.is_settled()) leave(origin.sites);
  if (!spend(budget_.listed, cell.items.size())) leave(origin.sites);
  const bool dict = cell.kind == Cell::Kind::dict;
  std::vector<ir::Value*> items;
  items.reserve(cell.items.size() * (dict ? 2 : 1));
  for (std::size_t i = 0; i < cell.items.size(); ++i) {
    if (dict) items.push_back(constant_before(place, cell.keys[i]));
    items.push_back(leaf(cell.items[i], place));
  }
  return node_before(place, dict ? "prim::DictConstruct" : "prim::ListConstruct", items, {&origin.type, 1})->output();
}

Abstract ContainerWalk::as_parts(const Abstract& abstract, ir::Node* place) {
  const ir::TypeRef& type = abstract.value->type();
  ir::Node* unpack =
      is_undefined(abstract.value) ? nullptr : node_before(place, "prim::TupleUnpack", {&abstract.value, 1}, type->elements);
  std::vector<Abstract> parts;
  for (std::size_t i = 0; i < type->elements.size(); ++i) {
    ir::Value* part =
        unpack ? unpack->output(i) : node_before(place, "prim::Uninitialized", {}, {&type->elements[i], 1})->output();
    known_[part] = Abstract::of(part);
    parts.push_back(Abstract::of(part));
  }
  return Abstract::of_parts(std::move(parts), type);
}

// ---- Nodes

void ContainerWalk::work(std::size_t steps) {
  if (steps > work_left_) throw TooMuchWork{};
  work_left_ -= steps;
}

void ContainerWalk::walk(ir::Block& block) {
  ir::Node* const outer = next_;
  next_ = block.first();
  while (next_) {
    ir::Node* node = next_;
    next_ = node->next();
    safely(node, &ContainerWalk::visit);
  }
  next_ = outer;
  done_.insert(block.return_node());
}

// One walk finds all that can't be followed, where it can: what comes after the first is looked at as well.
void ContainerWalk::safely(ir::Node* node, Visit step) {
  const std::size_t open = heap_.open_frames();
  try {
    (this->*step)(node);
  } catch (const LeftOut& found) {
    to_spread_.clear();
    to_write_back_.clear();
    failed_.insert(found.sites.begin(), found.sites.end());
    mark(found);
    lacks_names_ = lacks_names_ || found.lacks_names;
    while (heap_.open_frames() > open) heap_.close();
    if (!node->owner()) return;
    for (ir::Value* output : node->outputs()) known_[output] = Abstract::of(output);
  }
}

void ContainerWalk::visit(ir::Node* node) {
  watch_.step();
  work();
  done_.insert(node);
  if (node->is("prim::Constant") || node->is("prim::Uninitialized")) return;
  if (visit_choice(node)) return;
  const auto found = visits().find(node->op());
  if (found == visits().end() || !has_usual_form(*node))
    visit_other(node);
  else
    (this->*found->second)(node);
}

// An operator that only reads containers, if it has any.
void ContainerWalk::visit_other(ir::Node* node) {
  if (evaluate_known(node)) return;
  if (!node->blocks().empty()) throw NothingToLeaveOut{};
  const auto written = written_operands(*node);
  for (const std::size_t i : written)
    if (const auto at = known_.find(node->input(i)); at != known_.end() && has_cells(at->second)) leave(at->second);
  // A container that the node stores somewhere must stay one object with the followed one.
  const bool stores = node->is("prim::SetAttr") || std::ranges::any_of(written, [&](std::size_t i) {
                        return !ir::is(node->input(i)->type(), ir::TypeKind::tensor);
                      });
  for (ir::Value* input : node->inputs())
    if (const auto at = known_.find(input); stores && at != known_.end() && has_cells(at->second)) {
      mark_held(at->second, {site_of(node->input(0))});
      leave(at->second);
    }
  put_operands(node);
  for (ir::Value* output : node->outputs())
    if (hands_on(*node) && ir::is(output->type(), ir::TypeKind::list)) known_[output] = Abstract::of(output);
}

bool ContainerWalk::evaluate_known(ir::Node* node) {
  if (!can_evaluate(*node)) return false;
  if (node->outputs().size() != 1 || node->inputs().empty() || holds_memory(node->output()->type())) return false;
  std::vector<ir::Constant> constants;
  for (ir::Value* input : node->inputs()) {
    const auto known = known_.find(input);
    const ir::Constant* constant = known == known_.end() ? ir::constant_of(input) : nullptr;
    auto value = constant ? std::optional(*constant) : known == known_.end() ? std::nullopt : as_constant(known->second);
    if (!value) return false;
    constants.push_back(*std::move(value));
  }
  std::vector<const ir::Constant*> arguments;
  for (const ir::Constant& constant : constants) arguments.push_back(&constant);
  auto result = evaluate(*node, arguments);
  if (!result) return false;
  const ir::TypeRef type = result->is_none() || ir::is(node->output()->type(), ir::TypeKind::number) ||
                                   ir::is(node->output()->type(), ir::TypeKind::optional)
                               ? ir::type_of(*result)
                               : node->output()->type();
  give(node, Abstract::of(constant_before(node, *std::move(result), type)));
  return true;
}

void ContainerWalk::put_operands(ir::Node* node) { put_operands_from(node, 0); }

void ContainerWalk::put_operands_from(ir::Node* node, std::size_t first) {
  for (std::size_t i = first; i < node->inputs().size(); ++i) {
    ir::Value* input = node->input(i);
    const auto known = known_.find(input);
    if (known == known_.end() || !known->second.followed()) continue;
    const Abstract abstract = known->second;
    if (holds(input, abstract)) continue;
    node->replace_input(i, leaf(abstract, node));
    ++changes_;
  }
}

void ContainerWalk::give(ir::Node* node, Abstract result) {
  ++changes_;
  if (result.followed()) {
    know(node->output(), std::move(result));
    return drop(node);
  }
  // The type that a read refines stays refined.
  replace(node->output(), result.value);
  node->erase();
}

void ContainerWalk::visit_next(ir::Node* node) {
  ++changes_;
  next_ = node;
}

void ContainerWalk::visit_instead(ir::Node* node, ir::Node* first, std::span<ir::Value* const> results) {
  for (std::size_t i = 0; i < std::min(results.size(), node->outputs().size()); ++i)
    node->output(i)->replace_all_uses_with(results[i]);
  node->erase();
  visit_next(first);
}

void ContainerWalk::drop(ir::Node* node) { dropped_.push_back(node); }

}  // namespace compatcheck::passes
