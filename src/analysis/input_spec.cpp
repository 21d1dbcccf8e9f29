#include "analysis/input_spec.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <optional>
#include <set>
#include <string_view>

#include "compatcheck/error.h"
#include "ir/dtype.h"

namespace compatcheck::analysis {
namespace {

struct InputSpec {
  std::string name;  // empty: by position
  ir::DType dtype = ir::DType::f32;
  bool none = false;              // an Optional given as None
  std::vector<std::string> dims;  // numbers or names; empty with `none` false: rank 0
};

[[noreturn]] void malformed(std::string_view text, const std::string& why) {
  throw UsageError("CheckOptions::inputs " + std::string(text) + ": " + why +
                   " (expected [NAME=][DTYPE:]DIM,DIM,… as in x=f32:batch,3,224,224)");
}

bool is_name(std::string_view text) {
  return !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_') &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::vector<std::string> parse_dims(std::string_view dims, std::string_view text) {
  std::vector<std::string> result;
  for (std::size_t start = 0; start <= dims.size();) {
    const std::size_t comma = std::min(dims.find(',', start), dims.size());
    const std::string_view dim = dims.substr(start, comma - start);
    const auto value = number(dim);
    if (value ? *value < 0 : !is_name(dim)) malformed(text, "'" + std::string(dim) + "' is neither a size nor a name");
    result.emplace_back(dim);
    start = comma + 1;
  }
  return result;
}

void add_leaves(std::vector<InputLeaf>& leaves, const std::string& name, std::uint32_t input, const ir::TypeRef& type) {
  if (type && type->kind == ir::TypeKind::tuple) {
    for (std::size_t i = 0; i < type->elements.size(); ++i)
      add_leaves(leaves, name + "." + std::to_string(i), input, type->elements[i]);
    return;
  }
  leaves.push_back({name, input, type});
}

symbolic::Fact fact_of(const InputSpec& spec) {
  if (spec.none) return {.value = symbolic::NoneFact{}};
  symbolic::TensorFact tensor{.dtype = spec.dtype, .shape = symbolic::Shape{}};
  for (const auto& dim : spec.dims) {
    const auto value = number(dim);
    tensor.shape->push_back(value ? symbolic::Dim(*value) : symbolic::Dim::symbol(dim));
  }
  return {.value = std::move(tensor)};
}

// Numbers, texts, devices: what has no dtype and sizes to state.
bool is_plain(const ir::TypeRef& type) {
  return ir::is(type, ir::TypeKind::integer) || ir::is(type, ir::TypeKind::floating) || ir::is(type, ir::TypeKind::boolean) ||
         ir::is(type, ir::TypeKind::string) || ir::is(type, ir::TypeKind::device);
}

// A number or flag that the model is given: bool:scalar, i64:scalar, f32:scalar or f64:scalar.
std::optional<symbolic::Fact> number_of(const InputSpec& spec, const ir::TypeRef& type) {
  if (spec.none || !spec.dims.empty()) return std::nullopt;
  using Kind = symbolic::NumberFact::Kind;
  if (ir::is(type, ir::TypeKind::boolean) && spec.dtype == ir::DType::boolean)
    return symbolic::Fact{.value = symbolic::NumberFact{.kind = Kind::boolean}};
  if (ir::is(type, ir::TypeKind::integer) && spec.dtype == ir::DType::i64)
    return symbolic::Fact{.value = symbolic::NumberFact{.kind = Kind::integer}};
  if (ir::is(type, ir::TypeKind::floating) && (spec.dtype == ir::DType::f32 || spec.dtype == ir::DType::f64))
    return symbolic::Fact{.value = symbolic::NumberFact{.kind = Kind::floating}};
  return std::nullopt;
}

InputSpec parse_input(std::string_view text) {
  InputSpec spec;
  std::string_view rest = text;
  if (const auto equals = rest.find('='); equals != std::string_view::npos) {
    spec.name = rest.substr(0, equals);
    if (spec.name.empty()) malformed(text, "the name before '=' is empty");
    rest.remove_prefix(equals + 1);
  }
  if (rest == "none") {
    spec.none = true;
    return spec;
  }
  if (const auto colon = rest.find(':'); colon != std::string_view::npos) {
    const auto dtype = ir::dtype_from_name(rest.substr(0, colon));
    if (!dtype)
      malformed(text, "'" + std::string(rest.substr(0, colon)) + "' is no dtype (f32 f16 bf16 f64 i64 i32 i16 i8 u8 bool)");
    spec.dtype = *dtype;
    rest.remove_prefix(colon + 1);
  }
  if (rest != "scalar") spec.dims = parse_dims(rest, text);
  return spec;
}

}  // namespace

std::vector<InputLeaf> input_leaves(const ir::Graph& graph) {
  std::vector<InputLeaf> leaves;
  std::uint32_t index = 0;
  for (const ir::Value* input : graph.inputs()) {
    add_leaves(leaves, input->name().empty() ? "input_" + std::to_string(index) : input->name(), index, input->type());
    ++index;
  }
  return leaves;
}

const InputLeaf* find_leaf(const std::string& name, const std::vector<InputLeaf>& leaves) {
  const auto found = std::find_if(leaves.begin(), leaves.end(), [&](const InputLeaf& leaf) {
    return name == leaf.name || (!ir::is(leaf.type, ir::TypeKind::tensor) && name.starts_with(leaf.name + "."));
  });
  return found == leaves.end() ? nullptr : &*found;
}

std::string known_names(const std::vector<InputLeaf>& leaves) {
  std::string names;
  for (const auto& leaf : leaves) names += (names.empty() ? "" : ", ") + leaf.name;
  return names.empty() ? "the model has no inputs" : "the model's inputs are " + names;
}

std::vector<conversion::InputFact> match_inputs(std::span<const std::string> texts, const ir::Graph& graph) {
  const auto leaves = input_leaves(graph);
  std::vector<conversion::InputFact> facts;
  std::set<std::string> given;
  std::size_t position = 0;
  for (const auto& text : texts) {
    InputSpec spec = parse_input(text);
    if (spec.name.empty()) {
      if (position >= leaves.size())
        throw UsageError("CheckOptions::inputs " + text + ": more inputs than the model has; " + known_names(leaves));
      spec.name = leaves[position++].name;
    } else if (!find_leaf(spec.name, leaves)) {
      throw UsageError("CheckOptions::inputs " + text + ": no input '" + spec.name + "'; " + known_names(leaves));
    }
    const InputLeaf* leaf = find_leaf(spec.name, leaves);
    const auto number = leaf->name == spec.name ? number_of(spec, leaf->type) : std::nullopt;
    if (leaf->name == spec.name && !spec.none && is_plain(leaf->type) && !number)
      throw UsageError("CheckOptions::inputs " + text + ": input '" + spec.name + "' is no tensor, but " +
                       ir::to_string(*leaf->type));
    if (!given.insert(spec.name).second)
      throw UsageError("CheckOptions::inputs " + text + ": input '" + spec.name + "' is given twice");
    facts.push_back({spec.name, number ? *number : fact_of(spec)});
  }
  return facts;
}

void check_dims(std::span<const std::string> dims, std::span<const std::string> inputs, std::span<const AssumedInput> assumed) {
  std::set<std::string, std::less<>> named, given;
  for (const auto& input : inputs)
    for (const auto& dim : parse_input(input).dims)
      if (!number(dim)) named.insert(dim);
  for (const auto& input : assumed)
    if (input.tensor.shape)
      for (const auto& dim : *input.tensor.shape)
        if (is_name(dim)) named.insert(dim);
  for (const std::string_view text : dims) {
    const std::string option = "CheckOptions::dims " + std::string(text);
    const auto equals = text.find('=');
    const auto size = equals == text.npos ? std::nullopt : number(text.substr(equals + 1));
    const std::string_view name = text.substr(0, equals);
    if (!is_name(name) || !size || *size < 1) throw UsageError(option + ": expected NAME=N, N at least 1");
    if (!named.contains(name)) throw UsageError(option + ": no input has a dimension of that name");
    if (!given.emplace(name).second) throw UsageError(option + ": the dimension is given twice");
  }
}

}  // namespace compatcheck::analysis
