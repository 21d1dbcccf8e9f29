#include "convert/facts.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <unordered_map>

#include "passes/alias.h"
#include "passes/normalize.h"
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

TensorFact tensor_of(const ir::TensorType& type) {
  TensorFact tensor{.dtype = type.dtype};
  if (type.sizes) {
    tensor.shape.emplace();
    for (const auto& size : *type.sizes) tensor.shape->push_back(size ? Dim(*size) : Dim::unknown());
  }
  return tensor;
}

// A traced graph's text carries what was seen of every value: its dtype and rank hold for other sizes too.
void add_seen(TensorFact& tensor, const ir::TypeRef& type) {
  if (!type || type->kind != ir::TypeKind::tensor) return;
  if (!tensor.dtype) tensor.dtype = type->tensor.dtype;
  if (!tensor.shape && type->tensor.sizes) tensor.shape = symbolic::unknown_sizes(type->tensor.sizes->size());
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

// What facts can't say of memory that something writes, at whatever place.
class Writes {
 public:
  Writes(const ir::Graph& graph, const ir::Program* program) : aliases_(graph, program) {}

  bool any() const { return aliases_.any_writes(); }

  void forget_written(const ir::Value* value, Fact& fact) const {
    if (aliases_.reach_written(value)) forget(value, fact);
  }

 private:
  void forget(const ir::Value* value, Fact& fact) const {
    if (auto* tensor = std::get_if<TensorFact>(&fact.value)) {
      tensor->contents.reset();
      tensor->known_constant = false;
      if (resized(value)) tensor->shape.reset();
    } else if (auto* list = std::get_if<ListFact>(&fact.value)) {
      const bool tuple = value->type() && value->type()->kind == ir::TypeKind::tuple;
      if (!list->items || (!tuple && aliases_.written(value))) fact.value = fact_of_type(value->type()).value;
      else for (Fact& item : *list->items) forget_member(value, item);
    }
  }

  // Of a list that stays as long as it is.
  void forget_member(const ir::Value* list, Fact& member) const {
    if (member.tensor()) forget(list, member);
    else if (member.list()) member.value = {};
  }

  // By operators that give the tensor itself another shape.
  bool resized(const ir::Value* value) const {
    static const std::set<std::string_view> resizing = {
        "aten::resize_", "aten::resize_as_", "aten::set_", "aten::t_", "aten::transpose_", "aten::swapaxes_", "aten::swapdims_",
        "aten::squeeze_", "aten::unsqueeze_", "aten::as_strided_"};
    for (const passes::LocationId location : aliases_.reach(value))
      for (const ir::Node* writer : aliases_.writers_of(location))
        if (resizing.contains(writer->op()) || !writer->schema() || writer->schema()->is_out()) return true;
    return false;
  }

  passes::Aliases aliases_;
};

class Statement {
 public:
  Statement(const ir::Graph& graph, const mapping::Table& table, const schema::Registry& schemas,
            const symbolic::Registry& registry, const ir::Program* program)
      : table_(table), schemas_(schemas), registry_(registry), program_(program), writes_(graph, program) {}

  void inputs(const ir::Graph& graph, const std::vector<InputFact>& given) {
    std::uint32_t index = 0;
    for (const ir::Value* input : graph.inputs()) {
      const std::string name = input->name().empty() ? "input_" + std::to_string(index) : input->name();
      set(input, input_fact(name, index, input->type(), given));
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
      number->integer = Dim::any_integer(name);
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
      return std::any_of(given.begin(), given.end(), [&](const InputFact& input) { return input.name == member || input.name.starts_with(member + "."); });
    };
    std::vector<Fact> members;
    for (std::string member = name + ".0"; is_given(member); member = name + "." + std::to_string(members.size()))
      members.push_back(input_fact(member, index, type->elements.front(), given));
    if (!members.empty()) list.items = std::move(members);
  }

  void node(const ir::Node& node) {
    if (node.is("prim::If")) return branch(node);
    if (node.is("prim::Loop")) return loop(node);
    if (node.is("prim::Constant")) {
      const ir::Constant* value = node.attribute("value");
      set(node.output(), !value ? Fact{.value = symbolic::NoneFact{}} : program_ ? symbolic::fact_of(*value, *program_) : symbolic::fact_of(*value));
      return;
    }
    for (const ir::Block* block : node.blocks()) this->block(*block);
    call(node);
  }

  void set(const ir::Value* value, Fact fact) {
    if (writes_.any()) writes_.forget_written(value, fact);
    facts_.set(value, std::move(fact));
  }

  void call(const ir::Node& node) {
    std::vector<Fact> results;
    const auto rule = rule_for(node);
    if (rule) results = rule(symbolic::Call(node, facts_));
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      const ir::Value* output = node.output(i);
      Fact fact = i < results.size() ? std::move(results[i]) : Fact{};
      if (std::holds_alternative<std::monostate>(fact.value)) fact.value = fact_of_type(output->type()).value;
      if (auto* tensor = std::get_if<TensorFact>(&fact.value)) add_seen(*tensor, output->type());
      if (!complete(fact)) derive_unknown(fact, node, rule != nullptr);
      keep_written_dtype(fact, node, i);
      set(output, std::move(fact));
    }
  }

  // A call that fits no overload has no arguments by name.
  symbolic::FactFunction rule_for(const ir::Node& node) {
    if (!node.schema()) return node.op().starts_with("prim::") ? registry_.find_facts(node.op(), {}) : nullptr;
    const auto [known, added] = rules_.try_emplace(node.schema());
    if (added) known->second = fact_rule(*node.schema(), table_, schemas_, registry_);
    return known->second;
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

  // What is written keeps its dtype: the first argument of an in-place operator, the `out=` of another.
  void keep_written_dtype(Fact& fact, const ir::Node& node, std::size_t output) const {
    auto* tensor = std::get_if<TensorFact>(&fact.value);
    if (!tensor) return;
    if (node.schema() && node.schema()->is_out()) {
      const auto& arguments = node.schema()->arguments;
      for (std::size_t i = 0; i < arguments.size() && i < node.inputs().size(); ++i)
        if (arguments[i].written && arguments[i].keyword_only && output-- == 0) return take_dtype(*tensor, node.input(i));
      return;
    }
    const bool in_place = node.attribute("inplace") || (node.op().ends_with('_') && schemas_.functional_form(node.op()));
    if (output == 0 && in_place && !node.inputs().empty()) take_dtype(*tensor, node.input(0));
  }

  void take_dtype(TensorFact& tensor, const ir::Value* written) const {
    if (const auto* known = facts_.of(written).tensor()) tensor.dtype = known->dtype;
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
      set(node.output(i), std::move(fact));
    }
  }

  // prim::Loop(trip count, condition, carried…): its block takes (index, carried…), gives (condition, carried…).
  void loop(const ir::Node& node) {
    const ir::Block& body = *node.blocks()[0];
    const std::size_t carried = node.outputs().size();
    set(body.inputs()[0], {.value = NumberFact{.kind = NumberFact::Kind::integer}});
    std::vector<Fact> state;
    for (std::size_t i = 0; i < carried; ++i) state.push_back(facts_.of(node.input(i + 2)));
    bool stable = false;
    for (int round = 0; !stable; ++round) {
      for (std::size_t i = 0; i < carried; ++i) set(body.inputs()[i + 1], state[i]);
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
    for (std::size_t i = 0; i < carried; ++i) set(node.output(i), state[i]);
  }

  const mapping::Table& table_;
  const schema::Registry& schemas_;
  const symbolic::Registry& registry_;
  const ir::Program* program_;
  std::unordered_map<const schema::Schema*, symbolic::FactFunction> rules_;
  Writes writes_;
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

// The overload takes and gives Python's numbers alone.
bool is_on_numbers(const schema::Schema& schema) {
  const auto number = [](const schema::Argument& argument) {
    const auto kind = argument.type->kind;
    return kind == ir::TypeKind::integer || kind == ir::TypeKind::floating || kind == ir::TypeKind::boolean || kind == ir::TypeKind::number;
  };
  return std::all_of(schema.arguments.begin(), schema.arguments.end(), number) && std::all_of(schema.returns.begin(), schema.returns.end(), number);
}

bool is_on_tensors(const schema::Schema& schema) {
  const auto tensor = [](const schema::Argument& argument) { return ir::holds(*argument.type, ir::TypeKind::tensor); };
  return std::any_of(schema.arguments.begin(), schema.arguments.end(), tensor) || std::any_of(schema.returns.begin(), schema.returns.end(), tensor);
}

// What the tables or a family say of an operator on tensors by this name.
symbolic::FactFunction tensor_rule(std::string_view op, std::string_view overload, const mapping::Table& table,
                                   const schema::Registry& schemas, const symbolic::Registry& registry) {
  if (auto function = registry.find_facts(op, overload)) return function;
  if (const auto word = table.facts(op, overload, schemas); !word.empty()) return registry.find_fact_word(word);
  const auto* rows = table.find(op, overload, mapping::highest_opset, schemas).op;  // an alias of another operator
  if (!rows) return nullptr;
  const auto [base, alias_overload] = mapping::split_overload(rows->name);
  return registry.find_facts(base, alias_overload);
}

}  // namespace

symbolic::FactFunction fact_rule(const schema::Schema& schema, const mapping::Table& table, const schema::Registry& schemas,
                                 const symbolic::Registry& registry) {
  if (auto function = registry.find_overload_facts(schema.name, schema.overload)) return function;
  if (is_on_numbers(schema)) return registry.find_number_facts(schema.name);
  if (!is_on_tensors(schema)) return schema.overload.empty() ? registry.find_facts(schema.name, {}) : nullptr;
  const std::string overload = mapping::functional_overload(schema.name, schema.overload, schemas).value_or(schema.overload);
  if (auto rule = tensor_rule(schema.name, overload, table, schemas, registry)) return rule;
  const auto functional = schemas.functional_form(schema.name);
  return functional ? tensor_rule(*functional, overload, table, schemas, registry) : nullptr;
}

FactTable state_facts(const ir::Graph& graph, const std::vector<InputFact>& inputs, const mapping::Table& table,
                      const schema::Registry& schemas, const symbolic::Registry& registry, const ir::Program* program) {
  Statement statement(graph, table, schemas, registry, program);
  statement.inputs(graph, inputs);
  statement.block(*graph.top());
  return statement.take();
}

std::vector<std::string> fold_with_facts(ir::Graph& graph, const FactTable& facts, const schema::Registry& schemas) {
  const auto known = [&](const ir::Value& value) { return proved(facts.of(&value), value.type()); };
  std::vector<std::string> steps{"folded what the inputs' dtypes and shapes settle"};
  if (!passes::simplify(graph, schemas, known, &steps)) return {};
  return steps;
}

}  // namespace compatcheck::conversion
