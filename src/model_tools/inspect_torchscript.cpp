#include "model_tools/inspect_torchscript.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/describe.h"
#include "analysis/findings.h"
#include "analysis/site.h"
#include "analysis/prepare.h"
#include "analysis/run.h"
#include "frontend/zip.h"
#include "onnx_file/elements.h"
#include "model_tools/node_filter.h"

namespace compatcheck::model_tools {
namespace {

std::string full_name(const ir::Node& node) { return node.overload().empty() ? node.op() : node.op() + "." + node.overload(); }

// Constants and lists are no calls.
bool is_call(const ir::Node& node) { return !node.is("prim::Constant") && !node.is("prim::ListConstruct") && !node.is("prim::TupleConstruct") && !node.is("prim::DictConstruct"); }

// The objects of a program as the tree of modules that they are, each once.
class Modules {
 public:
  Modules(const ir::Program& program, const frontend::InputFile* file, bool weights, const ir::Watch& watch, Inspection& found)
      : program_(program), file_(file), weights_(weights), watch_(watch), found_(found) {}

  void walk() { module("", program_.root); }

 private:
  void module(const std::string& path, std::uint32_t root) {
    std::vector<std::pair<std::string, std::uint32_t>> waiting{{path, root}};
    while (!waiting.empty()) {
      const auto [at, object] = std::move(waiting.back());
      waiting.pop_back();
      if (object >= program_.objects.size() || !seen_.insert(object).second) continue;
      const auto inner = attributes(at, program_.objects[object]);
      waiting.insert(waiting.end(), inner.rbegin(), inner.rend());
    }
  }

  std::vector<std::pair<std::string, std::uint32_t>> attributes(const std::string& path, const ir::Object& object) {
    std::vector<std::pair<std::string, std::uint32_t>> inner;
    ModuleContents made{.path = path, .class_name = object.class_name};
    const auto found = program_.classes.find(object.class_name);
    for (std::size_t i = 0; i < object.attributes.size(); ++i) {
      const bool known = found != program_.classes.end() && i < found->second.attributes.size();
      const ir::ClassAttribute attribute = known ? found->second.attributes[i] : ir::ClassAttribute{.name = std::to_string(i), .type = {}};
      const std::string name = (path.empty() ? "" : path + ".") + attribute.name;
      if (const auto* child = object.attributes[i].get<ir::ObjectConstant>()) inner.emplace_back(name, child->object);
      const auto* tensor = object.attributes[i].get<ir::TensorView>();
      if (!tensor) continue;
      const TensorContents told = describe(name, *tensor, attribute.is_parameter ? "parameter" : attribute.is_buffer ? "buffer" : "attribute");
      made.count += told.elements;
      made.bytes += told.bytes;
      found_.tensors.push_back(told);
    }
    found_.torchscript->modules.push_back(std::move(made));
    return inner;
  }

 public:
  TensorContents describe(const std::string& name, const ir::TensorView& tensor, const char* kind) const {
    TensorContents made;
    made.name = name;
    made.kind = kind;
    made.dtype = ir::name(tensor.dtype);
    made.shape = tensor.sizes;
    made.elements = static_cast<std::uint64_t>(tensor.elements());
    made.bytes = made.elements * ir::element_bytes(tensor.dtype);
    if (weights_) made.statistics = onnx_file::statistics_of(tensor, file_, watch_);
    return made;
  }

 private:
  const ir::Program& program_;
  const frontend::InputFile* file_;
  bool weights_;
  const ir::Watch& watch_;
  Inspection& found_;
  std::set<std::uint32_t> seen_;
};

std::string signature(const std::string& method, const ir::Function& function) {
  std::string text = method + "(";
  bool first = true;
  for (std::size_t i = 1; i < function.parameters.size(); ++i) {   // after self
    const auto& parameter = function.parameters[i];
    text += (first ? "" : ", ") + parameter.name + (parameter.type ? ": " + ir::to_string(*parameter.type) : "");
    first = false;
  }
  text += ")";
  for (std::size_t i = 0; i < function.returns.size(); ++i)
    if (function.returns[i]) text += (i ? ", " : " -> ") + ir::to_string(*function.returns[i]);
  return text;
}

// Tensors that the code itself holds.
void add_constants(const ir::Program& program, const Modules& modules, Inspection& found) {
  for (const auto& [name, function] : program.functions) {
    std::size_t number = 0;
    ir::for_each_node(*function.graph.top(), [&, &name = name](const ir::Node* node) {
      const ir::Constant* value = node->is("prim::Constant") ? node->attribute("value") : nullptr;
      const auto* tensor = value ? value->get<ir::TensorView>() : nullptr;
      if (tensor) found.tensors.push_back(modules.describe(name + "#" + std::to_string(number++), *tensor, "constant"));
    });
  }
}

void add_program(const ir::Program& program, const Model::State& state, const InspectOptions& options, const ir::Watch& watch, Inspection& found) {
  TorchScriptContents& told = found.torchscript.emplace();
  found.producer = program.producer;
  told.libtorch = program.libtorch_version;
  told.traced = program.traced;
  told.training = program.training;
  told.parameter_count = state.parameters.count;
  told.parameter_bytes = state.parameters.bytes;
  for (const auto& note : program.notes) told.notes.push_back(note.message);
  if (program.root < program.objects.size()) told.class_name = program.objects[program.root].class_name;
  if (const auto root = program.classes.find(told.class_name); root != program.classes.end())
    for (const auto& [method, key] : root->second.methods)
      if (const auto function = program.functions.find(key); function != program.functions.end()) told.methods.push_back(signature(method, function->second));
  Modules modules(program, state.file.get(), options.weights, watch, found);
  modules.walk();
  add_constants(program, modules, found);
}

// Of a zip archive, by the folders that torch gives its records.
void add_sizes(const Model::State& state, Inspection& found) {
  if (state.format != frontend::Format::torchscript || !state.file) return;
  const frontend::ZipDirectory directory = frontend::read_zip_directory(*state.file);
  std::map<std::string, std::uint64_t> parts;
  std::uint64_t all = 0;
  for (const auto& record : directory.records) {
    const std::string name = record.name.starts_with(directory.top) ? record.name.substr(directory.top.size()) : record.name;
    const bool debug = name.ends_with(".debug_pkl");
    const std::string part = name.starts_with("data/") ? "weights" : name.starts_with("constants/") ? "constants" : debug ? "places in the source" : name.starts_with("code/") ? "code" : "the rest";
    parts[part] += record.stored;
    all += record.stored;
  }
  parts["the rest"] += found.bytes > all ? found.bytes - all : 0;
  for (const char* part : {"weights", "constants", "code", "places in the source", "the rest"}) found.sizes.push_back({part, parts[part]});
}

NodeContents describe(const ir::Node& node, std::uint32_t index) {
  Site site = analysis::site_of(node, index);
  NodeContents made;
  made.index = index;
  made.op = full_name(node);
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
    if (++counts[full_name(*node)] == 1) operators.push_back(full_name(*node));
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
