#include "handlers/body.h"

#include <onnx/defs/tensor_proto_util.h>

#include <algorithm>
#include <set>

#include "compatcheck/error.h"
#include "process/spell_count.h"
#include "symbolic/promotion.h"

namespace compatcheck::handlers {
namespace {

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;
using Bound = std::map<std::string, onnx::Argument, std::less<>>;  // attributes that are set, keyed by name
using Scope = std::map<std::string, Value, std::less<>>;

// Functions that call functions, and bodies in bodies.
constexpr int deepest = 64;

template <class Number>
std::vector<double> as_doubles(const std::vector<Number>& of) {
  return {of.begin(), of.end()};
}
template <class Number>
Ints whole_numbers(const std::vector<Number>& of) {
  return Ints(of.begin(), of.end());
}

onnx::TensorData parsed_tensor(const TensorProto& tensor) {
  const auto dtype = onnx::dtype_from_data_type(tensor.data_type());
  if (!dtype) throw Refusal{"its row's ONNX text has a tensor of a type that isn't supported"};
  const std::vector<std::int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  const auto made = [&] {
    switch (tensor.data_type()) {
      case TensorProto::FLOAT: return onnx::make_tensor(*dtype, dims, as_doubles(::onnx::ParseData<float>(&tensor)));
      case TensorProto::DOUBLE: return onnx::make_tensor(*dtype, dims, as_doubles(::onnx::ParseData<double>(&tensor)));
      case TensorProto::INT64: return onnx::make_tensor(*dtype, dims, ::onnx::ParseData<std::int64_t>(&tensor));
      case TensorProto::INT32:
      case TensorProto::INT16:
      case TensorProto::INT8:
      case TensorProto::UINT16:
      case TensorProto::UINT8:
      case TensorProto::BOOL:
        return onnx::make_tensor(
            *dtype, dims, whole_numbers(std::vector<std::int32_t>(tensor.int32_data().begin(), tensor.int32_data().end())));
      default: throw Refusal{"its row's ONNX text has a tensor of " + std::string(ir::name(*dtype))};
    }
  }();
  if (tensor.has_raw_data()) throw Refusal{"its row's ONNX text has a tensor of raw bytes"};
  return made;
}

onnx::Argument argument_of(const AttributeProto& attribute) {
  switch (attribute.type()) {
    case AttributeProto::INT: return attribute.i();
    case AttributeProto::FLOAT: return static_cast<double>(attribute.f());
    case AttributeProto::STRING: return attribute.s();
    case AttributeProto::INTS: return Ints(attribute.ints().begin(), attribute.ints().end());
    case AttributeProto::FLOATS: return std::vector<double>(attribute.floats().begin(), attribute.floats().end());
    case AttributeProto::STRINGS: return std::vector<std::string>(attribute.strings().begin(), attribute.strings().end());
    case AttributeProto::TENSOR: return parsed_tensor(attribute.t());
    default: throw Refusal{"its row's ONNX text has the attribute " + attribute.name() + " of a kind that isn't supported"};
  }
}

// Where neither inputs nor attributes tell it: what ONNX's schemas say in words.
std::optional<DType> default_dtype(const NodeProto& node) {
  static const std::set<std::string_view> floats = {"ConstantOfShape", "RandomNormal", "RandomUniform", "SequenceEmpty"};
  static const std::set<std::string_view> windows = {"BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix"};
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == "dtype" || attribute.name() == "value") return std::nullopt;
    if (attribute.name() == "output_datatype") return onnx::dtype_from_data_type(attribute.i());
  }
  if (floats.contains(node.op_type()) || windows.contains(node.op_type())) return DType::f32;
  return node.op_type() == "Multinomial" ? std::optional(DType::i32) : std::nullopt;
}

class PutIn {
 public:
  // `as_written`: no node may need more than itself.
  PutIn(onnx::Builder& build, const onnx::FunctionText& text, DType otherwise, bool as_written)
      : build_(build), text_(text), otherwise_(otherwise), as_written_(as_written) {}

  Values function(const FunctionProto& function, const Values& inputs, const Bound& given) {
    if (++depth_ > deepest) throw Refusal{"its row's ONNX text calls functions in a circle"};
    // A list is passed member by member: members without a name in the text would be lost.
    if (inputs.size() > static_cast<std::size_t>(function.input_size()))
      throw Refusal{"its row gives " + spell_count(inputs.size(), "input") + ", " + function.name() + " in its ONNX text takes " +
                        std::to_string(function.input_size()),
                    "give a list of numbers as one input, {ints: …} or {floats: …}"};
    Bound attributes = given;
    for (const auto& attribute : function.attribute_proto())
      if (onnx::has_value(attribute) && !attributes.contains(attribute.name()))
        attributes.emplace(attribute.name(), argument_of(attribute));
    Scope scope;
    for (int i = 0; i < function.input_size(); ++i)
      scope[function.input(i)] = static_cast<std::size_t>(i) < inputs.size() ? inputs[static_cast<std::size_t>(i)] : Value{};
    nodes(function.node(), scope, attributes);
    Values outputs;
    for (const auto& output : function.output()) outputs.push_back(find(scope, output));
    --depth_;
    return outputs;
  }

 private:
  static Value find(const Scope& scope, const std::string& name) {
    if (name.empty()) return {};
    const auto found = scope.find(name);
    if (found == scope.end()) throw Refusal{"its row's ONNX text reads `" + name + "`, which nothing gives"};
    return found->second;
  }

  void nodes(const google::protobuf::RepeatedPtrField<NodeProto>& nodes, Scope& scope, const Bound& attributes) {
    for (const NodeProto& node : nodes) {
      Values inputs;
      for (const auto& input : node.input()) inputs.push_back(find(scope, input));
      const Values made = this->node(node, inputs, scope, attributes);
      for (int i = 0; i < node.output_size(); ++i)
        if (!node.output(i).empty()) scope[node.output(i)] = made.at(static_cast<std::size_t>(i));
    }
  }

  Values node(const NodeProto& node, const Values& inputs, const Scope& scope, const Bound& attributes) {
    Bound given;
    bool controls = false;
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) {
        controls = true;
      } else if (!attribute.ref_attr_name().empty()) {
        if (const auto bound = attributes.find(attribute.ref_attr_name()); bound != attributes.end())
          given.emplace(attribute.name(), bound->second);
      } else {
        given.emplace(attribute.name(), argument_of(attribute));
      }
    }
    if (const FunctionProto* called = text_.find(node.domain(), node.op_type())) return function(*called, inputs, given);
    if (controls) return control(node, inputs, scope, attributes, given);
    if (node.domain().empty() && node.op_type() == "Constant") return {constant(given)};
    Arguments arguments;
    for (const auto& [name, value] : given) arguments.push_back({name, value});
    const auto dtype = onnx::is_onnx_domain(node.domain())
                           ? default_dtype(node)
                           : std::optional(inputs.empty() || !inputs.front() ? otherwise_ : inputs.front().dtype);
    const auto name = onnx::row_name(node.domain(), node.op_type());
    if (as_written_) build_.take_emitted();
    Values made = build_.nodes(name, inputs, static_cast<std::size_t>(node.output_size()), arguments, dtype);
    if (as_written_ && build_.take_emitted().size() > 1)
      throw Refusal{name + " in the function of its row doesn't support such a dtype, in ONNX or in ONNX Runtime",
                    "cast in the function's text, or write `inline` for `function`: it casts by itself"};
    return made;
  }

  Value constant(const Bound& given) {
    if (given.size() != 1) throw Refusal{"its row's ONNX text has a Constant without a value"};
    const auto& [name, value] = *given.begin();
    const auto& held = value.variant();
    if (const auto* tensor = std::get_if<onnx::TensorData>(&held)) return build_.constant(*tensor);
    if (const auto* integer = std::get_if<std::int64_t>(&held))
      return name == "value_float" ? build_.scalar(DType::f32, static_cast<double>(*integer))
                                   : build_.scalar(DType::i64, *integer);
    if (const auto* floating = std::get_if<double>(&held)) return build_.scalar(DType::f32, *floating);
    if (const auto* ints = std::get_if<Ints>(&held)) return build_.ints(*ints);
    if (const auto* floats = std::get_if<std::vector<double>>(&held))
      return build_.constant(onnx::make_tensor(DType::f32, {static_cast<std::int64_t>(floats->size())}, *floats));
    throw Refusal{"its row's ONNX text has a Constant of strings"};
  }

  // If, Loop and Scan: their bodies see the values around them.
  Values control(const NodeProto& node, const Values& inputs, const Scope& scope, const Bound& attributes, const Bound& given) {
    if (++depth_ > deepest) throw Refusal{"its row's ONNX text nests bodies too deep"};
    if (!build_.has(node.op_type()) || !node.domain().empty())
      throw Refusal{"its row's ONNX text has bodies in " + onnx::row_name(node.domain(), node.op_type())};
    Arguments arguments;
    for (const auto& [name, value] : given) arguments.push_back({name, value});
    std::vector<DType> dtypes;
    std::vector<bool> sequences;
    const bool loop = node.op_type() == "Loop";
    for (const auto& attribute : node.attribute()) {
      if (!attribute.has_g()) continue;
      const auto body = build_.begin_body();
      Values leaving = graph(attribute.g(), inputs, scope, attributes, loop);
      for (Value& value : leaving) {
        const bool made = std::ranges::any_of(
            body->nodes, [&](const onnx::Node& one) { return std::ranges::find(one.outputs, value.id) != one.outputs.end(); });
        if (!made) value = build_.again(value);
      }
      const auto before = std::exchange(dtypes, {});
      sequences.clear();
      for (std::size_t i = loop ? 1 : 0; i < leaving.size(); ++i)
        dtypes.push_back(leaving[i].dtype), sequences.push_back(leaving[i].sequence);
      if (!before.empty() && before != dtypes)
        throw Refusal{"the branches of an If in its row's ONNX text give different dtypes", "cast in the text"};
      build_.end_body(leaving);
      arguments.push_back({attribute.name(), body});
    }
    --depth_;
    return build_.control(node.op_type(), inputs, arguments, dtypes, sequences);
  }

  // A Loop's body has the inputs (iteration, condition, carried…), a Scan's the carried and scanned values, an If's none.
  Values graph(const GraphProto& graph, const Values& inputs, Scope scope, const Bound& attributes, bool loop) {
    static const std::vector<onnx::Dimension> single;
    for (int i = 0; i < graph.input_size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::string& name = graph.input(i).name();
      if (loop && i < 2)
        scope[name] = build_.body_input(i == 0 ? DType::i64 : DType::boolean, false, single);
      else
        scope[name] = build_.body_input(inputs.at(at).dtype, inputs.at(at).sequence);
    }
    for (const auto& initializer : graph.initializer()) scope[initializer.name()] = build_.constant(parsed_tensor(initializer));
    nodes(graph.node(), scope, attributes);
    Values leaving;
    for (const auto& output : graph.output()) leaving.push_back(find(scope, output.name()));
    return leaving;
  }

  onnx::Builder& build_;
  const onnx::FunctionText& text_;
  DType otherwise_;
  bool as_written_;
  int depth_ = 0;
};

// The nodes of a text's function. Throws Refusal where they don't fit together.
Values put_in(onnx::Builder& build, const onnx::FunctionText& text, const Values& inputs, const Arguments& attributes,
              DType otherwise, bool as_written) {
  Bound bound;
  for (const auto& [name, value] : attributes) bound.emplace(name, value);
  try {
    return PutIn(build, text, otherwise, as_written).function(text.called(), inputs, bound);
  } catch (const InternalError& error) {
    throw Refusal{"the ONNX text of its row doesn't fit this call: " + std::string(error.what()),
                  "cast in the text, or say with `when` which calls the row takes"};
  } catch (const std::logic_error& error) {  // invalid index into a list, or wrong attribute type
    throw Refusal{"the ONNX text of its row doesn't fit this call (" + std::string(error.what()) + ")"};
  }
}

}  // namespace

Values body_nodes(onnx::Builder& build, const mapping::Body& body, const Values& inputs, const Arguments& attributes,
                  DType otherwise) {
  return put_in(build, *body.functions, inputs, attributes, otherwise, false);
}

Values call_body(Emission& e, const mapping::Body& body, const Values& inputs, const Arguments& attributes, std::size_t outputs) {
  const onnx::FunctionText& text = *body.functions;
  onnx::Model& model = e.build.model();
  if (body.is_inlined || model.inline_functions)
    return put_in(e.build, text, inputs, attributes, symbolic::real_part(e.output_dtype()), false);
  // Its nodes, on trial in a model of their own, say what fits and which dtypes leave.
  onnx::Model trial;
  trial.opset = model.opset;
  trial.versions = model.versions;
  onnx::Builder builder = e.build.in(trial);
  Values stand_ins;
  for (const Value& input : inputs) {
    if (!input)
      stand_ins.push_back({});
    else
      stand_ins.push_back(
          {trial.add_value({.kind = input.sequence ? onnx::ValueInfo::Kind::sequence : onnx::ValueInfo::Kind::tensor,
                            .dtype = input.dtype,
                            .shape = {},
                            .name = {}}),
           input.dtype, input.sequence});
  }
  Values leaving;
  try {
    leaving = put_in(builder, text, stand_ins, attributes, symbolic::real_part(e.output_dtype()), true);
  } catch (...) {
    e.build.narrow(builder.range());  // the refusal holds at all opsets that gave the same answers
    throw;
  }
  e.build.narrow(builder.range());
  Values made = e.build.nodes(text.name(), inputs, outputs, attributes, symbolic::real_part(e.output_dtype()));
  for (std::size_t i = 0; i < outputs; ++i) {
    made[i].dtype = model.values[made[i].id].dtype = leaving.at(i).dtype;
    made[i].sequence = leaving.at(i).sequence;
    if (made[i].sequence) model.values[made[i].id].kind = onnx::ValueInfo::Kind::sequence;
  }
  e.build.add_functions(body.functions);
  return made;
}

}  // namespace compatcheck::handlers
