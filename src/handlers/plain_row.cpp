// A row that is one ONNX operator, or written as ONNX functions, needs no handler.
#include <algorithm>
#include <set>
#include <string>

#include "compatcheck/error.h"
#include "handlers/body.h"
#include "handlers/registry.h"
#include "handlers/row_arguments.h"
#include "process/spell_count.h"
#include "symbolic/promotion.h"

namespace compatcheck::handlers {
namespace {

using mapping::ArgumentKind;
using mapping::Binding;
using mapping::Literal;

bool is_tensor(const ir::TypeRef& type) {
  if (!type) return false;
  if (type->kind == ir::TypeKind::tensor) return true;
  const bool holds = type->kind == ir::TypeKind::optional || type->kind == ir::TypeKind::list;
  return holds && is_tensor(type->elements.front());
}

// Arguments without a meaning in ONNX.
bool is_ignored(std::string_view name) {
  static const std::set<std::string_view> ignored = {"memory_format", "non_blocking", "copy",   "generator",     "out",
                                                     "pin_memory",    "device",       "layout", "requires_grad", "implicit"};
  return ignored.contains(name);
}

bool fits_word(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// The dtype in which tensors (or the parts of complex ones) are computed, from the facts word of the result; nullopt: each
// keeps its own.
std::optional<DType> dtype_by_word(const Emission& e) {
  const std::string_view word = e.facts_word();
  if (fits_word(word, {"pointwise", "pointwise_float", "same_float", "reduce_sum", "reduce_float", "scan_sum"}))
    return symbolic::real_part(e.output_dtype());
  if (word != "comparison") return std::nullopt;
  symbolic::Promotion promotion;
  for (std::size_t i = 0; i < e.call.node().inputs().size(); ++i) promotion.add(e.call.input(i));
  const auto dtype = promotion.result();
  if (!dtype) e.want(e.call.node().schema()->arguments.front().name, "the dtype");
  return symbolic::real_part(*dtype);
}

void add_input(Emission& e, std::string_view name, Values& inputs) {
  const auto dtype = dtype_by_word(e);
  const auto cast = [&](const Value& value) { return dtype && value ? e.cast(value, *dtype) : value; };
  const Operand& operand = e.operand(name);
  if (operand.list()) {
    for (const Value& member : e.tensors(name)) inputs.push_back(cast(member));
    return;
  }
  if (!e.given(name)) {
    inputs.push_back({});
    return;
  }
  if (operand.number() && !dtype && !inputs.empty() && e.call.fact(name).number()->kind == symbolic::NumberFact::Kind::floating) {
    inputs.push_back(e.number_value(name, inputs.front().dtype));
    return;
  }
  inputs.push_back(cast(e.tensor(name)));
}

// The dtype of a number or list given as an input: of the tensors before it where ONNX's schema has one type for both, else as it
// is written.
DType constant_dtype(Emission& e, const Binding& binding, const Values& before, bool floating) {
  const auto [domain, name] = mapping::split_domain(e.row().to.front());
  const onnx::Schema* schema = e.row().body || !onnx::is_onnx_domain(domain) ? nullptr : e.build.schema(name, domain);
  const auto formal = [&](std::size_t i) { return schema && i < schema->inputs.size() ? &schema->inputs[i] : nullptr; };
  const auto* own = formal(before.size());
  for (std::size_t i = 0; own && i < before.size(); ++i)
    if (before[i] && formal(i)->type == own->type) return before[i].dtype;
  if (binding.kind == ArgumentKind::boolean ||
      (!binding.constant.empty() && std::holds_alternative<bool>(binding.constant.front())))
    return DType::boolean;
  return floating ? DType::f32 : DType::i64;
}

// A constant is a tensor: a list of one dimension, a number of none.
Value constant_input(Emission& e, const Binding& binding, const Values& before) {
  if (binding.constant.empty()) return {};  // {none: …}, ~
  std::vector<double> numbers;
  Ints whole;
  bool floating = binding.kind == ArgumentKind::floating || binding.kind == ArgumentKind::floats;
  for (const Literal& one : binding.constant) {
    const auto* integer = std::get_if<std::int64_t>(&one);
    const auto* boolean = std::get_if<bool>(&one);
    floating |= !integer && !boolean;
    numbers.push_back(integer ? static_cast<double>(*integer) : boolean ? static_cast<double>(*boolean) : std::get<double>(one));
    whole.push_back(integer ? *integer : boolean ? std::int64_t{*boolean} : 0);
  }
  const DType dtype = constant_dtype(e, binding, before, floating);
  const std::vector<std::int64_t> dims = binding.constant_is_list
                                             ? std::vector<std::int64_t>{static_cast<std::int64_t>(numbers.size())}
                                             : std::vector<std::int64_t>();
  return e.build.constant(floating ? onnx::make_tensor(dtype, dims, numbers) : onnx::make_tensor(dtype, dims, whole));
}

// An argument of a kind is a tensor of that kind, whatever the call gives.
void add_input(Emission& e, const Binding& binding, Values& inputs) {
  const auto& name = binding.argument;
  if (name.empty()) return inputs.push_back(constant_input(e, binding, inputs));
  if (binding.kind == ArgumentKind::automatic || binding.kind == ArgumentKind::value || !e.given(name))
    return add_input(e, name, inputs);
  switch (binding.kind) {
    case ArgumentKind::integer: return inputs.push_back(e.number_value(name, DType::i64));
    case ArgumentKind::boolean: return inputs.push_back(e.number_value(name, DType::boolean));
    case ArgumentKind::floating: {
      const DType dtype = constant_dtype(e, binding, inputs, true);
      return inputs.push_back(e.number_value(name, dtype));
    }
    case ArgumentKind::integers: return inputs.push_back(e.int_vector(name));
    case ArgumentKind::floats:
      return inputs.push_back(e.build.constant(onnx::make_tensor(
          constant_dtype(e, binding, inputs, true), {static_cast<std::int64_t>(e.floats(name).size())}, e.floats(name))));
    case ArgumentKind::none: return inputs.push_back({});
    default: throw Refusal{"its row gives the argument " + name + " as an input of a kind that no tensor has"};
  }
}

// Integers become floats if the attribute requires floats.
onnx::Argument literal(const Binding& binding, onnx::AttributeType type) {
  const std::vector<Literal>& literals = binding.constant;
  const bool is_list = binding.constant_is_list;
  const auto number = [](const Literal& one) {
    if (const auto* floating = std::get_if<double>(&one)) return *floating;
    if (const auto* boolean = std::get_if<bool>(&one)) return *boolean ? 1.0 : 0.0;
    return static_cast<double>(std::get<std::int64_t>(one));
  };
  const bool floating = type == onnx::AttributeType::floating || type == onnx::AttributeType::floats ||
                        binding.kind == ArgumentKind::floating || binding.kind == ArgumentKind::floats ||
                        std::ranges::any_of(literals, [](const Literal& one) { return std::holds_alternative<double>(one); });
  if (!is_list) {
    if (const auto* text = std::get_if<std::string>(&literals.front())) return *text;
    if (const auto* boolean = std::get_if<bool>(&literals.front()); boolean && !floating) return *boolean;
    if (floating) return number(literals.front());
    return std::get<std::int64_t>(literals.front());
  }
  if (!literals.empty() && std::holds_alternative<std::string>(literals.front())) {
    std::vector<std::string> words;
    for (const Literal& one : literals) words.push_back(std::get<std::string>(one));
    return words;
  }
  std::vector<double> floats;
  Ints ints;
  for (const Literal& one : literals)
    floating ? floats.push_back(number(one)) : ints.push_back(static_cast<std::int64_t>(number(one)));
  return floating ? onnx::Argument(floats) : onnx::Argument(ints);
}

// Returns the type of an attribute that the ONNX operator, or the row's own function, states; undefined if it states none.
onnx::AttributeType stated_type(const mapping::Row& row, std::string_view attribute) {
  onnx::AttributeType type = onnx::AttributeType::undefined;
  if (row.body) {
    for (const auto& own : row.body->functions->attributes(row.body->functions->called()))
      if (own.name == attribute) type = own.type;
    return type;
  }
  const auto [domain, name] = mapping::split_domain(row.to.front());
  for (const onnx::Schema& version : onnx::versions(name, domain))
    if (const auto* here = version.attribute(attribute)) type = here->type;
  return type;
}

ArgumentKind kind_for(Emission& e, std::string_view attribute, const Binding& binding) {
  if (binding.kind != ArgumentKind::automatic) return binding.kind;
  const auto type = stated_type(e.row(), attribute);
  if (type == onnx::AttributeType::undefined) {
    const symbolic::Fact& fact = e.call.fact(binding.argument);
    if (const auto* number = fact.number())
      return number->kind == symbolic::NumberFact::Kind::floating ? ArgumentKind::floating : ArgumentKind::integer;
    return fact.list() ? ArgumentKind::integers : ArgumentKind::string;
  }
  switch (type) {
    case onnx::AttributeType::floating: return ArgumentKind::floating;
    case onnx::AttributeType::integer: return ArgumentKind::integer;
    case onnx::AttributeType::string: return ArgumentKind::string;
    case onnx::AttributeType::floats: return ArgumentKind::floats;
    default: return ArgumentKind::integers;
  }
}

bool is_axis(std::string_view attribute, std::string_view argument) {
  return (attribute == "axis" || attribute == "axes") && (argument == "dim" || argument == "dims" || argument == "axis");
}

// The tensor whose dimensions an axis counts.
std::string first_tensor(const Emission& e) {
  for (const auto& argument : e.call.node().schema()->arguments)
    if (is_tensor(argument.type) && e.call.tensor(argument.name)) return argument.name;
  return "self";
}

std::optional<onnx::Argument> bound_attribute(Emission& e, std::string_view attribute, const Binding& binding) {
  if (binding.argument.empty())
    return binding.constant.empty() && !binding.constant_is_list
               ? std::nullopt
               : std::optional(literal(binding, stated_type(e.row(), attribute)));
  if (!e.given(binding.argument)) return std::nullopt;
  const std::string& name = binding.argument;
  switch (kind_for(e, attribute, binding)) {
    case ArgumentKind::integer:
      return is_axis(attribute, name) && e.call.rank(first_tensor(e)) ? e.axis(name, first_tensor(e)) : e.integer(name);
    case ArgumentKind::boolean: return e.boolean(name);
    case ArgumentKind::floating: return e.number(name);
    case ArgumentKind::integers: return is_axis(attribute, name) ? e.axes(name, first_tensor(e)) : e.ints(name);
    case ArgumentKind::floats: return e.floats(name);
    case ArgumentKind::string: return e.string(name);
    case ArgumentKind::dtype: {
      const auto dtype = e.call.dtype(name);
      if (!dtype) e.want(name, "the value");
      return std::int64_t{onnx::data_type(*dtype)};
    }
    case ArgumentKind::none: return std::nullopt;
    default: return e.tensor(name);
  }
}

bool is_default(const symbolic::Call& call, const schema::Argument& argument) {
  if (!argument.default_value) return false;
  const symbolic::Fact& given = call.fact(argument.name);
  return symbolic::to_string(given) == symbolic::to_string(symbolic::fact_of(*argument.default_value));
}

// Returns the dtype of the node's result: complex numbers are pairs of their parts.
DType made_dtype(const Emission& e, std::size_t output = 0) { return symbolic::real_part(e.output_dtype(output)); }

// Each result of an operator that ONNX doesn't know has the dtype that the facts state.
Values one_node(Emission& e, const Values& inputs, const Arguments& attributes, std::size_t count) {
  const std::string& op = e.row().to.front();
  if (onnx::is_onnx_domain(mapping::split_domain(op).first)) return e.build.nodes(op, inputs, count, attributes, made_dtype(e));
  std::vector<std::optional<DType>> dtypes(count);
  for (std::size_t i = 0; i < count; ++i)
    if (e.output_used(i)) dtypes[i] = made_dtype(e, i);
  const auto used = std::ranges::find_if(dtypes, [](const auto& dtype) { return dtype.has_value(); });
  Values made = e.build.nodes(op, inputs, count, attributes, used == dtypes.end() ? DType::f32 : **used);
  for (std::size_t i = 0; i < count; ++i)
    if (dtypes[i]) made[i].dtype = e.build.model().values[made[i].id].dtype = *dtypes[i];
  return made;
}

// A tensor that the call gives and the node wouldn't get.
bool is_dropped(const mapping::Row& row, const symbolic::Call& call, const schema::Argument& argument) {
  return row.inputs && is_operand(argument) && !call.is_none(argument.name) && !names_argument(row, argument.name);
}

}  // namespace

std::size_t given_inputs(const mapping::Row& row) {
  if (!row.inputs) return 0;
  std::size_t count = row.inputs->size();
  while (count > 0 && (*row.inputs)[count - 1].kind == ArgumentKind::none) --count;
  return count;
}

bool names_argument(const mapping::Row& row, std::string_view argument) {
  const auto of_it = [&](const mapping::Condition& condition) {
    const mapping::Predicate& test = condition.predicate;
    return condition.argument == argument && (test.any_of || test.equals || test.none == true);
  };
  return (row.inputs && std::ranges::find(*row.inputs, argument, &Binding::argument) != row.inputs->end()) ||
         std::ranges::any_of(row.attributes, [&](const auto& bound) { return bound.second.argument == argument; }) ||
         (!row.when.empty() &&
          std::ranges::all_of(row.when, [&](const mapping::Conditions& all) { return std::ranges::any_of(all, of_it); }));
}

bool is_operand(const schema::Argument& argument) {
  return is_tensor(argument.type) && !is_ignored(argument.name) && !(argument.keyword_only && argument.written);
}

bool is_plain(const mapping::Row& row) { return row.kind == mapping::Row::Kind::mapped && (row.one_to_one() || row.body); }

std::string unmapped_arguments(const mapping::Row& row, const symbolic::Call& call) {
  std::set<std::string_view> named;
  if (row.inputs)
    for (const auto& binding : *row.inputs) named.insert(binding.argument);
  for (const auto& [attribute, binding] : row.attributes) named.insert(binding.argument);
  for (const auto& conditions : row.when)
    for (const auto& condition : conditions) named.insert(condition.argument);
  std::vector<std::string> unmapped;
  for (const auto& argument : call.node().schema()->arguments)
    if (is_tensor(argument.type) ? is_dropped(row, call, argument)
                                 : !named.contains(argument.name) && !is_ignored(argument.name) && !is_default(call, argument) &&
                                       argument.name != "dtype")
      unmapped.push_back(argument.name);
  return mapping::joined(unmapped);
}

BoundArguments bind_arguments(Emission& e) {
  BoundArguments bound;
  if (e.row().inputs) {
    for (const Binding& binding : std::span(*e.row().inputs).first(given_inputs(e.row()))) add_input(e, binding, bound.inputs);
  } else {
    for (const auto& argument : e.call.node().schema()->arguments)
      if (is_operand(argument)) add_input(e, argument.name, bound.inputs);
  }
  for (const auto& [attribute, binding] : e.row().attributes)
    if (auto value = bound_attribute(e, attribute, binding)) bound.attributes.push_back({attribute, *std::move(value)});
  return bound;
}

void emit_row(Emission& e) {
  const auto [inputs, attributes] = bind_arguments(e);
  const std::size_t count = e.call.node().outputs().size();
  const auto made =
      e.row().body ? call_body(e, *e.row().body, inputs, attributes, count) : one_node(e, inputs, attributes, count);
  if (made.size() < count)
    throw Refusal{"its row's ONNX text gives " + spell_count(made.size(), "output") + ", the operator " + std::to_string(count)};
  for (std::size_t i = 0; i < count; ++i)
    if (made[i] && e.output_used(i)) e.give(i, made[i]);
}

}  // namespace compatcheck::handlers
