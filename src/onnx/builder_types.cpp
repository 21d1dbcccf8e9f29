// Types of a call's inputs and outputs, and the casts between.
#include <algorithm>

#include "compatcheck/error.h"
#include "onnx/builder_call.h"
#include "onnx/runtime_types.h"
#include "process/spell_count.h"

namespace compatcheck::onnx {

using ir::DType;

// Returns the formal at that place; a variadic one stands for all from there on.
const Formal* formal_at(std::span<const Formal> formals, std::size_t i) {
  if (i < formals.size()) return &formals[i];
  return !formals.empty() && formals.back().option == Formal::Option::variadic ? &formals.back() : nullptr;
}

bool is_sequence(const Formal& formal) {
  return !formal.types.empty() &&
         std::ranges::all_of(formal.types, [](std::string_view type) { return type.starts_with("seq("); });
}

bool accepts(const Formal& formal, const Value& value) {
  if (!value.sequence && formal.accepts(value.dtype)) return true;
  const std::string sequence = "seq(" + std::string(tensor_type(value.dtype)) + ")";
  return value.sequence && std::ranges::find(formal.types, sequence) != formal.types.end();
}

std::span<const DType> wider(DType dtype, bool moving) {
  using enum DType;
  static constexpr DType of_small[] = {i32, i64}, of_u8[] = {i32, i64}, of_i32[] = {i64}, of_bf16[] = {f32},
                         of_bool[] = {u8, i32, i64}, of_f16[] = {f32}, of_f32[] = {f64}, of_u32[] = {i64};
  switch (dtype) {
    case i8:
    case i16:
    case u16: return of_small;
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

namespace {

std::optional<DType> dtype_of_type(std::string_view type) {
  for (int number = 0; number < 30; ++number)
    if (const auto dtype = ir::dtype_from_number(number);
        dtype && type.find(tensor_type(*dtype)) != std::string_view::npos && !tensor_type(*dtype).empty())
      return dtype;
  return std::nullopt;
}

// Operators that only move elements: any type of the same or a greater width will do.
bool moves_elements(std::string_view op) {
  static constexpr std::string_view names[] = {
      "Compress",  "Concat",    "DepthToSpace", "Expand",          "Gather",   "GatherElements",
      "GatherND",  "Pad",       "Reshape",      "ReverseSequence", "Scatter",  "ScatterElements",
      "ScatterND", "Slice",     "SpaceToDepth", "Split",           "Squeeze",  "Tile",
      "Transpose", "Unsqueeze", "Where",        "Flatten",         "Identity", "Max",
      "Min",       "ReduceMax", "ReduceMin",    "Equal",           "NonZero",  "Unique",
      "TopK",      "Trilu",     "ArgMax",       "ArgMin",          "CumSum"};
  return std::ranges::find(names, op) != std::end(names);
}

// Whether the operator has sequences: their members keep their dtype, as there is no cast of a sequence.
bool holds_sequences(const Schema& schema) {
  return std::ranges::any_of(schema.inputs, is_sequence) || std::ranges::any_of(schema.outputs, is_sequence);
}

}  // namespace

void Builder::check_inputs(Call& call) {
  const Schema& schema = *call.schema;
  const auto count = static_cast<int>(call.inputs.size());
  if (count < schema.min_inputs || count > schema.max_inputs) {
    for (const Schema& version : versions(schema.name, schema.domain))
      if (count >= version.min_inputs && count <= version.max_inputs && version.since > schema.since)
        throw Refusal{describe(schema) + " takes " + spell_count(count, "input") + " only from opset " +
                          std::to_string(version.since) + " on",
                      "use opset " + std::to_string(version.since)};
    throw InternalError(describe(schema) + " with " + spell_count(count, "input"));
  }
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Formal* formal = formal_at(schema.inputs, i);
    const Value& value = call.inputs[i];
    if (!value || !formal || is_type(formal->type)) continue;
    const auto [bound, fresh] = call.bound.emplace(formal->type, value.dtype);
    const bool heterogeneous = formal->option == Formal::Option::variadic && (schema.name == "Loop" || schema.name == "Scan");
    if (!fresh && bound->second != value.dtype && !heterogeneous)
      throw InternalError(describe(schema) + " of " + std::string(ir::name(bound->second)) + " and " +
                          std::string(ir::name(value.dtype)));
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
  if (schema.name == "ConstantOfShape") widen_fill(call);
  const auto marked = plumbing();  // the casts
  const bool fixed = holds_sequences(schema);
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Formal* formal = formal_at(schema.inputs, i);
    Value& value = call.inputs[i];
    if (!value || !formal) continue;
    if (const auto done = call.widened.find(formal->type); done != call.widened.end()) {
      value = cast(value, call.bound.at(formal->type));
      continue;
    }
    const auto runtime_takes = [&](DType dtype) {
      const Runs found = runs(schema, model_.opset, formal->type, dtype);
      narrow({found.since, found.until});
      return found.yes;
    };
    const auto serves = [&](DType dtype) {
      return accepts(*formal, {value.id, dtype, value.sequence}) && (fixed || value.sequence || runtime_takes(dtype));
    };
    if (serves(value.dtype)) continue;
    const auto candidates = fixed || value.sequence ? std::span<const DType>() : wider(value.dtype, moves_elements(schema.name));
    const auto found = std::ranges::find_if(candidates, serves);
    if (found == candidates.end()) {
      if (accepts(*formal, value)) continue;  // this runtime lacks it; another may not
      throw refusal_until(schema,
                          describe(schema) + " doesn't support " + std::string(value.sequence ? "sequence of " : "") +
                              std::string(ir::name(value.dtype)),
                          [&](const Schema& version) {
                            const Formal* same = formal_at(version.inputs, i);
                            return same && accepts(*same, value);
                          });
    }
    if (!is_type(formal->type)) {
      call.widened.emplace(formal->type, value.dtype);
      call.bound[formal->type] = *found;
    }
    value = cast(value, *found);
  }
}

// A fill whose dtype the opset's ConstantOfShape doesn't give is made in a wider one.
void Builder::widen_fill(Call& call) {
  const Formal& output = call.schema->outputs.front();
  for (NodeAttribute& attribute : call.node.attributes) {
    auto* fill = std::get_if<TensorData>(&attribute.value);
    if (!fill || output.accepts(fill->dtype)) continue;
    const auto candidates = wider(fill->dtype, true);
    const auto found = std::ranges::find_if(candidates, [&](DType dtype) { return output.accepts(dtype); });
    const auto numbers = as_floats(*fill);
    if (found == candidates.end() || !numbers) continue;
    call.widened.emplace(output.type, fill->dtype);
    call.bound[output.type] = *found;
    *fill = make_tensor(*found, fill->dims, *numbers);
  }
}

void Builder::check_output(const Call& call, std::size_t i, const Value& given) {
  const Formal* formal = formal_at(call.schema->outputs, i);
  if (!formal || accepts(*formal, given)) return;
  throw refusal_until(
      *call.schema,
      describe(*call.schema) + " gives no " + (given.sequence ? "sequence of " : "") + std::string(ir::name(given.dtype)),
      [&](const Schema& version) {
        const Formal* same = formal_at(version.outputs, i);
        return same && accepts(*same, given);
      });
}

std::vector<DType> Builder::output_dtypes(const Call& call, std::size_t outputs, std::optional<DType> dtype) const {
  std::vector<DType> dtypes;
  for (std::size_t i = 0; i < outputs; ++i) {
    const Formal* formal = call.schema ? formal_at(call.schema->outputs, i) : nullptr;
    if (call.schema && !formal) throw InternalError(describe(*call.schema) + " has no output " + std::to_string(i));
    const auto bound = formal ? call.bound.find(formal->type) : call.bound.end();
    if (formal && bound != call.bound.end())
      dtypes.push_back(bound->second);
    else if (dtype)
      dtypes.push_back(*dtype);
    else if (!call.inputs.empty() && call.inputs.front().sequence && formal && formal->types.size() > 1)
      dtypes.push_back(call.inputs.front().dtype);  // SequenceAt
    else if (formal && is_type(formal->type))
      dtypes.push_back(dtype_of_type(formal->type).value());
    else if (formal && formal->types.size() == 1)
      dtypes.push_back(dtype_of_type(formal->types.front()).value());
    else if (const NodeAttribute* to = call.node.attribute("to"))
      dtypes.push_back(dtype_from_data_type(std::get<std::int64_t>(to->value)).value());
    else if (const NodeAttribute* named = call.node.attribute("dtype"))
      dtypes.push_back(dtype_from_data_type(std::get<std::int64_t>(named->value)).value());
    else if (const NodeAttribute* value = call.node.attribute("value"))
      dtypes.push_back(std::get<TensorData>(value->value).dtype);
    else if (call.schema && call.schema->attribute("dtype") && !call.inputs.empty())
      dtypes.push_back(call.inputs.front().dtype);  // RandomNormalLike
    else if (call.schema && call.schema->name.find("Sequence") != std::string_view::npos && !call.inputs.empty())
      dtypes.push_back(call.inputs.front().dtype);
    else
      throw InternalError("nothing tells the dtype of " + call.node.op + "'s output " + std::to_string(i));
  }
  return dtypes;
}

}  // namespace compatcheck::onnx
