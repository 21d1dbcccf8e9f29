#include "model_tools/inspect_torchscript.h"

#include <algorithm>
#include <map>

#include "analysis/describe.h"
#include "analysis/findings.h"
#include "analysis/prepare.h"
#include "analysis/run.h"
#include "analysis/site.h"
#include "files/zip.h"
#include "model_tools/module_tree.h"
#include "model_tools/node_filter.h"
#include "onnx_file/elements.h"

namespace compatcheck::model_tools {
namespace {

std::string operator_name(const ir::Node& node) {
  return node.overload().empty() ? node.op() : node.op() + "." + node.overload();
}

// Constants and lists are no calls.
bool is_call(const ir::Node& node) {
  return !node.is("prim::Constant") && !node.is("prim::ListConstruct") && !node.is("prim::TupleConstruct") &&
         !node.is("prim::DictConstruct") && !node.is("prim::ColumnsConstruct") && !node.is("prim::OptionalConstruct");
}

TensorContents describe(const std::string& name, const ir::TensorView& tensor, const char* kind) {
  TensorContents made;
  made.name = name;
  made.kind = kind;
  made.dtype = ir::name(tensor.dtype);
  made.shape = tensor.sizes;
  made.elements = static_cast<std::uint64_t>(tensor.elements());
  made.bytes = made.elements * ir::element_bytes(tensor.dtype);
  return made;
}

void add_tensors(const ir::Program& program, const files::InputFile* file, bool weights, const ir::Watch& watch,
                 Inspection& found) {
  const auto add = [&](const std::string& name, const ir::TensorView& tensor, const char* kind) {
    found.tensors.push_back(describe(name, tensor, kind));
    if (weights) found.tensors.back().statistics = onnx_file::statistics_of(tensor, file, watch);
  };
  auto& modules = found.torchscript->modules;
  for_each_module(
      program,
      [&](const std::string& path, const ir::Object& object) {
        modules.push_back({.path = path, .class_name = object.class_name});
      },
      [&](const std::string& name, const ir::TensorView& tensor, const char* kind) {
        add(name, tensor, kind);
        modules.back().count += found.tensors.back().elements;
        modules.back().bytes += found.tensors.back().bytes;
      });
  for_each_constant(program, add);
}

std::string signature(const std::string& method, const ir::Function& function) {
  std::string text = method + "(";
  bool first = true;
  for (std::size_t i = 1; i < function.parameters.size(); ++i) {  // skips self
    const auto& parameter = function.parameters[i];
    text += (first ? "" : ", ") + parameter.name + (parameter.type ? ": " + ir::to_string(*parameter.type) : "");
    first = false;
  }
  text += ")";
  for (std::size_t i = 0; i < function.returns.size(); ++i)
    if (function.returns[i]) text += (i ? ", " : " -> ") + ir::to_string(*function.returns[i]);
  return text;
}

void add_program(const ir::Program& program, const Model::State& state, const InspectOptions& options, const ir::Watch& watch,
                 Inspection& found) {
  TorchScriptContents& contents = found.torchscript.emplace();
  found.producer = program.producer;
  contents.libtorch = program.libtorch_version;
  contents.traced = program.traced;
  contents.training = program.training;
  contents.parameter_count = state.parameters.count;
  contents.parameter_bytes = state.parameters.bytes;
  for (const auto& note : program.notes) contents.notes.push_back(note.message);
  if (program.root < program.objects.size()) contents.class_name = program.objects[program.root].class_name;
  if (const auto root = program.classes.find(contents.class_name); root != program.classes.end())
    for (const auto& [method, key] : root->second.methods)
      if (const auto function = program.functions.find(key); function != program.functions.end())
        contents.methods.push_back(signature(method, function->second));
  add_tensors(program, state.file.get(), options.weights, watch, found);
}

std::string part_of_exported(const std::string& name) {
  if (name.starts_with("data/weights/") || name.starts_with("serialized_state_dict")) return "weights";
  if (name.starts_with("data/constants/") || name.starts_with("serialized_constants")) return "constants";
  if (name.starts_with("models/") || name.starts_with("serialized_exported_program")) return "program";
  return name.starts_with("data/sample_inputs/") || name.starts_with("serialized_example") ? "sample inputs" : "the rest";
}

std::string part_of_torchscript(const std::string& name) {
  if (name.starts_with("data/")) return "weights";
  if (name.starts_with("constants/")) return "constants";
  if (name.ends_with(".debug_pkl")) return "places in the source";
  return name.starts_with("code/") ? "code" : "the rest";
}

// Adds the sizes of a zip archive by the folders of its records.
void add_sizes(const Model::State& state, Inspection& found) {
  const bool exported = state.format == frontend::Format::exported_program;
  if ((state.format != frontend::Format::torchscript && !exported) || !state.file) return;
  const files::ZipDirectory directory = files::read_zip_directory(*state.file);
  std::map<std::string, std::uint64_t> parts;
  std::uint64_t all = 0;
  for (const auto& record : directory.records) {
    const std::string name = record.name.starts_with(directory.top) ? record.name.substr(directory.top.size()) : record.name;
    parts[exported ? part_of_exported(name) : part_of_torchscript(name)] += record.stored;
    all += record.stored;
  }
  parts["the rest"] += found.bytes > all ? found.bytes - all : 0;
  const std::vector<std::string> names =
      exported ? std::vector<std::string>{"weights", "constants", "program", "sample inputs", "the rest"}
               : std::vector<std::string>{"weights", "constants", "code", "places in the source", "the rest"};
  for (const std::string& part : names) found.sizes.push_back({part, parts[part]});
}

NodeContents describe(const ir::Node& node, std::uint32_t index) {
  Site site = analysis::site_of(node, index);
  NodeContents made;
  made.index = index;
  made.op = operator_name(node);
  made.overload = node.overload();
  for (const ir::Value* input : node.inputs()) made.inputs.push_back(input->name());
  for (const ir::Value* output : node.outputs()) made.outputs.push_back(output->name());
  made.module = std::move(site.module);
  made.file = std::move(site.file);
  made.line = site.line;
  made.function = std::move(site.function);
  made.args = std::move(site.args);
  return made;
}

void add_nodes(const ir::Graph& graph, const InspectOptions& options, Inspection& found) {
  NodeFilter filter(options);
  std::map<std::string, std::uint64_t> counts;
  std::vector<std::string> operators, names;
  std::uint32_t index = 0;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    const std::uint32_t at = index++;
    if (!is_call(*node)) return;
    ++found.nodes;
    if (++counts[operator_name(*node)] == 1) operators.push_back(operator_name(*node));
    std::vector<std::string> own{node->module()};
    for (const ir::Value* output : node->outputs()) own.push_back(output->name());
    names.insert(names.end(), own.begin(), own.end());
    if (filter.on() && filter.takes(node->op(), node->overload(), own)) found.node_list.push_back(describe(*node, at));
  });
  for (const auto& [op, nodes] : counts) found.operators.push_back({op, nodes});
  std::ranges::stable_sort(found.operators, [](const auto& a, const auto& b) { return a.nodes > b.nodes; });
  found.filtered = filter.on();
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  found.unmatched = filter.unmatched(operators, names);
}

}  // namespace

Inspection inspect_torchscript(const Model& model, const InspectOptions& options) {
  const Model::State& state = model.state();
  const ir::Watch watch = analysis::watch_of(options.load.run, options.load.timeout_seconds);
  const analysis::Prepared prepared = analysis::prepare(state, {}, watch);
  const ModelInfo info = analysis::describe_model(state, prepared);
  Inspection found;
  found.path = state.path;
  found.format = info.format;
  found.bytes = info.bytes;
  found.inputs = info.inputs;
  found.outputs = info.outputs;
  if (state.program) add_program(*state.program, state, options, watch, found);
  add_sizes(state, found);
  add_nodes(prepared.graph, options, found);
  return found;
}

}  // namespace compatcheck::model_tools
