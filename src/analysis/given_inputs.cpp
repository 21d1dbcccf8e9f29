#include "analysis/given_inputs.h"

#include <algorithm>

#include "analysis/example_inputs.h"
#include "analysis/input_spec.h"
#include "analysis/lacking_members.h"
#include "compatcheck/error.h"
#include "ir/value_name.h"
#include "symbolic/scalar.h"

namespace compatcheck::analysis {
namespace {

std::string spell(const std::optional<ir::DType>& dtype, std::size_t rank) {
  return (dtype ? std::string(ir::name(*dtype)) + " of rank " : "of rank ") + std::to_string(rank);
}

// Sizes vary from call to call, dtypes and ranks rarely do: most often the spec is wrong.
std::optional<std::string> contradiction(const conversion::InputFact& given, const ir::TensorType& recorded) {
  const auto* tensor = given.fact.tensor();
  if (!tensor || !tensor->shape) return std::nullopt;
  const bool other_dtype = recorded.dtype && tensor->dtype && *recorded.dtype != *tensor->dtype;
  const bool other_rank = recorded.sizes && recorded.sizes->size() != tensor->shape->size();
  if (!other_dtype && !other_rank) return std::nullopt;
  const std::string held =
      recorded.sizes ? spell(recorded.dtype, recorded.sizes->size()) : std::string(ir::name(*recorded.dtype));
  return "input '" + given.name + "' is given as " + spell(tensor->dtype, tensor->shape->size()) + ", but the model records " +
         held;
}

// A stated number or text.
std::optional<ir::Constant> constant_in(const symbolic::Fact& fact) {
  if (const auto* held = std::get_if<symbolic::ConstantFact>(&fact.value)) return held->value;
  return fact.number() ? symbolic::constant_of(*fact.number()) : std::nullopt;
}

// The value that an option may state, or an example that is an empty list; nullopt for an input of the running model.
std::optional<std::string> stated_value(const symbolic::Fact& fact) {
  if (fact.is_none()) return "none";
  if (fact.list() && fact.list()->items && fact.list()->items->empty()) return "empty";
  const auto value = constant_in(fact);
  return value ? std::optional(value_text(*value)) : std::nullopt;
}

std::vector<std::string> values_in(const std::vector<conversion::InputFact>& facts) {
  std::vector<std::string> lines;
  bool any = false;
  for (const auto& [name, fact] : facts) {
    const auto value = stated_value(fact);
    any = any || value;
    lines.push_back(name + (value ? "=" + *value : ""));
  }
  return any ? lines : std::vector<std::string>();
}

}  // namespace

bool covers(const std::string& name, const std::string& other) { return name == other || other.starts_with(name + "."); }

void take_recorded_types(std::span<ir::Value* const> inputs, const std::vector<ir::RecordedInput>& recorded) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto found = std::ranges::find(recorded, inputs[i]->name(), &ir::RecordedInput::name);
    if (found == recorded.end() && recorded.size() == inputs.size()) found = recorded.begin() + static_cast<std::ptrdiff_t>(i);
    if (found == recorded.end() || !found->type || !inputs[i]->type()) continue;
    if (ir::same_structure(*found->type, *inputs[i]->type())) inputs[i]->set_type(found->type);
  }
}

GivenInputs given_inputs(const CheckOptions& options, const ir::Graph& graph,
                         std::span<const std::pair<std::size_t, ir::Constant>> defaults) {
  GivenInputs given{
      .facts = match_inputs(options.inputs, graph, defaults), .left_out = {}, .numbers = {}, .values = {}, .warnings = {}};
  for (const auto& fact : given.facts)
    if (auto value = constant_in(fact.fact))
      for (const ir::Value* input : graph.inputs())
        if (ir::input_name(*input) == fact.name) given.numbers.emplace_back(input->index(), *std::move(value));
  std::vector<std::string> by_example;  // numbers and texts too, whose values the next call may change
  if (!options.inputs_from.empty()) {
    const std::vector<conversion::InputFact> explicitly = given.facts;
    ExampleFacts examples = example_inputs(options.inputs_from, graph);
    by_example = std::move(examples.names);
    given.chosen = std::move(examples.chosen);
    std::vector<std::string> held = by_example, by_option;
    held.insert(held.end(), examples.empty_dicts.begin(), examples.empty_dicts.end());
    for (const auto& fact : explicitly) by_option.push_back(fact.name);
    if (const auto lacking = lacking_member(held, by_option, graph))
      throw UsageError("CheckOptions::inputs_from " + options.inputs_from.string() + ": " + *lacking);
    for (auto& example : examples.facts) {
      const bool stated = std::any_of(explicitly.begin(), explicitly.end(), [&](const auto& other) {
        return covers(other.name, example.name) || covers(example.name, other.name);
      });
      if (!stated) given.facts.push_back(std::move(example));
    }
  }
  given.values = values_in(given.facts);
  for (const auto& [input, value] : defaults) {
    const std::string& name = graph.inputs()[input]->name();
    if (std::ranges::any_of(given.facts, [&](const auto& fact) { return covers(name, fact.name); })) continue;
    if (std::ranges::any_of(by_example, [&](const auto& example) { return covers(name, example); })) continue;
    given.facts.push_back({name, symbolic::fact_of(value)});
    given.left_out.emplace_back(input, value);
  }
  for (const InputLeaf& leaf : input_leaves(graph))
    for (const auto& fact : given.facts)
      if (fact.name == leaf.name && ir::is(leaf.type, ir::TypeKind::tensor))
        if (auto warning = contradiction(fact, leaf.type->tensor)) given.warnings.push_back(std::move(*warning));
  return given;
}

void take_values(ir::Graph& graph, const Defaults& values) {
  for (const auto& [input, value] : values) {
    ir::Value* argument = graph.inputs()[input];
    ir::Node* constant = graph.create_constant(value);
    if (!ir::is(argument->type(), ir::TypeKind::optional)) constant->output()->set_type(argument->type());
    graph.top()->prepend(constant);
    argument->replace_all_uses_with(constant->output());
  }
}

}  // namespace compatcheck::analysis
