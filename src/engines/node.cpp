#include "engines/node.h"

#include <algorithm>
#include <set>

#include "onnx/proto.h"

namespace compatcheck::engines {
namespace {

constexpr std::int64_t most_elements = 4096;  // what conditions look at

std::optional<std::vector<double>> small_elements(const onnx::TensorData& data) {
  if (data.elements() > most_elements) return std::nullopt;
  if (const auto ints = onnx::as_ints(data)) return std::vector<double>(ints->begin(), ints->end());
  return onnx::as_floats(data);
}

void read_outputs(const onnx::Graph& graph, Values& values) {
  for (const onnx::ValueId output : graph.outputs) values.used[output] = true;
  for (const auto& node : graph.nodes)
    for (const auto& attribute : node.attributes)
      if (const auto* body = std::get_if<std::shared_ptr<onnx::Graph>>(&attribute.value)) read_outputs(**body, values);
}

bool is_random(const onnx::Node& node) {
  return node.op.starts_with("Random") || node.op == "Bernoulli" || node.op == "Multinomial" || node.op == "Dropout";
}

bool folds_from_constants(const onnx::Node& node, const Values& values) {
  if (!onnx::is_own_domain(node.domain) || is_random(node)) return false;
  const bool has_bodies = std::ranges::any_of(node.attributes, [](const auto& attribute) {
    return std::holds_alternative<std::shared_ptr<onnx::Graph>>(attribute.value);
  });
  return !has_bodies && std::ranges::all_of(node.inputs, [&](const onnx::ValueId input) {
    return input == onnx::absent || values.constants.contains(input) || values.folds[input];
  });
}

Operand operand_of(onnx::ValueId id, const onnx::Model& model, const Values& values) {
  if (id == onnx::absent) return {};
  const onnx::ValueInfo& info = model.values[id];
  Operand made{.given = true, .sequence = info.kind == onnx::ValueInfo::Kind::sequence, .folds = values.folds[id]};
  if (!info.untyped) made.dtype = info.dtype;
  made.shape = info.shape;
  if (const auto found = values.constants.find(id); found != values.constants.end()) {
    made.constant = true;
    made.elements = small_elements(*found->second);
    made.shape.emplace();
    for (const std::int64_t dim : found->second->dims) made.shape->push_back({dim, {}});
  }
  return made;
}

template <class Items>
Attribute listed(std::string name, const Items& items) {
  Attribute made{.name = std::move(name), .list = true};
  made.values.assign(items.begin(), items.end());
  return made;
}

Attribute attribute_of(const onnx::NodeAttribute& attribute) {
  return std::visit(
      [&]<class T>(const T& value) -> Attribute {
        if constexpr (std::same_as<T, std::int64_t> || std::same_as<T, double> || std::same_as<T, std::string>)
          return {.name = attribute.name, .values = {value}};
        else if constexpr (requires { value.front(); })
          return listed(attribute.name, value);
        else
          return {.name = attribute.name, .opaque = true};
      },
      attribute.value);
}

void find_schema(Node& node, int version) {
  node.schema = onnx::find(node.op, version, node.domain);
  node.version = node.schema ? node.schema->since : version;
}

// ---- of protos

Attribute attribute_of(const ::onnx::AttributeProto& proto) {
  using Proto = ::onnx::AttributeProto;
  switch (proto.type()) {
    case Proto::INT: return {.name = proto.name(), .values = {std::int64_t{proto.i()}}};
    case Proto::FLOAT: return {.name = proto.name(), .values = {double{proto.f()}}};
    case Proto::STRING: return {.name = proto.name(), .values = {proto.s()}};
    case Proto::INTS: return listed(proto.name(), std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end()));
    case Proto::FLOATS: return listed(proto.name(), std::vector<double>(proto.floats().begin(), proto.floats().end()));
    case Proto::STRINGS: return listed(proto.name(), proto.strings());
    default: return {.name = proto.name(), .opaque = true};
  }
}

using Types = std::map<std::string, const ::onnx::TypeProto*>;

class ProtoNodes {
 public:
  explicit ProtoNodes(const ::onnx::ModelProto& model) : model_(model) {
    read_values(model.graph());
    for_each(model.graph().node(), [&](const ::onnx::NodeProto& node) {
      for (const auto& input : node.input()) read_.insert(input);
    });
  }

  std::vector<Node> take() {
    std::vector<Node> nodes;
    for_each(model_.graph().node(), [&](const ::onnx::NodeProto& node) { nodes.push_back(node_of(node)); });
    return nodes;
  }

 private:
  template <class Nodes, class Visit>
  void for_each(const Nodes& nodes, Visit&& visit) {
    for (const auto& node : nodes) {
      visit(node);
      for (const auto& attribute : node.attribute())
        if (attribute.has_g()) for_each(attribute.g().node(), visit);
    }
  }

  void read_values(const ::onnx::GraphProto& graph) {
    for (const auto* values : {&graph.input(), &graph.output(), &graph.value_info()})
      for (const auto& value : *values) types_[value.name()] = &value.type();
    for (const auto& output : graph.output()) read_.insert(output.name());
    for (const auto& node : graph.node()) {
      if (node.op_type() == "Constant" && node.output_size() > 0) constants_.insert(node.output(0));
      for (const auto& attribute : node.attribute())
        if (attribute.has_g()) read_values(attribute.g());
    }
    for (const auto& initializer : graph.initializer()) constants_.insert(initializer.name());
  }

  int version_of(const std::string& domain) const {
    for (const auto& one : model_.opset_import())
      if (one.domain() == domain || (onnx::is_own_domain(one.domain()) && onnx::is_own_domain(domain)))
        return static_cast<int>(one.version());
    return 1;
  }

  Operand operand_of(const std::string& name, bool given) const {
    Operand made{.given = given, .constant = constants_.contains(name)};
    const auto found = types_.find(name);
    if (found == types_.end()) return made;
    const auto* type = found->second;
    if (type->has_sequence_type()) {
      made.sequence = true;
      type = &type->sequence_type().elem_type();
    }
    if (!type->has_tensor_type()) return made;
    made.dtype = onnx::dtype_from_data_type(type->tensor_type().elem_type());
    if (!type->tensor_type().has_shape()) return made;
    made.shape.emplace();
    for (const auto& dim : type->tensor_type().shape().dim())
      made.shape->push_back({dim.has_dim_value() ? std::optional(dim.dim_value()) : std::nullopt, dim.dim_param()});
    return made;
  }

  Node node_of(const ::onnx::NodeProto& proto) const {
    Node made;
    made.op = proto.op_type();
    made.domain = proto.domain();
    find_schema(made, version_of(made.domain));
    for (const auto& input : proto.input()) made.inputs.push_back(operand_of(input, !input.empty()));
    for (const auto& output : proto.output())
      made.outputs.push_back(operand_of(output, !output.empty() && read_.contains(output)));
    for (const auto& attribute : proto.attribute()) made.attributes.push_back(attribute_of(attribute));
    made.alone = [this_node = proto, types = typed(proto), imports = model_.opset_import(), functions = model_.functions()] {
      ::onnx::ModelProto model;
      model.set_ir_version(::onnx::IR_VERSION);
      *model.mutable_opset_import() = imports;
      *model.mutable_functions() = functions;
      model.mutable_graph()->set_name("alone");
      *model.mutable_graph()->add_node() = this_node;
      for (const auto& [name, type] : types) {
        auto* input = model.mutable_graph()->add_input();
        input->set_name(name);
        *input->mutable_type() = type;
      }
      for (const auto& output : this_node.output())
        if (!output.empty()) model.mutable_graph()->add_output()->set_name(output);
      return model;
    };
    return made;
  }

  std::map<std::string, ::onnx::TypeProto> typed(const ::onnx::NodeProto& proto) const {
    std::map<std::string, ::onnx::TypeProto> types;
    for (const auto& input : proto.input())
      if (const auto found = types_.find(input); found != types_.end()) types[input] = *found->second;
    return types;
  }

  const ::onnx::ModelProto& model_;
  Types types_;
  std::set<std::string> read_, constants_;
};

}  // namespace

const Attribute* Node::attribute(std::string_view name) const {
  const auto found = std::ranges::find(attributes, name, &Attribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

Values values_of(const onnx::Model& model) {
  Values values{.constants = {}, .used = std::vector<bool>(model.values.size()), .folds = std::vector<bool>(model.values.size())};
  for (const auto& initializer : model.initializers)
    if (std::ranges::find(model.graph.inputs, initializer.value) == model.graph.inputs.end())
      values.constants.emplace(initializer.value, &initializer.data);
  read_outputs(model.graph, values);
  onnx::for_each_node(model.graph, [&](const onnx::Node& node) {
    for (const onnx::ValueId input : node.inputs) values.used[input] = true;
    const bool folds = folds_from_constants(node, values);
    for (const onnx::ValueId output : node.outputs)
      if (output != onnx::absent) values.folds[output] = folds;
  });
  return values;
}

Node node_of(const onnx::Node& node, const onnx::Model& model, const Values& values) {
  Node made;
  made.op = node.op;
  made.domain = node.domain;
  find_schema(made, model.version_of(node.domain));
  for (const onnx::ValueId input : node.inputs) made.inputs.push_back(operand_of(input, model, values));
  for (const onnx::ValueId output : node.outputs) {
    made.outputs.push_back(operand_of(output, model, values));
    made.outputs.back().given = output != onnx::absent && values.used[output];
  }
  for (const auto& attribute : node.attributes) made.attributes.push_back(attribute_of(attribute));
  made.alone = [&node, &model] { return onnx::to_proto(node, model); };
  return made;
}

std::vector<Node> nodes_of(const ::onnx::ModelProto& model) { return ProtoNodes(model).take(); }

}  // namespace compatcheck::engines
