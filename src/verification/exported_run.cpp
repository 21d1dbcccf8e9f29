#include "verification/exported_run.h"

#include <algorithm>
#include <limits>
#include <map>

#include "compatcheck/error.h"
#include "examples/elements.h"
#include "frontend/pt2/guards.h"

namespace compatcheck::verification {
namespace {

constexpr std::string_view crash = "PyTorch crashes (";  // begins the message of frontend/load.cpp

// The graph of the file, with the tensors as constants. Attributes named in `state` become inputs at the end; their values after
// the call become outputs at the end.
ir::Graph reference_graph(const ir::Program& program, const std::vector<std::string>& state) {
  const ir::Object& root = program.objects.at(program.root);
  const ir::Class& type = program.classes.at(root.class_name);
  ir::Graph graph = program.functions.at(type.methods.at("forward")).graph.clone();
  std::map<std::string_view, const ir::Constant*> attributes;
  for (std::size_t i = 0; i < type.attributes.size(); ++i) attributes.emplace(type.attributes[i].name, &root.attributes[i]);
  std::map<std::string, ir::Value*> kept;  // values of the attributes: in-place operators change the tensor itself
  for (const std::string& name : state) kept[name] = graph.top()->add_input(ir::tensor_type(), name);
  for (ir::Node* node : *graph.top()) {
    if (!node->is("prim::SetAttr") && !node->is("prim::GetAttr")) continue;
    const std::string& name = *node->attribute("name")->get<std::string>();
    const auto found = kept.find(name);
    if (node->is("prim::SetAttr")) {
      if (found != kept.end()) found->second = node->input(1);
      node->erase();
      continue;
    }
    ir::Value* value = found == kept.end() ? nullptr : found->second;
    if (!value) {
      ir::Node* constant = graph.create_constant(*attributes.at(name));
      constant->insert_before(node);
      value = constant->output();
    }
    node->output()->replace_all_uses_with(value);
    node->erase();
  }
  for (const std::string& name : state) graph.top()->add_output(kept.at(name));
  graph.top()->erase_input(0);
  return graph;
}

}  // namespace

ExportedRun::ExportedRun(const Model::State& model, const std::vector<std::string>& state)
    : model_(model), state_(state), graph_(reference_graph(*model.program, state)) {}

std::vector<analysis::ExampleLeaf> ExportedRun::samples() const {
  std::vector<analysis::ExampleLeaf> samples;
  for (const auto& input : model_.exported->inputs) {
    if (!input.sample) return {};
    samples.push_back({input.name, *input.sample});
    examples::read_elements(samples.back().value, *model_.file, nullptr);
  }
  return samples;
}

std::string ExportedRun::refusal(const MadeCall& call) const {
  std::map<std::string, std::vector<std::int64_t>> sizes;
  for (const auto& [name, leaf] : call.leaves)
    if (const auto* tensor = leaf.get<ir::TensorView>()) sizes.emplace(name, tensor->sizes);
  return frontend::pt2::violation(*model_.exported, sizes);
}

std::vector<frontend::Frontend::Run> ExportedRun::run(frontend::Frontend& frontend, const std::vector<ir::Constants>& calls,
                                                      std::uint64_t seed) const {
  std::vector<frontend::Frontend::Run> runs;
  ir::Constants state;
  for (const auto& kept : model_.state)
    if (std::ranges::find(state_, kept.path) != state_.end()) {
      state.push_back(kept.initial);
      examples::read_elements(state.back(), *model_.file, nullptr);
    }
  const std::size_t own = graph_.inputs().size() - state_.size();
  const std::vector<const ir::Value*> outputs(graph_.outputs().begin(), graph_.outputs().end());
  for (const ir::Constants& call : calls) {
    frontend::Frontend::Run run;
    run.before = state;
    try {
      ir::Constants arguments(call.begin(), call.begin() + static_cast<std::ptrdiff_t>(own));
      arguments.insert(arguments.end(), state.begin(), state.end());
      auto inner = frontend.inner_values(*model_.file, model_.path, graph_, arguments, seed + runs.size(),
                                         {{.block = graph_.top(), .first = 0, .end = 1, .values = outputs}},
                                         std::numeric_limits<std::uint64_t>::max());
      ir::Constants& results = inner.values.at(0).at(0);
      run.after.assign(results.begin() + 1, results.end());
      run.result = std::move(results.front());
      state = run.after;
    } catch (const ModelError& error) {
      run.failure = error.what();
      run.crashed = run.failure.find(crash) != std::string::npos;
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace compatcheck::verification
