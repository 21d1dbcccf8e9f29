#include "engines/node.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "engines/reading/other_types.h"
#include "onnx/proto.h"

namespace compatcheck::engines {
namespace {

constexpr std::int64_t most_elements = 4096;  // largest constant that conditions read

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

bool is_random(std::string_view op) {
  return op.starts_with("Random") || op == "Bernoulli" || op == "Multinomial" || op == "Dropout";
}

bool folds_from_constants(const onnx::Node& node, const Values& values) {
  if (!onnx::is_own_domain(node.domain) || is_random(node.op)) return false;
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

// Null where the elements aren't in the message, or are many.
std::optional<std::vector<double>> small_elements(const ::onnx::TensorProto& proto) {
  if (!proto.unknown_fields().empty() || proto.data_location() == ::onnx::TensorProto::EXTERNAL) return std::nullopt;
  const auto dtype = onnx::dtype_from_data_type(proto.data_type());
  std::int64_t elements = 1;
  for (const auto dim : proto.dims())
    if (dim < 0 || (elements *= std::max<std::int64_t>(dim, 1)) > most_elements) return std::nullopt;
  const auto listed = [](const auto& items) { return std::vector<double>(items.begin(), items.end()); };
  if (proto.float_data_size()) return listed(proto.float_data());
  if (proto.double_data_size()) return listed(proto.double_data());
  if (proto.int64_data_size()) return listed(proto.int64_data());
  if (!dtype) return std::nullopt;
  onnx::TensorData data{.dtype = *dtype, .dims = {proto.dims().begin(), proto.dims().end()}, .bytes = {}};
  data.bytes.assign(proto.raw_data().begin(), proto.raw_data().end());
  if (data.bytes.size() != static_cast<std::size_t>(data.elements()) * ir::element_bytes(*dtype)) return std::nullopt;
  return small_elements(data);
}

constexpr int first_version_of_constants = 4;  // IR version: before it every initializer was an input, too

// A graph, or a body in it, which sees the names around it.
struct ProtoScope {
  const ProtoScope* around = nullptr;
  std::map<std::string, const ::onnx::TypeProto*> types{};
  std::map<std::string, const ::onnx::TensorProto*> constants{};  // null: its kind isn't read
  std::set<std::string> folds{};

  const ::onnx::TypeProto* type(const std::string& name) const {
    for (const ProtoScope* scope = this; scope; scope = scope->around)
      if (const auto found = scope->types.find(name); found != scope->types.end()) return found->second;
    return nullptr;
  }
  std::optional<const ::onnx::TensorProto*> constant(const std::string& name) const {
    for (const ProtoScope* scope = this; scope; scope = scope->around)
      if (const auto found = scope->constants.find(name); found != scope->constants.end()) return found->second;
    return std::nullopt;
  }
  bool folded(const std::string& name) const {
    for (const ProtoScope* scope = this; scope; scope = scope->around)
      if (scope->folds.contains(name)) return true;
    return false;
  }
};

class ProtoNodes {
 public:
  ProtoNodes(const ::onnx::ModelProto& model, ModelIs what) : model_(model), what_(what) {
    note_reads(model.graph());
    *around_.mutable_opset_import() = model.opset_import();
    *around_.mutable_functions() = model.functions();
    around_.set_ir_version(::onnx::IR_VERSION);
  }

  std::vector<Node> take() {
    shared_ = std::make_shared<const ::onnx::ModelProto>(std::move(around_));
    visit(model_.graph(), nullptr);
    return std::move(nodes_);
  }

 private:
  void note_reads(const ::onnx::GraphProto& graph) {
    for (const auto& output : graph.output()) read_.insert(output.name());
    for (const auto& node : graph.node()) {
      for (const auto& input : node.input()) read_.insert(input);
      for (const auto& attribute : node.attribute())
        if (attribute.has_g()) note_reads(attribute.g());
    }
  }

  void visit(const ::onnx::GraphProto& graph, const ProtoScope* around) {
    ProtoScope scope{.around = around};
    for (const auto* values : {&graph.input(), &graph.output(), &graph.value_info()})
      for (const auto& value : *values) scope.types[value.name()] = &value.type();
    for (const auto& initializer : graph.initializer()) scope.constants[initializer.name()] = &initializer;
    if (model_.ir_version() >= first_version_of_constants)  // a caller may replace its value
      for (const auto& input : graph.input()) scope.constants.erase(input.name());
    for (const auto& node : graph.node()) {
      note_constant(node, scope);
      nodes_.push_back(node_of(node, scope));
      for (const auto& attribute : node.attribute())
        if (attribute.has_g()) visit(attribute.g(), &scope);
    }
  }

  void note_constant(const ::onnx::NodeProto& node, ProtoScope& scope) const {
    if (node.op_type() == "Constant" && node.output_size() > 0) {
      const auto value = std::ranges::find_if(node.attribute(), [](const auto& attribute) { return attribute.has_t(); });
      scope.constants[node.output(0)] = value == node.attribute().end() ? nullptr : &value->t();
    } else if (what_ == ModelIs::file && folds(node, scope)) {
      scope.folds.insert(node.output().begin(), node.output().end());
    }
  }

  static bool folds(const ::onnx::NodeProto& node, const ProtoScope& scope) {
    if (!onnx::is_own_domain(node.domain()) || is_random(node.op_type())) return false;
    if (std::ranges::any_of(node.attribute(), [](const auto& attribute) { return attribute.has_g(); })) return false;
    return std::ranges::all_of(node.input(),
                               [&](const auto& input) { return input.empty() || scope.constant(input) || scope.folded(input); });
  }

  int version_of(const std::string& domain) const {
    for (const auto& one : model_.opset_import())
      if (one.domain() == domain || (onnx::is_own_domain(one.domain()) && onnx::is_own_domain(domain)))
        return static_cast<int>(one.version());
    return 1;
  }

  Operand operand_of(const std::string& name, bool given, const ProtoScope& scope) const {
    Operand made{.given = given};
    if (name.empty()) return made;
    const auto constant = scope.constant(name);
    made.constant = constant.has_value();
    made.folds = scope.folded(name);
    if (constant && *constant && what_ == ModelIs::file) {
      made.elements = small_elements(**constant);
      made.dtype = onnx::dtype_from_data_type((*constant)->data_type());
      made.other_type = other_type_from_data_type((*constant)->data_type());
      made.shape.emplace();
      for (const auto dim : (*constant)->dims()) made.shape->push_back({dim, {}});
      return made;
    }
    const auto* type = scope.type(name);
    if (!type) return made;
    if (type->has_optional_type()) made.other_type = "optional";
    if (type->has_sequence_type()) {
      made.sequence = true;
      type = &type->sequence_type().elem_type();
    }
    if (!type->has_tensor_type()) return made;
    made.dtype = onnx::dtype_from_data_type(type->tensor_type().elem_type());
    made.other_type = other_type_from_data_type(type->tensor_type().elem_type());
    if (!type->tensor_type().has_shape()) return made;
    made.shape.emplace();
    for (const auto& dim : type->tensor_type().shape().dim()) made.shape->push_back(onnx::dimension_of(dim));
    return made;
  }

  Node node_of(const ::onnx::NodeProto& proto, const ProtoScope& scope) const {
    Node made;
    made.op = proto.op_type();
    made.domain = proto.domain();
    find_schema(made, version_of(made.domain));
    for (const auto& input : proto.input()) made.inputs.push_back(operand_of(input, !input.empty(), scope));
    for (const auto& output : proto.output())
      made.outputs.push_back(operand_of(output, !output.empty() && read_.contains(output), scope));
    for (const auto& attribute : proto.attribute()) made.attributes.push_back(attribute_of(attribute));
    made.alone = [this_node = proto, types = typed(proto, scope), around = shared_] {
      ::onnx::ModelProto model = *around;
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

  static std::map<std::string, ::onnx::TypeProto> typed(const ::onnx::NodeProto& proto, const ProtoScope& scope) {
    std::map<std::string, ::onnx::TypeProto> types;
    for (const auto& input : proto.input()) {
      if (const auto* type = scope.type(input)) {
        types[input] = *type;
      } else if (const auto constant = scope.constant(input); constant && *constant) {
        auto& tensor = *types[input].mutable_tensor_type();
        tensor.set_elem_type((*constant)->data_type());
        tensor.mutable_shape();
        for (const auto dim : (*constant)->dims()) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
      }
    }
    return types;
  }

  const ::onnx::ModelProto& model_;
  ModelIs what_;
  ::onnx::ModelProto around_;                         // imports and functions, for models of one node
  std::shared_ptr<const ::onnx::ModelProto> shared_;  // the same
  std::vector<Node> nodes_;
  std::set<std::string> read_;
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

std::vector<Node> nodes_of(const ::onnx::ModelProto& model, ModelIs what) { return ProtoNodes(model, what).take(); }

}  // namespace compatcheck::engines
