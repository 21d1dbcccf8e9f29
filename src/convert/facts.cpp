#include "convert/facts.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "passes/normalize.h"

namespace compatcheck::convert {
namespace {

using symbolic::Dim;
using symbolic::Fact;
using symbolic::FactTable;
using symbolic::ListFact;
using symbolic::NumberFact;
using symbolic::TensorFact;

// A loop whose facts still change after so many rounds grows something: a list, a size.
constexpr int loop_rounds = 8;

TensorFact tensor_of(const ir::TensorType& type) {
  TensorFact tensor{.dtype = type.dtype};
  if (type.sizes) {
    tensor.shape.emplace();
    for (const auto& size : *type.sizes) tensor.shape->push_back(size ? Dim(*size) : Dim::unknown());
  }
  return tensor;
}

NumberFact::Kind number_kind(ir::TypeKind kind) {
  return kind == ir::TypeKind::floating ? NumberFact::Kind::floating
         : kind == ir::TypeKind::boolean ? NumberFact::Kind::boolean : NumberFact::Kind::integer;
}

// What a type says by itself.
Fact fact_of_type(const ir::TypeRef& type) {
  if (!type) return {};
  switch (type->kind) {
    case ir::TypeKind::tensor: return {.value = tensor_of(type->tensor)};
    case ir::TypeKind::integer:
    case ir::TypeKind::floating:
    case ir::TypeKind::boolean: return {.value = NumberFact{.kind = number_kind(type->kind)}};
    case ir::TypeKind::none: return {.value = symbolic::NoneFact{}};
    case ir::TypeKind::list:
      return {.value = ListFact{.element = std::make_shared<Fact>(fact_of_type(type->elements.front()))}};
    case ir::TypeKind::tuple: {
      ListFact list;
      list.items.emplace();
      for (const auto& element : type->elements) list.items->push_back(fact_of_type(element));
      return {.value = std::move(list)};
    }
    default: return {};
  }
}

bool complete(const Fact& fact) {
  if (const auto* tensor = fact.tensor())
    return tensor->dtype && tensor->shape &&
           std::none_of(tensor->shape->begin(), tensor->shape->end(), [](const Dim& dim) { return dim.is_unknown(); });
  if (const auto* list = fact.list()) return list->items && std::all_of(list->items->begin(), list->items->end(), complete);
  if (const auto* number = fact.number()) return number->integer || number->floating;
  return !std::holds_alternative<std::monostate>(fact.value);
}

bool same(const Fact& a, const Fact& b) {
  if (a.wants != b.wants || a.blame != b.blame || symbolic::to_string(a) != symbolic::to_string(b)) return false;
  const auto *x = a.tensor(), *y = b.tensor();
  return !x || !y || (x->contents.has_value() == y->contents.has_value() && x->known_constant == y->known_constant);
}

// What is not known of an input is for --input to say, members of a list included.
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

class Statement {
 public:
  Statement(const mapping::Table& table, const schema::Registry& schemas, const symbolic::Registry& registry)
      : table_(table), schemas_(schemas), registry_(registry) {}

  void inputs(const ir::Graph& graph, const std::vector<InputFact>& given) {
    std::uint32_t index = 0;
    for (const ir::Value* input : graph.inputs()) {
      const std::string name = input->name().empty() ? "input_" + std::to_string(index) : input->name();
      facts_.set(input, input_fact(name, index, input->type(), given));
      ++index;
    }
  }

  void block(const ir::Block& block) {
    for (const ir::Node* node : block) this->node(*node);
  }

  FactTable take() { return std::move(facts_); }

 private:
  Fact input_fact(const std::string& name, std::uint32_t index, const ir::TypeRef& type, const std::vector<InputFact>& given) {
    const auto exact = std::find_if(given.begin(), given.end(), [&](const InputFact& input) { return input.name == name; });
    if (exact != given.end()) return exact->fact;
    Fact fact = fact_of_type(type);
    if (auto* list = std::get_if<ListFact>(&fact.value)) give_members(*list, name, index, type, given);
    if (auto* number = std::get_if<NumberFact>(&fact.value); number && number->kind == NumberFact::Kind::integer)
      number->integer = Dim::symbol(name);
    want_input(fact, index);
    return fact;
  }

  // "pair.0", "pair.1" … : members of a tuple, or those that --input names of a list.
  void give_members(ListFact& list, const std::string& name, std::uint32_t index, const ir::TypeRef& type,
                    const std::vector<InputFact>& given) {
    if (list.items) {
      for (std::size_t i = 0; i < list.items->size(); ++i)
        (*list.items)[i] = input_fact(name + "." + std::to_string(i), index, type->elements[i], given);
      return;
    }
    std::vector<Fact> members;
    for (;; ) {
      const std::string member = name + "." + std::to_string(members.size());
      const auto found = std::find_if(given.begin(), given.end(), [&](const InputFact& input) { return input.name == member; });
      if (found == given.end()) break;
      members.push_back(found->fact);
    }
    if (!members.empty()) list.items = std::move(members);
  }

  void node(const ir::Node& node) {
    if (node.is("prim::If")) return branch(node);
    if (node.is("prim::Loop")) return loop(node);
    if (node.is("prim::Constant")) {
      const ir::Constant* value = node.attribute("value");
      facts_.set(node.output(), value ? symbolic::fact_of(*value) : Fact{.value = symbolic::NoneFact{}});
      return;
    }
    for (const ir::Block* block : node.blocks()) this->block(*block);
    call(node);
  }

  symbolic::FactFunction rule_for(const ir::Node& node) const {
    if (auto function = registry_.find_facts(node.op(), node.overload())) return function;
    const auto word = table_.facts(node.op(), node.overload(), schemas_);
    if (!word.empty() && node.schema())
      if (auto function = registry_.find_fact_word(word)) return function;
    const auto functional = schemas_.functional_form(node.op());
    return functional ? registry_.find_facts(*functional, node.overload()) : nullptr;
  }

  void call(const ir::Node& node) {
    std::vector<Fact> results;
    const auto rule = rule_for(node);
    if (rule) results = rule(symbolic::Call(node, facts_));
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      const ir::Value* output = node.output(i);
      Fact fact = i < results.size() ? std::move(results[i]) : Fact{};
      if (std::holds_alternative<std::monostate>(fact.value)) fact.value = fact_of_type(output->type()).value;
      if (!complete(fact)) derive_unknown(fact, node, rule != nullptr);
      if (node.attribute("inplace")) keep_written_dtype(fact, node);
      facts_.set(output, std::move(fact));
    }
  }

  // What a rule couldn't tell, it couldn't for lack of something in its arguments.
  void derive_unknown(Fact& fact, const ir::Node& node, bool has_rule) const {
    if (!has_rule) {
      fact.blame = &node;
      return;
    }
    for (const ir::Value* input : node.inputs()) {
      const Fact& source = facts_.of(input);
      std::vector<std::uint32_t> merged;
      std::set_union(fact.wants.begin(), fact.wants.end(), source.wants.begin(), source.wants.end(), std::back_inserter(merged));
      fact.wants = std::move(merged);
      if (!fact.blame) fact.blame = source.blame;
    }
  }

  void keep_written_dtype(Fact& fact, const ir::Node& node) const {
    const auto* written = facts_.of(node.input(0)).tensor();
    if (auto* tensor = std::get_if<TensorFact>(&fact.value); tensor && written) tensor->dtype = written->dtype;
  }

  void branch(const ir::Node& node) {
    const auto* condition = facts_.of(node.input(0)).number();
    const auto known = condition && condition->integer ? condition->integer->number() : std::nullopt;
    for (const ir::Block* block : node.blocks()) this->block(*block);
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      const Fact& yes = facts_.of(node.blocks()[0]->outputs()[i]);
      const Fact& no = facts_.of(node.blocks()[1]->outputs()[i]);
      Fact fact = known ? (*known ? yes : no) : symbolic::join(yes, no);
      if (std::holds_alternative<std::monostate>(fact.value)) fact.value = fact_of_type(node.output(i)->type()).value;
      facts_.set(node.output(i), std::move(fact));
    }
  }

  // prim::Loop(trip count, condition, carried…): its block takes (index, carried…), gives (condition, carried…).
  void loop(const ir::Node& node) {
    const ir::Block& body = *node.blocks()[0];
    const std::size_t carried = node.outputs().size();
    facts_.set(body.inputs()[0], {.value = NumberFact{.kind = NumberFact::Kind::integer}});
    std::vector<Fact> state;
    for (std::size_t i = 0; i < carried; ++i) state.push_back(facts_.of(node.input(i + 2)));
    bool stable = false;
    for (int round = 0; !stable; ++round) {
      for (std::size_t i = 0; i < carried; ++i) facts_.set(body.inputs()[i + 1], state[i]);
      block(body);
      stable = true;
      for (std::size_t i = 0; i < carried; ++i) {
        Fact next = symbolic::join(state[i], facts_.of(body.outputs()[i + 1]));
        if (round >= loop_rounds && !same(next, state[i])) next = fact_of_type(node.output(i)->type());
        if (std::holds_alternative<std::monostate>(next.value)) next.value = fact_of_type(node.output(i)->type()).value;
        if (same(next, state[i])) continue;
        state[i] = std::move(next);
        stable = false;
      }
      if (round > 2 * loop_rounds) break;
    }
    for (std::size_t i = 0; i < carried; ++i) facts_.set(node.output(i), state[i]);
  }

  const mapping::Table& table_;
  const schema::Registry& schemas_;
  const symbolic::Registry& registry_;
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

}  // namespace

FactTable state_facts(const ir::Graph& graph, const std::vector<InputFact>& inputs, const mapping::Table& table,
                      const schema::Registry& schemas, const symbolic::Registry& registry) {
  Statement statement(table, schemas, registry);
  statement.inputs(graph, inputs);
  statement.block(*graph.top());
  return statement.take();
}

std::vector<std::string> fold_with_facts(ir::Graph& graph, const FactTable& facts, const schema::Registry& schemas) {
  const auto known = [&](const ir::Value& value) { return proved(facts.of(&value), value.type()); };
  if (!passes::simplify(graph, schemas, known)) return {};
  return {"folded what the inputs' dtypes and shapes settle"};
}

}  // namespace compatcheck::convert
