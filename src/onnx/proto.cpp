#include "onnx/proto.h"

#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "compatcheck/error.h"
#include "onnx/carried_sequences.h"
#include "onnx/function_text.h"

namespace compatcheck::onnx {
namespace {

void set_data(::onnx::TensorProto& proto, const TensorData& data) {
  proto.set_data_type(data_type(data.dtype));
  for (const std::int64_t dim : data.dims) proto.add_dims(dim);
  if (!data.view) proto.set_raw_data(data.bytes.data(), data.bytes.size());
}

class Writer {
 public:
  explicit Writer(const Model& model) : model_(model) {}

  ::onnx::ModelProto write() {
    ::onnx::ModelProto proto;
    auto* opset = proto.add_opset_import();
    opset->set_domain("");
    opset->set_version(model_.opset);
    for (const auto& [domain, version] : model_.domains) import(proto, domain);
    proto.set_producer_name("compatcheck");
    proto.set_producer_version(model_.producer_version);
    auto* graph = proto.mutable_graph();
    graph->set_name("main");
    write(model_.graph, *graph);
    for (const Initializer& initializer : model_.initializers) {
      auto* tensor = graph->add_initializer();
      tensor->set_name(name(initializer.value));
      set_data(*tensor, initializer.data);
    }
    add_functions(proto);
    return proto;
  }

  ::onnx::ModelProto write_alone(const Node& node) {
    ::onnx::ModelProto proto;
    auto* opset = proto.add_opset_import();
    opset->set_version(model_.opset);
    import(proto, node.domain);
    auto* graph = proto.mutable_graph();
    graph->set_name("alone");
    write(node, *graph->add_node());
    std::set<ValueId> inputs(node.inputs.begin(), node.inputs.end());
    for (const ValueId input : inputs)
      if (input != absent) write(input, *graph->add_input());
    for (const ValueId output : node.outputs)
      if (output != absent) write(output, *graph->add_output());
    add_functions(proto);
    return proto;
  }

 private:
  template <class Proto>
  void import(Proto& proto, const std::string& domain) const {
    const auto& imports = proto.opset_import();
    if (std::ranges::any_of(imports, [&](const auto& one) { return one.domain() == domain; })) return;
    auto* made = proto.add_opset_import();
    made->set_domain(domain);
    made->set_version(model_.version_of(domain));
  }

  // Those that nodes call and those that these call, each once. A runtime may put them in at the model's opset whatever they
  // import, so they import that: the tables say up to where they mean the same.
  void add_functions(::onnx::ModelProto& proto) const {
    std::set<const ::onnx::FunctionProto*> called;
    const auto call = [&](const auto& self, const FunctionText& text, std::string_view domain, std::string_view name) -> void {
      const auto* function = text.find(domain, name);
      if (!function || !called.insert(function).second || stated(proto, *function)) return;
      for_each_proto(function->node(), [&](const ::onnx::NodeProto& node) { self(self, text, node.domain(), node.op_type()); });
      auto& made = *proto.add_functions();
      made = *function;
      made.clear_opset_import();
      import(made, "");
      for_each_proto(made.node(), [&](const ::onnx::NodeProto& node) { import(made, node.domain()); });
      for (const auto& one : made.opset_import()) import(proto, one.domain());
      import(proto, made.domain());
    };
    for_each_node(model_.graph, [&](const Node& node) {
      for (const auto& text : model_.functions) call(call, *text, node.domain, node.op);
    });
  }

  static bool stated(const ::onnx::ModelProto& proto, const ::onnx::FunctionProto& function) {
    return std::ranges::any_of(proto.functions(), [&](const auto& other) {
      return other.domain() == function.domain() && other.name() == function.name();
    });
  }

  const std::string& name(ValueId value) const { return model_.values[value].name; }

  void write(const Graph& graph, ::onnx::GraphProto& proto) const {
    for (const Node& node : graph.nodes) write(node, *proto.add_node());
    for (const ValueId input : graph.inputs) write(input, *proto.add_input());
    for (const ValueId output : graph.outputs) write(output, *proto.add_output());
    for (const Node& node : graph.nodes)
      for (const ValueId output : node.outputs)
        if (model_.values[output].stated && !model_.values[output].untyped &&
            std::ranges::find(graph.outputs, output) == graph.outputs.end())
          write(output, *proto.add_value_info());
  }

  void write(ValueId value, ::onnx::ValueInfoProto& proto) const {
    const ValueInfo& info = model_.values[value];
    proto.set_name(info.name);
    if (info.untyped) return;
    auto* type = proto.mutable_type();
    if (info.optional) type = type->mutable_optional_type()->mutable_elem_type();
    if (info.kind == ValueInfo::Kind::sequence) type = type->mutable_sequence_type()->mutable_elem_type();
    type->mutable_tensor_type()->set_elem_type(data_type(info.dtype));
    if (!info.shape) return;
    auto* shape = type->mutable_tensor_type()->mutable_shape();
    for (const Dimension& dim : *info.shape) {
      auto* made = shape->add_dim();
      if (dim.size)
        made->set_dim_value(*dim.size);
      else if (!dim.name.empty())
        made->set_dim_param(dim.name);
    }
  }

  void write(const Node& node, ::onnx::NodeProto& proto) const {
    proto.set_op_type(node.op);
    proto.set_domain(node.domain);
    proto.set_name(node.name);
    for (const ValueId input : node.inputs) proto.add_input(name(input));
    for (const ValueId output : node.outputs) proto.add_output(name(output));
    for (const NodeAttribute& attribute : node.attributes) write(attribute, *proto.add_attribute());
  }

  void write(const NodeAttribute& attribute, ::onnx::AttributeProto& proto) const {
    using Proto = ::onnx::AttributeProto;
    proto.set_name(attribute.name);
    const AttributeValue& value = attribute.value;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      proto.set_type(Proto::INT);
      proto.set_i(*integer);
    } else if (const auto* floating = std::get_if<double>(&value)) {
      proto.set_type(Proto::FLOAT);
      proto.set_f(static_cast<float>(*floating));
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      proto.set_type(Proto::STRING);
      proto.set_s(*text);
    } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value)) {
      proto.set_type(Proto::INTS);
      for (const std::int64_t one : *ints) proto.add_ints(one);
    } else if (const auto* floats = std::get_if<std::vector<double>>(&value)) {
      proto.set_type(Proto::FLOATS);
      for (const double one : *floats) proto.add_floats(static_cast<float>(one));
    } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
      proto.set_type(Proto::STRINGS);
      for (const std::string& one : *texts) proto.add_strings(one);
    } else if (const auto* data = std::get_if<TensorData>(&value)) {
      proto.set_type(Proto::TENSOR);
      set_data(*proto.mutable_t(), *data);
    } else if (const auto* word = std::get_if<TextData>(&value)) {
      proto.set_type(Proto::TENSOR);
      proto.mutable_t()->set_data_type(::onnx::TensorProto::STRING);
      proto.mutable_t()->add_string_data(word->text);
    } else if (const auto* type = std::get_if<TypeData>(&value)) {
      proto.set_type(Proto::TYPE_PROTO);
      auto* made = type->sequence ? proto.mutable_tp()->mutable_sequence_type()->mutable_elem_type() : proto.mutable_tp();
      made->mutable_tensor_type()->set_elem_type(data_type(type->dtype));
    } else {
      proto.set_type(Proto::GRAPH);
      const auto& body = std::get<std::shared_ptr<Graph>>(value);
      proto.mutable_g()->set_name(attribute.name);
      write(*body, *proto.mutable_g());
    }
  }

  const Model& model_;
};

// The lowest IR version that knows the opset; before 4 every initializer must be an input, too.
constexpr int first_version_with_functions = 8;
// The checker wants every input and output to have a type with a shape. Where an operator that isn't ONNX's makes or reads it
// there may be none, and nothing to check.
void leave_out_untyped(::onnx::GraphProto& graph) {
  const auto is_open = [](const ::onnx::ValueInfoProto& value) {
    return !value.has_type() || (value.type().has_tensor_type() && !value.type().tensor_type().has_shape());
  };
  for (auto& input : *graph.mutable_input())
    if (is_open(input))
      input.mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::FLOAT),
          input.mutable_type()->mutable_tensor_type()->mutable_shape();
  auto& outputs = *graph.mutable_output();
  outputs.erase(std::remove_if(outputs.begin(), outputs.end(), is_open), outputs.end());
}

}  // namespace

::onnx::ModelProto to_proto(const Model& model) {
  auto proto = Writer(model).write();
  proto.set_ir_version(ir_version(model));
  return proto;
}

::onnx::ModelProto to_proto(const Node& node, const Model& model) {
  auto proto = Writer(model).write_alone(node);
  proto.set_ir_version(ir_version(model));
  return proto;
}

int ir_version(int opset) {
  // Source: onnx/docs/Versioning.md, the table of released versions.
  static constexpr std::pair<int, int> first_opset[] = {{9, 4},  {10, 5},  {11, 6},  {12, 7},  {15, 8},
                                                        {19, 9}, {21, 10}, {23, 11}, {24, 12}, {25, 13}};
  int version = 4;
  for (const auto& [from, with] : first_opset)
    if (opset >= from) version = std::max(version, with);
  return version;
}

int ir_version(const Model& model) {
  const auto carried = [&](const Node& node) {
    return std::ranges::any_of(model.functions, [&](const auto& text) { return text->find(node.domain, node.op); });
  };
  bool functions = false;
  for_each_node(model.graph, [&](const Node& node) { functions = functions || carried(node); });
  return std::max(ir_version(model.opset), functions ? first_version_with_functions : 0);
}

namespace {

// The skeleton with initializers that lie in a file stood in for by typed inputs.
::onnx::ModelProto stand_in(const ::onnx::ModelProto& skeleton, const Model& model) {
  ::onnx::ModelProto copy = skeleton;
  auto& initializers = *copy.mutable_graph()->mutable_initializer();
  std::set<std::string> far, inputs;
  for (const auto& input : skeleton.graph().input()) inputs.insert(input.name());
  for (const Initializer& initializer : model.initializers)
    if (initializer.data.view) far.insert(model.values[initializer.value].name);
  for (const auto& initializer : initializers) {
    if (!far.contains(initializer.name()) || inputs.contains(initializer.name())) continue;
    auto* input = copy.mutable_graph()->add_input();
    input->set_name(initializer.name());
    auto* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(initializer.data_type());
    for (const auto dim : initializer.dims()) type->mutable_shape()->add_dim()->set_dim_value(dim);
    if (initializer.dims().empty()) type->mutable_shape();
  }
  leave_out_untyped(*copy.mutable_graph());
  initializers.erase(
      std::remove_if(initializers.begin(), initializers.end(), [&](const auto& one) { return far.contains(one.name()); }),
      initializers.end());
  return copy;
}

// onnx numbers the sizes that it can't tell: "unk__3".
bool is_numbered(const ::onnx::TensorShapeProto_Dimension& dim) { return dim.dim_param().starts_with("unk__"); }

using Shapes = std::unordered_map<std::string_view, const ::onnx::TensorShapeProto*>;

// Bodies' too: names are unique in the model.
void collect_shapes(const ::onnx::GraphProto& graph, Shapes& shapes) {
  for (const auto& value : graph.value_info())
    if (value.type().has_tensor_type() && value.type().tensor_type().has_shape())
      shapes.emplace(value.name(), &value.type().tensor_type().shape());
  for (const auto& node : graph.node())
    for (const auto& attribute : node.attribute())
      if (attribute.has_g()) collect_shapes(attribute.g(), shapes);
}

// Without types that inference finds where a node isn't ONNX's: what isn't known stays so.
std::optional<::onnx::ModelProto> inferred(const ::onnx::ModelProto& skeleton, const Model& model, bool through_values) {
  ::onnx::ModelProto copy = stand_in(skeleton, model);
  return infer_types(copy, through_values) ? std::optional(std::move(copy)) : std::nullopt;
}

void take_shapes(Model& model, const ::onnx::GraphProto& graph) {
  Shapes shapes;
  collect_shapes(graph, shapes);
  for (ValueInfo& value : model.values) {
    const auto found = shapes.find(value.name);
    if (value.shape || value.name.empty() || found == shapes.end()) continue;
    value.shape.emplace();
    for (const auto& dim : found->second->dim()) value.shape->push_back(dimension_of(dim));
  }
}

}  // namespace

bool infer_types(::onnx::ModelProto& model, bool through_values) {
  for (const bool checks : {true, false}) {  // only with checks the bodies of GroupNormalization and others are looked at
    ::onnx::ModelProto typed = model;
    try {
      ::onnx::shape_inference::InferShapes(typed, ::onnx::OpSchemaRegistry::Instance(),
                                           ::onnx::ShapeInferenceOptions(checks, 0, through_values));
      model = std::move(typed);
      return true;
    } catch (const std::exception&) {
    }
  }
  return false;
}

Dimension dimension_of(const ::onnx::TensorShapeProto_Dimension& dim) {
  if (dim.has_dim_value()) return {dim.dim_value(), {}};
  return {std::nullopt, is_numbered(dim) ? "" : dim.dim_param()};
}

void infer_shapes(Model& model, bool through_values) {
  if (const auto copy = inferred(to_proto(model), model, through_values)) take_shapes(model, copy->graph());
}

void infer_shapes(Model& model, const KnownShapes& shapes) {
  ::onnx::ModelProto skeleton = to_proto(model);
  const auto copy = inferred(skeleton, model, false);
  if (!copy) return;
  state_types(skeleton, *copy, model, shapes);
  const auto read = inferred(skeleton, model, true);
  take_shapes(model, read ? read->graph() : skeleton.graph());
}

::onnx::ModelProto check(const ::onnx::ModelProto& skeleton, const Model& model) {
  ::onnx::ModelProto copy = stand_in(skeleton, model);
  try {
    ::onnx::checker::check_model(copy);
    ::onnx::shape_inference::InferShapes(copy, ::onnx::OpSchemaRegistry::Instance(),
                                         ::onnx::ShapeInferenceOptions(true, 1, false));
    return copy;
  } catch (const std::exception& error) {
    if (skeleton.functions_size() > 0)
      throw TableError(std::string("a function of the mapping rows doesn't fit the calls that it stands for: ") + error.what());
    throw InternalError(std::string("the ONNX model isn't valid: ") + error.what());
  }
}

namespace {

// The types of a model's values, written where they are missing.
class TypeStatement {
 public:
  TypeStatement(const ::onnx::GraphProto& graph, const Model& model, const KnownShapes& shapes)
      : names_hold_(model.opset >= slice_clears_names), open_(of_carried_sequences(graph)) {
    for (const auto& [value, dims] : shapes) known_.emplace(model.values[value].name, &dims);
  }

  void state(::onnx::GraphProto& graph, const ::onnx::GraphProto& inferred) {
    std::unordered_set<std::string> stated;
    for (const auto* values : {&graph.input(), &graph.output(), &graph.value_info()})
      for (const auto& value : *values) stated.insert(value.name());
    std::unordered_map<std::string, const ::onnx::TypeProto*> types;
    for (const auto& value : inferred.value_info()) types.emplace(value.name(), &value.type());
    for (const auto& node : graph.node())
      for (const auto& name : node.output())
        if (const auto type = types.find(name); type != types.end() && stated.insert(name).second) {
          auto& made = *graph.add_value_info();
          made.set_name(name);
          *made.mutable_type() = *type->second;
          if (open_.contains(name)) forget_sizes(*made.mutable_type());
          if (made.type().has_tensor_type()) settle(*made.mutable_type()->mutable_tensor_type(), name);
          if (made.type().has_sequence_type()) clear_names(*made.mutable_type()->mutable_sequence_type()->mutable_elem_type());
        }
    bodies(graph, inferred);
  }

 private:
  static void forget_sizes(::onnx::TypeProto& type) {
    if (type.has_optional_type()) return forget_sizes(*type.mutable_optional_type()->mutable_elem_type());
    if (type.has_sequence_type()) return forget_sizes(*type.mutable_sequence_type()->mutable_elem_type());
    if (type.has_tensor_type()) type.mutable_tensor_type()->clear_shape();
  }

  // The stand-in has the same nodes.
  void bodies(::onnx::GraphProto& graph, const ::onnx::GraphProto& inferred) {
    for (int n = 0; n < std::min(graph.node_size(), inferred.node_size()); ++n)
      for (int a = 0; a < std::min(graph.node(n).attribute_size(), inferred.node(n).attribute_size()); ++a)
        if (auto& attribute = *graph.mutable_node(n)->mutable_attribute(a); attribute.has_g())
          state(*attribute.mutable_g(), inferred.node(n).attribute(a).g());
  }

  // Members of a list may differ in a size that inference numbered.
  bool says_nothing(const ::onnx::TensorShapeProto_Dimension& dim) const { return !names_hold_ || is_numbered(dim); }

  void clear_names(::onnx::TypeProto& member) const {
    if (!member.has_tensor_type() || !member.tensor_type().has_shape()) return;
    for (auto& dim : *member.mutable_tensor_type()->mutable_shape()->mutable_dim())
      if (says_nothing(dim)) dim.clear_dim_param();
  }

  void settle(::onnx::TypeProto_Tensor& type, const std::string& name) const {
    const auto found = known_.find(name);
    const std::vector<Dimension>* known = found == known_.end() ? nullptr : found->second;
    if (!type.has_shape()) {
      if (!known) return;
      for (std::size_t i = 0; i < known->size(); ++i) type.mutable_shape()->add_dim();
      type.mutable_shape();
    }
    auto& shape = *type.mutable_shape();
    if (known && static_cast<int>(known->size()) != shape.dim_size()) known = nullptr;
    for (int i = 0; i < shape.dim_size(); ++i) {
      auto& dim = *shape.mutable_dim(i);
      if (says_nothing(dim)) dim.clear_dim_param();
      if (dim.has_dim_value() || !dim.dim_param().empty() || !known) continue;
      const Dimension& fact = (*known)[static_cast<std::size_t>(i)];
      if (fact.size)
        dim.set_dim_value(*fact.size);
      else if (names_hold_ && !fact.name.empty())
        dim.set_dim_param(fact.name);
    }
  }

  // Before, onnx's inference says that a slice is as long as what it was cut from. ONNX Runtime infers the same, and gives one
  // buffer to values whose sizes have the same name.
  static constexpr int slice_clears_names = 11;

  bool names_hold_;
  std::unordered_set<std::string> open_;  // inference tells their sizes wrong
  std::unordered_map<std::string_view, const std::vector<Dimension>*> known_;
};

}  // namespace

void state_types(::onnx::ModelProto& skeleton, const ::onnx::ModelProto& inferred, const Model& model,
                 const KnownShapes& shapes) {
  TypeStatement(skeleton.graph(), model, shapes).state(*skeleton.mutable_graph(), inferred.graph());
}

}  // namespace compatcheck::onnx
