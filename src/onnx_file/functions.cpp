#include "onnx_file/functions.h"

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "onnx/schema.h"
#include "onnx_file/graph_index.h"
#include "onnx_file/repeated.h"

namespace compatcheck::onnx_file {
namespace {

using Key = std::tuple<std::string, std::string, std::string>;

Key key_of(const std::string& domain, const std::string& name, const std::string& overload) {
  return {onnx::is_own_domain(domain) ? "" : domain, name, overload};
}

void add_calls(const auto& nodes, std::vector<Key>& calls) {
  for (const auto& node : nodes) {
    calls.push_back(key_of(node.domain(), node.op_type(), node.overload()));
    for_each_body(node, [&](const ::onnx::GraphProto& body) { add_calls(body.node(), calls); });
  }
}

}  // namespace

void keep_used_functions(::onnx::ModelProto& model) {
  std::map<Key, const ::onnx::FunctionProto*> functions;
  for (const auto& function : model.functions())
    functions[key_of(function.domain(), function.name(), function.overload())] = &function;
  std::set<Key> used;
  std::vector<Key> waiting;
  add_calls(model.graph().node(), waiting);
  while (!waiting.empty()) {
    const Key key = std::move(waiting.back());
    waiting.pop_back();
    if (const auto found = functions.find(key); found != functions.end() && used.insert(key).second)
      add_calls(found->second->node(), waiting);
  }
  keep_if(*model.mutable_functions(),
          [&](const auto& function) { return used.contains(key_of(function.domain(), function.name(), function.overload())); });
}

}  // namespace compatcheck::onnx_file
