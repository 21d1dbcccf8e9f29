#include "onnx/builder.h"

#include <algorithm>

#include "compatcheck/error.h"
#include "onnx/runtime_types.h"

namespace compatcheck::onnx {
namespace {

using ir::DType;

std::pair<std::string_view, std::string_view> split(std::string_view op) {
  const auto at = op.rfind("::");
  return at == std::string_view::npos ? std::pair(std::string_view(), op) : std::pair(op.substr(0, at), op.substr(at + 2));
}

std::string describe(const Schema& schema) { return std::string(schema.name); }

// The first version above that a predicate holds for, as words for a refusal: refusals hold for a range of opsets, so they don't name
// the one asked for.
template <class Holds> Refusal refusal_until(const Schema& schema, const std::string& reason, Holds&& holds) {
  for (const Schema& version : versions(schema.name, schema.domain))
    if (version.since > schema.since && !version.deprecated && holds(version))
      return {reason + " before opset " + std::to_string(version.since), "use opset " + std::to_string(version.since)};
  return {reason};
}

// A type such as "tensor(int64)", as opposed to a parameter.
bool is_type(std::string_view type) { return type.find('(') != std::string_view::npos; }

std::optional<DType> dtype_of_type(std::string_view type) {
  for (int number = 0; number < 30; ++number)
    if (const auto dtype = ir::dtype_from_number(number); dtype && type.find(tensor_type(*dtype)) != std::string_view::npos && !tensor_type(*dtype).empty())
      return dtype;
  return std::nullopt;
}

// Of the formal at that place; a variadic one stands for all from there on.
const Formal* formal_at(std::span<const Formal> formals, std::size_t i) {
  if (i < formals.size()) return &formals[i];
  return !formals.empty() && formals.back().option == Formal::Option::variadic ? &formals.back() : nullptr;
}

bool accepts(const Formal& formal, const Value& value) {
  if (!value.sequence && formal.accepts(value.dtype)) return true;
  const std::string sequence = "seq(" + std::string(tensor_type(value.dtype)) + ")";
  return value.sequence && std::ranges::find(formal.types, sequence) != formal.types.end();
}

// Operators that only move elements: any type of the same or a greater width will do.
bool moves_elements(std::string_view op) {
  static constexpr std::string_view names[] = {
      "Compress", "Concat", "DepthToSpace", "Expand", "Gather", "GatherElements", "GatherND", "Pad", "Reshape", "ReverseSequence",
      "Scatter", "ScatterElements", "ScatterND", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze",
      "Where", "Flatten", "Identity", "Max", "Min", "ReduceMax", "ReduceMin", "Equal", "NonZero", "Unique", "TopK", "Trilu",
      "ArgMax", "ArgMin", "CumSum"};
  return std::ranges::find(names, op) != std::end(names);
}

// Types that hold every value of `dtype`, nearest first.
std::span<const DType> wider(DType dtype, bool moving) {
  using enum DType;
  static constexpr DType of_small[] = {i32, i64}, of_u8[] = {i32, i64}, of_i32[] = {i64}, of_bf16[] = {f32}, of_bool[] = {u8, i32, i64},
                         of_f16[] = {f32}, of_f32[] = {f64}, of_u32[] = {i64};
  switch (dtype) {
    case i8: case i16: case u16: return of_small;
    case u8: return of_u8;
    case u32: return of_u32;
    case i32: return of_i32;
    case bf16: return of_bf16;
    case f16: return of_f16;
    case f32: return of_f32;
    case boolean: return moving ? std::span<const DType>(of_bool) : std::span<const DType>();
    default: return {};
  }
}

// What the runtime casts by itself: ONNX Runtime runs f16 nodes without a kernel in f32.
bool runtime_casts(DType dtype) { return dtype == DType::f16; }

}  // namespace

// A node on its way into the model.
struct Builder::Call {
  const Schema* schema = nullptr;                  // null for domains that nobody ships schemas for
  Node node;
  Values inputs;
  std::map<std::string_view, DType> bound;         // type parameter → dtype
  std::map<std::string_view, DType> widened;       // type parameter → dtype that it has outside
};

Builder::Builder(Model& model, const MovedAttributes& moved, OpsetRange all) : model_(model), moved_(moved), range_(all) {}

void Builder::narrow(OpsetRange range) {
  range_.from = std::max(range_.from, range.from);
  range_.to = std::min(range_.to, range.to);
}

bool Builder::at_least(int opset) {
  const bool reached = model_.opset >= opset;
  if (reached) range_.from = std::max(range_.from, opset);
  else range_.to = std::min(range_.to, opset - 1);
  return reached;
}

const Schema* Builder::schema(std::string_view op, std::string_view domain) {
  const Schema* found = nullptr;
  for (const Schema& version : versions(op, domain))   // other domains count versions of their own
    if (is_own_domain(domain) ? at_least(version.since) : model_.version_of(domain) >= version.since) found = &version;
  return found && !found->deprecated ? found : nullptr;
}

Value Builder::node(std::string_view op, const Values& inputs, const Arguments& attributes, std::optional<DType> dtype) {
  return nodes(op, inputs, 1, attributes, dtype).front();
}

Values Builder::nodes(std::string_view op, const Values& inputs, std::size_t outputs, const Arguments& attributes,
                      std::optional<DType> dtype) {
  const auto [domain, name] = split(op);
  Call call;
  call.node.op = name;
  call.node.domain = domain;
  call.inputs = inputs;
  if (is_onnx_domain(domain)) {
    call.schema = schema(name, domain);
    if (!call.schema) {
      if (versions(name, domain).empty()) throw InternalError("ONNX has no operator " + std::string(op));
      const Schema& first = versions(name, domain).front();
      if (!is_own_domain(domain)) throw Refusal{std::string(op) + " isn't in version " + std::to_string(model_.version_of(domain)) + " of its domain", "--custom-opset " + std::string(domain) + "=" + std::to_string(versions(name, domain).back().since)};
      if (first.since > model_.opset) throw Refusal{"ONNX has no " + std::string(op) + " before opset " + std::to_string(first.since), "use opset " + std::to_string(first.since)};
      throw Refusal{"ONNX no longer has " + std::string(op)};
    }
  }
  place_attributes(call, attributes);
  while (!call.inputs.empty() && !call.inputs.back()) call.inputs.pop_back();
  if (call.schema) {
    check_inputs(call);
    demand_attributes(call);
    widen(call);
  }
  return append(call, outputs, output_dtypes(call, outputs, dtype));
}

// ---- Attributes

namespace {

AttributeValue to_attribute(const Argument& argument) {
  return std::visit([](const auto& value) -> AttributeValue {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Value>) throw InternalError("a value in the place of an attribute");
    else return value;
  }, argument.variant());
}

// As the text of a schema's default: to tell that a newer attribute is given as it was before there was one.
bool is_default(const Argument& argument, const Attribute& attribute) {
  if (!attribute.default_value) {
    const auto* ints = std::get_if<Ints>(&argument.variant());
    return ints && std::ranges::all_of(*ints, [](std::int64_t n) { return n == 1; });   // dilations, strides
  }
  const std::string text(*attribute.default_value);
  if (const auto* number = std::get_if<std::int64_t>(&argument.variant())) return text == std::to_string(*number);
  if (const auto* word = std::get_if<std::string>(&argument.variant())) return text == "\"" + *word + "\"" || text == *word;
  return false;
}

// In some newer version, an attribute of that name whose default is what is given.
bool is_newer_default(const Schema& schema, std::string_view name, const Argument& argument) {
  for (const Schema& version : versions(schema.name, schema.domain))
    if (const auto* attribute = version.attribute(name); attribute && version.since > schema.since && is_default(argument, *attribute)) return true;
  return false;
}

int first_version_with(const Schema& schema, std::string_view attribute) {
  for (const Schema& version : versions(schema.name, schema.domain))
    if (version.attribute(attribute)) return version.since;
  return 0;
}

}  // namespace

void Builder::place_attributes(Call& call, const Arguments& attributes) {
  for (const auto& [name, argument] : attributes) {
    if (!call.schema) {
      call.node.attributes.push_back({std::string(name), to_attribute(argument)});
      continue;
    }
    if (const Attribute* attribute = call.schema->attribute(name)) {
      const auto* value = std::get_if<Value>(&argument.variant());
      if (!value) {
        call.node.attributes.push_back({std::string(name), to_attribute(argument)});
        continue;
      }
      if (!*value) continue;
      const TensorData* data = constant_of(*value);
      if (!data)
        throw refusal_until(*call.schema, describe(*call.schema) + " takes " + std::string(name) + " as a constant", [&](const Schema& version) { return !version.attribute(name); });
      if (attribute->type == AttributeType::integers) call.node.attributes.push_back({std::string(name), as_ints(*data).value()});
      else if (attribute->type == AttributeType::integer) call.node.attributes.push_back({std::string(name), as_ints(*data).value().at(0)});
      else if (attribute->type == AttributeType::floating) call.node.attributes.push_back({std::string(name), as_floats(*data).value().at(0)});
      else if (attribute->type == AttributeType::floats) call.node.attributes.push_back({std::string(name), as_floats(*data).value()});
      else throw InternalError(describe(*call.schema) + "'s " + std::string(name) + " can't be made of a tensor");
      continue;
    }
    const auto moved = moved_.find(call.schema->name);
    const auto to = moved == moved_.end() ? std::vector<std::pair<std::string, std::string>>::const_iterator()
                                          : std::ranges::find(moved->second, name, &std::pair<std::string, std::string>::first);
    if (moved != moved_.end() && to != moved->second.end() && call.schema->input_index(to->second)) {
      place_moved(call, name, to->second, argument);
      continue;
    }
    if (call.schema->input_index(name)) {            // an input that never was an attribute (Slice's steps)
      place_moved(call, name, std::string(name), argument);
      continue;
    }
    if (is_newer_default(*call.schema, name, argument)) continue;
    const int since = first_version_with(*call.schema, name);
    if (since > model_.opset) throw Refusal{describe(*call.schema) + " has no " + std::string(name) + " before opset " + std::to_string(since), "use opset " + std::to_string(since)};
    if (since) continue;   // no longer needed: its newer form has the meaning by itself
    if (name == "steps" && std::get_if<Ints>(&argument.variant()) && std::ranges::all_of(std::get<Ints>(argument.variant()), [](auto n) { return n == 1; })) continue;
    if (name == "steps") throw Refusal{"Slice takes no steps before opset 10", "use opset 10"};
    throw InternalError(describe(*call.schema) + " has no attribute " + std::string(name));
  }
}

// As the input wants it: a vector for INTS, one element for what was an INT (TopK's k), no dimensions for a FLOAT.
void Builder::place_moved(Call& call, std::string_view attribute, const std::string& input, const Argument& argument) {
  const std::size_t index = *call.schema->input_index(input);
  const Formal& formal = call.schema->inputs[index];
  Value value;
  if (const auto* given = std::get_if<Value>(&argument.variant())) value = *given;
  else if (const auto* list = std::get_if<Ints>(&argument.variant())) value = ints(*list);
  else if (const auto* number = std::get_if<std::int64_t>(&argument.variant()); number && is_type(formal.type)) value = ints({*number});
  else if (const auto* floats = std::get_if<std::vector<double>>(&argument.variant()))
    value = constant(make_tensor(DType::f32, {static_cast<std::int64_t>(floats->size())}, *floats));
  else {
    const double number_value = std::holds_alternative<double>(argument.variant())
                                    ? std::get<double>(argument.variant()) : static_cast<double>(std::get<std::int64_t>(argument.variant()));
    DType dtype = DType::f32;
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
      if (const Formal* other = formal_at(call.schema->inputs, i); other && other->type == formal.type && call.inputs[i]) dtype = call.inputs[i].dtype;
    value = scalar(dtype, number_value);
  }
  (void)attribute;
  if (call.inputs.size() <= index) call.inputs.resize(index + 1);
  call.inputs[index] = value;
}

// ---- Types

void Builder::check_inputs(Call& call) {
  const Schema& schema = *call.schema;
  const auto count = static_cast<int>(call.inputs.size());
  if (count < schema.min_inputs || count > schema.max_inputs) {
    for (const Schema& version : versions(schema.name, schema.domain))
      if (count >= version.min_inputs && count <= version.max_inputs && version.since > schema.since)
        throw Refusal{describe(schema) + " takes " + std::to_string(count) + " inputs only from opset " + std::to_string(version.since) + " on",
                      "use opset " + std::to_string(version.since)};
    throw InternalError(describe(schema) + " with " + std::to_string(count) + " inputs");
  }
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Formal* formal = formal_at(schema.inputs, i);
    const Value& value = call.inputs[i];
    if (!value || !formal || is_type(formal->type)) continue;
    const auto [bound, fresh] = call.bound.emplace(formal->type, value.dtype);
    const bool heterogeneous = formal->option == Formal::Option::variadic && (schema.name == "Loop" || schema.name == "Scan");
    if (!fresh && bound->second != value.dtype && !heterogeneous)
      throw InternalError(describe(schema) + " of " + std::string(ir::name(bound->second)) + " and " + std::string(ir::name(value.dtype)));
  }
}

// Rows and plugins of users may say what no schema takes.
void Builder::demand_attributes(const Call& call) {
  const auto kind_of = [](const AttributeValue& value) {
    constexpr std::array kinds{AttributeType::integer, AttributeType::floating, AttributeType::string, AttributeType::integers, AttributeType::floats, AttributeType::strings, AttributeType::tensor, AttributeType::graph, AttributeType::tensor};
    return kinds[value.index()];
  };
  for (const Attribute& attribute : call.schema->attributes) {
    const NodeAttribute* given = call.node.attribute(attribute.name);
    if (!given && attribute.required) throw Refusal{describe(*call.schema) + " wants its attribute " + std::string(attribute.name)};
    const auto kind = given ? kind_of(given->value) : attribute.type;
    const bool whole = (kind == AttributeType::integer && attribute.type == AttributeType::floating) || (kind == AttributeType::integers && attribute.type == AttributeType::floats);
    if (kind != attribute.type && !whole)
      throw Refusal{"the attribute " + std::string(attribute.name) + " of " + describe(*call.schema) + " is " + std::string(name(attribute.type)) + ", and " + std::string(name(kind)) + " is given"};
    if (given && attribute.name == "to" && !dtype_from_data_type(std::get<std::int64_t>(given->value))) throw Refusal{describe(*call.schema) + ": " + std::to_string(std::get<std::int64_t>(given->value)) + " is the number of no dtype"};
  }
}

void Builder::widen(Call& call) {
  const Schema& schema = *call.schema;
  if (schema.name == "Cast") {
    const auto to = dtype_from_data_type(std::get<std::int64_t>(call.node.attribute("to")->value)).value();
    for (const DType dtype : {call.inputs.front().dtype, to}) {
      const auto takes = [&](const Schema& version) { return version.outputs.front().accepts(dtype); };
      if (!takes(schema)) throw refusal_until(schema, "ONNX has no tensors of " + std::string(ir::name(dtype)), takes);
    }
  }
  if (schema.name == "Cast" || schema.name == "Loop" || schema.name == "If" || schema.name == "Scan") return;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Formal* formal = formal_at(schema.inputs, i);
    Value& value = call.inputs[i];
    if (!value || !formal) continue;
    if (const auto done = call.widened.find(formal->type); done != call.widened.end()) {
      value = cast(value, call.bound.at(formal->type));
      continue;
    }
    const auto serves = [&](DType dtype) {
      return accepts(*formal, {value.id, dtype, value.sequence}) && (value.sequence || has_kernel(schema, formal->type, dtype) || runtime_casts(dtype));
    };
    if (serves(value.dtype)) continue;
    const auto candidates = value.sequence ? std::span<const DType>() : wider(value.dtype, moves_elements(schema.name));
    const auto found = std::ranges::find_if(candidates, serves);
    if (found == candidates.end()) {
      if (accepts(*formal, value)) continue;   // this runtime lacks it; another may not
      throw refusal_until(schema, describe(schema) + " takes no " + std::string(value.sequence ? "sequence of " : "") + std::string(ir::name(value.dtype)),
                          [&](const Schema& version) { const Formal* same = formal_at(version.inputs, i); return same && accepts(*same, value); });
    }
    if (!is_type(formal->type)) {
      call.widened.emplace(formal->type, value.dtype);
      call.bound[formal->type] = *found;
    }
    value = cast(value, *found);
  }
}

std::vector<DType> Builder::output_dtypes(const Call& call, std::size_t outputs, std::optional<DType> dtype) const {
  std::vector<DType> dtypes;
  for (std::size_t i = 0; i < outputs; ++i) {
    const Formal* formal = call.schema ? formal_at(call.schema->outputs, i) : nullptr;
    if (call.schema && !formal) throw InternalError(describe(*call.schema) + " has no output " + std::to_string(i));
    const auto bound = formal ? call.bound.find(formal->type) : call.bound.end();
    if (formal && bound != call.bound.end()) dtypes.push_back(bound->second);
    else if (dtype) dtypes.push_back(*dtype);
    else if (!call.inputs.empty() && call.inputs.front().sequence && formal && formal->types.size() > 1) dtypes.push_back(call.inputs.front().dtype);  // SequenceAt
    else if (formal && is_type(formal->type)) dtypes.push_back(dtype_of_type(formal->type).value());
    else if (formal && formal->types.size() == 1) dtypes.push_back(dtype_of_type(formal->types.front()).value());
    else if (const NodeAttribute* to = call.node.attribute("to")) dtypes.push_back(dtype_from_data_type(std::get<std::int64_t>(to->value)).value());
    else if (const NodeAttribute* named = call.node.attribute("dtype")) dtypes.push_back(dtype_from_data_type(std::get<std::int64_t>(named->value)).value());
    else if (const NodeAttribute* value = call.node.attribute("value")) dtypes.push_back(std::get<TensorData>(value->value).dtype);
    else if (call.schema && call.schema->attribute("dtype") && !call.inputs.empty()) dtypes.push_back(call.inputs.front().dtype);  // RandomNormalLike
    else if (call.schema && call.schema->name.find("Sequence") != std::string_view::npos && !call.inputs.empty()) dtypes.push_back(call.inputs.front().dtype);
    else throw InternalError("nothing tells the dtype of " + call.node.op + "'s output " + std::to_string(i));
  }
  return dtypes;
}

void Builder::add_node(Node node) {
  node.origin = origin_;
  const std::string& domain = node.domain;
  if (!is_own_domain(domain) && std::ranges::find(model_.domains, domain, &std::pair<std::string, int>::first) == model_.domains.end())
    model_.domains.emplace_back(domain, model_.version_of(domain));
  emitted_.push_back(domain.empty() ? node.op : domain + "::" + node.op);
  (bodies_.empty() ? model_.graph : *bodies_.back()).nodes.push_back(std::move(node));
}

Values Builder::foreign(std::string_view op, const Values& inputs, std::vector<NodeAttribute> attributes, std::vector<std::optional<ValueInfo>> outputs) {
  const auto [domain, name] = split(op);
  Node node{.op = std::string(name), .domain = std::string(domain), .inputs = {}, .outputs = {}, .attributes = std::move(attributes), .name = {}};
  for (const Value& input : inputs) node.inputs.push_back(input.id);
  while (!node.inputs.empty() && node.inputs.back() == absent) node.inputs.pop_back();
  Values made;
  for (auto& output : outputs) {
    Value value;
    if (output) value = {model_.add_value(*output), output->dtype, output->kind == ValueInfo::Kind::sequence};
    node.outputs.push_back(value.id);
    made.push_back(value);
  }
  while (!node.outputs.empty() && node.outputs.back() == absent) node.outputs.pop_back();
  add_node(std::move(node));
  return made;
}

Values Builder::append(Call& call, std::size_t outputs, const std::vector<DType>& dtypes) {
  for (const Value& input : call.inputs) call.node.inputs.push_back(input.id);
  Values made, given;
  for (std::size_t i = 0; i < outputs; ++i) {
    const Formal* formal = call.schema ? formal_at(call.schema->outputs, i) : nullptr;
    const bool like_input = formal && !call.inputs.empty() && call.inputs.front().sequence && call.schema->inputs.front().type == formal->type;   // Identity
    const bool sequence = like_input || (formal && !formal->types.empty() && std::ranges::all_of(formal->types, [](const auto& type) { return type.starts_with("seq("); }));
    Value value{model_.add_value({.kind = sequence ? ValueInfo::Kind::sequence : ValueInfo::Kind::tensor, .dtype = dtypes[i], .shape = {}, .name = {}}), dtypes[i], sequence};
    call.node.outputs.push_back(value.id);
    made.push_back(value);
  }
  add_node(std::move(call.node));
  for (std::size_t i = 0; i < outputs; ++i) {
    const Formal* formal = call.schema ? formal_at(call.schema->outputs, i) : nullptr;
    const auto widened = formal ? call.widened.find(formal->type) : call.widened.end();
    given.push_back(formal && widened != call.widened.end() ? cast(made[i], widened->second) : made[i]);
  }
  return given;
}

// ---- Graphs

std::shared_ptr<Graph> Builder::begin_body() {
  bodies_.push_back(std::make_shared<Graph>());
  return bodies_.back();
}

Value Builder::body_input(DType dtype, bool sequence, std::optional<std::vector<Dimension>> shape) {
  const ValueId id = model_.add_value({.kind = sequence ? ValueInfo::Kind::sequence : ValueInfo::Kind::tensor, .dtype = dtype, .shape = std::move(shape), .name = {}});
  bodies_.back()->inputs.push_back(id);
  return {id, dtype, sequence};
}

void Builder::end_body(const Values& outputs) {
  for (const Value& output : outputs) bodies_.back()->outputs.push_back(output.id);
  bodies_.pop_back();
}

Values Builder::control(std::string_view op, const Values& inputs, const Arguments& bodies, const std::vector<DType>& dtypes,
                        const std::vector<bool>& sequences) {
  const Schema* found = schema(op);
  Node node{.op = std::string(op), .domain = {}, .inputs = {}, .outputs = {}, .attributes = {}, .name = {}, .origin = origin_};
  for (const Value& input : inputs) node.inputs.push_back(input.id);
  for (const auto& [name, body] : bodies) node.attributes.push_back({std::string(name), to_attribute(body)});
  Values made;
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    if (sequences[i] && !accepts(found->outputs.front(), {1, dtypes[i], true}))
      throw refusal_until(*found, std::string(op) + " takes no lists of tensors", [&](const Schema& version) { return accepts(version.outputs.front(), {1, dtypes[i], true}); });
    const auto kind = sequences[i] ? ValueInfo::Kind::sequence : ValueInfo::Kind::tensor;
    made.push_back({model_.add_value({.kind = kind, .dtype = dtypes[i], .shape = {}, .name = {}}), dtypes[i], sequences[i]});
    node.outputs.push_back(made.back().id);
  }
  emitted_.emplace_back(op);
  (bodies_.empty() ? model_.graph : *bodies_.back()).nodes.push_back(std::move(node));
  return made;
}

void Builder::add_functions(const std::shared_ptr<const FunctionText>& text) {
  if (std::ranges::find(model_.functions, text) == model_.functions.end()) model_.functions.push_back(text);
}

Value Builder::add_input(DType dtype, std::optional<std::vector<Dimension>> shape, std::string name, bool sequence) {
  const ValueId id = model_.add_value({.kind = sequence ? ValueInfo::Kind::sequence : ValueInfo::Kind::tensor, .dtype = dtype, .shape = std::move(shape), .name = std::move(name)});
  model_.graph.inputs.push_back(id);
  return {id, dtype, sequence};
}

}  // namespace compatcheck::onnx
