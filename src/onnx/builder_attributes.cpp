// How a call's attributes stand at the opset of the model: as attributes, as inputs, or not at all.
#include <algorithm>
#include <array>

#include "compatcheck/error.h"
#include "onnx/builder_call.h"

namespace compatcheck::onnx {

using ir::DType;

AttributeValue to_attribute(const Argument& argument) {
  return std::visit(
      [](const auto& value) -> AttributeValue {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Value>)
          throw InternalError("a value in the place of an attribute");
        else
          return value;
      },
      argument.variant());
}

namespace {

// Whether the argument is the schema's default: a newer attribute then keeps the behaviour from before it existed.
bool is_default(const Argument& argument, const Attribute& attribute) {
  if (!attribute.default_value) {
    const auto* ints = std::get_if<Ints>(&argument.variant());
    return ints && std::ranges::all_of(*ints, [](std::int64_t n) { return n == 1; });  // dilations, strides
  }
  const std::string text(*attribute.default_value);
  if (const auto* number = std::get_if<std::int64_t>(&argument.variant())) return text == std::to_string(*number);
  if (const auto* word = std::get_if<std::string>(&argument.variant())) return text == "\"" + *word + "\"" || text == *word;
  return false;
}

// In some newer version, an attribute of that name whose default is what is given.
bool is_newer_default(const Schema& schema, std::string_view name, const Argument& argument) {
  for (const Schema& version : versions(schema.name, schema.domain))
    if (const auto* attribute = version.attribute(name);
        attribute && version.since > schema.since && is_default(argument, *attribute))
      return true;
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
        throw refusal_until(*call.schema, describe(*call.schema) + " takes " + std::string(name) + " as a constant",
                            [&](const Schema& version) { return !version.attribute(name); });
      if (attribute->type == AttributeType::integers)
        call.node.attributes.push_back({std::string(name), as_ints(*data).value()});
      else if (attribute->type == AttributeType::integer)
        call.node.attributes.push_back({std::string(name), as_ints(*data).value().at(0)});
      else if (attribute->type == AttributeType::floating)
        call.node.attributes.push_back({std::string(name), as_floats(*data).value().at(0)});
      else if (attribute->type == AttributeType::floats)
        call.node.attributes.push_back({std::string(name), as_floats(*data).value()});
      else
        throw InternalError(describe(*call.schema) + "'s " + std::string(name) + " can't be made of a tensor");
      continue;
    }
    const auto moved = moved_.find(call.schema->name);
    const auto to = moved == moved_.end() ? std::vector<std::pair<std::string, std::string>>::const_iterator()
                                          : std::ranges::find(moved->second, name, &std::pair<std::string, std::string>::first);
    if (moved != moved_.end() && to != moved->second.end() && call.schema->input_index(to->second)) {
      place_moved(call, to->second, argument);
      continue;
    }
    if (call.schema->input_index(name)) {  // an input that never was an attribute (Slice's steps)
      place_moved(call, std::string(name), argument);
      continue;
    }
    if (is_newer_default(*call.schema, name, argument)) continue;
    const int since = first_version_with(*call.schema, name);
    if (since > model_.opset)
      throw Refusal{describe(*call.schema) + " has no " + std::string(name) + " before opset " + std::to_string(since),
                    "use opset " + std::to_string(since)};
    if (since) continue;  // no longer needed: its newer form has the meaning by itself
    if (name == "steps" && std::get_if<Ints>(&argument.variant()) &&
        std::ranges::all_of(std::get<Ints>(argument.variant()), [](auto n) { return n == 1; }))
      continue;
    if (name == "steps") throw Refusal{"Slice has no steps before opset 10", "use opset 10"};
    throw InternalError(describe(*call.schema) + " has no attribute " + std::string(name));
  }
}

// Passes the value in the input's form: a vector for INTS, one element for a former INT (TopK's k), no dimensions for a FLOAT.
void Builder::place_moved(Call& call, const std::string& input, const Argument& argument) {
  const std::size_t index = *call.schema->input_index(input);
  const Formal& formal = call.schema->inputs[index];
  Value value;
  if (const auto* given = std::get_if<Value>(&argument.variant()))
    value = *given;
  else if (const auto* list = std::get_if<Ints>(&argument.variant()))
    value = ints(*list);
  else if (const auto* number = std::get_if<std::int64_t>(&argument.variant()); number && is_type(formal.type))
    value = ints({*number});
  else if (const auto* floats = std::get_if<std::vector<double>>(&argument.variant()))
    value = constant(make_tensor(DType::f32, {static_cast<std::int64_t>(floats->size())}, *floats));
  else {
    const double number_value = std::holds_alternative<double>(argument.variant())
                                    ? std::get<double>(argument.variant())
                                    : static_cast<double>(std::get<std::int64_t>(argument.variant()));
    DType dtype = DType::f32;
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
      if (const Formal* other = formal_at(call.schema->inputs, i); other && other->type == formal.type && call.inputs[i])
        dtype = call.inputs[i].dtype;
    value = scalar(dtype, number_value);
  }
  if (call.inputs.size() <= index) call.inputs.resize(index + 1);
  call.inputs[index] = value;
}

// Rows and plugins of users may say what no schema takes.
void Builder::demand_attributes(const Call& call) {
  const auto kind_of = [](const AttributeValue& value) {
    constexpr std::array kinds{AttributeType::integer, AttributeType::floating, AttributeType::string, AttributeType::integers,
                               AttributeType::floats,  AttributeType::strings,  AttributeType::tensor, AttributeType::graph,
                               AttributeType::tensor,  AttributeType::type};
    return kinds[value.index()];
  };
  for (const Attribute& attribute : call.schema->attributes) {
    const NodeAttribute* given = call.node.attribute(attribute.name);
    if (!given && attribute.required)
      throw Refusal{describe(*call.schema) + " needs its attribute " + std::string(attribute.name)};
    const auto kind = given ? kind_of(given->value) : attribute.type;
    const bool whole = (kind == AttributeType::integer && attribute.type == AttributeType::floating) ||
                       (kind == AttributeType::integers && attribute.type == AttributeType::floats);
    if (kind != attribute.type && !whole)
      throw Refusal{"the attribute " + std::string(attribute.name) + " of " + describe(*call.schema) + " is " +
                    std::string(name(attribute.type)) + ", and " + std::string(name(kind)) + " is given"};
    if (given && attribute.name == "to" && !dtype_from_data_type(std::get<std::int64_t>(given->value)))
      throw Refusal{describe(*call.schema) + ": " + std::to_string(std::get<std::int64_t>(given->value)) +
                    " is the number of no dtype"};
  }
}

}  // namespace compatcheck::onnx
