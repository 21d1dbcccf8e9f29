#include "engines/reading/names.h"

#include <algorithm>
#include <charconv>

#include "compatcheck/check.h"
#include "mapping/reading/read.h"
#include "mapping/reading/suggest.h"

namespace compatcheck::engines {
namespace {

using mapping::yaml::fail;
using mapping::yaml::Node;
using mapping::yaml::Source;

std::string in_quotes(std::string_view text) { return "`" + std::string(text) + "`"; }

std::string numbers(std::span<const onnx::Schema> schemas) {
  std::string text;
  for (const auto& schema : schemas) text += (text.empty() ? "" : ", ") + std::to_string(schema.since);
  return text;
}

std::span<const onnx::Schema> schemas_of(const Source& source, const Node& node) {
  const auto [domain, op] = mapping::split_domain(node.text);
  if (!mapping::reading::is_identifier(op) || !(domain.empty() || mapping::is_custom_domain(domain)))
    fail(source, node, in_quotes(node.text) + " isn't the name of an operator: Conv, or com.microsoft::Gelu");
  if (!onnx::is_onnx_domain(domain)) return {};
  const auto schemas = onnx::versions(op, domain);
  if (!schemas.empty()) return schemas;
  const auto known = onnx::operator_names(domain);
  fail(source, node,
       "ONNX has no operator " + in_quotes(node.text) + mapping::did_you_mean(op, known) +
           (domain.empty() ? " (one that only the engine has goes to `own`)" : ""));
}

// "inputs.2": 2.
std::optional<int> index_of(std::string_view name, std::string_view side) {
  if (!name.starts_with(side)) return std::nullopt;
  name.remove_prefix(side.size());
  int index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(index) : std::nullopt;
}

std::vector<std::string_view> operands_of(const std::vector<const onnx::Schema*>& schemas, bool types) {
  std::vector<std::string_view> names;
  for (const onnx::Schema* schema : schemas)
    for (const auto side : {schema->inputs, schema->outputs})
      for (const onnx::Formal& formal : side) {
        names.push_back(formal.name);
        if (types && formal.type.find('(') == std::string_view::npos) names.push_back(formal.type);
      }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (const auto name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

}  // namespace

void check_operator(const Source& source, const Node& name) { schemas_of(source, name); }

OperatorNames::OperatorNames(const Source& source, const Node& name, Match match)
    : op_(name.text), match_(match), schemas_(schemas_of(source, name)) {}

bool OperatorNames::meets(const onnx::Schema& schema, Versions versions) const {
  switch (match_) {
    case Match::kernel: return versions.holds(schema.since);
    case Match::since: return versions.first <= highest_opset;  // a translator is used for nodes of any version
    case Match::model: break;
  }
  if (!schema.domain.empty()) return true;  // opsets of models are those of ONNX's own domain
  const onnx::Schema* next = &schema + 1;
  const int last = next == schemas_.data() + schemas_.size() ? highest_opset : next->since - 1;
  return versions.first <= last && schema.since <= versions.last;
}

void OperatorNames::check(const Source& source, const Node& node, Versions versions) const {
  if (schemas_.empty() || std::ranges::any_of(schemas_, [&](const auto& schema) { return meets(schema, versions); })) return;
  fail(source, node,
       op_ + " has versions " + numbers(schemas_) + ": none " + (match_ == Match::model ? "in models of opset " : "of version ") +
           node.text);
}

NamesInForce OperatorNames::in(const std::vector<Versions>& versions) const {
  std::vector<const onnx::Schema*> all;
  for (const auto& schema : schemas_)
    if (versions.empty() || std::ranges::any_of(versions, [&](Versions one) { return meets(schema, one); }))
      all.push_back(&schema);
  return {op_, std::move(all)};
}

void NamesInForce::check_type(const Source& source, const Node& name) const {
  if (schemas_.empty()) return;
  for (const bool inputs : {true, false})
    if (const auto index = index_of(name.text, inputs ? "inputs." : "outputs.")) {
      const auto holds = [&](const onnx::Schema* schema) { return *index < (inputs ? schema->max_inputs : schema->max_outputs); };
      if (std::ranges::none_of(schemas_, holds)) fail(source, name, op_ + " has no " + in_quotes(name.text));
      return;
    }
  const auto known = operands_of(schemas_, true);
  if (!contains(known, name.text))
    fail(source, name,
         in_quotes(name.text) + " is no type parameter, input or output of " + op_ + mapping::did_you_mean(name.text, known) +
             " (" + listed(known) + ")");
}

void NamesInForce::check_condition(const Source& source, const mapping::Condition& condition) const {
  if (schemas_.empty()) return;
  auto known = operands_of(schemas_, false);
  for (const onnx::Schema* schema : schemas_)
    for (const auto& attribute : schema->attributes) known.push_back(attribute.name);
  std::ranges::sort(known);
  known.erase(std::ranges::unique(known).begin(), known.end());
  if (!contains(known, condition.argument))
    fail(source, condition.place,
         in_quotes(condition.argument) + " is no attribute, input or output of " + op_ +
             mapping::did_you_mean(condition.argument, known) + " (" + listed(known) + ")");
}

}  // namespace compatcheck::engines
