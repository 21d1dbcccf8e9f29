#include "analysis/required_input.h"

#include <algorithm>
#include <set>

#include "analysis/input_spec.h"
#include "inference/infer.h"
#include "inference/leaves.h"
#include "ir/value_name.h"
#include "symbolic/condition.h"

namespace compatcheck::analysis {
namespace {

using symbolic::Dim;
using symbolic::TensorFact;

// Names each dimension without a name after the input.
TensorFact with_names(TensorFact tensor, const std::string& name) {
  for (std::size_t dim = 0; tensor.shape && dim < tensor.shape->size(); ++dim)
    if ((*tensor.shape)[dim].is_unknown()) (*tensor.shape)[dim] = Dim::symbol(inference::dimension_name(name, dim));
  return tensor;
}

// With the words that stand for numbers which nothing states.
std::string spell_asking(const TensorFact& tensor) {
  std::string text = inference::spell(tensor);
  if (tensor.dtype && ir::is_quantized(*tensor.dtype) && !tensor.quantizer)
    text.insert(ir::name(*tensor.dtype).size(), "(SCALE,ZERO_POINT)");
  return text;
}

std::string option_of(const inference::Leaf& leaf, const symbolic::Fact& fact) {
  TensorFact tensor = fact.tensor() ? *fact.tensor() : TensorFact{};
  const bool ranked = tensor.shape.has_value(), typed = tensor.dtype.has_value();
  if (!ranked) tensor.shape = symbolic::Shape(2, Dim::unknown());
  const std::string name = leaf.of_list ? leaf.name + ".0" : leaf.name;
  std::string text = "--input " + name + "=" + spell_asking(with_names(std::move(tensor), leaf.name));
  if (!typed) text += " with its dtype instead of f32";
  if (!ranked) text += std::string(typed ? " with" : " and") + " a number or a name for each of its dimensions";
  if (leaf.of_list) text += " and one such option for each member of the list";
  return text;
}

// Options for the members of a dictionary or list; empty if they can't be stated, or if known facts of another input are more
// useful.
std::string options_for_members(const std::string& name, const ir::TypeRef& type) {
  const bool lists = ir::is(type, ir::TypeKind::list) && is_container_type(ir::without_optional(type->elements.front()));
  if ((!lists && !ir::is(type, ir::TypeKind::dict)) || instead_of_option(name, type)) return {};
  const std::string sizes = inference::dimension_name(name, 0) + "," + inference::dimension_name(name, 1);
  std::string text;
  for (const std::string& option : member_options(name, type, "f32:" + sizes))
    text += (text.empty() ? "--input " : " --input ") + option;
  return text + for_each_member(type) + (ir::holds(*type, ir::TypeKind::tensor) ? " with its dtype and sizes" : "");
}

bool is_text(const ir::Type& type) { return type.kind == ir::TypeKind::string; }

// A text, a list of texts, or a dictionary of texts.
bool holds_text(const ir::TypeRef& type) {
  const ir::TypeRef& held = ir::without_optional(type);
  const bool container = ir::is(held, ir::TypeKind::list) || ir::is(held, ir::TypeKind::dict);
  return held && (is_text(*held) || (container && is_text(*held->elements.back())));
}

// The model's input with texts that the node reads; null if none.
const ir::Value* text_read(const ir::Node& node) {
  for (const ir::Value* value : node.inputs()) {
    if (const ir::Node* maker = value->producer(); maker && maker->is("prim::unchecked_cast")) value = maker->input(0);
    if (!value->producer() && !value->block()->owner() && holds_text(value->type())) return value;
  }
  return nullptr;
}

bool is_number_type(const ir::TypeRef& type) { return ir::is_number(type) || ir::is(type, ir::TypeKind::number); }

}  // namespace

std::string text_option(const std::string& name) { return "--input " + name + "=TEXT with your own text"; }

std::optional<std::string> instead_of_option(const std::string& name, const ir::TypeRef& type) {
  using enum ir::TypeKind;
  if (!type || ir::is(type, tensor) || ir::is(type, none) || is_number_type(type)) return std::nullopt;
  if (ir::is(type, optional)) return instead_of_option(name, type->elements.front());
  if (ir::is(type, list)) return instead_of_option(name + ".0", type->elements.front());
  if (ir::is(type, dict)) {
    if (ir::has_nameable_keys(type)) return instead_of_option(name + ".KEY", type->elements.back());
    return "give '" + name + "' keys that are texts or ints, or an argument for each of its members, and save the model again";
  }
  if (ir::is(type, tuple)) {
    for (std::size_t i = 0; i < type->elements.size(); ++i)
      if (holds_text(type->elements[i])) return instead_of_option(name + "." + std::to_string(i), type->elements[i]);
    for (const ir::TypeRef& member : type->elements)
      if (instead_of_option(name, member))
        return "give the model an argument for each member of '" + name + "', and save it again";
    return std::nullopt;
  }
  if (ir::is(type, any) || ir::is(type, union_of))
    return "annotate '" + name + "' with one type, such as Tensor or int, and save the model again";
  return (is_text(*type) ? text_option(name) + ", or " : "") + set_in_init({name});
}

void refuse_what_no_option_states(conversion::Assessment& assessment, const ir::Graph& graph, std::size_t states) {
  for (conversion::Outcome& outcome : assessment.outcomes) {
    if (const ir::Value* text = outcome.status == conversion::Status::missing ? text_read(*outcome.node) : nullptr)
      outcome.hint = instead_of_option(ir::input_name(*text), text->type()).value_or(outcome.hint);
    for (const std::uint32_t index : outcome.wants) {
      const ir::Value& input = *graph.inputs()[index];
      const std::string name = ir::input_name(input);
      const bool is_state = index + states >= graph.inputs().size() && is_number_type(input.type());
      const auto instead =
          is_state ? std::optional<std::string>("pass '" + name + "' to the model as an argument, or make it a tensor")
                   : instead_of_option(name, input.type());
      if (!instead || ir::is(input.type(), ir::TypeKind::optional) || !outcome.option.empty()) continue;
      outcome.wants.clear();
      if (outcome.status == conversion::Status::missing) break;
      outcome.status = conversion::Status::refused;
      outcome.of_unknown = true;
      outcome.reason = "it depends on " + std::string(is_state ? "attribute" : "input") + " '" + name + "', a " +
                       ir::to_string(*input.type()) +
                       (is_state                 ? " that changes from call to call"
                        : is_text(*input.type()) ? ", which must be known while converting"
                                                 : ", which no option can state");
      outcome.hint = *instead;
      break;
    }
  }
}

namespace {

// A value that --input may state; empty for a type that isn't a single number.
std::string example_number(const ir::TypeRef& type) {
  using enum ir::TypeKind;
  return ir::is(type, integer) ? "1" : ir::is(type, floating) ? "0.5" : ir::is(type, boolean) ? "true" : "";
}

bool is_number_or_numbers(const ir::TypeRef& type) {
  const ir::TypeRef& held = ir::without_optional(type);
  return is_number_type(ir::is(held, ir::TypeKind::list) ? held->elements.front() : held);
}

// The inputs from which numbers among the arguments are computed, in the order in which they are met; empty if something else
// decides such a number as well.
std::vector<const ir::Value*> numbers_behind(std::vector<const ir::Value*> waiting, const symbolic::FactTable& facts) {
  constexpr std::size_t most_looks = 100;
  std::vector<const ir::Value*> inputs;
  std::erase_if(waiting, [](const ir::Value* value) { return !is_number_or_numbers(value->type()); });
  for (std::size_t at = 0; at < waiting.size(); ++at) {
    const ir::Value* value = waiting[at];
    if (ir::constant_of(value) || symbolic::is_constant(facts.of(value)) || std::ranges::find(inputs, value) != inputs.end())
      continue;
    const ir::Node* producer = value->producer();
    const bool is_input = !producer && !value->block()->owner();
    if (is_input)
      inputs.push_back(value);
    else if (!producer || !producer->blocks().empty() || at == most_looks ||
             !std::ranges::all_of(producer->inputs(), [](const ir::Value* input) { return is_number_or_numbers(input->type()); }))
      return {};
    else
      waiting.insert(waiting.end(), producer->inputs().begin(), producer->inputs().end());
  }
  return inputs;
}

}  // namespace

std::string set_in_init(const std::vector<std::string>& inputs) {
  std::set<std::string> whole;
  std::string names;
  for (const std::string& input : inputs)
    if (const std::string name = input.substr(0, input.find('.')); whole.insert(name).second)
      names += (names.empty() ? "'" : ", '") + name + "'";
  return "set " + names + " in __init__, as " + (whole.size() == 1 ? "an attribute of the module" : "attributes of the module") +
         ", and save the model again";
}

const ir::Value* lacked_number(const conversion::Outcome& outcome, const symbolic::FactTable& facts) {
  constexpr std::string_view lead = "the value of '";
  if (!outcome.reason.starts_with(lead)) return nullptr;
  const std::string argument = outcome.reason.substr(lead.size(), outcome.reason.find('\'', lead.size()) - lead.size());
  const symbolic::Call call(*outcome.node, facts);
  const ir::Value* value = call.has(argument) ? call.value(argument) : nullptr;
  const bool is_one = value && (is_number_type(ir::without_optional(value->type())) ||
                                ir::is(ir::without_optional(value->type()), ir::TypeKind::string));
  return is_one ? value : nullptr;
}

void advise_constants(conversion::Assessment& assessment, const symbolic::FactTable& facts) {
  for (conversion::Outcome& outcome : assessment.outcomes) {
    const bool of_value = outcome.reason.starts_with("the value of ") || outcome.reason.find(" must be ") != std::string::npos;
    if (outcome.status != conversion::Status::refused || !outcome.of_unknown || !outcome.hint.empty() || !of_value) continue;
    const auto arguments = outcome.node->inputs();
    const ir::Value* lacked = lacked_number(outcome, facts);
    const auto inputs =
        numbers_behind(lacked ? std::vector{lacked} : std::vector<const ir::Value*>(arguments.begin(), arguments.end()), facts);
    std::string names, options;
    std::vector<std::string> all;
    bool can_be_stated = true, lists = false;
    for (const ir::Value* input : inputs) {
      const ir::TypeRef& type = ir::without_optional(input->type());
      const bool list = ir::is(type, ir::TypeKind::list);
      const std::string name = ir::input_name(*input), value = example_number(list ? type->elements.front() : type);
      names += (names.empty() ? "'" : ", '") + name + "'";
      all.push_back(name);
      options += (options.empty() ? "--input " : " --input ") + name + (list ? ".0=" : "=") + value;
      can_be_stated = can_be_stated && !value.empty();
      lists = lists || list;
    }
    if (lists) options += " and one such option for each member of the list";
    if (inputs.empty()) continue;
    outcome.reason +=
        ": it must be known while converting, and follows from " + std::string(inputs.size() == 1 ? "input " : "inputs ") + names;
    outcome.hint =
        (can_be_stated ? options + " with your own " + (inputs.size() == 1 && !lists ? "value" : "values") + ", or " : "") +
        set_in_init(all);
  }
}

RequiredInput required_input(const ir::Graph& graph, std::uint32_t input, const symbolic::FactTable& facts) {
  const ir::Value* value = graph.inputs()[input];
  const std::string name = ir::input_name(*value);
  const auto type = value->type() ? ir::to_string(*value->type()) : std::string("value");
  if (const auto* tensor = facts.of(value).tensor();
      tensor && tensor->dtype && ir::is_quantized(*tensor->dtype) && tensor->shape && !tensor->quantizer) {
    return {"the scale and the zero point of input '" + name + "'",
            "--input " + name + "=" + spell_asking(with_names(*tensor, name)) + ", or --inputs-from FILE with an example of it",
            true};
  }
  RequiredInput required{"the value of input '" + name + "' (" + type + ")", {}};
  bool rank_alone = true;
  for (const inference::Leaf& leaf : inference::open_leaves(graph, facts)) {
    if (leaf.input != value) continue;
    const symbolic::Fact& fact = *leaf.in(facts.of(value));
    rank_alone = rank_alone && fact.tensor() && fact.tensor()->dtype && !fact.tensor()->shape && !leaf.of_list;
    required.option += (required.option.empty() ? "" : " and ") + option_of(leaf, fact);
  }
  if (required.option.empty() && facts.of(value).tensor()) {  // everything is known except the sizes
    required.what = "the sizes of input '" + name + "'";
    required.option =
        "--input " + name + "=" + inference::spell(*facts.of(value).tensor()) + " with numbers instead of the names";
  } else if (const auto members = options_for_members(name, value->type()); !members.empty() && required.option.empty()) {
    required.what = (ir::is(value->type(), ir::TypeKind::dict) ? "the keys of input '" : "the members of input '") + name + "'";
    required.option = members + ", or --inputs-from FILE with an example of " + name;
  } else if (ir::is(ir::without_optional(value->type()), ir::TypeKind::string))
    required.option = "--input " + name + "=none if calls leave it out, or " + text_option(name);
  else if (const auto instead = instead_of_option(name, value->type()); instead && required.option.empty())
    required.option = "--input " + name + "=none if calls leave it out; no option states another value: " + *instead;
  else if (required.option.empty())
    required.option = "--inputs-from FILE with an example of " + name;
  else
    required.what = (rank_alone ? "the rank of input '" : "the dtype and shape of input '") + name + "'";
  return required;
}

}  // namespace compatcheck::analysis
