#include "onnx/cleanup.h"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ir/graph.h"

namespace compatcheck::onnx {
namespace {

using Substitution = std::unordered_map<ValueId, ValueId>;

template <class Visit>
void for_each_body(Node& node, Visit&& visit) {
  for (NodeAttribute& attribute : node.attributes)
    if (auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) visit(**body);
}

ValueId resolve(const Substitution& to, ValueId value) {
  for (auto found = to.find(value); found != to.end(); found = to.find(value)) value = found->second;
  return value;
}

void substitute(Graph& graph, const Substitution& to) {
  for (Node& node : graph.nodes) {
    for (ValueId& input : node.inputs) input = resolve(to, input);
    for_each_body(node, [&](Graph& body) { substitute(body, to); });
  }
  for (ValueId& output : graph.outputs) output = resolve(to, output);
}

// ---- Dead nodes

void mark_read(Node& node, std::vector<bool>& read);

// Keeps what is read, from the last node to the first; `read` holds what is read around and after the graph.
void sweep(Graph& graph, std::vector<bool>& read) {
  for (const ValueId output : graph.outputs) read[output] = true;
  std::vector<bool> keep(graph.nodes.size());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    keep[i] = std::ranges::any_of(node.outputs, [&](ValueId output) { return read[output]; });
    if (keep[i]) mark_read(node, read);
  }
  std::vector<Node> kept;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (keep[i]) kept.push_back(std::move(graph.nodes[i]));
  graph.nodes = std::move(kept);
}

void mark_read(Node& node, std::vector<bool>& read) {
  for_each_body(node, [&](Graph& body) { sweep(body, read); });
  for (const ValueId input : node.inputs) read[input] = true;
}

// ---- Equal nodes

bool is_random(const Node& node) {
  static const std::set<std::string_view> names = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
                                                   "Multinomial",  "Bernoulli",        "Dropout"};
  return names.contains(node.op);
}

template <class T>
void add_to_key(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

bool put_attribute(std::string& key, const AttributeValue& value) {
  add_to_key(key, static_cast<char>('a' + value.index()));
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    add_to_key(key, *integer);
  else if (const auto* floating = std::get_if<double>(&value))
    add_to_key(key, *floating);
  else if (const auto* text = std::get_if<std::string>(&value))
    key += *text + '\0';
  else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value)) {
    for (const auto one : *ints) add_to_key(key, one);
  } else if (const auto* floats = std::get_if<std::vector<double>>(&value)) {
    for (const auto one : *floats) add_to_key(key, one);
  } else if (const auto* data = std::get_if<TensorData>(&value); data && !data->view) {
    add_to_key(key, data->dtype);
    for (const auto dim : data->dims) add_to_key(key, dim);
    key.append(reinterpret_cast<const char*>(data->bytes.data()), data->bytes.size());
  } else
    return false;
  return true;
}

std::string key_of(const Node& node) {
  if (is_random(node) || !node.domain.empty()) return {};
  std::string key = node.op + '\0' + std::to_string(node.outputs.size()) + '\0';
  for (const ValueId input : node.inputs) add_to_key(key, input);
  for (const NodeAttribute& attribute : node.attributes) {
    key += '\0' + attribute.name + '=';
    if (!put_attribute(key, attribute.value)) return {};
  }
  return key;
}

// Returns the outputs of all graphs, which keep their nodes: two outputs can't be one value.
std::set<ValueId> outputs_of_all(Model& model) {
  std::set<ValueId> outputs(model.graph.outputs.begin(), model.graph.outputs.end());
  for_each_node(model.graph, [&](Node& node) {
    for_each_body(node, [&](Graph& body) { outputs.insert(body.outputs.begin(), body.outputs.end()); });
  });
  return outputs;
}

void merge_in(Graph& graph, Substitution& to, const std::set<ValueId>& outputs) {
  std::map<std::string, const Node*> first;
  std::vector<Node> kept;
  kept.reserve(graph.nodes.size());  // `first` points into it
  for (Node& node : graph.nodes) {
    for (ValueId& input : node.inputs) input = resolve(to, input);
    for_each_body(node, [&](Graph& body) { merge_in(body, to, outputs); });
    const std::string key = key_of(node);
    const auto known = key.empty() ? first.end() : first.find(key);
    if (known != first.end() && std::ranges::none_of(node.outputs, [&](ValueId output) { return outputs.contains(output); })) {
      for (std::size_t i = 0; i < node.outputs.size(); ++i) to[node.outputs[i]] = known->second->outputs[i];
      continue;
    }
    kept.push_back(std::move(node));
    if (!key.empty()) first.emplace(key, &kept.back());
  }
  graph.nodes = std::move(kept);
}

// ---- Names

class Names {
 public:
  std::string unique(const std::string& base) {
    std::string name = base;
    for (int& count = counts_[base]; !used_.insert(name).second;) name = base + "_" + std::to_string(++count);
    return name;
  }
  bool take(const std::string& name) { return used_.insert(name).second; }

 private:
  std::set<std::string> used_;
  std::map<std::string, int> counts_;
};

std::string path_of(const Node& node) {
  std::string path = "/";
  if (node.origin && !node.origin->module().empty()) path += node.origin->module() + "/";
  return path + node.op;
}

void name_nodes(Graph& graph, Model& model, Names& nodes, Names& values) {
  for (const ValueId input : graph.inputs)
    if (std::string& name = model.values[input].name; name.empty()) name = values.unique("input");
  for (Node& node : graph.nodes) {
    node.name = nodes.unique(path_of(node));
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (std::string& name = model.values[node.outputs[i]].name; node.outputs[i] != absent && name.empty())
        name = values.unique(node.name + "_output_" + std::to_string(i));
    for_each_body(node, [&](Graph& body) { name_nodes(body, model, nodes, values); });
  }
}

}  // namespace

void remove_dead(Model& model) {
  std::vector<bool> read(model.values.size());
  sweep(model.graph, read);
  std::erase_if(model.initializers, [&](const Initializer& initializer) { return !read[initializer.value]; });
}

void remove_identities(Model& model) {
  const std::set<ValueId> outputs = outputs_of_all(model);
  Substitution to;
  for_each_node(model.graph, [&](Node& node) {
    if (node.op == "Identity" && node.domain.empty() && !outputs.contains(node.outputs[0])) to[node.outputs[0]] = node.inputs[0];
  });
  substitute(model.graph, to);
  model.replaced.insert(to.begin(), to.end());
}

void merge_equal(Model& model) {
  Substitution to;
  merge_in(model.graph, to, outputs_of_all(model));
  substitute(model.graph, to);
  model.replaced.insert(to.begin(), to.end());
}

namespace {

// Values that hold nothing but zeros.
class Zeros {
 public:
  explicit Zeros(const Model& model) {
    for (const Initializer& initializer : model.initializers)
      if (!initializer.data.view && all_zero(initializer.data)) zeros_.insert(initializer.value);
    for_each_node(model.graph, [&](const Node& node) {
      if (is_zero(node)) zeros_.insert(node.outputs[0]);
    });
  }
  bool contains(ValueId value) const { return zeros_.contains(value); }

 private:
  static bool all_zero(const TensorData& data) {
    return std::ranges::all_of(data.bytes, [](std::uint8_t byte) { return byte == 0; });
  }

  bool is_zero(const Node& node) const {
    static constexpr std::string_view moving[] = {"Slice",   "Expand",    "Reshape", "Transpose",
                                                  "Squeeze", "Unsqueeze", "Gather",  "Cast"};
    if (!node.domain.empty() || node.outputs.size() != 1) return false;
    if (node.op == "ConstantOfShape") {
      const NodeAttribute* value = node.attribute("value");
      const auto* element = value ? std::get_if<TensorData>(&value->value) : nullptr;
      return !value || (element && !element->view && all_zero(*element));
    }
    return std::ranges::find(moving, node.op) != std::end(moving) && contains(node.inputs[0]);
  }

  std::unordered_set<ValueId> zeros_;
};

// Operators whose output has as many elements as values say: of any input, or of those behind the first.
constexpr std::array<std::string_view, 7> sized_by_elements = {"Compress", "Loop",   "NonMaxSuppression", "NonZero",
                                                               "Range",    "Unique", "ConcatFromSequence"};
constexpr std::array<std::string_view, 10> sized_by_inputs = {"ConstantOfShape", "Expand", "OneHot", "Pad",  "Reshape",
                                                              "Resize",          "Slice",  "Split",  "Tile", "TopK"};

bool contains(std::span<const std::string_view> ops, std::string_view op) { return std::ranges::find(ops, op) != ops.end(); }

bool is_sized_by_values(const Node& node, const std::unordered_set<ValueId>& constants) {
  if (!node.domain.empty()) return false;
  if (contains(sized_by_elements, node.op)) return true;
  const std::size_t first = node.op == "ConstantOfShape" ? 0 : 1;
  return contains(sized_by_inputs, node.op) &&
         std::ranges::any_of(node.inputs | std::views::drop(first), [&](ValueId input) { return !constants.contains(input); });
}

}  // namespace

void drop_zero_states(Model& model) {
  const Zeros zeros(model);
  for_each_node(model.graph, [&](Node& node) {
    if (!node.domain.empty() || (node.op != "LSTM" && node.op != "GRU" && node.op != "RNN")) return;
    for (std::size_t i = 5; i < std::min<std::size_t>(node.inputs.size(), 7); ++i)
      if (zeros.contains(node.inputs[i])) node.inputs[i] = absent;
    while (node.inputs.back() == absent) node.inputs.pop_back();
  });
}

void offer_weights(Model& model) {
  for (const Initializer& initializer : model.initializers) {
    ValueInfo& info = model.values[initializer.value];
    if (!initializer.data.view && info.name.empty()) continue;
    info.dtype = initializer.data.dtype;
    info.shape.emplace();
    for (const std::int64_t dim : initializer.data.dims) info.shape->push_back({dim, {}});
    model.graph.inputs.push_back(initializer.value);
  }
}

std::size_t node_count(const Model& model) {
  std::size_t count = 0;
  for_each_node(model.graph, [&](const Node&) { ++count; });
  return count;
}

bool has_open_sizes(const Model& model) {
  const bool open_input = std::ranges::any_of(model.graph.inputs, [&](ValueId input) {
    const auto& shape = model.values[input].shape;
    return !shape || std::ranges::any_of(*shape, [](const Dimension& size) { return !size.size; });
  });
  if (open_input) return true;
  std::unordered_set<ValueId> constants{absent};
  for (const Initializer& initializer : model.initializers) constants.insert(initializer.value);
  bool open = false;
  for_each_node(model.graph, [&](const Node& node) { open = open || is_sized_by_values(node, constants); });
  return open;
}

void name_all(Model& model) {
  Names nodes, values;
  values.take("");
  std::set<ValueId> constant_inputs;
  for (const Initializer& initializer : model.initializers) constant_inputs.insert(initializer.value);
  // The names of inputs and outputs are the user's.
  for (const ValueId input : model.graph.inputs)
    if (!constant_inputs.contains(input)) values.take(model.values[input].name);
  for (const ValueId output : model.graph.outputs) values.take(model.values[output].name);
  std::size_t constants = 0;
  for (const Initializer& initializer : model.initializers) {
    std::string& name = model.values[initializer.value].name;
    name = values.unique(name.empty() ? "constant_" + std::to_string(constants++) : name);
  }
  name_nodes(model.graph, model, nodes, values);
}

}  // namespace compatcheck::onnx
