#include "conversion/fact_statement.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "conversion/defect.h"
#include "conversion/type_facts.h"
#include "ir/value_name.h"
#include "passes/effects.h"
#include "passes/functional_form.h"
#include "passes/stack_in_loops.h"
#include "symbolic/evaluate.h"
#include "symbolic/quantizer.h"
#include "symbolic/shapes.h"

namespace compatcheck::conversion {
namespace {

using symbolic::Dim;
using symbolic::Fact;
using symbolic::FactTable;
using symbolic::ListFact;
using symbolic::NumberFact;
using symbolic::TensorFact;

// A loop whose facts still change after so many rounds grows something: a list, a size.
constexpr int loop_rounds = 8;
// Loops inside loops multiply their rounds: after this many visits of a node, facts that a loop changes are forgotten at once.
constexpr std::size_t most_visits = 32;
constexpr std::size_t bytes_a_step = 1024;  // bytes of facts that cost as much as a node
// The bytes that facts of more than usual size may use in all. One may use a share of the rest, so that large ones don't
// use it up for small ones.
constexpr std::size_t usual_fact = 1024;
constexpr std::size_t most_large_facts = 64 << 20;
constexpr std::size_t share_of_large = 16;
constexpr std::size_t highest_rank = 64;                       // torch's own
constexpr std::int64_t most_elements = std::int64_t{1} << 48;  // more than any memory holds

// No size below 0, nor more elements than there can be.
bool is_possible(const symbolic::Shape& shape) {
  if (shape.size() > highest_rank) return false;
  std::int64_t elements = 1;
  for (const Dim& dim : shape) {
    const auto size = dim.number();
    if (!size) continue;
    if (*size < 0 || __builtin_mul_overflow(elements, std::max<std::int64_t>(*size, 1), &elements) || elements > most_elements)
      return false;
  }
  return true;
}

// A traced graph's text contains the traced type of every value: its dtype and rank are valid for other sizes, too.
void add_seen(TensorFact& tensor, const ir::TypeRef& type) {
  if (!type || type->kind != ir::TypeKind::tensor) return;
  if (!tensor.dtype) tensor.dtype = type->tensor.dtype;
  if (!tensor.shape && type->tensor.sizes) tensor.shape = symbolic::unknown_sizes(type->tensor.sizes->size());
}

// Takes the sizes that an exported program states where the rules don't give numbers. Returns the reason if they contradict each
// other.
std::string add_stated_sizes(TensorFact& tensor, const ir::TypeRef& type) {
  if (!ir::is(type, ir::TypeKind::tensor) || !tensor.shape || !type->tensor.sizes) return {};
  const auto& stated = *type->tensor.sizes;
  if (stated.size() != tensor.shape->size()) return {};
  for (std::size_t i = 0; i < stated.size(); ++i) {
    Dim& size = (*tensor.shape)[i];
    if (!stated[i]) continue;
    if (provably_different(size, Dim(*stated[i])))
      return "dimension " + std::to_string(i) + " of its result would be " + size.to_string() + ", but the file states " +
             std::to_string(*stated[i]);
    size = Dim(*stated[i]);
  }
  return {};
}

// Marks the unknown facts of an input, members of a list included: --input states them.
void want_input(Fact& fact, std::uint32_t input) {
  if (auto* list = std::get_if<ListFact>(&fact.value)) {
    if (list->items)
      for (Fact& item : *list->items) want_input(item, input);
    if (list->element) {
      Fact element = *list->element;
      want_input(element, input);
      list->element = std::make_shared<Fact>(std::move(element));
    }
  }
  if (!complete(fact) && !fact.number()) fact.wants = {input};
}

}  // namespace

Statement::Statement(const ir::Graph& graph, const mapping::Table& table, const schema::Registry& schemas,
                     const symbolic::Registry& registry, const ir::Program* program, const ir::Watch& watch)
    : table_(table),
      schemas_(schemas),
      rules_(table, schemas, registry),
      program_(program),
      watch_(watch),
      written_(passes::Aliases::of(graph, program, watch)) {
  ir::for_each_node(*graph.top(), [&](const ir::Node*) { all_visits_ += most_visits; });
  visits_left_ = all_visits_;
}

std::vector<const ir::Value*> Statement::inputs(const ir::Graph& graph, const std::vector<InputFact>& given) {
  std::vector<const ir::Value*> changed;
  inputs_.resize(graph.inputs().size());
  for (const ir::Value* input : graph.inputs()) {
    std::optional<Fact>& before = inputs_[input->index()];
    Fact fact = input_fact(ir::input_name(*input), static_cast<std::uint32_t>(input->index()), input->type(), given);
    if (!before || !symbolic::same(*before, fact)) {
      changed.push_back(input);
      before = fact;
      set(input, std::move(fact));
    }
  }
  return changed;
}

void Statement::block(const ir::Block& block) {
  if (only_) {
    for (const ir::Node* node : only_->in(block)) this->node(*node);
  } else {
    for (const ir::Node* node : block) this->node(*node);
  }
}

void Statement::first_iteration(const ir::Node& node) {
  const ir::LoopView loop(node);
  const NodeSelection* only = std::exchange(only_, nullptr);
  const std::size_t visits_left = visits_left_;
  const auto unset = unset_, unreached = unreached_;
  ir::for_each_node(loop.body(), [&](const ir::Node*) { visits_left_ += most_visits; });
  set(loop.iteration(), {.value = NumberFact{.kind = NumberFact::Kind::integer}});
  for (std::size_t i = 0; i < loop.parameters().size(); ++i) {
    set(loop.parameters()[i], facts_.of(loop.initial_values()[i]));
    take_unset(loop.initial_values()[i], loop.parameters()[i]);
  }
  block(loop.body());
  unset_ = unset;
  unreached_ = unreached;
  only_ = only;
  visits_left_ = visits_left;
}

void Statement::only(const NodeSelection* nodes) {
  only_ = nodes;
  visits_left_ = nodes ? most_visits * nodes->size() : all_visits_;
  if (!nodes) return;
  for (const ir::Node* node : nodes->all())
    for (const ir::Value* output : node->outputs()) reset(output, {});
}

void Statement::reset(const ir::Value* value, Fact fact) {
  large_facts_ -= large_bytes_of(facts_.of(value));
  large_facts_ += large_bytes_of(fact);
  facts_.set(value, std::move(fact));
}

namespace {

// An int that only the model's caller knows. No size has its name: two sizes of one name are equal.
Fact fact_of_integer(std::string name, const std::vector<InputFact>& given) {
  std::set<std::string, std::less<>> sizes;
  for (const InputFact& input : given)
    if (const auto* tensor = input.fact.tensor(); tensor && tensor->shape)
      for (const Dim& size : *tensor->shape)
        for (std::string& each : symbolic::names_in(size)) sizes.insert(std::move(each));
  while (sizes.contains(name)) name += "_value";
  return symbolic::integer_fact(Dim::any_integer(std::move(name)));
}

}  // namespace

Fact Statement::input_fact(const std::string& name, std::uint32_t index, const ir::TypeRef& type,
                           const std::vector<InputFact>& given) {
  const auto exact = std::find_if(given.begin(), given.end(), [&](const InputFact& input) { return input.name == name; });
  Fact fact = exact != given.end() ? exact->fact : fact_of_type(type);
  const auto* number = fact.number();
  if (number && number->kind == NumberFact::Kind::integer && !number->integer) return fact_of_integer(name, given);
  if (exact != given.end()) return fact;
  if (auto* list = std::get_if<ListFact>(&fact.value)) give_members(*list, name, index, type, given);
  want_input(fact, index);
  return fact;
}

void Statement::give_members(ListFact& list, const std::string& name, std::uint32_t index, const ir::TypeRef& type,
                             const std::vector<InputFact>& given) {
  if (list.items) {
    for (std::size_t i = 0; i < list.items->size(); ++i)
      (*list.items)[i] = input_fact(name + "." + std::to_string(i), index, type->elements[i], given);
    return;
  }
  const auto is_given = [&](const std::string& member) {
    return std::any_of(given.begin(), given.end(),
                       [&](const InputFact& input) { return input.name == member || input.name.starts_with(member + "."); });
  };
  std::vector<Fact> members;
  for (std::string member = name + ".0"; is_given(member); member = name + "." + std::to_string(members.size()))
    members.push_back(input_fact(member, index, type->elements.front(), given));
  if (!members.empty()) list.items = std::move(members);
}

void Statement::node(const ir::Node& node) {
  watch_.step();
  if (visits_left_ > 0) --visits_left_;
  if (node.is("prim::If")) return branch(node);
  if (node.is("prim::Loop")) return loop(node);
  if (node.is("prim::Constant")) {
    const ir::Constant* value = node.attribute("value");
    set(node.output(), !value     ? Fact{.value = symbolic::NoneFact{}}
                       : program_ ? symbolic::fact_of(*value, *program_)
                                  : symbolic::fact_of(*value));
    return;
  }
  if (node.is("prim::Uninitialized")) {  // the value that replaces it states the facts
    unset_.insert(node.output());
    return set(node.output(), fact_of_type(node.output()->type()));
  }
  if (node.is("prim::OptionalConstruct")) {  // of what it is if it isn't None
    take_unset(node.input(1), node.output());
    return set(node.output(), facts_.of(node.input(1)));
  }
  for (const ir::Block* block : node.blocks()) this->block(*block);
  call(node);
}

void Statement::forget_wrapped(Fact& fact) {
  auto* tensor = std::get_if<TensorFact>(&fact.value);
  if (!tensor || !tensor->contents || !tensor->dtype || !ir::is_integral(*tensor->dtype)) return;
  if (!symbolic::holds_exactly(*tensor->dtype, *tensor->contents)) tensor->contents.reset();
}

void Statement::set(const ir::Value* value, Fact fact) {
  written_.forget(value, fact);
  if (auto* tensor = std::get_if<TensorFact>(&fact.value); tensor && tensor->shape && !is_possible(*tensor->shape)) {
    if (std::any_of(tensor->shape->begin(), tensor->shape->end(), [](const Dim& dim) { return dim.number().value_or(0) < 0; }))
      fact.impossible = "a dimension of its result would be below 0";
    tensor->shape.reset();
  }
  forget_wrapped(fact);
  reset(value, {});  // frees memory for the new fact
  work_ += 1 + bytes_of(fact) / bytes_a_step;
  if (!is_affordable(fact)) fact.value = fact_of_type(value->type()).value;
  if (!is_affordable(fact)) fact.value = {};
  reset(value, std::move(fact));
}

std::size_t Statement::bytes_of(const Fact& fact) {
  return symbolic::footprint(fact) + fact.wants.size() * sizeof(fact.wants.front());
}

std::size_t Statement::large_bytes_of(const Fact& fact) {
  const std::size_t bytes = bytes_of(fact);
  return bytes > usual_fact ? bytes : 0;
}

bool Statement::is_affordable(const Fact& fact) const {
  const std::size_t bytes = large_bytes_of(fact);
  return bytes == 0 || (bytes <= symbolic::most_fact && large_facts_ + share_of_large * bytes <= most_large_facts);
}

bool Statement::is_unreached(const ir::Node& node) const {
  if (std::ranges::any_of(node.inputs(), [&](const ir::Value* input) { return unreached_.contains(input); })) return true;
  if (!node.is("aten::__getitem__") && !node.is("aten::stack") && !node.is("aten::cat")) return false;
  const auto* list = node.inputs().empty() ? nullptr : facts_.of(node.input(0)).list();
  return list && list->items && list->items->empty() && ir::is(node.input(0)->type(), ir::TypeKind::list);
}

void Statement::take_unset(const ir::Value* from, const ir::Value* to) {
  for (auto* values : {&unset_, &unreached_}) {
    if (values->contains(from))
      values->insert(to);
    else
      values->erase(to);
  }
}

void Statement::call(const ir::Node& node) {
  const bool unreached = is_unreached(node);
  for (const ir::Value* output : node.outputs()) {
    if (unreached)
      unreached_.insert(output);
    else
      unreached_.erase(output);
  }
  std::vector<Fact> results;
  std::string impossible;
  const symbolic::FactFunction& rule = rules_.of(node);
  if (rule) results = results_of(rule, node, impossible);
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    const ir::Value* output = node.output(i);
    Fact fact = i < results.size() ? std::move(results[i]) : Fact{};
    if (std::holds_alternative<std::monostate>(fact.value)) fact = seen_result(node, output->type());
    if (auto* tensor = std::get_if<TensorFact>(&fact.value)) {
      add_seen(*tensor, output->type());
      if (program_ && program_->exported && !follows_contradiction(node))
        if (std::string reason = add_stated_sizes(*tensor, output->type()); !reason.empty()) {
          contradicted_.insert(output);
          // Facts of a user's row are held against the file once all are known.
          if (impossible.empty() && !rules_.is_users(node)) impossible = std::move(reason);
        }
    }
    state_quantizer(fact, node);
    if (!complete(fact)) derive_unknown(fact, node, rule != nullptr && impossible.empty());
    fact.impossible = impossible;
    keep_written_dtype(fact, node, i);
    set(output, std::move(fact));
  }
}

// A call on sizes that the file contradicts has no fault of its own.
bool Statement::follows_contradiction(const ir::Node& node) {
  const bool follows = std::ranges::any_of(node.inputs(), [&](const ir::Value* input) { return contradicted_.contains(input); });
  if (follows) contradicted_.insert(node.outputs().begin(), node.outputs().end());
  return follows;
}

void Statement::state_quantizer(Fact& fact, const ir::Node& node) const {
  if (auto* tensor = std::get_if<TensorFact>(&fact.value)) {
    if (tensor->dtype && ir::is_quantized(*tensor->dtype) && !tensor->quantizer)
      tensor->quantizer = symbolic::quantizer_of(symbolic::Call(node, facts_), *tensor->dtype);
  } else if (auto* list = std::get_if<ListFact>(&fact.value); list && list->items) {
    for (Fact& item : *list->items)
      if (item.tensor()) state_quantizer(item, node);
  }
}

Fact Statement::seen_result(const ir::Node& node, const ir::TypeRef& type) const {
  Fact fact = fact_of_type(type);
  const auto as_seen = [&](const ir::Value* input) { return has_seen_sizes(*input); };
  if (auto* tensor = std::get_if<TensorFact>(&fact.value);
      tensor && tensor->shape && !std::ranges::all_of(node.inputs(), as_seen))
    tensor->shape = symbolic::unknown_sizes(tensor->shape->size());
  return fact;
}

bool Statement::has_seen_sizes(const ir::Value& value) const {
  const Fact& fact = facts_.of(&value);
  const auto* tensor = fact.tensor();
  const Fact seen = fact_of_type(value.type());
  if (!tensor || !tensor->shape || !seen.tensor() || !seen.tensor()->shape) return is_fixed(fact);
  return std::ranges::equal(*tensor->shape, *seen.tensor()->shape,
                            [](const Dim& a, const Dim& b) { return provably_equal(a, b); });
}

bool Statement::is_fixed(const Fact& fact) {
  if (const auto* tensor = fact.tensor()) return !tensor->shape || std::ranges::all_of(*tensor->shape, &Dim::is_number);
  if (const auto* number = fact.number()) return !number->integer || number->integer->is_number();
  const auto* list = std::get_if<ListFact>(&fact.value);
  return !list || !list->items || std::ranges::all_of(*list->items, is_fixed);
}

std::vector<Fact> Statement::results_of(const symbolic::FactFunction& rule, const ir::Node& node, std::string& impossible) const {
  try {
    return rule(symbolic::Call(node, facts_));
  } catch (const symbolic::Impossible& arguments) {
    impossible = arguments.reason;
    return {};
  } catch (const std::length_error&) {
    return {};
  } catch (const std::exception& fault) {
    if (!is_defect(fault)) throw;
    // A user's row may name facts that are written for other arguments.
    const auto* rows = table_.find(node.op(), node.overload(), mapping::highest_opset, schemas_).op;
    if (rows && table_.is_users(rows->place)) return {};
    throw defect_at(node, std::nullopt, fault);
  }
}

void Statement::derive_unknown(Fact& fact, const ir::Node& node, bool has_rule) const {
  if (!has_rule) {
    fact.blame = &node;
    return;
  }
  for (const ir::Value* input : node.inputs()) {
    const Fact& source = facts_.of(input);
    fact.wants = symbolic::merge_wants(fact.wants, source.wants);
    if (!fact.blame) fact.blame = source.blame;
  }
}

void Statement::keep_written_dtype(Fact& fact, const ir::Node& node, std::size_t output) const {
  auto* tensor = std::get_if<TensorFact>(&fact.value);
  if (!tensor) return;
  if (node.schema() && node.schema()->is_out()) {
    const auto& arguments = node.schema()->arguments;
    for (std::size_t i = 0; i < arguments.size() && i < node.inputs().size(); ++i)
      if (arguments[i].written && arguments[i].keyword_only && output-- == 0) return take_dtype(*tensor, node.input(i));
    return;
  }
  const bool in_place = passes::keeps_first_dtype(node) || (node.op().ends_with('_') && schemas_.functional_form(node.op()));
  if (output != 0 || !in_place || node.inputs().empty()) return;
  const auto promoted = tensor->dtype;
  take_dtype(*tensor, node.input(0));
  if (!promoted || !tensor->dtype) return;
  const bool sum = node.is("aten::cumsum") || node.is("aten::cumprod");
  if (sum ? !may_be_summed(node, *tensor->dtype) : !may_be_written(*promoted, *tensor->dtype))
    fact.impossible = "the result is " + std::string(ir::name(*promoted)) + ", which isn't written to a tensor of " +
                      std::string(ir::name(*tensor->dtype));
}

bool Statement::may_be_summed(const ir::Node& node, ir::DType written) const {
  const auto stated = symbolic::Call(node, facts_).dtype("dtype");
  return written != ir::DType::boolean && (!stated || stated == written);
}

bool Statement::may_be_written(ir::DType result, ir::DType written) {
  const auto kind = [](ir::DType d) { return ir::is_complex(d) ? 3 : ir::is_floating(d) ? 2 : ir::is_integral(d) ? 1 : 0; };
  return kind(result) <= kind(written);
}

void Statement::take_dtype(TensorFact& tensor, const ir::Value* written) const {
  if (const auto* known = facts_.of(written).tensor()) tensor.dtype = known->dtype;
}

Fact Statement::joined(const Fact& a, const Fact& b, const ir::Node& control) {
  Fact fact = symbolic::join(a, b);
  const TensorFact *one = a.tensor(), *other = b.tensor();
  if (fact.blame || !one || !other) return fact;
  const bool two_dtypes = one->dtype && other->dtype && *one->dtype != *other->dtype;
  const bool two_ranks = !one->shape || !other->shape || one->shape->size() != other->shape->size();
  if (two_dtypes || two_ranks) fact.blame = &control;
  return fact;
}

void Statement::branch(const ir::Node& node) {
  const ir::IfView branch(node);
  const auto* condition = facts_.of(branch.condition()).number();
  const auto known = condition && condition->integer ? condition->integer->number() : std::nullopt;
  for (const ir::Block* block : node.blocks()) this->block(*block);
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    const ir::Value *then_value = branch.then_values()[i], *else_value = branch.else_values()[i];
    const Fact &yes = facts_.of(then_value), &no = facts_.of(else_value);
    const bool no_yes = is_unset(then_value), no_no = is_unset(else_value);
    unset_.erase(node.output(i));
    unreached_.erase(node.output(i));
    if (no_yes && no_no) {
      const bool never_set = unset_.contains(then_value) && unset_.contains(else_value);
      (never_set ? unset_ : unreached_).insert(node.output(i));
    }
    Fact fact = known == 1 || no_no ? yes : known == 0 || no_yes ? no : joined(yes, no, node);
    if (std::holds_alternative<std::monostate>(fact.value)) fact.value = fact_of_type(node.output(i)->type()).value;
    set(node.output(i), std::move(fact));
  }
}

void Statement::loop(const ir::Node& node) {
  const ir::LoopView loop(node);
  set(loop.iteration(), {.value = NumberFact{.kind = NumberFact::Kind::integer}});
  std::vector<Fact> state;
  for (const ir::Value* initial : loop.initial_values()) state.push_back(facts_.of(initial));
  std::vector<bool> unset;
  for (std::size_t i = 0; i < state.size(); ++i) {
    unset.push_back(is_unset(loop.initial_values()[i]));
    take_unset(loop.initial_values()[i], loop.parameters()[i]);
  }
  for (int round = 0;; ++round) {
    const bool last = visits_left_ == 0;
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (last) {
        state[i].value = fact_of_type(node.output(i)->type()).value;
        unset_.erase(loop.parameters()[i]);
        unreached_.erase(loop.parameters()[i]);
      }
      set(loop.parameters()[i], state[i]);
    }
    block(loop.body());
    if (!last && fill(state, unset, loop)) continue;
    if (last || !widen(state, node, round)) break;
  }
  for (std::size_t i = 0; i < unset.size(); ++i) take_unset(loop.parameters()[i], node.output(i));
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (passes::is_stacked(node, i)) count_rows(state[i], loop);
    set(node.output(i), state[i]);
  }
}

void Statement::count_rows(Fact& stack, const ir::LoopView& loop) const {
  const auto holds = [&](const ir::Value* condition) {
    const auto* number = facts_.of(condition).number();
    return number && number->integer && number->integer->number() == 1;
  };
  auto* tensor = std::get_if<TensorFact>(&stack.value);
  const auto* trip_count = facts_.of(loop.trip_count()).number();
  if (!tensor || !tensor->shape || tensor->shape->empty() || !trip_count || !trip_count->integer) return;
  if (holds(loop.condition()) && holds(loop.next_condition())) tensor->shape->front() = *trip_count->integer;
}

bool Statement::fill(std::vector<Fact>& state, std::vector<bool>& unset, const ir::LoopView& loop) {
  bool filled = false;
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (!unset[i] || is_unset(loop.next_values()[i])) continue;
    unset[i] = false;
    take_unset(loop.next_values()[i], loop.parameters()[i]);
    state[i] = facts_.of(loop.next_values()[i]);
    filled = true;
  }
  return filled;
}

bool Statement::widen(std::vector<Fact>& state, const ir::Node& node, int round) const {
  bool changed = false;
  for (std::size_t i = 0; i < state.size(); ++i) {
    const ir::Value* value = ir::LoopView(node).next_values()[i];
    if (unreached_.contains(value)) continue;
    Fact next = joined(state[i], facts_.of(value), node);
    if (same(next, state[i])) continue;
    if (round >= loop_rounds || std::holds_alternative<std::monostate>(next.value))
      next.value = fact_of_type(node.output(i)->type()).value;
    changed |= !same(next, state[i]);
    state[i] = std::move(next);
  }
  return changed;
}

}  // namespace compatcheck::conversion
