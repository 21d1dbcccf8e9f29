#include "conversion/facts.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "conversion/defect.h"
#include "conversion/fact_rules.h"
#include "conversion/settle_branches.h"
#include "conversion/settle_dimensions.h"
#include "conversion/settle_memory.h"
#include "conversion/type_facts.h"
#include "conversion/written_memory.h"
#include "ir/value_name.h"
#include "passes/effects.h"
#include "passes/functional_form.h"
#include "passes/normalize.h"
#include "passes/stack_in_loops.h"
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

class Statement {
 public:
  Statement(const ir::Graph& graph, const mapping::Table& table, const schema::Registry& schemas,
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

  // Returns the inputs whose facts are others than before.
  std::vector<const ir::Value*> inputs(const ir::Graph& graph, const std::vector<InputFact>& given) {
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

  void block(const ir::Block& block) {
    if (only_) {
      for (const ir::Node* node : only_->in(block)) this->node(*node);
    } else {
      for (const ir::Node* node : block) this->node(*node);
    }
  }

  // As far as the facts of the loop's arguments go.
  void first_iteration(const ir::Node& loop) {
    const ir::Block& body = *loop.blocks()[0];
    const NodeSelection* only = std::exchange(only_, nullptr);
    const std::size_t visits_left = visits_left_;
    const auto unset = unset_, unreached = unreached_;
    ir::for_each_node(body, [&](const ir::Node*) { visits_left_ += most_visits; });
    set(body.inputs()[0], {.value = NumberFact{.kind = NumberFact::Kind::integer}});
    for (std::size_t i = 1; i < body.inputs().size(); ++i) {
      set(body.inputs()[i], facts_.of(loop.input(i + 1)));
      take_unset(loop.input(i + 1), body.inputs()[i]);
    }
    block(body);
    unset_ = unset;
    unreached_ = unreached;
    only_ = only;
    visits_left_ = visits_left;
  }

  FactTable take() { return std::move(facts_); }
  const FactTable& facts() const { return facts_; }
  std::size_t work() const { return work_; }

  // States facts of some nodes only, whose facts are forgotten first; null for all.
  void only(const NodeSelection* nodes) {
    only_ = nodes;
    visits_left_ = nodes ? most_visits * nodes->size() : all_visits_;
    if (!nodes) return;
    for (const ir::Node* node : nodes->all())
      for (const ir::Value* output : node->outputs()) reset(output, {});
  }
  // As it stood before.
  void reset(const ir::Value* value, Fact fact) {
    large_facts_ -= large_bytes_of(facts_.of(value));
    large_facts_ += large_bytes_of(fact);
    facts_.set(value, std::move(fact));
  }

 private:
  Fact input_fact(const std::string& name, std::uint32_t index, const ir::TypeRef& type, const std::vector<InputFact>& given) {
    const auto exact = std::find_if(given.begin(), given.end(), [&](const InputFact& input) { return input.name == name; });
    if (exact != given.end()) return exact->fact;
    Fact fact = fact_of_type(type);
    if (auto* list = std::get_if<ListFact>(&fact.value)) give_members(*list, name, index, type, given);
    if (const auto* number = fact.number(); number && number->kind == NumberFact::Kind::integer)
      fact = symbolic::integer_fact(Dim::any_integer(name));
    want_input(fact, index);
    return fact;
  }

  // "pair.0", "pair.1" … : members of a tuple, or those that are given of a list.
  void give_members(ListFact& list, const std::string& name, std::uint32_t index, const ir::TypeRef& type,
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

  void node(const ir::Node& node) {
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

  // Arithmetic of small contents is exact; that of the dtype wraps around.
  static void forget_wrapped(Fact& fact) {
    auto* tensor = std::get_if<TensorFact>(&fact.value);
    if (!tensor || !tensor->contents || !tensor->dtype || !ir::is_integral(*tensor->dtype)) return;
    if (!symbolic::holds_exactly(*tensor->dtype, *tensor->contents)) tensor->contents.reset();
  }

  void set(const ir::Value* value, Fact fact) {
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

  static std::size_t bytes_of(const Fact& fact) {
    return symbolic::footprint(fact) + fact.wants.size() * sizeof(fact.wants.front());
  }

  static std::size_t large_bytes_of(const Fact& fact) {
    const std::size_t bytes = bytes_of(fact);
    return bytes > usual_fact ? bytes : 0;
  }

  bool is_affordable(const Fact& fact) const {
    const std::size_t bytes = large_bytes_of(fact);
    return bytes == 0 || (bytes <= symbolic::most_fact && large_facts_ + share_of_large * bytes <= most_large_facts);
  }

  // It isn't reached as far as facts go yet: an argument isn't, or it asks an empty list for an item.
  bool is_unreached(const ir::Node& node) const {
    if (std::ranges::any_of(node.inputs(), [&](const ir::Value* input) { return unreached_.contains(input); })) return true;
    if (!node.is("aten::__getitem__") && !node.is("aten::stack") && !node.is("aten::cat")) return false;
    const auto* list = node.inputs().empty() ? nullptr : facts_.of(node.input(0)).list();
    return list && list->items && list->items->empty() && ir::is(node.input(0)->type(), ir::TypeKind::list);
  }

  bool is_unset(const ir::Value* value) const { return unset_.contains(value) || unreached_.contains(value); }

  void take_unset(const ir::Value* from, const ir::Value* to) {
    for (auto* values : {&unset_, &unreached_}) {
      if (values->contains(from))
        values->insert(to);
      else
        values->erase(to);
    }
  }

  void call(const ir::Node& node) {
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
      if (auto* tensor = std::get_if<TensorFact>(&fact.value)) add_seen(*tensor, output->type());
      state_quantizer(fact, node);
      if (!complete(fact)) derive_unknown(fact, node, rule != nullptr && impossible.empty());
      fact.impossible = impossible;
      keep_written_dtype(fact, node, i);
      set(output, std::move(fact));
    }
  }

  void state_quantizer(Fact& fact, const ir::Node& node) const {
    if (auto* tensor = std::get_if<TensorFact>(&fact.value)) {
      if (tensor->dtype && ir::is_quantized(*tensor->dtype) && !tensor->quantizer)
        tensor->quantizer = symbolic::quantizer_of(symbolic::Call(node, facts_), *tensor->dtype);
    } else if (auto* list = std::get_if<ListFact>(&fact.value); list && list->items) {
      for (Fact& item : *list->items)
        if (item.tensor()) state_quantizer(item, node);
    }
  }

  // Returns the graph text's fact of a result that no rule states. Its sizes hold where the arguments have the sizes that were
  // seen:
  // --input may say others.
  Fact seen_result(const ir::Node& node, const ir::TypeRef& type) const {
    Fact fact = fact_of_type(type);
    const auto as_seen = [&](const ir::Value* input) { return has_seen_sizes(*input); };
    if (auto* tensor = std::get_if<TensorFact>(&fact.value);
        tensor && tensor->shape && !std::ranges::all_of(node.inputs(), as_seen))
      tensor->shape = symbolic::unknown_sizes(tensor->shape->size());
    return fact;
  }

  bool has_seen_sizes(const ir::Value& value) const {
    const Fact& fact = facts_.of(&value);
    const auto* tensor = fact.tensor();
    const Fact seen = fact_of_type(value.type());
    if (!tensor || !tensor->shape || !seen.tensor() || !seen.tensor()->shape) return is_fixed(fact);
    return std::ranges::equal(*tensor->shape, *seen.tensor()->shape,
                              [](const Dim& a, const Dim& b) { return provably_equal(a, b); });
  }

  // None of its sizes depends on a named one.
  static bool is_fixed(const Fact& fact) {
    if (const auto* tensor = fact.tensor()) return !tensor->shape || std::ranges::all_of(*tensor->shape, &Dim::is_number);
    if (const auto* number = fact.number()) return !number->integer || number->integer->is_number();
    const auto* list = std::get_if<ListFact>(&fact.value);
    return !list || !list->items || std::ranges::all_of(*list->items, is_fixed);
  }

  std::vector<Fact> results_of(const symbolic::FactFunction& rule, const ir::Node& node, std::string& impossible) const {
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

  // A rule leaves a fact open because one of its arguments is open.
  void derive_unknown(Fact& fact, const ir::Node& node, bool has_rule) const {
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

  // The written tensor keeps its dtype: the first argument of an in-place operator, the `out=` of another.
  void keep_written_dtype(Fact& fact, const ir::Node& node, std::size_t output) const {
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

  // Running sums and products are computed in the dtype of the result, which `dtype=` may repeat.
  bool may_be_summed(const ir::Node& node, ir::DType written) const {
    const auto stated = symbolic::Call(node, facts_).dtype("dtype");
    return written != ir::DType::boolean && (!stated || stated == written);
  }

  // c10::canCast: to a kind that isn't below.
  static bool may_be_written(ir::DType result, ir::DType written) {
    const auto kind = [](ir::DType d) { return ir::is_complex(d) ? 3 : ir::is_floating(d) ? 2 : ir::is_integral(d) ? 1 : 0; };
    return kind(result) <= kind(written);
  }

  void take_dtype(TensorFact& tensor, const ir::Value* written) const {
    if (const auto* known = facts_.of(written).tensor()) tensor.dtype = known->dtype;
  }

  // The If or Loop that mixes two dtypes or ranks is to blame for the unknown ones that follow.
  static Fact joined(const Fact& a, const Fact& b, const ir::Node& control) {
    Fact fact = symbolic::join(a, b);
    const TensorFact *one = a.tensor(), *other = b.tensor();
    if (fact.blame || !one || !other) return fact;
    const bool two_dtypes = one->dtype && other->dtype && *one->dtype != *other->dtype;
    const bool two_ranks = !one->shape || !other->shape || one->shape->size() != other->shape->size();
    if (two_dtypes || two_ranks) fact.blame = &control;
    return fact;
  }

  void branch(const ir::Node& node) {
    const auto* condition = facts_.of(node.input(0)).number();
    const auto known = condition && condition->integer ? condition->integer->number() : std::nullopt;
    for (const ir::Block* block : node.blocks()) this->block(*block);
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      const Fact& yes = facts_.of(node.blocks()[0]->outputs()[i]);
      const Fact& no = facts_.of(node.blocks()[1]->outputs()[i]);
      const bool no_yes = is_unset(node.blocks()[0]->outputs()[i]), no_no = is_unset(node.blocks()[1]->outputs()[i]);
      unset_.erase(node.output(i));
      unreached_.erase(node.output(i));
      if (no_yes && no_no) {
        const bool never_set = unset_.contains(node.blocks()[0]->outputs()[i]) && unset_.contains(node.blocks()[1]->outputs()[i]);
        (never_set ? unset_ : unreached_).insert(node.output(i));
      }
      Fact fact = known == 1 || no_no ? yes : known == 0 || no_yes ? no : joined(yes, no, node);
      if (std::holds_alternative<std::monostate>(fact.value)) fact.value = fact_of_type(node.output(i)->type()).value;
      set(node.output(i), std::move(fact));
    }
  }

  // prim::Loop(trip count, condition, carried…): its block takes (index, carried…), gives (condition, carried…).
  void loop(const ir::Node& node) {
    const ir::Block& body = *node.blocks()[0];
    set(body.inputs()[0], {.value = NumberFact{.kind = NumberFact::Kind::integer}});
    std::vector<Fact> state;
    for (std::size_t i = 0; i < node.outputs().size(); ++i) state.push_back(facts_.of(node.input(i + 2)));
    std::vector<bool> unset;
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      unset.push_back(is_unset(node.input(i + 2)));
      take_unset(node.input(i + 2), body.inputs()[i + 1]);
    }
    for (int round = 0;; ++round) {
      const bool last = visits_left_ == 0;
      for (std::size_t i = 0; i < state.size(); ++i) {
        if (last) {
          state[i].value = fact_of_type(node.output(i)->type()).value;
          unset_.erase(body.inputs()[i + 1]);
          unreached_.erase(body.inputs()[i + 1]);
        }
        set(body.inputs()[i + 1], state[i]);
      }
      block(body);
      if (!last && fill(state, unset, body)) continue;
      if (last || !widen(state, node, round)) break;
    }
    for (std::size_t i = 0; i < unset.size(); ++i) take_unset(body.inputs()[i + 1], node.output(i));
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (passes::is_stacked(node, i)) count_rows(state[i], node);
      set(node.output(i), state[i]);
    }
  }

  // Where nothing ends the loop early, a stack has a row for each iteration.
  void count_rows(Fact& stack, const ir::Node& loop) const {
    const auto holds = [&](const ir::Value* condition) {
      const auto* number = facts_.of(condition).number();
      return number && number->integer && number->integer->number() == 1;
    };
    auto* tensor = std::get_if<TensorFact>(&stack.value);
    const auto* trip_count = facts_.of(loop.input(0)).number();
    if (!tensor || !tensor->shape || tensor->shape->empty() || !trip_count || !trip_count->integer) return;
    if (holds(loop.input(1)) && holds(loop.blocks()[0]->outputs()[0])) tensor->shape->front() = *trip_count->integer;
  }

  // Gives values that enter the loop unset the facts of an iteration's results; false if that fills nothing.
  bool fill(std::vector<Fact>& state, std::vector<bool>& unset, const ir::Block& body) {
    bool filled = false;
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (!unset[i] || is_unset(body.outputs()[i + 1])) continue;
      unset[i] = false;
      take_unset(body.outputs()[i + 1], body.inputs()[i + 1]);
      state[i] = facts_.of(body.outputs()[i + 1]);
      filled = true;
    }
    return filled;
  }

  // Widens the facts to those after one more iteration; false if that changes nothing.
  bool widen(std::vector<Fact>& state, const ir::Node& node, int round) const {
    bool changed = false;
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (unreached_.contains(node.blocks()[0]->outputs()[i + 1])) continue;
      Fact next = joined(state[i], facts_.of(node.blocks()[0]->outputs()[i + 1]), node);
      if (same(next, state[i])) continue;
      if (round >= loop_rounds || std::holds_alternative<std::monostate>(next.value))
        next.value = fact_of_type(node.output(i)->type()).value;
      changed |= !same(next, state[i]);
      state[i] = std::move(next);
    }
    return changed;
  }

  const mapping::Table& table_;
  const schema::Registry& schemas_;
  FactRules rules_;
  const ir::Program* program_;
  const ir::Watch& watch_;
  WrittenMemory written_;
  std::size_t all_visits_ = 0, visits_left_ = 0;
  std::size_t large_facts_ = 0;  // bytes of the facts that are stated or supposed now
  const NodeSelection* only_ = nullptr;
  std::size_t work_ = 0;
  std::unordered_set<const ir::Value*> unset_;      // prim::Uninitialized, and values that are never more than that
  std::unordered_set<const ir::Value*> unreached_;  // values that derive only from items of empty lists
  std::vector<std::optional<Fact>> inputs_;         // as given to state()
  FactTable facts_;
};

// The constant that a value is proved to be, if its type is a number or a list of numbers.
std::optional<ir::Constant> proved(const Fact& fact, const ir::TypeRef& type) {
  if (!type || fact.tensor()) return std::nullopt;
  if (const auto* number = fact.number()) {
    if (type->kind == ir::TypeKind::floating && number->floating) return ir::Constant{*number->floating};
    if (!number->integer || !number->integer->is_number()) return std::nullopt;
    if (type->kind == ir::TypeKind::integer) return ir::Constant{*number->integer->number()};
    if (type->kind == ir::TypeKind::boolean) return ir::Constant{*number->integer->number() != 0};
    return std::nullopt;
  }
  const auto* list = fact.list();
  if (!list || !list->items || type->kind != ir::TypeKind::list) return std::nullopt;
  ir::ListConstant constant{.element = type->elements.front(), .items = {}};
  for (const Fact& item : *list->items) {
    auto value = proved(item, constant.element);
    if (!value) return std::nullopt;
    constant.items.push_back(std::move(*value));
  }
  return ir::Constant{std::move(constant)};
}

// A value, not a constant yet, of which the facts tell the constant.
bool proves_more(const ir::Graph& graph, const FactTable& facts) {
  bool any = false;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    if (any || node->outputs().size() != 1 || node->is("prim::Constant") || node->output()->unused()) return;
    any = proved(facts.of(node->output()), node->output()->type()).has_value();
  });
  return any;
}

FactTable state_facts(const ir::Graph& graph, const std::vector<InputFact>& inputs, const mapping::Table& table,
                      const schema::Registry& schemas, const symbolic::Registry& registry, const ir::Program* program,
                      const ir::Watch& watch) {
  Statement statement(graph, table, schemas, registry, program, watch);
  statement.inputs(graph, inputs);
  statement.block(*graph.top());
  return statement.take();
}

// ---- Trials

namespace {

// The nodes that values reach: only their facts depend on the values' facts.
class Reached {
 public:
  Reached(const std::vector<const ir::Value*>& from, const ir::Block& block) : values_(from.begin(), from.end()) { add(block); }

  NodeSelection nodes() { return std::move(nodes_); }

 private:
  bool add(const ir::Block& block) {
    bool any = false;
    for (const ir::Node* node : block) {
      const bool loop = node->is("prim::Loop");
      bool reached = any_reached(node->inputs());
      for (const ir::Block* inner : node->blocks()) reached |= loop ? reads_reached(*inner) : add(*inner);
      if (!reached) continue;
      any = true;
      if (loop) add_all(*node->blocks()[0]);  // facts of a loop's body settle together
      nodes_.add(node);
      values_.insert(node->outputs().begin(), node->outputs().end());
    }
    return any || any_reached(block.outputs());
  }

  bool any_reached(std::span<ir::Value* const> values) const {
    return std::ranges::any_of(values, [&](const ir::Value* value) { return values_.contains(value); });
  }

  bool reads_reached(const ir::Block& block) const {
    for (const ir::Node* node : block) {
      if (any_reached(node->inputs())) return true;
      for (const ir::Block* inner : node->blocks())
        if (reads_reached(*inner)) return true;
    }
    return any_reached(block.outputs());
  }

  void add_all(const ir::Block& block) {
    values_.insert(block.inputs().begin(), block.inputs().end());
    for (const ir::Node* node : block) {
      for (const ir::Block* inner : node->blocks()) add_all(*inner);
      nodes_.add(node);
      values_.insert(node->outputs().begin(), node->outputs().end());
    }
  }

  std::unordered_set<const ir::Value*> values_;
  NodeSelection nodes_;
};

}  // namespace

class FactTrials::State {
 public:
  State(const ir::Graph& graph, const mapping::Table& table, const schema::Registry& schemas, const symbolic::Registry& registry,
        const ir::Program* program, const ir::Watch& watch)
      : graph_(graph), statement_(graph, table, schemas, registry, program, watch) {}

  void state(const std::vector<InputFact>& inputs) {
    const bool first = std::exchange(first_, false);
    const auto changed = statement_.inputs(graph_, inputs);
    if (!first && changed.empty()) return;
    const NodeSelection reached = first ? NodeSelection() : Reached(changed, *graph_.top()).nodes();
    statement_.only(first ? nullptr : &reached);
    statement_.block(*graph_.top());
    statement_.only(nullptr);  // `reached` ends here
  }

  FactTable take() { return statement_.take(); }

  void suppose(const ir::Value* input, Fact fact, const NodeSelection& nodes) {
    remember(input);
    for (const ir::Node* node : nodes.all()) {
      for (const ir::Value* output : node->outputs()) remember(output);
      for (const ir::Block* block : node->blocks())
        for (const ir::Value* value : block->inputs()) remember(value);
    }
    statement_.reset(input, std::move(fact));
    statement_.only(&nodes);
    statement_.block(*graph_.top());
  }

  void restore() {
    for (auto& [value, fact] : before_) statement_.reset(value, std::move(fact));
    before_.clear();
  }

  void first_iteration(const ir::Node& loop, const std::function<void()>& look) {
    if (first_iterations_ == most_nested_iterations) return;
    std::vector<std::pair<const ir::Value*, Fact>> settled;
    remember(*loop.blocks()[0], settled);
    const auto settle = [&] {
      for (auto& [value, fact] : settled) statement_.reset(value, std::move(fact));
      --first_iterations_;
    };
    ++first_iterations_;
    try {
      statement_.first_iteration(loop);
      look();
    } catch (...) {
      settle();
      throw;
    }
    settle();
  }

  bool in_first_iteration() const { return first_iterations_ > 0; }
  const FactTable& facts() const { return statement_.facts(); }
  std::size_t work() const { return statement_.work(); }

 private:
  static constexpr int most_nested_iterations = 3;  // each states the loops inside of it again

  void remember(const ir::Value* value) { before_.emplace(value, statement_.facts().of(value)); }
  void remember(const ir::Block& block, std::vector<std::pair<const ir::Value*, Fact>>& facts) const {
    for (const ir::Value* input : block.inputs()) facts.emplace_back(input, statement_.facts().of(input));
    for (const ir::Node* node : block) {
      for (const ir::Value* output : node->outputs()) facts.emplace_back(output, statement_.facts().of(output));
      for (const ir::Block* inner : node->blocks()) remember(*inner, facts);
    }
  }

  const ir::Graph& graph_;
  Statement statement_;
  bool first_ = true;
  std::unordered_map<const ir::Value*, Fact> before_;
  int first_iterations_ = 0;  // loops in loops whose first iterations are looked at now
};

FactTrials::FactTrials(const ir::Graph& graph, const mapping::Table& table, const schema::Registry& schemas,
                       const symbolic::Registry& registry, const ir::Program* program, const ir::Watch& watch)
    : state_(std::make_unique<State>(graph, table, schemas, registry, program, watch)) {}
FactTrials::~FactTrials() = default;

void FactTrials::state(const std::vector<InputFact>& inputs) { state_->state(inputs); }
void FactTrials::suppose(const ir::Value* input, Fact fact, const NodeSelection& nodes) {
  state_->suppose(input, std::move(fact), nodes);
}
std::size_t FactTrials::work() const { return state_->work(); }
void FactTrials::restore() { state_->restore(); }
void FactTrials::first_iteration(const ir::Node& loop, const std::function<void()>& look) { state_->first_iteration(loop, look); }
bool FactTrials::in_first_iteration() const { return state_->in_first_iteration(); }
symbolic::FactTable FactTrials::take() { return state_->take(); }
const FactTable& FactTrials::facts() const { return state_->facts(); }

bool fold_with_facts(ir::Graph& graph, const FactTable& facts, const schema::Registry& schemas, const ir::Watch& watch,
                     const FoldOptions& how) {
  // Writes that memory and parts turn into values first: a call is copied for its dimensions only where nothing writes. Branches
  // go before, too, for they take calls along.
  const bool writes = passes::writes_anything(*graph.top());
  std::size_t changes = writes ? settle_memory(graph, facts, how.program, watch) : 0;
  changes += settle_parts(graph, facts, writes, watch);
  changes += settle_branches(graph, facts, watch);
  std::size_t first_round = 0;
  if (!writes) changes += settle_dimensions(graph, facts, schemas, how.copies ? *how.copies : first_round, watch);
  const bool settled = changes > 0;
  if (how.folded && !settled && !proves_more(graph, facts)) return false;
  const auto known = [&](const ir::Value& value) { return proved(facts.of(&value), value.type()); };
  return passes::simplify(graph, schemas, known,
                          {.program = how.program,
                           .lost_writes = how.lost_writes,
                           .keep_assertions = how.keep_assertions,
                           .at_rest = how.folded && !settled},
                          watch) ||
         settled;
}

}  // namespace compatcheck::conversion
