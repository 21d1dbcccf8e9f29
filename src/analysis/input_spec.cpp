#include "analysis/input_spec.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "compatcheck/error.h"
#include "conversion/type_facts.h"
#include "ir/dtype.h"
#include "ir/number_text.h"
#include "ir/quantizer_text.h"
#include "ir/value_name.h"
#include "passes/passes.h"
#include "process/spell_count.h"
#include "symbolic/shapes.h"

namespace compatcheck::analysis {
namespace {

struct InputSpec {
  std::string name;                                // empty: by position
  std::optional<ir::DType> dtype;                  // not stated: what the file records, else what readers imply
  std::shared_ptr<const ir::Quantizer> quantizer;  // "qu8(0.5,128)"
  bool none = false;                               // an Optional given as None
  std::vector<std::string> dims;                   // numbers or names; empty with `none` false: rank 0
  std::string value;                               // value of a number or flag, as in d=3
  std::optional<std::string> text;                 // value of a text, as in mode=bilinear
};

[[noreturn]] void malformed(std::string_view text, const std::string& why) {
  throw UsageError("CheckOptions::inputs " + std::string(text) + ": " + why +
                   " (expected [NAME=][DTYPE:]DIM,DIM,… as in x=f32:batch,3,224,224)");
}

// The sizes in another tool's form, as in "Nx3x64x64" or "[1,3,64,64]", as --input states them; empty for any other text.
std::string sizes_meant(std::string_view dims) {
  std::string meant, listed;
  for (const char c : dims)
    if (std::string_view("[]() ").find(c) == std::string_view::npos) listed += c == '*' ? ',' : c;
  std::string parts = listed;
  std::ranges::replace(parts, 'x', ',');
  bool first_is_number = false;
  std::size_t count = 0;
  for (std::size_t start = 0; start <= parts.size(); ++count) {
    const std::size_t comma = std::min(parts.find(',', start), parts.size());
    const std::string_view part = std::string_view(parts).substr(start, comma - start);
    if (count == 0) first_is_number = is_number(part);
    const bool fits = is_number(part) || (is_name(part) && (count == 0 || listed != dims));
    if (!fits) return "";
    start = comma + 1;
  }
  return listed != dims || count > 2 || (count == 2 && first_is_number) ? parts : "";
}

std::vector<std::string> parse_dims(std::string_view dims, std::string_view text) {
  if (dims.find(',') == std::string_view::npos || dims.find_first_of("[]() ") != std::string_view::npos)
    if (const std::string meant = sizes_meant(dims); !meant.empty() && meant != dims)
      throw UsageError("CheckOptions::inputs " + std::string(text) + ": sizes are separated by commas; write " +
                       std::string(text.substr(0, text.size() - dims.size())) + meant);
  std::vector<std::string> result;
  for (std::size_t start = 0; start <= dims.size();) {
    const std::size_t comma = std::min(dims.find(',', start), dims.size());
    const std::string_view dim = dims.substr(start, comma - start);
    const auto value = number_in(dim);
    if (value ? *value < 0 : !is_name(dim)) malformed(text, "'" + std::string(dim) + "' is neither a size nor a name");
    result.emplace_back(dim);
    start = comma + 1;
  }
  return result;
}

symbolic::Fact fact_of_spec(const InputSpec& spec, const ir::TypeRef& type) {
  if (spec.none) return {.value = symbolic::NoneFact{}};
  const auto recorded = ir::is(type, ir::TypeKind::tensor) ? type->tensor.dtype : std::nullopt;
  symbolic::TensorFact tensor{
      .dtype = spec.dtype ? spec.dtype : recorded, .shape = symbolic::Shape{}, .quantizer = spec.quantizer};
  for (const auto& dim : spec.dims) {
    const auto value = number_in(dim);
    tensor.shape->push_back(value ? symbolic::Dim(*value) : symbolic::Dim::symbol(dim));
  }
  return {.value = std::move(tensor)};
}

// Returns the fact of a list of any number of tensors. A named size differs from call to call, and from member to member.
symbolic::Fact fact_of_members(const InputSpec& spec, const ir::TypeRef& type) {
  symbolic::Fact member = fact_of_spec(spec, ir::without_optional(type->elements.front()));
  for (symbolic::Dim& dim : *std::get<symbolic::TensorFact>(member.value).shape)
    if (!dim.is_number()) dim = symbolic::Dim::unknown();
  symbolic::ListFact list;
  list.element = std::make_shared<const symbolic::Fact>(std::move(member));
  return {.value = std::move(list)};
}

bool holds_number(const InputSpec& spec, const ir::TypeRef& type) {
  const ir::DType dtype = spec.dtype.value_or(ir::DType::f32);
  if (ir::is(type, ir::TypeKind::boolean)) return dtype == ir::DType::boolean;
  if (ir::is(type, ir::TypeKind::integer)) return dtype == ir::DType::i64;
  return ir::is(type, ir::TypeKind::floating) && (dtype == ir::DType::f32 || dtype == ir::DType::f64);
}

// A list of numbers of this length, or of any length.
std::optional<symbolic::Fact> numbers_of(const InputSpec& spec, const ir::TypeRef& type) {
  if (spec.none || spec.dims.size() != 1 || !ir::is(type, ir::TypeKind::list)) return std::nullopt;
  const ir::TypeRef& element = type->elements.front();
  const auto count = number_in(spec.dims.front());
  if (!holds_number(spec, element) || (count && *count > static_cast<std::int64_t>(passes::most_members))) return std::nullopt;
  const symbolic::Fact number = conversion::fact_of_type(element);
  symbolic::ListFact list;
  if (count)
    list.items.emplace(static_cast<std::size_t>(*count), number);
  else
    list.element = std::make_shared<const symbolic::Fact>(number);
  return symbolic::Fact{.value = std::move(list)};
}

// Numbers, texts, devices: no dtype or sizes to state.
bool is_plain_type(const ir::TypeRef& type) {
  return ir::is(type, ir::TypeKind::integer) || ir::is(type, ir::TypeKind::floating) || ir::is(type, ir::TypeKind::boolean) ||
         ir::is(type, ir::TypeKind::string) || ir::is(type, ir::TypeKind::device);
}

bool can_be_none(const ir::TypeRef& declared) {
  using enum ir::TypeKind;
  return !declared || ir::is(declared, optional) || ir::is(declared, none) || ir::is(declared, any) || ir::is(declared, union_of);
}

std::optional<bool> flag_in(std::string_view text) {
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  return std::nullopt;
}

std::optional<double> floating_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// The number that an option states for an input of this type, as in d=3.
std::optional<ir::Constant> stated_number(const std::string& text, const ir::TypeRef& type) {
  if (ir::is(type, ir::TypeKind::boolean)) {
    if (const auto flag = flag_in(text)) return ir::Constant{*flag};
  } else if (ir::is(type, ir::TypeKind::integer)) {
    if (const auto whole = number_in(text)) return ir::Constant{*whole};
  } else if (ir::is(type, ir::TypeKind::floating)) {
    if (const auto number = floating_in(text)) return ir::Constant{*number};
  }
  return std::nullopt;
}

// A text without quotes is a word that can't be mistaken for None.
bool needs_quotes(std::string_view text) {
  return text.empty() || text == "none" || text.front() == ' ' || text.back() == ' ' || text.front() == '"' ||
         text.front() == '\'';
}

// The value of an input that is a text; nullopt for None.
std::optional<std::string> stated_text(std::string_view option, std::string_view value, bool may_be_none) {
  if (may_be_none && value == "none") return std::nullopt;
  if (std::ranges::any_of(value, [](unsigned char c) { return std::iscntrl(c); }))
    refuse(option, "a text has no control characters");
  return without_quotes(value);
}

// An input that is a number or flag which only the model's caller knows: bool, i64, f32 or f64.
std::optional<symbolic::Fact> number_of(const InputSpec& spec, const ir::TypeRef& type) {
  if (spec.none || !spec.dims.empty() || !spec.value.empty()) return std::nullopt;
  return holds_number(spec, type) ? std::optional(conversion::fact_of_type(type)) : std::nullopt;
}

std::string dtype_of_number(const ir::TypeRef& type) {
  if (ir::is(type, ir::TypeKind::integer)) return "i64";
  if (ir::is(type, ir::TypeKind::floating)) return "f64";
  return ir::is(type, ir::TypeKind::boolean) ? "bool" : "";
}

// Returns the options that state an input that is a number.
std::string options_of_number(const std::string& name, const ir::TypeRef& type) {
  const std::string any = dtype_of_number(type), one = any == "i64" ? "3" : any == "f64" ? "0.5" : "true";
  if (any.empty()) return "";
  const std::string option = "CheckOptions::inputs " + name + "=";
  return "; state its dtype, as in " + option + any + ", or its value, as in " + option + one;
}

// A scale for each position along a dimension that the tensor has.
void check_channels(std::string_view text, const ir::Quantizer& quantizer, const std::vector<std::string>& dims) {
  if (quantizer.axis >= static_cast<std::int64_t>(dims.size()))
    refuse(text, "the tensor has no dimension " + std::to_string(quantizer.axis));
  const std::string& size = dims[static_cast<std::size_t>(quantizer.axis)];
  if (number_in(size) != static_cast<std::int64_t>(quantizer.scales.size()))
    refuse(text, std::string(quantizer.scales.size() == 1 ? "there is " : "there are ") +
                     spell_count(quantizer.scales.size(), "scale") + " for dimension " + std::to_string(quantizer.axis) +
                     " of size " + size);
}

void add_options(std::vector<std::string>& options, const std::string& name, const ir::TypeRef& type, const std::string& spec,
                 const std::optional<std::vector<std::string>>& read) {
  const ir::TypeRef& held = ir::without_optional(type);
  if (!is_container_type(held)) {
    const std::string number = dtype_of_number(held);
    options.push_back(name + "=" + (number.empty() ? spec : number));
    return;
  }
  std::vector<std::string> members = {ir::is(held, ir::TypeKind::dict) ? "KEY" : "0"};
  if (ir::is(held, ir::TypeKind::tuple))
    members = places_of(*held);
  else if (read && !read->empty())
    members = *read;
  for (std::size_t i = 0; i < members.size(); ++i)
    add_options(options, ir::member_name(name, members[i]),
                ir::is(held, ir::TypeKind::tuple) ? held->elements[i] : held->elements.back(), spec, std::nullopt);
}

// An option that describes a tuple, list or dictionary as one tensor.
[[noreturn]] void refuse_whole(std::string_view text, const std::string& name, const ir::TypeRef& type,
                               const std::optional<std::vector<std::string>>& read) {
  const std::string spec(text.substr(text.find('=') + 1));
  const bool known = ir::is(type, ir::TypeKind::tuple) || (read && !read->empty());
  const std::string number = ir::is(type, ir::TypeKind::list) ? dtype_of_number(type->elements.front()) : std::string();
  std::vector<std::string> members;
  add_options(members, name, type, spec, read);
  std::string options;
  for (const std::string& member : members)
    options += (options.empty() ? "CheckOptions::inputs " : " CheckOptions::inputs ") + member;
  refuse(text, "input '" + name + "' is no tensor, but " + ir::to_string(*type) + "; state " +
                   (number.empty() ? "" : "any number of them, as in CheckOptions::inputs " + name + "=" + number + ":n, or ") +
                   (number.empty() ? "its members, as in " : "each, as in ") + options + (known ? "" : for_each_member(type)));
}

// PyTorch's, NumPy's and C's names of dtypes.
std::optional<ir::DType> dtype_meant(std::string_view word) {
  using enum ir::DType;
  constexpr std::pair<std::string_view, ir::DType> names[] = {
      {"float32", f32},   {"float", f32},   {"fp32", f32},   {"float16", f16}, {"half", f16},       {"fp16", f16},
      {"bfloat16", bf16}, {"float64", f64}, {"double", f64}, {"int64", i64},   {"long", i64},       {"int32", i32},
      {"int", i32},       {"int16", i16},   {"int8", i8},    {"uint8", u8},    {"boolean", boolean}};
  if (word.starts_with("torch.")) word.remove_prefix(6);
  const auto* found = std::ranges::find(names, word, &std::pair<std::string_view, ir::DType>::first);
  return found == std::end(names) ? ir::dtype_from_name(word) : found->second;
}

[[noreturn]] void refuse_dtype(std::string_view text, std::string_view word, std::string_view dims, bool may_be_name) {
  const std::string spelled(word);
  if (const auto meant = dtype_meant(word)) refuse(text, "'" + spelled + "' is no dtype; write " + std::string(ir::name(*meant)));
  if (const std::string sizes = sizes_meant(dims); may_be_name && is_name(word) && !sizes.empty())
    refuse(text, "'" + spelled + "' is no dtype; for an input of that name write " + spelled + "=" + sizes);
  malformed(text, "'" + spelled +
                      "' is no dtype (f32 f16 bf16 f64 i64 i32 i16 i8 u8 bool, or qu8(SCALE,ZERO_POINT) and "
                      "qi8(SCALE,ZERO_POINT))");
}

// The type of an input, or of a member of it, that is a text or an Optional of one; null for another.
ir::TypeRef type_of_text(const std::string& name, const InputLeaf& leaf, const ir::Graph& graph) {
  if (!leaf.type || !ir::holds(*leaf.type, ir::TypeKind::string)) return nullptr;
  const ir::TypeRef type = type_named(name, graph).value_or(nullptr);
  return type && ir::is(ir::without_optional(type), ir::TypeKind::string) ? type : nullptr;
}

InputSpec parse_text(std::string_view option, bool may_be_none) {
  const auto equals = option.find('=');
  InputSpec spec;
  spec.text = stated_text(option, equals == option.npos ? option : option.substr(equals + 1), may_be_none);
  spec.none = !spec.text;
  return spec;
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
    const std::string_view word = rest.substr(0, colon);
    const auto dtype = ir::dtype_from_name(word);
    const auto quantized = ir::quantized_dtype(word);
    if (!quantized && (word.starts_with("qu8(") || word.starts_with("qi8(")))
      malformed(text, "'" + std::string(word) + "' must have a scale above 0 and a zero point " +
                          (word[1] == 'u' ? "from 0 to 255" : "from -128 to 127") + ", as in " + std::string(word.substr(0, 4)) +
                          "0.5,0)");
    if (!dtype && !quantized) refuse_dtype(text, word, rest.substr(colon + 1), spec.name.empty());
    spec.dtype = quantized ? quantized->dtype : *dtype;
    if (quantized) spec.quantizer = quantized->quantizer;
    rest.remove_prefix(colon + 1);
  } else if (const auto scalar = ir::dtype_from_name(rest)) {  // i64 is i64:scalar
    spec.dtype = *scalar;
    return spec;
  } else if (number_in(rest) || floating_in(rest) || flag_in(rest)) {
    spec.value = rest;
    if (const auto size = number_in(rest); !is_name(rest) && !(size && *size >= 0)) return spec;
  }
  if (rest != "scalar") spec.dims = parse_dims(rest, text);
  return spec;
}

}  // namespace

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::vector<std::string> member_options(const std::string& name, const ir::TypeRef& type, const std::string& spec) {
  std::vector<std::string> options;
  add_options(options, name, type, spec, std::nullopt);
  return options;
}

std::string for_each_member(const ir::TypeRef& type) {
  const bool keys = ir::holds(*type, ir::TypeKind::dict), list = ir::holds(*type, ir::TypeKind::list);
  return keys && list ? " for each KEY and each member of the lists"
         : keys       ? " for each KEY"
         : list       ? " and one such option for each member of the list"
                      : "";
}

std::string without_quotes(std::string_view text) {
  const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
  return std::string(quoted ? text.substr(1, text.size() - 2) : text);
}

std::string value_text(const ir::Constant& value) {
  if (const auto* text = value.get<std::string>()) return needs_quotes(*text) ? '"' + *text + '"' : *text;
  if (const auto* flag = value.get<bool>()) return *flag ? "true" : "false";
  if (const auto* integer = value.get<std::int64_t>()) return std::to_string(*integer);
  const auto* floating = value.get<double>();
  return floating ? ir::shortest(*floating) : std::string();
}

bool is_number(std::string_view size) { return !size.empty() && size.find_first_not_of("0123456789") == size.npos; }

bool is_name(std::string_view text) {
  return !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_') &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

NamedSize named_size(const std::string& text) {
  const auto equals = text.find('=');
  return {text.substr(0, equals), equals == text.npos ? "" : text.substr(equals + 1)};
}

std::optional<symbolic::SizeRange> range_in(std::string_view size) {
  constexpr std::string_view dots = "..";
  const auto at = size.find(dots);
  if (at == size.npos) return std::nullopt;
  const std::string_view least = size.substr(0, at), most = size.substr(at + dots.size());
  const symbolic::SizeRange range{number_in(least), number_in(most)};
  const bool read = (least.empty() || (is_number(least) && range.least)) && (most.empty() || (is_number(most) && range.most));
  const bool holds_some = !range.most || *range.most >= std::max<std::int64_t>(range.least.value_or(0), 1);
  return read && holds_some && size != dots ? std::optional(range) : std::nullopt;
}

std::string to_string(const symbolic::SizeRange& range) {
  return (range.least ? std::to_string(*range.least) : "") + ".." + (range.most ? std::to_string(*range.most) : "");
}

symbolic::NamedRanges named_ranges(std::span<const std::string> dims) {
  symbolic::NamedRanges ranges;
  for (const std::string& text : dims)
    if (const NamedSize stated = named_size(text); const auto range = range_in(stated.size)) ranges.emplace(stated.name, *range);
  return ranges;
}

std::vector<StatedSizes> stated_sizes(std::span<const std::string> texts, const ir::Graph& graph, Defaulted defaults) {
  const std::vector<InputLeaf> leaves = input_leaves(graph);
  const std::vector<std::string> in_order = names_in_order(texts, graph, defaults);
  std::vector<StatedSizes> all;
  std::size_t position = 0;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    StatedSizes stated;
    if (equals != text.npos)
      stated.input = with_places(text.substr(0, equals), graph);
    else if (position < in_order.size())
      stated.input = in_order[position++];
    const auto colon = text.find(':', equals == text.npos ? 0 : equals);
    const std::size_t begin = colon != text.npos ? colon + 1 : equals != text.npos ? equals + 1 : 0;
    stated.lead = equals == text.npos ? text.substr(0, begin) : stated.input + text.substr(equals, begin - equals);
    const std::string dims = text.substr(begin);
    const InputLeaf* leaf = find_leaf(stated.input, leaves);
    const bool number = leaf && leaf->name == stated.input && is_plain_type(leaf->type);  // "flag=true" has no size
    const bool sized = !number && dims != "scalar" && dims != "none" && (colon != text.npos || !ir::dtype_from_name(dims));
    for (std::size_t at = 0; sized && at <= dims.size();) {
      const std::size_t comma = std::min(dims.find(',', at), dims.size());
      stated.dims.push_back(dims.substr(at, comma - at));
      at = comma + 1;
    }
    all.push_back(std::move(stated));
  }
  return all;
}

std::vector<conversion::InputFact> match_inputs(std::span<const std::string> texts, const ir::Graph& graph, Defaulted defaults) {
  const auto leaves = input_leaves(graph);
  const std::vector<std::string> in_order = names_in_order(texts, graph, defaults);
  std::vector<conversion::InputFact> facts;
  std::set<std::string> given;
  std::size_t position = 0;
  for (const auto& text : texts) {
    const auto equals = text.find('=');
    const std::string named = text.substr(0, equals == text.npos ? 0 : equals);
    const std::string name = equals != text.npos          ? with_places(named, graph)
                             : position < in_order.size() ? in_order[position++]
                                                          : std::string();
    const InputLeaf* leaf = find_leaf(name, leaves);
    const auto text_type = leaf ? type_of_text(name, *leaf, graph) : nullptr;
    InputSpec spec = text_type ? parse_text(text, ir::is(text_type, ir::TypeKind::optional)) : parse_input(text);
    if (!leaf && equals == text.npos)
      throw UsageError("CheckOptions::inputs " + text + ": more inputs than the model has; " + known_names(leaves));
    if (!leaf) throw UsageError("CheckOptions::inputs " + text + ": no input '" + named + "'; " + known_names(leaves));
    spec.name = name;
    const ir::TypeRef declared = member_type(text, name, *leaf, graph), type = ir::without_optional(declared);
    if (spec.none && !can_be_none(declared))
      refuse(text, "input '" + spec.name + "' is " + ir::to_string(*type) + ", and only an Optional input can be None");
    const auto number = number_of(spec, type);
    const auto value = stated_number(spec.value, type);
    const bool whole = !spec.none && is_container_type(type);
    const auto read = whole && !ir::is(type, ir::TypeKind::tuple) ? members_read(spec.name, *leaf, graph) : std::nullopt;
    const auto numbers = numbers_of(spec, type);
    const bool members = whole && ir::is_tensor_list(type);
    if (whole && !members && !numbers) refuse_whole(text, spec.name, type, read);
    if (!spec.none && !spec.text && is_plain_type(type) && !number && !value)
      refuse(text, "input '" + spec.name + "' is no tensor, but " + ir::to_string(*type) + options_of_number(spec.name, type));
    if (!value && !spec.value.empty() && spec.dims.empty()) malformed(text, "'" + spec.value + "' is neither a size nor a name");
    if (!given.insert(spec.name).second)
      throw UsageError("CheckOptions::inputs " + text + ": input '" + spec.name + "' is given twice");
    for (const std::string& other : given)
      if (other.starts_with(spec.name + ".") || spec.name.starts_with(other + "."))
        refuse(text, "the other option for '" + other + "' states the same input in another way");
    if (const auto* channels = spec.quantizer.get(); channels && channels->per_channel)
      check_channels(text, *channels, spec.dims);
    facts.push_back({spec.name, members     ? fact_of_members(spec, type)
                                : numbers   ? *numbers
                                : value     ? symbolic::fact_of(*value)
                                : number    ? *number
                                : spec.text ? symbolic::fact_of(ir::Constant{*spec.text})
                                            : fact_of_spec(spec, type)});
  }
  return facts;
}

void check_dims(std::span<const std::string> dims, std::span<const StatedSizes> inputs, std::span<const AssumedInput> assumed) {
  std::set<std::string, std::less<>> named, given;
  const symbolic::NamedRanges ranges = named_ranges(dims);
  for (const auto& input : inputs)
    for (const auto& dim : input.dims)
      if (is_name(dim)) named.insert(dim);
  for (const auto& input : assumed)
    if (input.tensor.shape)
      for (const auto& dim : *input.tensor.shape)
        if (is_name(dim)) named.insert(dim);
  for (const std::string& text : dims) {
    const std::string option = "CheckOptions::dims " + text;
    const NamedSize stated = named_size(text);
    const std::string& name = stated.name;
    const auto size = number_in(stated.size);
    const bool is_range = range_in(stated.size).has_value();
    if (!is_name(name) || (!is_range && (!size || *size < 1)))
      throw UsageError(option + ": expected NAME=N, N at least 1, or a range of sizes, as in NAME=1..64");
    if (!named.contains(name)) throw UsageError(option + ": no input has a dimension of that name");
    if (!given.emplace(name + (is_range ? ".." : "")).second) throw UsageError(option + ": the dimension is given twice");
    if (const auto range = ranges.find(name); size && range != ranges.end() && !range->second.contains(*size))
      throw UsageError(option + ": another option says " + to_string(range->second));
  }
}

}  // namespace compatcheck::analysis
