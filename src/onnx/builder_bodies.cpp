// Bodies of If, Loop and Scan, and the casts of what goes in and out.
#include <algorithm>
#include <limits>

#include "onnx/builder_call.h"

namespace compatcheck::onnx {

using ir::DType;

namespace {

Refusal takes_none(const Schema& schema, const Value& value) {
  const bool lists = accepts(schema.outputs.front(), {1, DType::f32, true});
  const std::string what = !value.sequence ? std::string(ir::name(value.dtype))
                           : lists         ? "lists of " + std::string(ir::name(value.dtype)) + " tensors"
                                           : "lists of tensors";
  return refusal_until(schema, describe(schema) + " doesn't support " + what,
                       [&](const Schema& version) { return accepts(version.outputs.front(), value); });
}

// In which the operator takes a value: its own dtype, or one that holds every value of it.
DType carried(const Schema& schema, const Value& value) {
  const Formal& takes = schema.outputs.front();
  if (accepts(takes, value)) return value.dtype;
  const auto candidates = value.sequence ? std::span<const DType>() : wider(value.dtype, true);
  const auto found = std::ranges::find_if(candidates, [&](DType dtype) { return takes.accepts(dtype); });
  if (found == candidates.end()) throw takes_none(schema, value);
  return *found;
}

}  // namespace

// Identity takes sequences from opset 14 on.
Value Builder::again(const Value& value) {
  const Marking marked(role_, Role::layout);
  if (!value.sequence || opset_at_least(14)) return node("Identity", {value});
  const Value longer = node("SequenceInsert", {value, constant(make_tensor(value.dtype, {}, Ints{0}))});
  return node("SequenceErase", {longer, integer(-1)});
}

std::shared_ptr<Graph> Builder::begin_body() {
  bodies_.push_back(std::make_shared<Graph>());
  return bodies_.back();
}

Value Builder::body_input(DType dtype, bool sequence, std::optional<std::vector<Dimension>> shape) {
  const ValueId id = model_.add_value({.kind = sequence ? ValueInfo::Kind::sequence : ValueInfo::Kind::tensor,
                                       .dtype = dtype,
                                       .shape = std::move(shape),
                                       .name = {}});
  bodies_.back()->inputs.push_back(id);
  return {id, dtype, sequence};
}

void Builder::end_body(const Values& outputs) {
  for (const Value& output : outputs) bodies_.back()->outputs.push_back(output.id);
  bodies_.pop_back();
}

// A body as it was made, between casts.
void Builder::carry(const Schema& schema, const std::shared_ptr<Graph>& body) {
  const auto value_of = [&](ValueId id) {
    return Value{id, model_.values[id].dtype, model_.values[id].kind == ValueInfo::Kind::sequence};
  };
  bodies_.push_back(body);
  const auto marked = plumbing();
  std::size_t casts = 0;
  for (ValueId& input : body->inputs) {
    const Value inner = value_of(input);
    const DType dtype = carried(schema, inner);
    if (dtype == inner.dtype) continue;
    ValueInfo info = model_.values[input];
    info.dtype = dtype;
    input = model_.add_value(std::move(info));
    cast({input, dtype}, inner.dtype);
    body->nodes.back().outputs.front() = inner.id;
    std::ranges::rotate(body->nodes.begin() + static_cast<std::ptrdiff_t>(casts++), std::prev(body->nodes.end()),
                        body->nodes.end());
  }
  for (ValueId& output : body->outputs) {
    const Value inner = value_of(output);
    const DType dtype = carried(schema, inner);
    if (dtype == inner.dtype) continue;
    const auto shape = model_.values[output].shape;
    output = cast(inner, dtype).id;
    model_.values[output].shape = shape;
  }
  bodies_.pop_back();
}

Values Builder::control(std::string_view op, const Values& inputs, const Arguments& bodies, const std::vector<DType>& dtypes,
                        const std::vector<bool>& sequences) {
  const Schema& found = *schema(op);
  const auto around = [&](const Value& value, DType dtype) {
    const auto marked = plumbing();
    return cast(value, dtype);
  };
  Node node{.op = std::string(op), .domain = {}, .inputs = {}, .outputs = {}, .attributes = {}, .name = {}, .origin = origin_};
  for (const Value& input : inputs) node.inputs.push_back(input ? around(input, carried(found, input)).id : absent);
  for (const auto& [name, body] : bodies) {
    if (const auto* graph = std::get_if<std::shared_ptr<Graph>>(&body.variant())) carry(found, *graph);
    node.attributes.push_back({std::string(name), to_attribute(body)});
  }
  Values made;
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    const DType dtype = carried(found, {1, dtypes[i], sequences[i]});
    const auto kind = sequences[i] ? ValueInfo::Kind::sequence : ValueInfo::Kind::tensor;
    made.push_back({model_.add_value({.kind = kind, .dtype = dtype, .shape = {}, .name = {}}), dtype, sequences[i]});
    node.outputs.push_back(made.back().id);
  }
  record(node);
  (bodies_.empty() ? model_.graph : *bodies_.back()).nodes.push_back(std::move(node));
  for (std::size_t i = 0; i < dtypes.size(); ++i) made[i] = around(made[i], dtypes[i]);
  return made;
}

Value Builder::optional(const Value& present, const Value& value) {
  constexpr int of_branch = 16;  // If gives optionals from here on
  const std::string held =
      std::string(value.sequence ? "seq(" : "") + std::string(tensor_type(value.dtype)) + (value.sequence ? ")" : "");
  const auto all = versions("Optional");
  const auto holds = std::ranges::find_if(all, [&](const Schema& version) {
    return std::ranges::find(version.inputs.front().types, held) != version.inputs.front().types.end();
  });
  const int of_dtype = holds == all.end() ? std::numeric_limits<int>::max() : holds->since;
  if (of_dtype > of_branch && !opset_at_least(of_dtype))
    throw Refusal{"ONNX has no optional " + std::string(value.sequence ? "lists of " : "") + "tensors of " +
                      std::string(ir::name(value.dtype)) +
                      (holds == all.end() ? std::string() : " before opset " + std::to_string(of_dtype)),
                  "return another dtype, for example by .to(torch.float32)"};
  if (!opset_at_least(of_branch)) throw Refusal{"ONNX's If gives no optional value before opset 16", "use opset 16"};
  const auto marked = plumbing();
  const auto kind = value.sequence ? ValueInfo::Kind::sequence : ValueInfo::Kind::tensor;
  const auto fresh = [&] {
    return model_.add_value({.kind = kind, .optional = true, .dtype = value.dtype, .shape = {}, .name = {}});
  };
  const auto add = [&](const char* op, std::vector<ValueId> inputs, std::vector<NodeAttribute> attributes) {
    Node node{.op = op,
              .domain = {},
              .inputs = std::move(inputs),
              .outputs = {fresh()},
              .attributes = std::move(attributes),
              .name = {}};
    const ValueId made = node.outputs.front();
    add_node(std::move(node));
    return Value{made, value.dtype, value.sequence};
  };
  const auto full = begin_body();
  end_body({add("Optional", {value.id}, {})});
  const auto empty = begin_body();
  end_body({add("Optional", {}, {{"type", TypeData{value.dtype, value.sequence}}})});
  return add("If", {present.id}, {{"then_branch", full}, {"else_branch", empty}});
}

}  // namespace compatcheck::onnx
