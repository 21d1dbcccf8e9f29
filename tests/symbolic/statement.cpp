#include "symbolic/statement.h"

#include <cctype>
#include <stdexcept>

#include "ir/text.h"

namespace compatcheck::symbolic {
namespace {

Fact parse_fact(const std::string& text) {
  const auto open = text.find('[');
  TensorFact tensor{.dtype = ir::dtype_from_name(text.substr(0, open))};
  if (open == std::string::npos) return {.value = std::move(tensor)};
  tensor.shape.emplace();
  for (std::size_t at = open + 1; text[at] != ']';) {
    const std::size_t end = text.find_first_of(",]", at);
    const std::string size = text.substr(at, end - at);
    tensor.shape->push_back(size == "?"                                         ? Dim::unknown()
                            : std::isdigit(static_cast<unsigned char>(size[0])) ? Dim(std::stoll(size))
                                                                                : Dim::symbol(size));
    at = text[end] == ',' ? end + 1 : end;
  }
  return {.value = std::move(tensor)};
}

const schema::Registry& schemas() {
  static const schema::Registry registry;
  return registry;
}

}  // namespace

std::string Statement::output(std::size_t i) const {
  const Fact& fact = facts.of(graph.outputs()[i]);
  std::string text = to_string(fact);
  if (const auto* tensor = fact.tensor(); tensor && tensor->contents) {
    text += " {";
    for (const Dim& dim : *tensor->contents) text += (text.back() == '{' ? "" : ", ") + dim.to_string();
    text += "}";
  }
  return text;
}

const ir::Node& Statement::node(std::string_view op) const {
  const ir::Node* found = nullptr;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    if (!found && node->is(op)) found = node;
  });
  if (!found) throw std::runtime_error("no " + std::string(op));
  return *found;
}

Statement state(const std::map<std::string, std::string>& inputs, const std::string& body) {
  std::string parameters;
  std::vector<conversion::InputFact> given;
  for (const auto& [name, what] : inputs) {
    parameters += (parameters.empty() ? "%" : ", %") + name + " : " + (what == "int" ? "int" : "Tensor");
    if (what != "int" && what != "anything") given.push_back({name, parse_fact(what)});
  }
  static const Registry registry = shipped_registry();
  Statement statement{.graph = ir::parse_graph("graph(" + parameters + "):\n" + body + "\n"), .facts = {}};
  schema::resolve(statement.graph, schemas());
  statement.facts = conversion::state_facts(statement.graph, given, mapping::Table::shipped(), schemas(), registry);
  return statement;
}

}  // namespace compatcheck::symbolic
