#include "model_tools/cut.h"

#include <algorithm>

#include "compatcheck/error.h"
#include "model_tools/names.h"

namespace compatcheck::model_tools {
namespace {

using onnx_file::GraphIndex;

struct Wanted {
  std::string value, reader;
};

}  // namespace

Cut cut(const GraphIndex& graph, const std::vector<std::string>& from, const std::vector<std::string>& to) {
  Cut found;
  found.nodes.resize(static_cast<std::size_t>(graph.graph().node_size()));
  const std::unordered_set<std::string> given(from.begin(), from.end());
  std::unordered_set<std::string> seen, met;
  std::vector<std::string> missing;
  std::vector<Wanted> waiting;
  for (auto value = to.rbegin(); value != to.rend(); ++value) waiting.push_back({*value, ""});
  while (!waiting.empty()) {
    const Wanted wanted = std::move(waiting.back());
    waiting.pop_back();
    if (!seen.insert(wanted.value).second) continue;
    if (given.contains(wanted.value)) {
      met.insert(wanted.value);
    } else if (const auto producer = graph.producer(wanted.value)) {
      if (found.nodes[*producer]) continue;
      found.nodes[*producer] = true;
      const auto& reads = graph.reads(*producer);
      const std::string reader = onnx_file::describe(graph.graph().node(static_cast<int>(*producer)), *producer);
      for (auto name = reads.rbegin(); name != reads.rend(); ++name) waiting.push_back({*name, reader});
    } else if (graph.is_initializer(wanted.value)) {
      found.initializers.insert(wanted.value);
    } else if (graph.is_input(wanted.value)) {
      missing.push_back(wanted.value + (wanted.reader.empty() ? "" : " (read by " + wanted.reader + ")"));
    } else {
      throw ModelError("isn't valid ONNX: " + (wanted.reader.empty() ? "its output" : "node " + wanted.reader + " reads") + " '" +
                       wanted.value + "', which nothing gives");
    }
  }
  for (const auto& name : from)
    if (!met.contains(name)) found.unread.push_back(name);
  if (missing.empty()) return found;
  std::string message = "ExtractOptions::from lacks inputs of the model that " + listed(to) +
                        (to.size() == 1 ? " needs: " : " need: ") + listed(missing);
  if (!found.unread.empty()) message += "; nothing on the way reads " + listed(found.unread);
  throw UsageError(message);
}

}  // namespace compatcheck::model_tools
