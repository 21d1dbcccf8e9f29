#include "model_tools/inspect_onnx.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/run.h"
#include "compatcheck/error.h"
#include "model_tools/node_filter.h"
#include "onnx_file/data_types.h"
#include "onnx_file/elements.h"
#include "onnx_file/external_data.h"
#include "onnx_file/value_types.h"
#include "process/spell_count.h"

namespace compatcheck::model_tools {
namespace {

using namespace onnx_file;

constexpr std::uint64_t most_values = 16;       // values of a tensor to list
constexpr std::uint64_t most_listed = 500'000;  // a report of as many uses 1 GB

using Attribute = ::onnx::AttributeProto;
using Types = std::map<std::string, TensorInfo>;

std::vector<std::pair<std::string, std::string>> pairs_of(const auto& entries) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& entry : entries) pairs.emplace_back(entry.key(), entry.value());
  return pairs;
}

std::vector<std::pair<std::string, std::int64_t>> opsets_of(const auto& imports) {
  std::vector<std::pair<std::string, std::int64_t>> opsets;
  for (const auto& import : imports) opsets.emplace_back(import.domain(), import.version());
  return opsets;
}

std::vector<OperatorCount> by_frequency(const std::map<std::string, std::uint64_t>& counts) {
  std::vector<OperatorCount> operators;
  for (const auto& [op, nodes] : counts) operators.push_back({op, nodes});
  std::ranges::stable_sort(operators, [](const auto& a, const auto& b) { return a.nodes > b.nodes; });
  return operators;
}

std::string_view type_name(Attribute::AttributeType type) {
  switch (type) {
    case Attribute::FLOAT: return "float";
    case Attribute::INT: return "int";
    case Attribute::STRING: return "string";
    case Attribute::TENSOR: return "tensor";
    case Attribute::GRAPH: return "graph";
    case Attribute::SPARSE_TENSOR: return "sparse_tensor";
    case Attribute::TYPE_PROTO: return "type";
    case Attribute::FLOATS: return "floats";
    case Attribute::INTS: return "ints";
    case Attribute::STRINGS: return "strings";
    case Attribute::TENSORS: return "tensors";
    case Attribute::GRAPHS: return "graphs";
    case Attribute::SPARSE_TENSORS: return "sparse_tensors";
    case Attribute::TYPE_PROTOS: return "types";
    default: return "undefined";
  }
}

// IR version 1 had no attribute types: the field that is set determines the type.
Attribute::AttributeType attribute_type(const Attribute& attribute) {
  if (attribute.type() != Attribute::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return Attribute::FLOAT;
  if (attribute.has_i()) return Attribute::INT;
  if (attribute.has_s()) return Attribute::STRING;
  if (attribute.has_t()) return Attribute::TENSOR;
  if (attribute.has_g()) return Attribute::GRAPH;
  if (attribute.floats_size() > 0) return Attribute::FLOATS;
  if (attribute.ints_size() > 0) return Attribute::INTS;
  if (attribute.strings_size() > 0) return Attribute::STRINGS;
  return Attribute::UNDEFINED;
}

class Walk {
 public:
  Walk(const std::shared_ptr<const files::InputFile>& file, const std::filesystem::path& folder, const InspectOptions& options,
       Listed listed)
      : watch_(analysis::watch_of(options.load.run, options.load.timeout_seconds)),
        skeleton_(Skeleton::read(file, watch_)),
        externals_(folder),
        filter_(options),
        weights_(options.weights),
        nodes_too_(listed == Listed::nodes_too) {
    found_.format = "onnx";
    found_.bytes = file->size();
    found_.onnx.emplace();
  }

  Inspection run() {
    const auto& model = skeleton_.model;
    header(model);
    inputs_and_outputs(model.graph());
    graph(model.graph(), "");
    found_.nodes = nodes_;
    found_.operators = by_frequency(operators_);
    for (const auto& function : model.functions()) this->function(function);
    found_.filtered = filter_.on();
    if (filter_.on()) found_.unmatched = unmatched();
    external_files();
    sizes();
    return std::move(found_);
  }

 private:
  void header(const ::onnx::ModelProto& model) {
    OnnxContents& onnx = *found_.onnx;
    found_.producer = model.producer_name() + (model.producer_name().empty() || model.producer_version().empty() ? "" : " ") +
                      model.producer_version();
    onnx.ir_version = model.ir_version();
    onnx.opsets = opsets_of(model.opset_import());
    onnx.model_version = model.model_version();
    onnx.domain = model.domain();
    onnx.graph = model.graph().name();
    onnx.documentation = model.doc_string().empty() ? model.graph().doc_string() : model.doc_string();
    onnx.metadata = pairs_of(model.metadata_props());
    onnx.training_graphs = static_cast<std::uint64_t>(model.training_info_size());
  }

  // Initializers that are also inputs are defaults: they are listed as initializers only.
  void inputs_and_outputs(const ::onnx::GraphProto& graph) {
    std::set<std::string> initializers;
    for (const auto& tensor : graph.initializer()) initializers.insert(tensor.name());
    for (const auto& tensor : graph.sparse_initializer()) initializers.insert(tensor.values().name());
    for (const auto& input : graph.input())
      if (!initializers.contains(input.name())) found_.inputs.push_back(info_of(input));
    for (const auto& output : graph.output()) found_.outputs.push_back(info_of(output));
  }

  void graph(const ::onnx::GraphProto& graph, const std::string& scope) {
    Types types;
    for (const auto& value : graph.value_info()) types[value.name()] = info_of(value);
    for (const auto& value : graph.output()) types[value.name()] = info_of(value);
    for (const auto& initializer : graph.initializer()) {
      count_listed();
      found_.tensors.push_back(tensor(initializer, true));
      found_.tensors.back().kind = "initializer";
      found_.tensors.back().scope = scope;
    }
    for (const auto& initializer : graph.sparse_initializer()) found_.tensors.push_back(sparse(initializer, scope));
    nodes_ += static_cast<std::uint64_t>(graph.node_size());
    nodes(graph.node(), scope, types, &operators_);
  }

  void nodes(const auto& all, const std::string& scope, const Types& types, std::map<std::string, std::uint64_t>* counts) {
    std::uint32_t index = 0;
    for (const auto& node : all) {
      watch_.step();
      const std::string op = operator_name(node.domain(), node.op_type());
      ++calls_[{node.domain(), node.op_type(), node.overload()}];
      if (counts) ++(*counts)[op];
      std::vector<std::string> names(node.output().begin(), node.output().end());
      names.push_back(node.name());
      if (filter_.on()) names_.insert(names_.end(), names.begin(), names.end());
      const bool passes = filter_.takes(op, node.overload(), names) && nodes_too_;
      const std::size_t at = found_.node_list.size();
      if (passes) count_listed();
      if (passes) found_.node_list.push_back(describe(node, op, index, scope, types));
      const std::string inside =
          (scope.empty() ? "" : scope + "/") + (node.name().empty() ? op + "#" + std::to_string(index) : node.name());
      for (const auto& attribute : node.attribute()) {
        AttributeContents contents = this->attribute(attribute, inside);  // even if not listed: bodies are walked
        if (!passes) continue;
        count_listed();
        found_.node_list[at].attributes.push_back(std::move(contents));
      }
      ++index;
    }
  }

  void count_listed() {
    if (++listed_ > most_listed)
      throw ModelError("has more than " + std::to_string(most_listed) +
                       " nodes, attributes and initializers to list: ask for some of its nodes (InspectOptions::operators, "
                       "InspectOptions::nodes)");
  }

  NodeContents describe(const ::onnx::NodeProto& node, const std::string& op, std::uint32_t index, const std::string& scope,
                        const Types& types) const {
    NodeContents made;
    made.index = index;
    made.scope = scope;
    made.name = node.name();
    made.op = op;
    made.overload = node.overload();
    made.inputs.assign(node.input().begin(), node.input().end());
    made.outputs.assign(node.output().begin(), node.output().end());
    for (const auto& output : node.output())
      if (const auto known = types.find(output); known != types.end() && !output.empty())
        made.output_types.push_back(known->second);
    made.metadata = pairs_of(node.metadata_props());
    return made;
  }

  AttributeContents attribute(const Attribute& attribute, const std::string& inside) {
    AttributeContents made;
    const auto type = attribute_type(attribute);
    made.name = attribute.name();
    made.type = type_name(type);
    made.reference = attribute.ref_attr_name();
    if (!made.reference.empty()) return made;
    switch (type) {
      case Attribute::FLOAT: made.values.emplace_back(double{attribute.f()}); break;
      case Attribute::INT: made.values.emplace_back(static_cast<std::int64_t>(attribute.i())); break;
      case Attribute::STRING: made.values.emplace_back(attribute.s()); break;
      default: break;
    }
    for (const float value : attribute.floats()) made.values.emplace_back(double{value});
    for (const auto value : attribute.ints()) made.values.emplace_back(static_cast<std::int64_t>(value));
    for (const auto& value : attribute.strings()) made.values.emplace_back(value);
    if (type == Attribute::TENSOR) made.tensors.push_back(tensor(attribute.t(), true));
    for (const auto& value : attribute.tensors()) made.tensors.push_back(tensor(value, false));
    if (type == Attribute::SPARSE_TENSOR) made.tensors.push_back(sparse(attribute.sparse_tensor(), ""));
    for (const auto& value : attribute.sparse_tensors()) made.tensors.push_back(sparse(value, ""));
    if (type == Attribute::TYPE_PROTO) made.types.push_back(spell(attribute.tp()));
    for (const auto& value : attribute.type_protos()) made.types.push_back(spell(value));
    if (type == Attribute::GRAPH) made.graphs.push_back(body(attribute.g(), inside + "." + attribute.name()));
    for (int i = 0; i < attribute.graphs_size(); ++i)
      made.graphs.push_back(body(attribute.graphs(i), inside + "." + attribute.name() + "[" + std::to_string(i) + "]"));
    return made;
  }

  std::string body(const ::onnx::GraphProto& graph, const std::string& scope) {
    SubgraphContents made;
    made.scope = scope;
    for (const auto& input : graph.input()) made.inputs.push_back(info_of(input));
    for (const auto& output : graph.output()) made.outputs.push_back(info_of(output));
    made.nodes = static_cast<std::uint64_t>(graph.node_size());
    made.initializers = static_cast<std::uint64_t>(graph.initializer_size());
    found_.onnx->subgraphs.push_back(std::move(made));
    this->graph(graph, scope);
    return scope;
  }

  void function(const ::onnx::FunctionProto& function) {
    FunctionContents made;
    made.domain = function.domain();
    made.name = function.name();
    made.overload = function.overload();
    made.inputs.assign(function.input().begin(), function.input().end());
    made.outputs.assign(function.output().begin(), function.output().end());
    made.attributes.assign(function.attribute().begin(), function.attribute().end());
    made.opsets = opsets_of(function.opset_import());
    const std::string scope =
        operator_name(function.domain(), function.name()) + (function.overload().empty() ? "" : "." + function.overload());
    for (const auto& attribute : function.attribute_proto()) made.defaults.push_back(this->attribute(attribute, scope));
    made.nodes = static_cast<std::uint64_t>(function.node_size());
    Types types;
    for (const auto& value : function.value_info()) types[value.name()] = info_of(value);
    std::map<std::string, std::uint64_t> counts;
    nodes(function.node(), scope, types, &counts);
    made.operators = by_frequency(counts);
    found_.onnx->functions.push_back(std::move(made));
  }

  TensorContents tensor(const ::onnx::TensorProto& tensor, bool statistics) {
    TensorContents made;
    made.name = tensor.name();
    made.dtype = dtype_name(tensor.data_type());
    made.shape.assign(tensor.dims().begin(), tensor.dims().end());
    const auto elements = element_count(tensor);
    made.elements = elements.value_or(0);
    made.bytes = bytes_of(tensor.data_type(), made.elements);
    if (!elements) made.problem = "its sizes are no sizes";
    const FarElements* far = skeleton_.far(tensor);
    if (is_external(tensor)) {
      external(made, tensor, statistics && weights_);
      return made;
    }
    std::uint64_t stored = far ? far->bytes() : tensor.raw_data().size();
    for (const auto& text : tensor.string_data()) made.bytes += text.size();
    if (made.problem.empty() && (far ? far->field == raw_data : tensor.has_raw_data()) && stored < made.bytes)
      made.problem = "has " + spell_count(stored, "byte") + " where dtype and shape need " + std::to_string(made.bytes);
    in_file_ += made.problem.empty() ? made.bytes : stored;
    if (!far && made.problem.empty()) made.values = first_elements(tensor, std::min(made.elements, most_values));
    if (statistics && weights_ && made.problem.empty()) made.statistics = statistics_of(tensor, far, watch_);
    return made;
  }

  void external(TensorContents& made, const ::onnx::TensorProto& tensor, bool read) {
    made.external = externals_.place(tensor);
    ExternalFile& file = external_files_[made.external->location];
    file.location = made.external->location;
    ++file.tensors;
    file.bytes += made.bytes;
    if (!made.external->problem.empty())
      ++file.problems;
    else if (read) {
      const FarElements elements = externals_.elements(tensor);
      made.statistics = statistics_of(tensor, &elements, watch_);
    }
  }

  TensorContents sparse(const ::onnx::SparseTensorProto& sparse, const std::string& scope) {
    TensorContents made;
    made.name = sparse.values().name();
    made.scope = scope;
    made.kind = "sparse initializer";
    made.dtype = dtype_name(sparse.values().data_type());
    made.shape.assign(sparse.dims().begin(), sparse.dims().end());
    made.elements = element_count(sparse.values()).value_or(0);
    made.bytes = bytes_of(sparse.values().data_type(), made.elements) +
                 bytes_of(sparse.indices().data_type(), element_count(sparse.indices()).value_or(0));
    in_file_ += made.bytes;
    if (!is_external(sparse.values())) made.values = first_elements(sparse.values(), most_values);
    return made;
  }

  std::string unmatched() const {
    std::vector<std::string> operators;
    for (const auto& [call, count] : calls_) operators.push_back(operator_name(std::get<0>(call), std::get<1>(call)));
    return filter_.unmatched(operators, names_);
  }

  void external_files() {
    for (auto& [location, file] : external_files_) {
      file.file_bytes = externals_.size(location);
      found_.onnx->external_files.push_back(std::move(file));
    }
  }

  void sizes() {
    const std::uint64_t weights = std::min(in_file_, found_.bytes);
    std::uint64_t outside = 0;
    for (const auto& file : found_.onnx->external_files) outside += file.bytes;
    found_.sizes = {{"tensors in the file", weights}, {"nodes, names and types", found_.bytes - weights}};
    if (!found_.onnx->external_files.empty()) found_.sizes.push_back({"tensors in other files", outside});
    for (auto& function : found_.onnx->functions)
      if (const auto called = calls_.find({function.domain, function.name, function.overload}); called != calls_.end())
        function.calls = called->second;
  }

  const ir::Watch watch_;
  Skeleton skeleton_;
  ExternalFiles externals_;
  NodeFilter filter_;
  bool weights_, nodes_too_;
  Inspection found_;
  std::uint64_t nodes_ = 0, in_file_ = 0, listed_ = 0;
  std::map<std::string, std::uint64_t> operators_;
  std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> calls_;  // domain, operator, overload → nodes
  std::map<std::string, ExternalFile> external_files_;
  std::vector<std::string> names_;
};

}  // namespace

Inspection inspect_onnx(std::shared_ptr<const files::InputFile> file, const std::filesystem::path& folder,
                        const InspectOptions& options, Listed listed) {
  return Walk(std::move(file), folder, options, listed).run();
}

}  // namespace compatcheck::model_tools
