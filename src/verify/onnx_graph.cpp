#include "verify/onnx_graph.h"

#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "compatcheck/error.h"
#include "frontend/input_file.h"
#include "frontend/naming.h"
#include "onnx/model.h"

namespace compatcheck::verification {
namespace {

using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

constexpr std::size_t small_weight = 1024;      // bytes; inference may want to see these
constexpr std::uint64_t most_weights = (2ull << 30) - (1 << 20);

template <class Visit> void for_each_body(const NodeProto& node, Visit&& visit) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) visit(attribute.g());
    for (const auto& graph : attribute.graphs()) visit(graph);
  }
}

std::string entry_of(const TensorProto& tensor, std::string_view key) {
  for (const auto& entry : tensor.external_data())
    if (entry.key() == key) return entry.value();
  return {};
}

std::uint64_t number_of(const TensorProto& tensor, std::string_view key) {
  const std::string text = entry_of(tensor, key);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) throw ModelError("the weight " + tensor.name() + " has no " + std::string(key) + " in its data file");
  return value;
}

bool is_far(const TensorProto& tensor) { return tensor.data_location() == TensorProto::EXTERNAL; }

// Where a value comes from: a node, or nothing where it is given to its graph.
struct Origin {
  const GraphProto* graph = nullptr;
  const NodeProto* node = nullptr;
  bool given = false;
};

}  // namespace

struct OnnxGraph::State {
  std::filesystem::path folder;
  ModelProto model;
  std::unordered_map<std::string, Origin> origins;
  std::unordered_map<std::string, const TensorProto*> weights;
  std::unordered_map<const GraphProto*, const GraphProto*> around;
  std::unordered_map<const GraphProto*, const NodeProto*> owner;
  std::unordered_map<std::string, ::onnx::TypeProto> types;
  std::set<std::string> ambiguous;   // names that several bodies use, each for its own

  void index(const GraphProto& graph, const GraphProto* outer, const NodeProto* node) {
    around[&graph] = outer;
    owner[&graph] = node;
    for (const auto& weight : graph.initializer()) weights.emplace(weight.name(), &weight);
    for (const auto& input : graph.input())
      if (!weights.contains(input.name())) origins.emplace(input.name(), Origin{&graph, nullptr, true});
    for (const auto& made : graph.node())
      for (const std::string& output : made.output())
        if (!output.empty() && !origins.emplace(output, Origin{&graph, &made, false}).second && outer) ambiguous.insert(output);
    for (const auto& made : graph.node()) for_each_body(made, [&](const GraphProto& body) { index(body, &graph, &made); });
  }

  void note_types(const GraphProto& graph) {
    for (const auto* list : {&graph.input(), &graph.output(), &graph.value_info()})
      for (const auto& value : *list)
        if (value.has_type()) types.emplace(value.name(), value.type());
    for (const auto& node : graph.node()) for_each_body(node, [&](const GraphProto& body) { note_types(body); });
  }

  // On a copy without large weights, which stand there as inputs.
  void infer_types() {
    ModelProto skeleton;
    skeleton.set_ir_version(model.ir_version());
    *skeleton.mutable_opset_import() = model.opset_import();
    *skeleton.mutable_functions() = model.functions();
    GraphProto& graph = *skeleton.mutable_graph();
    *graph.mutable_node() = model.graph().node();
    *graph.mutable_input() = model.graph().input();
    *graph.mutable_output() = model.graph().output();
    *graph.mutable_value_info() = model.graph().value_info();
    for (const TensorProto& weight : model.graph().initializer()) {
      if (!is_far(weight) && weight.ByteSizeLong() <= small_weight) {
        *graph.add_initializer() = weight;
        continue;
      }
      auto& input = *graph.add_input();
      input.set_name(weight.name());
      auto& type = *input.mutable_type()->mutable_tensor_type();
      type.set_elem_type(weight.data_type());
      type.mutable_shape();
      for (const auto dim : weight.dims()) type.mutable_shape()->add_dim()->set_dim_value(dim);
    }
    try {
      ::onnx::shape_inference::InferShapes(skeleton);
    } catch (const std::exception&) {
      // What is declared has to do.
    }
    note_types(skeleton.graph());
  }

  struct Place {
    frontend::InputFile file;
    std::uint64_t offset = 0, length = 0;
  };
  Place place_of(const TensorProto& weight) const {
    const std::filesystem::path path = folder / entry_of(weight, "location");
    Place place{frontend::naming(path.string(), [&] { return frontend::InputFile(path); })};
    const std::uint64_t size = place.file.size();
    if (!entry_of(weight, "offset").empty()) place.offset = number_of(weight, "offset");
    place.length = entry_of(weight, "length").empty() ? size - std::min(place.offset, size) : number_of(weight, "length");
    if (place.offset > size || place.length > size - place.offset)
      throw ModelError(path.string() + ": is too short: the weight " + weight.name() + " reaches beyond its end");
    return place;
  }

  TensorProto carried(const TensorProto& weight) const {
    TensorProto made = weight;
    if (!is_far(weight)) return made;
    const Place place = place_of(weight);
    const auto bytes = place.file.read(place.offset, place.length);
    made.set_raw_data(bytes.data(), bytes.size());
    made.clear_data_location();
    made.clear_external_data();
    return made;
  }

  std::uint64_t bytes_of(const TensorProto& weight) const {
    return is_far(weight) && !entry_of(weight, "length").empty() ? number_of(weight, "length") : weight.ByteSizeLong();
  }
};

namespace {

// Names that a node reads from around it, those of its bodies too.
void reads_of(const NodeProto& node, std::set<std::string>& into);

void reads_of(const GraphProto& body, std::set<std::string>& into) {
  std::set<std::string> own, read;
  for (const auto& input : body.input()) own.insert(input.name());
  for (const auto& weight : body.initializer()) own.insert(weight.name());
  for (const auto& node : body.node()) {
    reads_of(node, read);
    own.insert(node.output().begin(), node.output().end());
  }
  for (const auto& output : body.output()) read.insert(output.name());
  std::set_difference(read.begin(), read.end(), own.begin(), own.end(), std::inserter(into, into.end()));
}

void reads_of(const NodeProto& node, std::set<std::string>& into) {
  for (const std::string& input : node.input())
    if (!input.empty()) into.insert(input);
  for_each_body(node, [&](const GraphProto& body) { reads_of(body, into); });
}

}  // namespace

OnnxGraph::OnnxGraph(const std::filesystem::path& file) : state_(std::make_unique<State>()) {
  const auto input = frontend::naming(file.string(), [&] { return frontend::InputFile(file); });
  google::protobuf::io::FileInputStream stream(input.descriptor());
  if (!state_->model.ParseFromZeroCopyStream(&stream) || !state_->model.has_graph()) throw ModelError(file.string() + ": is no ONNX model");
  state_->folder = file.parent_path();
  state_->index(state_->model.graph(), nullptr, nullptr);
  for (const std::string& name : state_->ambiguous)   // values of the main graph keep theirs
    if (const auto origin = state_->origins.find(name); state_->around.at(origin->second.graph)) state_->origins.erase(origin);
  state_->infer_types();
}

OnnxGraph::~OnnxGraph() = default;
OnnxGraph::OnnxGraph(OnnxGraph&&) noexcept = default;

void OnnxGraph::must_be_whole() const {
  for (const auto& [name, weight] : state_->weights)
    if (is_far(*weight)) state_->place_of(*weight);
}

int OnnxGraph::opset() const {
  for (const auto& import : state_->model.opset_import())
    if (import.domain().empty() || import.domain() == "ai.onnx") return static_cast<int>(import.version());
  return 0;
}

std::string OnnxGraph::producer() const { return state_->model.producer_name(); }

bool OnnxGraph::is_made(const std::string& value) const {
  const auto found = state_->origins.find(value);
  return found != state_->origins.end() && found->second.node;
}

bool OnnxGraph::is_given(const std::string& value) const {
  const auto found = state_->origins.find(value);
  return found != state_->origins.end() && found->second.given;
}

std::vector<std::string> OnnxGraph::node_names() const {
  std::set<const NodeProto*> seen;
  std::vector<std::string> names;
  for (const auto& [value, origin] : state_->origins)
    if (origin.node && seen.insert(origin.node).second) names.push_back(origin.node->name());
  return names;
}

std::vector<std::string> OnnxGraph::main_values() const {
  std::vector<std::string> values;
  for (const auto& node : state_->model.graph().node())
    for (const std::string& output : node.output())
      if (!output.empty()) values.push_back(output);
  return values;
}

std::string OnnxGraph::maker_of(const std::string& value) const {
  const auto found = state_->origins.find(value);
  if (found == state_->origins.end() || !found->second.node) return {};
  const NodeProto& node = *found->second.node;
  return node.name().empty() ? node.op_type() : node.name();
}

std::optional<ir::DType> OnnxGraph::dtype_of(const std::string& value) const {
  const auto found = state_->types.find(value);
  if (found == state_->types.end() || !found->second.has_tensor_type()) return std::nullopt;
  return onnx::dtype_from_data_type(found->second.tensor_type().elem_type());
}

std::uint64_t OnnxGraph::weight_bytes_of(const std::string& value) const {
  const auto found = state_->origins.find(value);
  if (found == state_->origins.end() || !found->second.node) return 0;
  std::set<std::string> read;
  reads_of(*found->second.node, read);
  std::uint64_t bytes = 0;
  for (const std::string& name : read)
    if (const auto weight = state_->weights.find(name); weight != state_->weights.end()) bytes += state_->bytes_of(*weight->second);
  return bytes;
}

// Nodes from the wanted values back to what is cut, in the order of the file.
class OnnxGraph::Cutting {
 public:
  Cutting(const State& state, const Request& request) : state_(state), request_(request) {}

  std::optional<Segment> run() {
    for (const std::string& value : request_.wanted) {
      const auto found = state_.origins.find(value);
      if (found == state_.origins.end() || !found->second.node) return std::nullopt;
      take(found->second);
    }
    while (!waiting_.empty()) {
      const NodeProto* node = waiting_.back();
      waiting_.pop_back();
      std::set<std::string> read;
      reads_of(*node, read);
      for (const std::string& name : read)
        if (!reach(name)) return std::nullopt;
    }
    return made();
  }

 private:
  void take(const Origin& origin) {
    if (taken_.insert(origin.node).second) waiting_.push_back(origin.node);
  }

  bool reach(const std::string& name) {
    if (request_.cut.contains(name)) return read_.insert(name), true;
    if (const auto weight = state_.weights.find(name); weight != state_.weights.end()) return weights_.insert(name), true;
    const auto origin = state_.origins.find(name);
    if (origin == state_.origins.end()) return false;
    if (origin->second.node) return take(origin->second), true;
    if (!state_.around.at(origin->second.graph)) return read_.insert(name), true;
    return is_condition(*origin->second.graph, name) && (conditions_.insert(name), true);
  }

  // What a Loop gives its body beside the turn and what is carried: true, or the body wouldn't run.
  bool is_condition(const GraphProto& body, const std::string& name) const {
    const NodeProto* owner = state_.owner.at(&body);
    return owner->op_type() == "Loop" && body.input_size() > 1 && body.input(1).name() == name;
  }

  void add_nodes(const GraphProto& graph, ModelProto& model, Segment& made) {
    for (const auto& node : graph.node()) {
      if (taken_.contains(&node)) {
        auto& added = *model.mutable_graph()->add_node() = node;
        made.nodes.push_back(node.name().empty() ? node.op_type() : node.name());
        for (std::string& output : *added.mutable_output())
          if (read_.contains(output)) output = computed(output);
        continue;
      }
      for_each_body(node, [&](const GraphProto& body) { add_nodes(body, model, made); });
    }
  }

  std::string computed(const std::string& name) const {
    std::string other = name + ".computed";
    while (state_.origins.contains(other) || state_.weights.contains(other)) other += "_";
    return other;
  }

  void declare(const std::string& name, ::onnx::ValueInfoProto& value) const {
    const auto known = state_.types.find(name);
    auto& type = *value.mutable_type();
    if (known != state_.types.end()) type = known->second;
    auto& tensor = *(type.has_sequence_type() || request_.sequences.contains(name) ? type.mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()
                                                                                     : type.mutable_tensor_type());
    tensor.clear_shape();   // what inference says of a body's values needn't hold outside of it
    if (const auto dtype = request_.dtypes.find(name); tensor.elem_type() == 0 && dtype != request_.dtypes.end()) tensor.set_elem_type(onnx::data_type(dtype->second));
    if (const auto sizes = request_.sizes.find(name); sizes != request_.sizes.end() && !type.has_sequence_type()) {
      tensor.mutable_shape();
      for (const std::int64_t size : sizes->second) tensor.mutable_shape()->add_dim()->set_dim_value(size);
    }
  }

  Segment made() {
    Segment made;
    ModelProto model;
    model.set_ir_version(state_.model.ir_version());
    model.set_producer_name("compatcheck");
    *model.mutable_opset_import() = state_.model.opset_import();
    *model.mutable_functions() = state_.model.functions();
    GraphProto& graph = *model.mutable_graph();
    graph.set_name("part");
    add_nodes(state_.model.graph(), model, made);
    for (const std::string& name : read_) {
      auto& input = *graph.add_input();
      input.set_name(name);
      declare(name, input);
      made.inputs.push_back(name);
    }
    std::uint64_t bytes = 0;
    for (const std::string& name : weights_) {
      const TensorProto& weight = *state_.weights.at(name);
      bytes += state_.bytes_of(weight);
      if (bytes > most_weights) throw ModelError("a part of the ONNX model has more than 2 GB of weights");
      *graph.add_initializer() = state_.carried(weight);
      // Before IR version 4 every initializer is an input, too.
      if (model.ir_version() < 4) add_weight_input(weight, *graph.add_input());
    }
    for (const std::string& name : conditions_) {
      auto& yes = *graph.add_initializer();
      yes.set_name(name);
      yes.set_data_type(TensorProto::BOOL);
      yes.add_int32_data(1);
    }
    std::set<std::string> given;
    for (const std::string& name : request_.wanted) {
      made.results.push_back(read_.contains(name) ? computed(name) : name);
      if (!given.insert(name).second) continue;
      auto& output = *graph.add_output();
      declare(name, output);
      output.set_name(made.results.back());
      if (const auto& type = output.type(); type.has_tensor_type() && type.tensor_type().elem_type() == 0) output.clear_type();
    }
    made.bytes = model.SerializeAsString();
    return made;
  }

  static void add_weight_input(const TensorProto& weight, ::onnx::ValueInfoProto& input) {
    input.set_name(weight.name());
    auto& tensor = *input.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(weight.data_type());
    tensor.mutable_shape();
    for (const auto dim : weight.dims()) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
  }

  const State& state_;
  const Request& request_;
  std::set<const NodeProto*> taken_;
  std::vector<const NodeProto*> waiting_;
  std::set<std::string> read_, weights_, conditions_;
};

std::optional<Segment> OnnxGraph::segment(const Request& request) const { return Cutting(*state_, request).run(); }

}  // namespace compatcheck::verification
