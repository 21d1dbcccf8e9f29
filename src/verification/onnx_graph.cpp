#include "verification/onnx_graph.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "compatcheck/error.h"
#include "files/naming.h"
#include "onnx/model.h"
#include "onnx/schema.h"
#include "verification/cutting.h"

namespace compatcheck::verification {

using onnx_file::Origin;
using onnx_file::Scopes;

struct OnnxGraph::State {
  std::string path;
  CutModel model;

  const Origin* maker(const std::string& value) const {
    const Origin* origin = model.scopes.find(value);
    return origin && origin->node ? origin : nullptr;
  }
};

OnnxGraph::OnnxGraph(const std::filesystem::path& file, const ir::Watch& watch)
    : state_(files::naming(file.string(), [&] {
        return std::unique_ptr<State>(new State{file.string(), CutModel(file, watch)});
      })) {}

OnnxGraph::~OnnxGraph() = default;
OnnxGraph::OnnxGraph(OnnxGraph&&) noexcept = default;

void OnnxGraph::must_be_whole() const {
  files::naming(state_->path, [&] {
    onnx_file::for_each_tensor(state_->model.skeleton.model, [&](::onnx::TensorProto& tensor) {
      if (onnx_file::is_external(tensor)) state_->model.externals.elements(tensor);
    });
  });
}

std::optional<std::string> OnnxGraph::metadata(std::string_view key) const {
  for (const auto& entry : state_->model.skeleton.model.metadata_props())
    if (entry.key() == key) return entry.value();
  return std::nullopt;
}

int OnnxGraph::opset() const {
  for (const auto& import : state_->model.skeleton.model.opset_import())
    if (onnx::is_own_domain(import.domain())) return static_cast<int>(import.version());
  return 0;
}

std::string OnnxGraph::producer() const { return state_->model.skeleton.model.producer_name(); }

bool OnnxGraph::is_made(const std::string& value) const { return state_->maker(value); }

bool OnnxGraph::is_given(const std::string& value) const {
  const Origin* origin = state_->model.scopes.find(value);
  return origin && origin->is_given();
}

std::vector<std::string> OnnxGraph::node_names() const {
  std::vector<std::string> names;
  for (const auto& scope : state_->model.scopes.all())
    for (const auto& node : scope.graph->node()) names.push_back(node.name());
  return names;
}

std::vector<MainValue> OnnxGraph::main_values() const {
  std::vector<MainValue> values;
  std::unordered_map<std::string, std::size_t> places;
  for (const auto& node : state_->model.skeleton.model.graph().node()) {
    for (const std::string& read : onnx_file::reads_of(node))
      if (const auto place = places.find(read); place != places.end()) values[place->second].last_read = values.size();
    for (const std::string& output : node.output())
      if (!output.empty() && places.emplace(output, values.size()).second) values.push_back({.name = output});
  }
  return values;
}

std::string OnnxGraph::maker_of(const std::string& value) const {
  const Origin* origin = state_->maker(value);
  return origin ? name_of(*origin->node) : std::string();
}

std::optional<ir::DType> OnnxGraph::dtype_of(const std::string& value) const {
  const Origin* origin = state_->model.scopes.find(value);
  const auto* type = origin ? state_->model.types.find(*origin->scope->graph, value) : nullptr;
  return type && type->has_tensor_type() ? onnx::dtype_from_data_type(type->tensor_type().elem_type()) : std::nullopt;
}

std::optional<std::size_t> OnnxGraph::rank_of(const std::string& value) const {
  const Origin* origin = state_->model.scopes.find(value);
  const auto* type = origin ? state_->model.types.find(*origin->scope->graph, value) : nullptr;
  const bool known = type && type->has_tensor_type() && type->tensor_type().has_shape();
  return known ? std::optional(static_cast<std::size_t>(type->tensor_type().shape().dim_size())) : std::nullopt;
}

std::vector<OnnxGraph::Given> OnnxGraph::inputs() const {
  const auto& graph = state_->model.skeleton.model.graph();
  std::set<std::string> weights;
  for (const auto& tensor : graph.initializer()) weights.insert(tensor.name());
  std::vector<Given> inputs;
  for (const auto& input : graph.input()) {
    if (weights.contains(input.name())) continue;
    Given& given = inputs.emplace_back();
    given.name = input.name();
    given.sequence = input.type().has_sequence_type();
    const auto& held = given.sequence ? input.type().sequence_type().elem_type() : input.type();
    if (!held.has_tensor_type()) continue;
    const auto& type = held.tensor_type();
    given.dtype = onnx::dtype_from_data_type(type.elem_type());
    if (!type.has_shape()) continue;
    given.shape.emplace();
    for (const auto& dim : type.shape().dim())
      given.shape->push_back({dim.has_dim_value() ? std::optional(dim.dim_value()) : std::nullopt, dim.dim_param()});
  }
  return inputs;
}

std::vector<std::string> OnnxGraph::read_for(const std::string& value) const {
  const Origin* origin = state_->maker(value);
  std::vector<std::string> values;
  if (!origin) return values;
  for (const std::string& read : onnx_file::reads_of(*origin->node))
    if (const Origin* other = Scopes::find(*origin->scope, read); !other || !other->is_initializer()) values.push_back(read);
  return values;
}

std::uint64_t OnnxGraph::weight_bytes_of(const std::string& value) const {
  const Origin* origin = state_->maker(value);
  std::uint64_t bytes = 0;
  if (!origin) return bytes;
  for (const std::string& read : onnx_file::reads_of(*origin->node))
    if (const Origin* weight = Scopes::find(*origin->scope, read); weight && weight->is_initializer())
      bytes += state_->model.weight_bytes(*weight);
  return bytes;
}

std::optional<Segment> OnnxGraph::segment(const Request& request) const {
  return files::naming(state_->path, [&] { return Cutting(state_->model, request).run(); });
}

}  // namespace compatcheck::verification
