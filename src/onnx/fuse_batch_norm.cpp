// BatchNormalization behind a Conv becomes part of the Conv's weight and bias: in inference it scales and shifts each channel.
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ir/graph.h"
#include "onnx/cleanup.h"
#include "onnx/weight_copy.h"

namespace compatcheck::onnx {
namespace {

struct Affine {
  std::vector<double> factor, shift;  // for each channel
};

class Fusion {
 public:
  Fusion(Model& model, const WeightFile& weights) : model_(model), weights_(weights) {
    for (std::size_t i = 0; i < model.initializers.size(); ++i) constants_[model.initializers[i].value] = i;
    count_reads(model.graph);
  }

  void run(Graph& graph) {
    std::map<ValueId, std::size_t> makers;
    std::set<std::size_t> gone;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      Node& node = graph.nodes[i];
      const auto conv = node.op == "BatchNormalization" && node.domain.empty() ? makers.find(node.inputs[0]) : makers.end();
      if (conv != makers.end() && fuse(graph.nodes[conv->second], node))
        gone.insert(i);
      else if (node.op == "Conv" && node.domain.empty())
        makers[node.outputs[0]] = i;
      for (NodeAttribute& attribute : node.attributes)
        if (auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) run(**body);
    }
    std::vector<Node> kept;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (!gone.contains(i)) kept.push_back(std::move(graph.nodes[i]));
    graph.nodes = std::move(kept);
  }

 private:
  void count_reads(const Graph& graph) {
    for (const Node& node : graph.nodes) {
      for (const ValueId input : node.inputs) ++reads_[input];
      for (const NodeAttribute& attribute : node.attributes)
        if (const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) count_reads(**body);
    }
    for (const ValueId output : graph.outputs) ++reads_[output];
  }

  bool fuse(Node& conv, const Node& norm) {
    if (reads_[conv.outputs[0]] != 1) return false;
    for (std::size_t i = 1; i < norm.outputs.size(); ++i)
      if (norm.outputs[i] != absent) return false;
    const TensorData* weight = constant(conv.inputs[1]);
    if (!weight || weight->dtype != ir::DType::f32 || weight->dims.empty() || !weight->factors.empty()) return false;
    const auto affine = affine_of(norm);
    if (!affine || static_cast<std::int64_t>(affine->factor.size()) != weight->dims[0]) return false;
    auto bias = bias_of(conv, affine->factor.size());
    if (!bias) return false;
    for (std::size_t c = 0; c < bias->size(); ++c) (*bias)[c] = (*bias)[c] * affine->factor[c] + affine->shift[c];
    TensorData scaled = *weight;
    scaled.factors = affine->factor;
    take_factors(scaled);
    const std::string weight_name = model_.values[conv.inputs[1]].name, bias_name = bias_name_of(conv, norm);
    conv.inputs.resize(3, absent);
    conv.inputs[1] = add(std::move(scaled), weight_name);
    conv.inputs[2] = add(make_tensor(ir::DType::f32, {static_cast<std::int64_t>(bias->size())}, *bias), bias_name);
    conv.outputs[0] = norm.outputs[0];
    return true;
  }

  // A Conv without a bias gets the norm's. Norms may share a constant, so their module names it.
  std::string bias_name_of(const Node& conv, const Node& norm) const {
    if (conv.inputs.size() > 2 && conv.inputs[2] != absent) return model_.values[conv.inputs[2]].name;
    const bool named = norm.origin && !norm.origin->module().empty();
    return named ? std::string(norm.origin->module()) + ".bias" : model_.values[norm.inputs[2]].name;
  }

  // factor = scale / √(variance + epsilon), shift = offset − mean · factor; in double.
  std::optional<Affine> affine_of(const Node& norm) const {
    std::vector<double> parts[4];
    for (std::size_t i = 0; i < 4; ++i) {
      const TensorData* data = constant(norm.inputs[i + 1]);
      if (!data || data->dtype != ir::DType::f32 || data->dims.size() != 1) return std::nullopt;
      parts[i] = as_floats(read_tensor(*data, weights_)).value();
      if (parts[i].size() != parts[0].size()) return std::nullopt;
    }
    const NodeAttribute* given = norm.attribute("epsilon");
    const double* epsilon = given ? std::get_if<double>(&given->value) : nullptr;
    Affine affine;
    for (std::size_t c = 0; c < parts[0].size(); ++c) {
      affine.factor.push_back(parts[0][c] / std::sqrt(parts[3][c] + (epsilon ? *epsilon : 1e-5)));
      affine.shift.push_back(parts[1][c] - parts[2][c] * affine.factor[c]);
      if (!std::isfinite(affine.factor[c]) || !std::isfinite(affine.shift[c])) return std::nullopt;
    }
    return affine;
  }

  std::optional<std::vector<double>> bias_of(const Node& conv, std::size_t channels) const {
    if (conv.inputs.size() < 3 || conv.inputs[2] == absent) return std::vector<double>(channels);
    const TensorData* data = constant(conv.inputs[2]);
    return data && data->dtype == ir::DType::f32 && data->dims.size() == 1 ? as_floats(read_tensor(*data, weights_))
                                                                           : std::nullopt;
  }

  const TensorData* constant(ValueId value) const {
    const auto found = constants_.find(value);
    return found == constants_.end() ? nullptr : &model_.initializers[found->second].data;
  }

  ValueId add(TensorData data, const std::string& name) {
    const ValueId value = model_.add_value({.kind = ValueInfo::Kind::tensor, .dtype = data.dtype, .shape = {}, .name = name});
    model_.initializers.push_back({value, std::move(data)});
    return value;
  }

  Model& model_;
  const WeightFile& weights_;
  std::map<ValueId, std::size_t> constants_;
  std::map<ValueId, std::size_t> reads_;
};

}  // namespace

void fuse_batch_norm(Model& model, const WeightFile& weights) { Fusion(model, weights).run(model.graph); }

}  // namespace compatcheck::onnx
