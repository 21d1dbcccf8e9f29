// How OnnxGraph makes a model of a part of one.
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "onnx_file/external_data.h"
#include "onnx_file/graph_index.h"
#include "onnx_file/scopes.h"
#include "onnx_file/skeleton.h"
#include "onnx_file/validity.h"
#include "onnx_file/value_types.h"
#include "verification/onnx_graph.h"

namespace compatcheck::verification {

// Returns the operator for a node without a name.
std::string name_of(const ::onnx::NodeProto& node);

struct CutModel {
  CutModel(const std::filesystem::path& file, const ir::Watch& watch);
  std::uint64_t weight_bytes(const onnx_file::Origin& weight) const;

  onnx_file::Skeleton skeleton;
  onnx_file::Scopes scopes;
  // Both cache their results.
  mutable onnx_file::ExternalFiles externals;
  mutable onnx_file::ValueTypes types;
};

// Collects the nodes from the wanted values back to the cut, in the order of the file.
class Cutting {
 public:
  Cutting(const CutModel& model, const OnnxGraph::Request& request) : model_(model), request_(request) {}
  std::optional<Segment> run();

 private:
  using Origin = onnx_file::Origin;
  using Scope = onnx_file::Scope;

  void take(const Origin& origin);
  bool reach(const Scope& scope, const std::string& name);
  Segment made() const;
  void add_nodes(const ::onnx::GraphProto& graph, ::onnx::ModelProto& model, Segment& made) const;
  void add_weights(::onnx::ModelProto& model) const;
  std::string computed(const std::string& name) const;
  void declare(const std::string& name, const ::onnx::GraphProto& graph, ::onnx::ValueInfoProto& value) const;
  std::string written(::onnx::ModelProto model) const;

  const CutModel& model_;
  const OnnxGraph::Request& request_;
  std::set<const ::onnx::NodeProto*> nodes_;
  std::vector<const Origin*> waiting_;
  std::map<std::string, const ::onnx::GraphProto*> read_;  // values read from outside, and the graph that each belongs to
  std::map<std::string, const Origin*> weights_;
  std::set<std::string> conditions_;
};

}  // namespace compatcheck::verification
