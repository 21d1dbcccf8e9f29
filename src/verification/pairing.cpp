#include "verification/pairing.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "analysis/given_inputs.h"
#include "analysis/input_spec.h"
#include "compatcheck/error.h"
#include "ir/literal.h"
#include "ir/value_name.h"
#include "passes/passes.h"
#include "process/spell_count.h"
#include "symbolic/scalar.h"

namespace compatcheck::verification {
namespace {

// Names of --input are letters, digits and underscores; two names of the file stay two.
class DimNames {
 public:
  std::string of(const std::string& name) {
    const auto known = names_.find(name);
    if (known != names_.end()) return known->second;
    std::string made;
    for (const char c : name) made += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
    if (made.empty() || std::isdigit(static_cast<unsigned char>(made.front()))) made = "d" + made;
    while (!used_.insert(made).second) made += "_";
    return names_[name] = made;
  }

 private:
  std::map<std::string, std::string> names_;
  std::set<std::string> used_;
};

bool fits_number(const OnnxGraph::Given& given, const ir::TypeRef& type, std::size_t rank) {
  using enum ir::TypeKind;
  if (given.shape->size() != rank) return false;
  if (ir::is(type, integer)) return given.dtype == ir::DType::i64;
  if (ir::is(type, boolean)) return given.dtype == ir::DType::boolean;
  return ir::is(type, floating) && (given.dtype == ir::DType::f32 || given.dtype == ir::DType::f64);
}

// An argument of this type may be this input of the file.
bool fits(const OnnxGraph::Given& given, const ir::TypeRef& type) {
  const ir::TypeRef& held = ir::without_optional(type);
  if (!held || !given.dtype || !given.shape) return false;
  if (given.sequence) return ir::is_tensor_list(held);
  if (ir::is(held, ir::TypeKind::list)) return fits_number(given, held->elements.front(), 1);
  if (!ir::is(held, ir::TypeKind::tensor)) return fits_number(given, held, 0);
  const bool dtype = held->tensor.dtype && *held->tensor.dtype != *given.dtype;
  const bool rank = held->tensor.sizes && held->tensor.sizes->size() != given.shape->size();
  return !dtype && !rank;
}

// Returns the input as --input would state it.
std::string spec_of(const OnnxGraph::Given& given, DimNames& names) {
  std::string dims;
  for (std::size_t dim = 0; dim < given.shape->size(); ++dim) {
    const onnx::Dimension& size = (*given.shape)[dim];
    const bool is_number = size.size && *size.size > 0;
    dims += (dims.empty() ? "" : ",") + (is_number
                                             ? std::to_string(*size.size)
                                             : names.of(size.name.empty() ? given.name + "_" + std::to_string(dim) : size.name));
  }
  return (given.quantized.empty() ? std::string(ir::name(*given.dtype)) : given.quantized) + ":" +
         (dims.empty() ? "scalar" : dims);
}

using OfModel = std::vector<std::optional<std::string>>;

// The names in the model of the file's inputs: its own, or, if as many remain, those of the rest in order.
OfModel names_in_model(const std::vector<OnnxGraph::Given>& inputs, const Model::State& model) {
  OfModel found;
  std::vector<std::string> named;
  for (const OnnxGraph::Given& given : inputs) {
    found.push_back(analysis::type_named(given.name, model.graph) ? std::optional(given.name) : std::nullopt);
    if (found.back()) named.push_back(given.name);
  }
  const std::size_t others = inputs.size() - named.size();
  const auto rest = analysis::names_in_order(others, named, model.graph, model.defaults);
  auto next = rest.begin();
  if (rest.size() != others) return found;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (found[i]) continue;
    found[i] = *next++;
    if (inputs[i].sequence && found[i]->ends_with(".0")) found[i]->resize(found[i]->size() - 2);  // the list as a whole
  }
  return found;
}

std::string form(const ir::DType& dtype, std::size_t rank) {
  return std::string(ir::name(dtype)) + " of rank " + std::to_string(rank);
}

}  // namespace

std::vector<std::string> input_specs(const std::vector<OnnxGraph::Given>& inputs, const Model::State& model) {
  const OfModel found = names_in_model(inputs, model);
  std::vector<std::string> specs;
  DimNames names;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (found[i])
      if (const auto type = analysis::type_named(*found[i], model.graph); type && fits(inputs[i], *type))
        specs.push_back(*found[i] + "=" + spec_of(inputs[i], names));
  return specs;
}

namespace {

std::string name_in(const std::string& spec) { return spec.substr(0, spec.find('=')); }

// A number or text.
bool is_constant(const symbolic::Fact& fact) {
  return std::holds_alternative<symbolic::ConstantFact>(fact.value) || (fact.number() && symbolic::constant_of(*fact.number()));
}

// A file may hold any text.
bool states_value(const std::string& line, const Model::State& model) {
  if (line.find('=') == line.npos) return false;
  try {
    const symbolic::Fact fact = analysis::match_inputs({&line, 1}, model.graph).front().fact;
    return fact.is_none() || is_constant(fact);
  } catch (const UsageError&) {
    return false;
  }
}

bool is_stated(const std::string& name, const std::vector<analysis::StatedSizes>& stated) {
  return std::ranges::any_of(stated, [&](const analysis::StatedSizes& one) {
    return analysis::covers(one.input, name) || analysis::covers(name, one.input);
  });
}

// A list or dictionary whose members an option can state.
bool has_members(const ir::TypeRef& type) {
  const ir::TypeRef& held = ir::without_optional(type);
  return ir::is(held, ir::TypeKind::list) || ir::has_nameable_keys(held);
}

bool is_container(const ir::Type& type) {
  return type.kind == ir::TypeKind::list || type.kind == ir::TypeKind::dict || type.kind == ir::TypeKind::tuple;
}

// An example of the option that states this input of the file as a member of `leaf`. `place`: of how many there are already.
std::string option_of_member(const OnnxGraph::Given& given, const analysis::InputLeaf& leaf, std::size_t place, DimNames& names) {
  std::string key = given.name.starts_with(leaf.name + "_") ? given.name.substr(leaf.name.size() + 1) : given.name;
  const ir::TypeRef& type = ir::without_optional(leaf.type);
  const bool texts = ir::is(type, ir::TypeKind::dict) && ir::is(type->elements.front(), ir::TypeKind::string);
  if (ir::is(type, ir::TypeKind::list))
    key = std::to_string(place);
  else
    key = key.find(' ') == key.npos && (texts || analysis::number_in(key)) ? ir::name_of_key(key) : "KEY";
  const auto* held = ir::without_optional(leaf.type).get();
  for (held = ir::without_optional(held->elements.back()).get(); is_container(*held);
       held = ir::without_optional(held->elements.back()).get())
    key += held->kind == ir::TypeKind::dict ? ".KEY" : ".0";
  return "CheckOptions::inputs " + leaf.name + "." + key + "=" +
         (given.dtype && given.shape ? spec_of(given, names) : std::string("f32:2,3"));
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

}  // namespace

std::vector<std::string> with_values(const std::vector<std::string>& specs, const std::string& metadata,
                                     const Model::State& model) {
  std::vector<std::string> all, rest = specs;
  std::istringstream lines(metadata);
  for (std::string line; std::getline(lines, line);) {
    const auto spec = std::ranges::find(rest, name_in(line), name_in);
    if (spec != rest.end()) {
      all.push_back(*spec);
      rest.erase(spec);
    } else if (states_value(line, model) &&
               !is_stated(name_in(line), analysis::stated_sizes(specs, model.graph, model.defaults))) {
      all.push_back(line);
    }
  }
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

std::vector<std::string> with_dtypes(std::vector<std::string> inputs, const std::vector<std::string>& of_file,
                                     const Model::State& model) {
  const auto stated = analysis::stated_sizes(inputs, model.graph, model.defaults),
             in_file = analysis::stated_sizes(of_file, model.graph, model.defaults);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto other = std::ranges::find(in_file, stated[i].input, &analysis::StatedSizes::input);
    if (stated[i].lead.ends_with(':') || stated[i].dims.empty() || other == in_file.end() || other->dims.empty()) continue;
    inputs[i] = other->lead + inputs[i].substr(stated[i].lead.empty() ? 0 : inputs[i].find('=') + 1);
  }
  return inputs;
}

std::vector<std::string> other_inputs(const std::vector<std::string>& of_file, const std::vector<std::string>& inputs,
                                      const Model::State& model) {
  const auto stated = analysis::stated_sizes(inputs, model.graph, model.defaults),
             in_file = analysis::stated_sizes(of_file, model.graph, model.defaults);
  std::map<std::string, std::string> called;  // names that the options use for the file's named sizes
  for (const analysis::StatedSizes& own : stated) {
    const auto other = std::ranges::find(in_file, own.input, &analysis::StatedSizes::input);
    if (other == in_file.end() || own.dims.size() != other->dims.size()) continue;
    for (std::size_t dim = 0; dim < own.dims.size(); ++dim)
      if (analysis::is_name(other->dims[dim])) called.emplace(other->dims[dim], own.dims[dim]);
  }
  std::vector<std::string> others;
  for (const analysis::StatedSizes& theirs : in_file) {
    if (is_stated(theirs.input, stated)) continue;
    std::string& spec =
        others.emplace_back(theirs.dims.empty() ? of_file[static_cast<std::size_t>(&theirs - in_file.data())] : theirs.lead);
    for (std::size_t dim = 0; dim < theirs.dims.size(); ++dim) {
      const auto name = called.find(theirs.dims[dim]);
      spec += (dim ? "," : "") + (name == called.end() ? theirs.dims[dim] : name->second);
    }
  }
  return others;
}

std::string how_to_state(const std::vector<OnnxGraph::Given>& inputs, const std::vector<std::string>& options,
                         const Model::State& model) {
  const auto stated = analysis::stated_sizes(options, model.graph, model.defaults);
  std::vector<analysis::InputLeaf> open;
  std::vector<std::string> containers, unknown;
  for (const analysis::InputLeaf& leaf : analysis::input_leaves(model.graph))
    if (has_members(leaf.type) && !is_stated(leaf.name, stated)) {
      open.push_back(leaf);
      containers.push_back(leaf.name);
    }
  std::string text;
  std::map<std::string, std::size_t> places;
  DimNames names;
  for (const OnnxGraph::Given& given : inputs) {
    if (analysis::type_named(given.name, model.graph)) continue;
    unknown.push_back(given.name);
    if (open.empty()) continue;
    const auto like = std::ranges::find_if(open, [&](const auto& leaf) { return given.name.starts_with(leaf.name + "_"); });
    const analysis::InputLeaf& leaf = like == open.end() ? open.back() : *like;
    text += " " + option_of_member(given, leaf, places[leaf.name]++, names);
  }
  if (unknown.empty()) {
    for (const std::string& spec : input_specs(inputs, model))
      if (!is_stated(name_in(spec), stated)) text += " CheckOptions::inputs " + spec;
    return text.empty() ? text : "the ONNX model has inputs that the TorchScript model isn't given; add" + text;
  }
  const std::string lead = "the TorchScript model has no " + std::string(unknown.size() == 1 ? "input " : "inputs ") +
                           listed(unknown) + ", which the ONNX model has; ";
  if (open.empty()) return lead + analysis::known_names(analysis::input_leaves(model.graph));
  return lead + "state which members of " + listed(containers) + " these are, in this order, as in" + text;
}

namespace {

std::vector<std::string> members_of(const std::string& name, const std::vector<std::string>& names) {
  std::vector<std::string> members;
  for (const std::string& one : names)
    if (one.starts_with(name + ".")) members.push_back(one);
  return members;
}

bool is_covered(const std::string& name, const std::vector<std::string>& names) {
  return std::ranges::any_of(
      names, [&](const std::string& other) { return analysis::covers(other, name) || analysis::covers(name, other); });
}

// The model may read this member, which isn't among `others`. What is read of a list or dictionary inside is looked up at its
// first part that the others lack.
bool may_read(const std::string& member, const analysis::InputLeaf& leaf, const std::vector<std::string>& others,
              const ir::Graph& graph) {
  std::size_t dot = leaf.name.size();
  for (std::size_t next = member.find('.', dot + 1); next != member.npos; next = member.find('.', next + 1)) {
    if (!is_covered(member.substr(0, next), others)) break;
    dot = next;
  }
  const std::string container = member.substr(0, dot);
  const std::string part = member.substr(dot + 1, member.find('.', dot + 1) - dot - 1);
  const auto type = analysis::type_named(container, graph);
  if (!type || ir::is(ir::without_optional(*type), ir::TypeKind::tuple)) return false;  // its members are always the same
  const auto read = analysis::members_read(container, leaf, graph);
  return !read || std::ranges::find(*read, ir::key_of_name(part).value_or(part)) != read->end();
}

}  // namespace

std::string other_members(const std::vector<std::string>& inputs, const MadeCall& call, const std::vector<std::string>& options,
                          const Model::State& model) {
  std::vector<std::string> given, constants;
  for (const auto& [name, fact] : analysis::match_inputs(options, model.graph, model.defaults))
    if (is_constant(fact)) constants.push_back(name);
  for (const auto& [name, value] : call.leaves) {
    given.push_back(name);
    if (const auto* list = value.get<ir::ListConstant>())
      for (std::size_t i = 0; i < list->items.size(); ++i) given.push_back(name + "." + std::to_string(i));
  }
  for (const analysis::InputLeaf& leaf : analysis::input_leaves(model.graph)) {
    const auto of_file = members_of(leaf.name, inputs), of_call = members_of(leaf.name, given);
    const auto* list = leaf.input < call.arguments.size() ? call.arguments[leaf.input].get<ir::ListConstant>() : nullptr;
    const bool is_empty = list && list->items.empty();  // it is no leaf of the call
    if (!has_members(leaf.type) || of_file.empty() || (of_call.empty() && !is_empty)) continue;
    const bool lacks = std::ranges::any_of(of_file, [&](const auto& member) { return !is_covered(member, of_call); });
    const bool more = std::ranges::any_of(of_call, [&](const auto& member) {
      return !is_covered(member, of_file) && !is_covered(member, constants) && may_read(member, leaf, of_file, model.graph);
    });
    if (lacks || more)
      return "the ONNX model takes " + listed(of_file) + " of the input '" + leaf.name + "', and the values given are " +
             (of_call.empty() ? "none" : listed(of_call)) +
             ": the two can't be compared; convert the model with the same members";
  }
  return "";
}

namespace {

// As options state it, or what it is.
std::string stated_text(const ir::Constant& value) {
  if (value.is_none()) return "none";
  if (const auto* flag = value.get<bool>()) return *flag ? "true" : "false";
  if (const auto* list = value.get<ir::ListConstant>())
    return list->items.empty() ? "empty" : "a list of " + spell_count(list->items.size(), "member");
  if (value.get<std::int64_t>() || value.get<double>() || value.get<std::string>()) {
    const std::string text = ir::write_literal(value, nullptr);
    return text.ends_with('.') ? text + "0" : text;
  }
  return value.get<ir::TensorView>() ? "a tensor" : "another value";
}

bool is_stated_as(const std::string& held, const ir::Constant& value) {
  const auto read = [&](auto& number) {
    const auto [end, error] = std::from_chars(held.data(), held.data() + held.size(), number);
    return error == std::errc() && end == held.data() + held.size();
  };
  std::int64_t whole = 0;
  double number = 0;
  if (const auto* integer = value.get<std::int64_t>())
    return read(whole) ? whole == *integer : read(number) && number == static_cast<double>(*integer);
  if (const auto* floating = value.get<double>())
    return read(number) && (number == *floating || (std::isnan(number) && std::isnan(*floating)));
  if (const auto* text = value.get<std::string>(); text && analysis::without_quotes(held) == *text) return true;
  return held == stated_text(value);
}

// Adds the values that options could state, by their names. Others can't be compared.
void add_held(const std::string& name, const ir::Constant& value, std::map<std::string, std::string>& held) {
  const auto* list = value.get<ir::ListConstant>();
  const auto* tuple = value.get<ir::TupleConstant>();
  if (const auto* items = tuple ? &tuple->items : list && !list->items.empty() ? &list->items : nullptr) {
    for (std::size_t i = 0; i < items->size(); ++i) add_held(name + "." + std::to_string(i), (*items)[i], held);
  } else if (list || value.is_none() || value.get<bool>() || value.get<std::int64_t>() || value.get<double>() ||
             value.get<std::string>()) {
    held.emplace(name, stated_text(value));
  }
}

}  // namespace

std::string other_values(const std::vector<std::string>& inputs, const MadeCall& call, const std::string& metadata,
                         const std::vector<std::string>& options, const Model::State& model) {
  std::vector<std::string> stated;
  for (const analysis::StatedSizes& one : analysis::stated_sizes(options, model.graph, model.defaults))
    stated.push_back(one.input);
  std::map<std::string, std::string> held;
  if (!std::ranges::all_of(inputs,
                           [&](const std::string& input) { return analysis::type_named(input, model.graph).has_value(); }))
    return "";
  for (const auto& [input, value] : model.defaults)
    if (!model.graph.inputs()[input]->unused()) add_held(ir::input_name(*model.graph.inputs()[input]), value, held);
  std::istringstream lines(metadata);
  for (std::string line; std::getline(lines, line);) {
    const std::string name = name_in(line);
    std::erase_if(held, [&](const auto& of_default) {
      return analysis::covers(of_default.first, name) || analysis::covers(name, of_default.first);
    });
    if (line == name + "=empty" || states_value(line, model)) held.insert_or_assign(name, line.substr(name.size() + 1));
  }
  const auto differ = [](const std::string& input, const std::string& text, const std::string& given) {
    return "the ONNX model holds " + text + " for the input '" + input + "', and the value given is " + given +
           ": the two can't be compared; convert the model with this value";
  };
  for (const analysis::InputLeaf& leaf : analysis::input_leaves(model.graph)) {
    const auto* list = leaf.input < call.arguments.size() ? call.arguments[leaf.input].get<ir::ListConstant>() : nullptr;
    const auto is_member = [&](const std::string& name) { return name.starts_with(leaf.name + "."); };
    const auto members = std::ranges::count_if(held, [&](const auto& one) { return is_member(one.first); });
    if (!list || members == 0 || std::ranges::any_of(inputs, is_member) || std::ranges::any_of(stated, is_member)) continue;
    if (leaf.name == ir::input_name(*model.graph.inputs()[leaf.input]) && std::ssize(list->items) != members)
      return differ(leaf.name, "a list of " + spell_count(static_cast<std::size_t>(members), "member"),
                    stated_text(call.arguments[leaf.input]));
  }
  for (const auto& [name, value] : call.leaves) {
    if (is_covered(name, inputs) || is_covered(name, stated)) continue;
    if (const auto whole = held.find(name); whole != held.end() && !is_stated_as(whole->second, value))
      return differ(name, whole->second, stated_text(value));
    const std::string container = name.substr(0, name.find('.'));
    if (const auto whole = held.find(container); name != container && whole != held.end())
      return differ(container, whole->second, "one with '" + name + "'");
    const auto* list = value.get<ir::ListConstant>();
    for (std::size_t i = 0; list && i < list->items.size(); ++i)
      if (const auto member = held.find(name + "." + std::to_string(i));
          member != held.end() && !is_stated_as(member->second, list->items[i]))
        return differ(member->first, member->second, stated_text(list->items[i]));
  }
  return "";
}

std::optional<std::string> open_dictionary(const std::vector<std::string>& options, const Model::State& model) {
  const auto stated = analysis::stated_sizes(options, model.graph, model.defaults);
  for (const analysis::InputLeaf& leaf : analysis::input_leaves(model.graph)) {
    const ir::Value* input = model.graph.inputs()[leaf.input];
    if (!ir::is(leaf.type, ir::TypeKind::dict) || input->unused() || is_stated(leaf.name, stated)) continue;
    if (const auto read = passes::read_members(model.graph, input); !read || read->empty()) return leaf.name;
  }
  return std::nullopt;
}

std::vector<std::string> members_in_order(const std::vector<std::string>& of_file, const CheckOptions& options,
                                          const Model::State& model) {
  std::vector<std::string> members;
  const auto holds_dict = [](const ir::Value* input) { return input->type() && ir::holds(*input->type(), ir::TypeKind::dict); };
  if (std::ranges::none_of(model.graph.inputs(), holds_dict)) return members;
  const auto facts = analysis::given_inputs(options, model.graph, model.defaults).facts;
  for (const std::string& spec : of_file)
    if (std::ranges::find(facts, name_in(spec), &conversion::InputFact::name) != facts.end()) members.push_back(name_in(spec));
  return members;
}

void unpair(std::vector<OnnxGraph::Given>& inputs, const std::string& metadata) {
  const std::string lines = "\n" + metadata + "\n";
  for (OnnxGraph::Given& input : inputs) {
    if (!input.shape || input.shape->empty() || !input.dtype || lines.find("\n" + input.name + "\n") == lines.npos) continue;
    input.shape->pop_back();
    input.dtype = *input.dtype == ir::DType::f64 ? ir::DType::c128 : ir::DType::c64;
  }
}

void keep_names(std::vector<std::string>& inputs, std::vector<std::string>& dims, const std::vector<std::string>& of_file,
                const Model::State& model) {
  using analysis::is_number;
  const auto stated = analysis::stated_sizes(inputs, model.graph, model.defaults),
             in_file = analysis::stated_sizes(of_file, model.graph, model.defaults);
  std::map<std::string, std::string> fixed;
  std::set<std::string> free;
  std::vector<std::string> named = inputs;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const analysis::StatedSizes& own = stated[i];
    const auto other = std::ranges::find(in_file, own.lead, &analysis::StatedSizes::lead);
    if (other == in_file.end() || own.dims.empty() || own.dims.size() != other->dims.size()) continue;
    named[i] = own.lead;
    for (std::size_t dim = 0; dim < own.dims.size(); ++dim) {
      const std::string &ours = own.dims[dim], &theirs = other->dims[dim];
      const bool names = is_number(ours) && !is_number(theirs);
      if (names && !fixed.emplace(theirs, ours).second && fixed[theirs] != ours) return;
      if (!is_number(ours)) free.insert(ours);
      named[i] += (dim ? "," : "") + (names ? theirs : ours);
    }
  }
  if (std::ranges::any_of(fixed, [&](const auto& one) { return free.contains(one.first); })) return;
  inputs = std::move(named);
  for (const auto& [name, number] : fixed) dims.push_back(name + "=" + number);
}

Unpaired unpaired(const std::vector<OnnxGraph::Given>& inputs, const std::vector<std::string>& names,
                  const ir::Constants& values) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto given = std::ranges::find(inputs, names[i], &OnnxGraph::Given::name);
    const auto* view = values[i].get<ir::TensorView>();
    if (given == inputs.end() || !view || !given->dtype) continue;
    const std::size_t rank = given->shape ? given->shape->size() : view->sizes.size();
    if (*given->dtype == view->dtype && rank == view->sizes.size()) continue;
    return {*given->dtype == view->dtype ? "CC203" : "CC204",
            "the input '" + names[i] + "' is " + form(*given->dtype, rank) + " in the ONNX file and " +
                form(view->dtype, view->sizes.size()) + " in the TorchScript model: the two can't be paired"};
  }
  return {};
}

}  // namespace compatcheck::verification
