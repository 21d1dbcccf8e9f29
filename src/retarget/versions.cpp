#include "retarget/versions.h"

#include <onnx/defs/attr_proto_util.h>
#include <onnx/defs/data_type_utils.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "onnx/builder_call.h"
#include "retarget/adapting.h"
#include "retarget/widening.h"

namespace compatcheck::retarget {
namespace {

using onnx::Refusal;
using onnx::Schema;

std::string version_text(int opset) { return "opset " + std::to_string(opset); }

// The text of a default as schemas hold it: 0, 1e-05, [1, 1], "constant".
bool has_text(const ::onnx::AttributeProto& attribute, std::string_view text) {
  switch (attribute.type()) {
    case ::onnx::AttributeProto::INT: return text == std::to_string(attribute.i());
    case ::onnx::AttributeProto::STRING: return text == attribute.s() || text == "\"" + attribute.s() + "\"";
    case ::onnx::AttributeProto::FLOAT: {
      float value = 0;
      return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc() && value == attribute.f();
    }
    default: return false;
  }
}

bool is_default(const ::onnx::AttributeProto& attribute, const Schema& schema) {
  const onnx::Attribute* known = schema.attribute(attribute.name());
  if (known && known->default_value) return has_text(attribute, *known->default_value);
  return (attribute.name() == "dilations" || attribute.name() == "strides") &&
         std::ranges::all_of(attribute.ints(), [](std::int64_t n) { return n == 1; });
}

const Schema& version_at(const ::onnx::NodeProto& node, int opset) {
  const Schema* schema = onnx::find(node.op_type(), opset);
  if (schema && !schema->deprecated) return *schema;
  if (schema) throw Refusal{"ONNX no longer has " + node.op_type() + " at " + version_text(opset)};
  const auto versions = onnx::versions(node.op_type());
  if (versions.empty()) throw Refusal{"ONNX has no operator " + node.op_type()};
  throw Refusal{"ONNX has no " + node.op_type() + " before " + version_text(versions.front().since),
                "use " + version_text(versions.front().since)};
}

// ---- Attributes that became inputs

::onnx::TensorProto tensor_of(const ::onnx::AttributeProto& attribute, const ::onnx::TypeProto* like) {
  if (attribute.type() == ::onnx::AttributeProto::INTS) return ints_tensor({attribute.ints().begin(), attribute.ints().end()});
  if (attribute.type() == ::onnx::AttributeProto::INT) return ints_tensor({attribute.i()});
  if (attribute.type() == ::onnx::AttributeProto::FLOATS) {
    auto tensor = ::onnx::TensorProto();
    tensor.set_data_type(::onnx::TensorProto::FLOAT);
    tensor.add_dims(attribute.floats_size());
    for (const float value : attribute.floats()) tensor.add_float_data(value);
    return tensor;
  }
  const auto dtype = like && like->has_tensor_type() ? onnx::dtype_from_data_type(like->tensor_type().elem_type()) : std::nullopt;
  if (!dtype) throw Refusal{"the dtype of its input isn't known, which " + attribute.name() + " needs"};
  const onnx::TensorData data = onnx::make_tensor(*dtype, {}, std::vector<double>{static_cast<double>(attribute.f())});
  ::onnx::TensorProto tensor;
  tensor.set_data_type(onnx::data_type(*dtype));
  tensor.set_raw_data(std::string(data.bytes.begin(), data.bytes.end()));
  return tensor;
}

::onnx::AttributeProto attribute_from(const ::onnx::TensorProto& tensor, const onnx::Attribute& attribute) {
  const auto ints = ints_of(tensor);
  const auto floats = floats_of(tensor);
  const std::string name(attribute.name);
  using Type = onnx::AttributeType;
  if (attribute.type == Type::integers && ints) return ::onnx::MakeAttribute(name, *ints);
  if (attribute.type == Type::integer && ints && ints->size() == 1) return ::onnx::MakeAttribute(name, ints->front());
  if (attribute.type == Type::floating && floats && floats->size() == 1)
    return ::onnx::MakeAttribute(name, static_cast<float>(floats->front()));
  if (attribute.type == Type::floats && floats)
    return ::onnx::MakeAttribute(name, std::vector<float>(floats->begin(), floats->end()));
  throw Refusal{"its input " + name + " can't become an attribute"};
}

// ---- Placing

class Placing {
 public:
  explicit Placing(Adapting& a) : a_(a) {}

  ::onnx::NodeProto place() {
    made_ = a_.node;
    made_.clear_input();
    made_.clear_attribute();
    if (!a_.had.inputs.empty() && a_.had.inputs.back().option == onnx::Formal::Option::variadic)
      made_.mutable_input()->CopyFrom(a_.node.input());
    else
      place_inputs();
    place_attributes();
    while (made_.input_size() > 0 && made_.input(made_.input_size() - 1).empty()) made_.mutable_input()->RemoveLast();
    return std::move(made_);
  }

 private:
  void put(std::size_t index, const std::string& value) {
    while (made_.input_size() <= static_cast<int>(index)) made_.add_input();
    made_.set_input(static_cast<int>(index), value);
  }

  // The first version above the opset's that a predicate holds for.
  template <class Holds>
  int first_with(Holds&& holds) const {
    for (const Schema& version : onnx::versions(a_.wanted.name))
      if (version.since > a_.wanted.since && holds(version)) return version.since;
    return a_.had.since;
  }

  // The attribute that this input was, at the other version.
  std::optional<std::string> attribute_of_input(std::string_view input) const {
    const auto moved = a_.setting.moved.find(a_.wanted.name);
    if (moved == a_.setting.moved.end()) return std::nullopt;
    for (const auto& [attribute, to] : moved->second)
      if (to == input && a_.wanted.attribute(attribute)) return attribute;
    return std::nullopt;
  }

  // By name; where versions call one input differently, by place.
  std::optional<std::size_t> place_of(std::size_t index) const {
    const std::string_view name = a_.had.inputs[index].name;
    if (const auto same = a_.wanted.input_index(name)) return same;
    if (index < a_.wanted.inputs.size() && !a_.had.input_index(a_.wanted.inputs[index].name)) return index;
    return std::nullopt;
  }

  void place_inputs() {
    for (int i = 0; i < a_.node.input_size(); ++i) {
      const std::string& value = a_.node.input(i);
      const auto index = static_cast<std::size_t>(i);
      if (value.empty() || index >= a_.had.inputs.size()) continue;
      const std::string_view name = a_.had.inputs[index].name;
      if (const auto attribute = attribute_of_input(name); attribute && !a_.wanted.input_index(name)) {
        const ::onnx::TensorProto* constant = a_.scope.constant(value);
        if (!constant) {
          const int first = first_with([&](const Schema& version) { return version.input_index(name).has_value(); });
          throw Refusal{a_.node.op_type() + " takes " + std::string(name) + " only as a constant before " + version_text(first),
                        "use " + version_text(first)};
        }
        *made_.add_attribute() = attribute_from(*constant, *a_.wanted.attribute(*attribute));
      } else if (const auto to = place_of(index)) {
        put(*to, value);
      } else {
        const int first = first_with([&](const Schema& version) { return version.input_index(name).has_value(); });
        throw Refusal{a_.node.op_type() + " has no input " + std::string(name) + " before " + version_text(first),
                      "use " + version_text(first)};
      }
    }
  }

  void place_attributes() {
    for (const auto& attribute : a_.node.attribute()) {
      if (a_.wanted.attribute(attribute.name())) {
        *made_.add_attribute() = attribute;
        continue;
      }
      if (moves_to_input(attribute) || is_default(attribute, a_.had)) continue;
      if (a_.had.since > a_.wanted.since) {
        const int first = first_with([&](const Schema& version) { return version.attribute(attribute.name()) != nullptr; });
        throw Refusal{a_.node.op_type() + " has no " + attribute.name() + " before " + version_text(first),
                      "use " + version_text(first)};
      }
      throw Refusal{a_.node.op_type() + " no longer has " + attribute.name() + " from " + version_text(a_.wanted.since) + " on"};
    }
    for (const auto& attribute : a_.wanted.attributes)
      if (attribute.required && !attribute_of(made_, attribute.name))
        throw Refusal{a_.node.op_type() + " needs its attribute " + std::string(attribute.name) + " at " +
                      version_text(a_.setting.to)};
  }

  bool moves_to_input(const ::onnx::AttributeProto& attribute) {
    const auto moved = a_.setting.moved.find(a_.wanted.name);
    if (moved == a_.setting.moved.end()) return false;
    for (const auto& [name, input] : moved->second) {
      const auto index = a_.wanted.input_index(input);
      if (name != attribute.name() || !index) continue;
      const bool like_first = a_.wanted.inputs[*index].type == a_.wanted.inputs.front().type;
      const auto* like = like_first ? a_.scope.type(a_.node.input(0)) : nullptr;
      auto tensor = attribute.type() == ::onnx::AttributeProto::FLOAT && !like_first ? ::onnx::ToTensor(attribute.f())
                                                                                     : tensor_of(attribute, like);
      if (name == "axis") tensor.clear_dims();  // DFT's has none
      put(*index, a_.writer.constant(std::move(tensor), name));
      return true;
    }
    return false;
  }

  Adapting& a_;
  ::onnx::NodeProto made_;
};

// ---- Axes counted from the end, which most operators take since opset 11

constexpr int first_with_negative_axes = 11;

bool took_no_negative_axes(std::string_view op) {
  static constexpr std::string_view operators[] = {
      "ArgMax",     "ArgMin",         "Compress", "Concat",    "Flatten",    "Gather",    "Hardmax",      "LogSoftmax",
      "OneHot",     "ReduceL1",       "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceLogSum", "ReduceLogSumExp",
      "ReduceProd", "ReduceSum",      "Slice",    "Softmax",   "Split",      "Squeeze",   "TopK",         "Unsqueeze",
      "Scatter",    "ReduceSumSquare"};
  return std::ranges::find(operators, op) != std::end(operators);
}

void count_from_front(Adapting& a, ::onnx::NodeProto& node) {
  if (a.setting.to >= first_with_negative_axes || !took_no_negative_axes(node.op_type())) return;
  const auto settle = [&](std::int64_t axis, std::size_t axes) {
    if (axis >= 0) return axis;
    const std::string& op = node.op_type();
    if ((op == "OneHot" || op == "TopK") && axis == -1) return axis;  // the default
    std::int64_t rank = a.rank(node.input(0));
    if (op == "Unsqueeze") rank += static_cast<std::int64_t>(axes);
    if (op == "OneHot") ++rank;
    return axis + rank;
  };
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.name() == "axis") attribute.set_i(settle(attribute.i(), 1));
    if (attribute.name() != "axes") continue;
    for (auto& axis : *attribute.mutable_ints()) axis = settle(axis, static_cast<std::size_t>(attribute.ints_size()));
  }
  if (node.op_type() != "Slice" || node.input_size() < 4 || node.input(3).empty()) return;
  const auto axes = a.scope.ints(node.input(3));
  if (!axes) throw Refusal{"the axes of Slice aren't constant, and may be negative, which " + version_text(10) + " doesn't have"};
  if (std::ranges::all_of(*axes, [](std::int64_t axis) { return axis >= 0; })) return;
  std::vector<std::int64_t> settled;
  for (const std::int64_t axis : *axes) settled.push_back(settle(axis, axes->size()));
  node.set_input(3, a.writer.constant(ints_tensor(settled), "axes"));
}

// ---- Types

std::string type_text(const ::onnx::TypeProto& type) {
  try {
    return *::onnx::Utils::DataTypeUtils::ToType(type);
  } catch (const std::exception&) {
    return {};
  }
}

// Whether the version takes the types of the values, as far as they are known. One parameter stands for one type.
bool takes_types(const ::onnx::NodeProto& node, const Schema& schema, const Scope& scope) {
  std::map<std::string_view, std::string> bound;
  const auto fits = [&](std::span<const onnx::Formal> formals, int index, const std::string& value) {
    const onnx::Formal* formal = onnx::formal_at(formals, static_cast<std::size_t>(index));
    const auto* type = value.empty() ? nullptr : scope.type(value);
    const std::string text = type ? type_text(*type) : "";
    if (!formal || text.empty()) return true;
    if (std::ranges::find(formal->types, text) == formal->types.end() && formal->type != text) return false;
    if (onnx::is_type(formal->type)) return true;
    const bool variadic = formal->option == onnx::Formal::Option::variadic;
    return variadic || bound.try_emplace(formal->type, text).first->second == text;
  };
  for (int i = 0; i < node.input_size(); ++i)
    if (!fits(schema.inputs, i, node.input(i))) return false;
  for (int i = 0; i < node.output_size(); ++i)
    if (!fits(schema.outputs, i, node.output(i))) return false;
  return true;
}

void check_counts(const ::onnx::NodeProto& node, const Schema& schema) {
  int outputs = 0;
  for (int i = 0; i < node.output_size(); ++i)
    if (!node.output(i).empty()) outputs = i + 1;
  if (outputs > schema.max_outputs)
    throw Refusal{node.op_type() + " gives " + std::to_string(outputs) + " results only at other opsets than this"};
  bool whole = node.input_size() >= schema.min_inputs && node.input_size() <= schema.max_inputs;
  for (std::size_t i = 0; i < schema.inputs.size() && whole; ++i)
    whole = schema.inputs[i].option != onnx::Formal::Option::single || !input_of(node, static_cast<int>(i)).empty();
  if (!whole) throw Refusal{node.op_type() + " needs inputs at " + version_text(schema.since) + " that the node doesn't have"};
}

// Nodes that a rule wrote take the types of what they read, as far as those are known.
void demand_types(const Piece& piece, const Scope& scope, int opset) {
  for (const auto& node : piece.nodes)
    if (!takes_types(node, version_at(node, opset), scope))
      throw Refusal{node.op_type() + " doesn't take these dtypes at " + version_text(opset)};
}

// The classified steps of an operator's versions.
auto changes_of(const Adapting& a) {
  return std::ranges::equal_range(a.setting.tables.table.onnx_changes(), std::string_view(a.wanted.name), {},
                                  [](const mapping::OnnxChange& change) { return std::string_view(change.op); });
}

// Each step between the two versions is classified. Opsets above the newest that is written, or below the oldest, aren't.
void demand_known_steps(const Adapting& a) {
  const int low = std::min(a.had.since, a.wanted.since), high = std::max(a.had.since, a.wanted.since);
  for (const Schema& version : onnx::versions(a.wanted.name)) {
    if (version.since <= low || version.since > high) continue;
    if (std::ranges::find(changes_of(a), version.since, &mapping::OnnxChange::to) == changes_of(a).end())
      throw Refusal{"how " + version_text(version.since) + " changed " + a.node.op_type() + " isn't known"};
  }
}

void demand_meaning(const Adapting& a) {
  if (a.settled) return;
  const int low = std::min(a.had.since, a.wanted.since), high = std::max(a.had.since, a.wanted.since);
  for (const auto& change : changes_of(a))
    if (change.change == mapping::Change::meaning && change.to > low && change.to <= high)
      throw Refusal{change.op + " changed its meaning at " + version_text(change.to) + ": " + change.why};
}

}  // namespace

std::string Adapting::input(std::string_view name) const {
  const auto index = had.input_index(name);
  return index ? input_of(node, static_cast<int>(*index)) : std::string();
}

void Adapting::set_input(std::string_view name, const std::string& value) {
  const int index = static_cast<int>(*had.input_index(name));
  while (node.input_size() <= index) node.add_input();
  node.set_input(index, value);
}

std::optional<std::vector<std::int64_t>> Adapting::ints(std::string_view input_name) const {
  return scope.ints(input(input_name));
}

void Adapting::set(::onnx::AttributeProto attribute) {
  drop(attribute.name());
  *node.add_attribute() = std::move(attribute);
}

void Adapting::drop(std::string_view attribute) {
  auto& attributes = *node.mutable_attribute();
  attributes.erase(std::remove_if(attributes.begin(), attributes.end(), [&](const auto& one) { return one.name() == attribute; }),
                   attributes.end());
}

std::int64_t Adapting::rank(const std::string& value) const {
  const auto known = scope.rank(value);
  if (!known) throw Refusal{"the rank of '" + value + "' isn't known, which " + node.op_type() + " needs at this opset"};
  return *known;
}

Refusal from_opset(const std::string& what, int opset) {
  return {what + " before " + version_text(opset), "use " + version_text(opset)};
}

Piece in_version(const ::onnx::NodeProto& node, const Scope& scope, const Setting& setting, Names& names) {
  const Schema* had = onnx::find(node.op_type(), setting.from);
  const auto is = [&](std::string_view op) { return node.op_type() == op; };
  ::onnx::NodeProto renamed = node;
  if (is("Scatter") && setting.to >= 11) renamed.set_op_type("ScatterElements");
  if (is("ScatterElements") && setting.to < 11 && string_of(node, "reduction", "none") == "none") renamed.set_op_type("Scatter");
  if (!had) throw Refusal{"ONNX has no " + node.op_type() + " at the file's " + version_text(setting.from)};
  PieceWriter writer(node, names);
  const VersionRule rule = find_version_rule(node.op_type());
  const bool replaced = (is("Upsample") && setting.to >= 10) || (is("Resize") && setting.to < 10);
  const Schema& wanted = replaced ? *had : version_at(renamed, setting.to);
  if (!replaced && &wanted == had) {
    writer.add(node);
    return writer.take();
  }
  Adapting a{.node = std::move(renamed), .had = *had, .wanted = wanted, .scope = scope, .setting = setting, .writer = writer};
  demand_known_steps(a);
  if (rule) rule(a);
  if (!a.done) {
    demand_meaning(a);
    ::onnx::NodeProto made = Placing(a).place();
    count_from_front(a, made);
    check_counts(made, wanted);
    if (takes_types(made, wanted, scope))
      writer.add(std::move(made));
    else
      return widened(made, writer.take(), scope, setting, names);
  }
  Piece piece = writer.take();
  if (a.done) demand_types(piece, scope, setting.to);
  return piece;
}

}  // namespace compatcheck::retarget
