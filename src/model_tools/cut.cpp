#include "model_tools/cut.h"

#include <algorithm>

#include "compatcheck/error.h"
#include "model_tools/names.h"

namespace compatcheck::model_tools {
namespace {

using onnx_file::GraphIndex;

struct Needed {
  std::string value, reader;
};

}  // namespace

Cut cut(const GraphIndex& graph, const std::vector<std::string>& from, const std::vector<std::string>& to) {
  Cut found;
  found.nodes.resize(static_cast<std::size_t>(graph.graph().node_size()));
  const std::unordered_set<std::string> given(from.begin(), from.end());
  std::unordered_set<std::string> seen, met;
  std::vector<std::string> missing;
  std::vector<Needed> waiting;
  for (auto value = to.rbegin(); value != to.rend(); ++value) waiting.push_back({*value, ""});
  while (!waiting.empty()) {
    const Needed needed = std::move(waiting.back());
    waiting.pop_back();
    if (!seen.insert(needed.value).second) continue;
    if (given.contains(needed.value)) {
      met.insert(needed.value);
    } else if (const auto producer = graph.producer(needed.value)) {
      if (found.nodes[*producer]) continue;
      found.nodes[*producer] = true;
      const auto& reads = graph.reads(*producer);
      const std::string reader = onnx_file::describe(graph.graph().node(static_cast<int>(*producer)), *producer);
      for (auto name = reads.rbegin(); name != reads.rend(); ++name) waiting.push_back({*name, reader});
    } else if (graph.is_initializer(needed.value)) {
      found.initializers.insert(needed.value);
    } else if (graph.is_input(needed.value)) {
      missing.push_back(needed.value + (needed.reader.empty() ? "" : " (read by " + needed.reader + ")"));
    } else {
      throw ModelError("isn't valid ONNX: " + (needed.reader.empty() ? "its output" : "node " + needed.reader + " reads") + " '" +
                       needed.value + "', which nothing gives");
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
