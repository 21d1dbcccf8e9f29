#include "frontend/pt2/signature.h"

#include <algorithm>
#include <set>

#include "compatcheck/error.h"
#include "frontend/pt2/union.h"
#include "process/spell_count.h"

namespace compatcheck::frontend::pt2 {
namespace {

constexpr int deepest_tree = 100;
constexpr std::size_t longest_name = 1000;

std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& member : list.members()) texts.emplace_back(member.text());
  return texts;
}

// The context of a spec is JSON in a text: a list of keys, or of two lists (a dataclass: its fields, and those that were None).
std::vector<std::string> keys_of(const Json& context, std::size_t members) {
  if (!context.is(Json::Kind::text)) return {};
  const std::string_view text = context.text();
  const JsonDocument document({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, "a context");
  Json list = document.root();
  if (!list.is(Json::Kind::array)) return {};
  if (const auto lists = list.members(); !lists.empty() && lists.front().is(Json::Kind::array)) list = lists.front();
  std::vector<std::string> keys;
  for (const Json& key : list.members())
    keys.push_back(key.is(Json::Kind::text)      ? std::string(key.text())
                   : key.is(Json::Kind::integer) ? std::to_string(key.integer())
                                                 : "");
  return keys.size() == members ? keys : std::vector<std::string>();
}

class TreeReader {
 public:
  // Fields of named tuples by their registered names.
  explicit TreeReader(std::optional<Json> fields) : fields_(fields) {}

  // "[1, {…}]": a version and the tree.
  Tree read(std::string_view text) {
    const JsonDocument document({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, "a tree of arguments");
    const auto parts = document.root().members();
    if (parts.size() != 2 || parts[0].integer() != 1) document.root().fail("is a tree of arguments of an unknown version");
    return tree(parts[1], 0);
  }

 private:
  Tree tree(const Json& spec, int depth) {
    if (depth > deepest_tree) spec.fail("is nested too deep");
    Tree made;
    const Json type = spec.at("type");
    if (type.is_null()) return made;
    const auto children = spec.at("children_spec").members();
    for (const Json& child : children) made.members.push_back(tree(child, depth + 1));
    made.kind = Tree::Kind::sequence;
    made.keys = keys(type.text(), spec.at("context"), children.size());
    if (!made.keys.empty() || type.text().ends_with("Dict") || type.text().ends_with(".dict")) made.kind = Tree::Kind::dictionary;
    return made;
  }

  std::vector<std::string> keys(std::string_view type, const Json& context, std::size_t members) {
    if (type == "builtins.tuple" || type == "builtins.list" || type == "collections.deque") return {};
    if (type == "collections.namedtuple" && context.is(Json::Kind::text) && fields_ && fields_->is(Json::Kind::object)) {
      const auto definition = fields_->find(context.text());
      const auto names = definition ? texts_of(definition->at("field_names")) : std::vector<std::string>();
      return names.size() == members ? names : std::vector<std::string>();
    }
    try {
      return keys_of(context, members);
    } catch (const ModelError&) {  // a class of a library writes what it likes
      return {};
    }
  }

  std::optional<Json> fields_;
};

void name_leaves(const Tree& tree, const std::string& path, std::vector<std::string>& names) {
  if (path.size() > longest_name) throw ModelError("has an argument whose name is longer than 1,000 bytes");
  if (tree.kind == Tree::Kind::leaf) return names.push_back(path);
  for (std::size_t i = 0; i < tree.members.size(); ++i) {
    const std::string part = i < tree.keys.size() ? tree.keys[i] : std::to_string(i);
    name_leaves(tree.members[i], path.empty() ? part : path + "." + part, names);
  }
}

// The names of the user's inputs in the graph's order: arguments by the parameters of forward, then named ones.
std::vector<std::string> input_names(const Tree& arguments, const std::vector<std::string>& parameters) {
  std::vector<std::string> names;
  if (arguments.members.size() != 2) return names;
  const Tree &positional = arguments.members[0], &named = arguments.members[1];
  for (std::size_t i = 0; i < positional.members.size(); ++i) {
    if (i >= parameters.size()) return {};
    name_leaves(positional.members[i], parameters[i], names);
  }
  name_leaves(named, "", names);
  return names;
}

std::size_t leaves(const Tree& tree) {
  if (tree.kind == Tree::Kind::leaf) return 1;
  std::size_t count = 0;
  for (const Tree& member : tree.members) count += leaves(member);
  return count;
}

// Each once, and fit for the command line.
bool are_names(const std::vector<std::string>& names) {
  std::set<std::string_view> seen;
  return std::ranges::all_of(names, [&](const std::string& name) {
    return !name.empty() && name.size() <= longest_name && name.find('=') == name.npos && seen.insert(name).second;
  });
}

std::optional<Json> root_call(const Json& graph_module) {
  const auto calls = graph_module.find("module_call_graph");
  if (!calls) return std::nullopt;
  for (const Json& call : calls->members())
    if (call.at("fqn").text().empty())
      if (const auto signature = call.find("signature"); signature && !signature->is_null()) return signature;
  return std::nullopt;
}

InputSpec input_spec(const Json& union_value) {
  using enum InputSpec::Kind;
  const Tagged spec = tagged(union_value);
  InputSpec made;
  const auto text = [&](std::string_view key) { return std::string(spec.value.at(key).text()); };
  if (spec.tag == "constant_input") {
    made.kind = fixed;
    made.name = text("name");
    return made;
  }
  made.value = value_name(spec.value.at("arg"));
  if (spec.tag == "user_input") {
    made.name = made.value;
  } else if (spec.tag == "parameter") {
    made.kind = parameter;
    made.target = text("parameter_name");
  } else if (spec.tag == "buffer") {
    made.kind = buffer;
    made.target = text("buffer_name");
  } else if (spec.tag == "tensor_constant") {
    made.kind = constant;
    made.target = text("tensor_constant_name");
  } else if (spec.tag == "custom_obj") {
    made.kind = object;
    made.target = text("custom_obj_name");
  } else if (spec.tag == "token") {
    made.kind = token;
  } else {
    union_value.fail("has the unknown kind of input \"" + std::string(spec.tag) + "\"");
  }
  return made;
}

OutputSpec output_spec(const Json& union_value) {
  using enum OutputSpec::Kind;
  const Tagged spec = tagged(union_value);
  if (spec.tag == "user_output") return {};
  if (spec.tag == "buffer_mutation") return {state, std::string(spec.value.at("buffer_name").text())};
  if (spec.tag == "parameter_mutation") return {state, std::string(spec.value.at("parameter_name").text())};
  if (spec.tag == "user_input_mutation") return {written_input, std::string(spec.value.at("user_input_name").text())};
  if (spec.tag == "token") return {token, {}};
  if (spec.tag == "loss_output" || spec.tag.starts_with("gradient_to_"))
    throw ModelError("is a training graph with gradients among its outputs: export the model's forward pass alone");
  union_value.fail("has the unknown kind of output \"" + std::string(spec.tag) + "\"");
}

// torch 2.1: dictionaries by the values' names.
void read_dictionaries(const Json& signature, const Json& graph, Signature& made) {
  const Json parameters = signature.at("inputs_to_parameters"), buffers = signature.at("inputs_to_buffers");
  for (const Json& input : graph.at("inputs").members()) {
    InputSpec spec{.value = std::string(value_name(input))};
    if (const auto parameter = parameters.find(spec.value)) {
      spec.kind = InputSpec::Kind::parameter;
      spec.target = parameter->text();
    } else if (const auto buffer = buffers.find(spec.value)) {
      spec.kind = InputSpec::Kind::buffer;
      spec.target = buffer->text();
    } else {
      spec.name = spec.value;
    }
    made.inputs.push_back(std::move(spec));
  }
  const Json states = signature.at("buffers_to_mutate");
  for (const Json& output : graph.at("outputs").members()) {  // those of state come first
    const bool may_be_state = made.outputs.size() < states.size();
    const auto state = may_be_state ? states.find(value_name(output)) : std::nullopt;
    made.outputs.push_back(state ? OutputSpec{OutputSpec::Kind::state, std::string(state->text())} : OutputSpec{});
  }
}

}  // namespace

Signature read_signature(const Json& graph_module) {
  const Json graph = graph_module.at("graph"), signature = graph_module.at("signature");
  Signature made;
  if (const auto specs = signature.find("input_specs")) {
    for (const Json& spec : specs->members()) made.inputs.push_back(input_spec(spec));
    for (const Json& spec : signature.at("output_specs").members()) made.outputs.push_back(output_spec(spec));
  } else {
    read_dictionaries(signature, graph, made);
  }
  const std::size_t inputs = graph.at("inputs").size(), outputs = graph.at("outputs").size();
  if (made.inputs.size() != inputs || made.outputs.size() != outputs)
    signature.fail("lists " + spell_count(made.inputs.size(), "input") + " and " + spell_count(made.outputs.size(), "output") +
                   ", but the graph has " + std::to_string(inputs) + " and " + std::to_string(outputs));

  const auto call = root_call(graph_module);
  if (!call) return made;
  TreeReader reader(graph_module.find("treespec_namedtuple_fields"));
  const auto is_user = [](const InputSpec& spec) {
    return spec.kind == InputSpec::Kind::user || spec.kind == InputSpec::Kind::fixed;
  };
  if (const auto parameters = call->find("forward_arg_names"); parameters && parameters->is(Json::Kind::array)) {
    const auto names = input_names(reader.read(call->at("in_spec").text()), texts_of(*parameters));
    if (names.size() == static_cast<std::size_t>(std::ranges::count_if(made.inputs, is_user)) && are_names(names)) {
      std::size_t next = 0;
      for (InputSpec& spec : made.inputs)
        if (is_user(spec)) spec.name = names[next++];
    }
  }
  Tree results = reader.read(call->at("out_spec").text());
  const auto user_outputs = std::ranges::count(made.outputs, OutputSpec::Kind::user, &OutputSpec::kind);
  if (leaves(results) == static_cast<std::size_t>(user_outputs)) made.results = std::move(results);
  return made;
}

}  // namespace compatcheck::frontend::pt2
