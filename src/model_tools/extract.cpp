#include "compatcheck/extract.h"

#include <algorithm>
#include <set>

#include "analysis/boundary.h"
#include "analysis/run.h"
#include "files/naming.h"
#include "model_tools/cut.h"
#include "model_tools/names.h"
#include "onnx_file/external_data.h"
#include "onnx_file/functions.h"
#include "onnx_file/graph_index.h"
#include "onnx_file/repeated.h"
#include "onnx_file/skeleton.h"
#include "onnx_file/validity.h"
#include "onnx_file/value_types.h"
#include "onnx_file/write_skeleton.h"

namespace compatcheck {
namespace {

using namespace model_tools;
using namespace onnx_file;
using Names = std::vector<std::string>;

[[noreturn]] void unknown_name(const GraphIndex& graph, const char* option, const std::string& name) {
  if (const auto node = graph.body_of(name))
    throw UsageError(std::string(option) + " " + name + ": lies in a body of node " + *node +
                     "; only values of the model's graph can be cut at");
  const Names modules = graph.modules(), values = graph.values();
  Names known = modules;
  known.insert(known.end(), values.begin(), values.end());
  throw UsageError(std::string(option) + " " + name + ": the model has no such value" + (modules.empty() ? "" : " or module") +
                   near_names(name, known));
}

// Nodes of a module, by its path or by an end of it that no other has: "encoder.layer.0" of "model.encoder.layer.0".
std::vector<std::size_t> nodes_of(const GraphIndex& graph, const char* option, const std::string& name) {
  auto nodes = graph.nodes_of(name);
  if (!nodes.empty()) return nodes;
  Names longer = graph.modules();
  std::erase_if(longer, [&](const std::string& module) { return !module.ends_with("." + name); });
  if (longer.size() > 1)
    throw UsageError(std::string(option) + " " + name + ": which one? " + longer[0] + ", " + longer[1] +
                     (longer.size() > 2 ? " …" : ""));
  if (longer.empty()) unknown_name(graph, option, name);
  return graph.nodes_of(longer.front());
}

// A name of a value, or of a module, as values.
enum class CutSide : std::uint8_t { from, to };
Names resolve(const GraphIndex& graph, const Names& given, CutSide side, const char* option) {
  Names values;
  const auto add = [&](const std::string& value) {
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  };
  for (const std::string& name : given) {
    // An output is named after the module that makes it; a cut can't begin at an output.
    const bool module = side == CutSide::from && graph.is_output(name) && !graph.is_input(name) && !graph.nodes_of(name).empty();
    if (graph.is_value(name) && !module) {
      add(name);
      continue;
    }
    const auto nodes = nodes_of(graph, option, name);
    const Names found = side == CutSide::from ? graph.read_by(nodes) : graph.given_by(nodes);
    if (found.empty())
      throw UsageError(std::string(option) + " " + name + ": is a module that " +
                       (side == CutSide::from ? "reads nothing that varies" : "gives nothing that others read"));
    std::ranges::for_each(found, add);
  }
  return values;
}

class Extract {
 public:
  Extract(const std::filesystem::path& path, const std::filesystem::path& file, const ExtractOptions& options)
      : path_(path),
        file_(file),
        options_(options),
        watch_(analysis::watch_of(options.run, options.timeout_seconds)),
        skeleton_(Skeleton::read(std::make_shared<const files::InputFile>(path), watch_)),
        externals_(path.parent_path()),
        original_(skeleton_.model.graph()),
        index_(original_),
        types_(skeleton_.model) {}

  Extraction run() {
    refuse_own_files();
    found_.nodes_before = static_cast<std::uint64_t>(original_.node_size());
    choose();
    Skeleton made = skeleton_.with(build());
    describe(made.model);
    check_valid(made.model);
    watch_.look();
    const Written written = write_skeleton(made, externals_, file_, options_.external_data, options_.run);
    found_.bytes = written.bytes;
    found_.external_bytes = written.external_bytes;
    return std::move(found_);
  }

 private:
  // The model, or a file with its weights, may not be written over: the rest of it would be lost.
  void refuse_own_files() {
    std::error_code error;
    if (std::filesystem::equivalent(path_, file_, error)) throw UsageError(file_.string() + ": that is the model itself");
    const std::filesystem::path data = file_.string() + ".data";
    for_each_tensor(skeleton_.model, [&](::onnx::TensorProto& tensor) {
      if (!is_external(tensor)) return;
      const ExternalPlace place = externals_.place(tensor);
      for (const auto& target : {file_, data})
        if (std::filesystem::equivalent(path_.parent_path() / place.location, target, error))
          throw UsageError(target.string() + ": the model's own weights lie there; choose another name");
    });
  }

  void choose() {
    const bool whole = options_.from.empty() && options_.to.empty();
    from_ =
        options_.from.empty() ? index_.needed_inputs() : resolve(index_, options_.from, CutSide::from, "ExtractOptions::from");
    if (options_.to.empty())
      for (const auto& output : original_.output()) to_.push_back(output.name());
    else
      to_ = resolve(index_, options_.to, CutSide::to, "ExtractOptions::to");
    for (const std::string& value : to_)
      if (std::ranges::find(from_, value) != from_.end() && !index_.is_output(value))
        throw UsageError("'" + value + "' is in both ExtractOptions::from and ExtractOptions::to: nothing lies between");
    cut_ = cut(index_, from_, to_);
    if (whole) keep_everything();
    if (options_.from.empty() && !whole)
      std::erase_if(from_, [&](const auto& name) { return std::ranges::find(cut_.unread, name) != cut_.unread.end(); });
    if (!options_.from.empty())
      for (const std::string& name : cut_.unread) found_.warnings.push_back("nothing on the way reads " + name);
    add_outputs();
  }

  void keep_everything() {
    cut_.nodes.assign(cut_.nodes.size(), true);
    for (const auto& tensor : original_.initializer()) cut_.initializers.insert(tensor.name());
    for (const auto& tensor : original_.sparse_initializer()) cut_.initializers.insert(tensor.values().name());
  }

  void add_outputs() {
    const bool all = options_.add_outputs == Names{"all"};
    const Names added = all ? given_by_kept() : options_.add_outputs;
    std::set<std::string> outputs(to_.begin(), to_.end());
    Names unknown;
    for (const std::string& name : added) {
      const auto producer = index_.producer(name);
      if (!producer && !index_.is_value(name)) unknown_name(index_, "ExtractOptions::add_outputs", name);
      if (!producer || !cut_.nodes[*producer])
        throw UsageError("ExtractOptions::add_outputs " + name + ": " +
                         (producer ? "no node that is kept gives it" : "is no node's output"));
      if (!outputs.insert(name).second) continue;
      const auto* type = types_.find(skeleton_.model.graph(), name);
      if (all && !(type && is_whole(*type)))
        unknown.push_back(name);  // onnx's checker passes no output without a shape
      else
        to_.push_back(name);
    }
    if (!unknown.empty())
      found_.warnings.push_back(std::to_string(unknown.size()) + (unknown.size() == 1 ? " value has" : " values have") +
                                " no rank that is known, and can't be outputs: " + listed(unknown));
  }

  Names given_by_kept() const {
    Names names;
    for (int i = 0; i < original_.node_size(); ++i)
      if (cut_.nodes[static_cast<std::size_t>(i)])
        for (const auto& output : original_.node(i).output())
          if (!output.empty()) names.push_back(output);
    return names;
  }

  ::onnx::ModelProto build() {
    ::onnx::ModelProto made = without_graph();
    if (made.training_info_size() > 0) found_.warnings.push_back("training_info isn't kept");
    made.clear_training_info();
    *made.mutable_graph() = build_graph();
    keep_used_functions(made);
    return made;
  }

  ::onnx::ModelProto without_graph() {
    ::onnx::GraphProto aside;
    aside.Swap(skeleton_.model.mutable_graph());
    ::onnx::ModelProto made = skeleton_.model;
    aside.Swap(skeleton_.model.mutable_graph());
    return made;
  }

  ::onnx::GraphProto build_graph() {
    ::onnx::GraphProto made = original_;
    made.clear_input();
    made.clear_output();
    std::size_t node = 0;
    keep_if(*made.mutable_node(), [&](const auto&) { return watch_.step(), cut_.nodes[node++]; });
    const std::set<std::string> cut_at(from_.begin(), from_.end());
    free_names(made, cut_at);
    const auto used = [&](const std::string& name) { return cut_.initializers.contains(name) && !cut_at.contains(name); };
    keep_if(*made.mutable_initializer(), [&](const auto& tensor) { return used(tensor.name()); });
    keep_if(*made.mutable_sparse_initializer(), [&](const auto& tensor) { return used(tensor.values().name()); });
    for (const std::string& name : from_) *made.add_input() = typed(name);
    for (const auto& input : original_.input())
      if (used(input.name())) *made.add_input() = input;
    for (const std::string& name : to_) *made.add_output() = typed(name);
    std::set<std::string> inner;
    for (const auto& kept : made.node()) inner.insert(kept.output().begin(), kept.output().end());
    std::set<std::string> annotated = inner;
    for (const std::string& name : from_) annotated.insert(name);
    annotated.insert(cut_.initializers.begin(), cut_.initializers.end());
    for (const std::string& name : to_) inner.erase(name);
    keep_if(*made.mutable_value_info(), [&](const auto& value) { return inner.contains(value.name()); });
    keep_if(*made.mutable_quantization_annotation(),
            [&](const auto& annotation) { return annotated.contains(annotation.tensor_name()); });
    return made;
  }

  // A node may be needed for one of its outputs, while another is cut at: that is an input now, and the node's gets a name of its
  // own.
  void free_names(::onnx::GraphProto& made, const std::set<std::string>& cut_at) const {
    for (auto& node : *made.mutable_node())
      for (auto& output : *node.mutable_output()) {
        if (output.empty() || !cut_at.contains(output)) continue;
        const std::string stem = output + "_cut";
        output = stem;
        for (int i = 1; index_.is_value(output); ++i) output = stem + "_" + std::to_string(i);
      }
  }

  ::onnx::ValueInfoProto typed(const std::string& name) {
    for (const auto* values : {&original_.input(), &original_.output()})
      for (const auto& value : *values)
        if (value.name() == name && is_whole(value.type())) return value;
    const auto* type = types_.find(skeleton_.model.graph(), name);
    if (!type || !is_whole(*type))
      throw UsageError(
          "'" + name + "': its " + (type && type->has_tensor_type() && type->tensor_type().elem_type() ? "rank" : "type") +
          " isn't known, neither from the model nor by ONNX's shape inference, and ONNX has no inputs or outputs without one");
    ::onnx::ValueInfoProto value;
    value.set_name(name);
    *value.mutable_type() = *type;
    return value;
  }

  void describe(const ::onnx::ModelProto& model) {
    for (const auto& input : model.graph().input())
      if (!cut_.initializers.contains(input.name()) || std::ranges::find(from_, input.name()) != from_.end())
        found_.inputs.push_back(info_of(input));
    for (const auto& output : model.graph().output()) found_.outputs.push_back(info_of(output));
    found_.nodes = static_cast<std::uint64_t>(model.graph().node_size());
    found_.initializers = static_cast<std::uint64_t>(model.graph().initializer_size()) +
                          static_cast<std::uint64_t>(model.graph().sparse_initializer_size());
    found_.functions = static_cast<std::uint64_t>(model.functions_size());
  }

  const std::filesystem::path path_, file_;
  const ExtractOptions& options_;
  const ir::Watch watch_;
  Skeleton skeleton_;
  ExternalFiles externals_;
  const ::onnx::GraphProto& original_;
  GraphIndex index_;
  ValueTypes types_;
  Names from_, to_;
  Cut cut_;
  Extraction found_;
};

}  // namespace

Extraction extract(const std::filesystem::path& model, const std::filesystem::path& file, const ExtractOptions& options) {
  return analysis::guarded(model.string(),
                           [&] { return files::naming(model.string(), [&] { return Extract(model, file, options).run(); }); });
}

}  // namespace compatcheck
