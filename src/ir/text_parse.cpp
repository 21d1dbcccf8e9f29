#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "compatcheck/error.h"
#include "ir/literal.h"
#include "ir/scanner.h"
#include "ir/text.h"
#include "ir/type_text.h"

namespace compatcheck::ir {
namespace {

constexpr std::size_t longest_operator = 1000;  // every node and every message has its own copy

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r";
  const std::size_t from = text.find_first_not_of(space);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(space) - from + 1);
}

// Takes ":12" off the end.
std::optional<int> take_number(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  int number = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data() + colon + 1, end, number);
  if (result.ec != std::errc() || result.ptr != end || number < 0) return std::nullopt;
  text = text.substr(0, colon);
  return number;
}

// "net.py:12:4", with the column from 0; tracing always says 0, where no statement of a function can begin.
LocationRef location_of(std::string_view comment) {
  std::string_view file = comment;
  const auto column = take_number(file);
  const auto line = column ? take_number(file) : std::nullopt;
  if (!line || file.empty()) return nullptr;
  auto location = std::make_shared<Location>();
  location->file = file;
  location->line = *line;
  location->column = *column == 0 ? 0 : *column + 1;
  return location;
}

// "__module.features/__module.features.0", the exporter's "Net::/torch.nn.Conv2d::features.0", and the older
// "Net/Sequential[features]/Conv2d[0]".
std::string module_of(std::string_view scope) {
  const std::size_t slash = scope.rfind('/');
  std::string_view last = slash == std::string_view::npos ? scope : scope.substr(slash + 1);
  if (last == "__module") return {};
  if (last.starts_with("__module.")) return std::string(last.substr(9));
  if (const std::size_t colons = last.find("::"); colons != std::string_view::npos) return std::string(last.substr(colons + 2));
  std::string path;
  for (std::size_t open = scope.find('['); open != std::string_view::npos; open = scope.find('[', open + 1)) {
    const std::size_t close = scope.find(']', open);
    if (close == std::string_view::npos) break;
    path += (path.empty() ? "" : ".") + std::string(scope.substr(open + 1, close - open - 1));
  }
  return path;
}

struct Declared {
  std::string_view name;
  TypeRef type;
  std::size_t position;
};

class GraphReader {
 public:
  GraphReader(std::string_view text, std::string_view file)
      : s_(text, file, [](const Fault& fault) { throw ModelError(fault.whole); }) {}

  Graph read() {
    skip_heading();
    read_body(*graph_.top());
    while (s_.accept("with")) read_subgraph();
    if (!s_.at_end()) s_.fail_expected("the end of the graph");
    return std::move(graph_);
  }

 private:
  // "Exported graph: graph(%x …": the words before it are the printing program's.
  void skip_heading() {
    s_.skip_space();
    const std::string_view line = s_.raw_rest_of_line();
    const std::size_t at = line.find(": graph(");
    const auto is_heading = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == ' '; };
    if (at != std::string_view::npos && std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(at), is_heading))
      s_.raw_advance(at + 2);
    if (!s_.accept("graph(")) s_.fail_expected("'graph(', as print(model.graph) writes");
  }

  // After "graph(": inputs, nodes, "return (…)".
  void read_body(Block& block) {
    read_block_inputs(block);
    while (!s_.looking_at("return")) {
      if (s_.at_end()) s_.fail_expected("a node or 'return'");
      read_node(block);
    }
    s_.expect("return", "");
    for (Value* output : read_operands("return")) block.add_output(output);
  }

  // "with prim::fork_0 = graph(…)": what the node named so holds becomes its block.
  void read_subgraph() {
    const std::size_t at = s_.position();
    const std::string name = read_operator();
    const auto node = numbered_.find(name);
    if (node == numbered_.end()) s_.fail_at(at, "no node is called " + name);
    s_.expect("=", "after the subgraph's name");
    s_.expect("graph(", "");
    node->second->set_op(name.substr(0, name.rfind('_')));
    values_.clear();
    read_body(*node->second->add_block());
    numbered_.erase(name);
  }

  void read_block_inputs(Block& block) {
    while (!s_.accept(")")) {
      Declared input = read_declared();
      Value* value = block.add_input(std::move(input.type), std::string(input.name));
      define(input, value);
      if (!s_.looking_at(")")) s_.expect(",", "or ')' after an input");
    }
    s_.expect(":", "after the inputs");
  }

  // "block0(%i : int):" … "-> (%a)".
  void read_block(Node& node) {
    Scanner::Nesting nesting(s_);
    s_.identifier();
    s_.expect("(", "before the block's inputs");
    Block& block = *node.add_block();
    const std::size_t scope = defined_.size();
    read_block_inputs(block);
    while (!s_.accept("->")) {
      if (s_.at_end()) s_.fail_expected("a node or '->'");
      read_node(block);
    }
    for (Value* output : read_operands("->")) block.add_output(output);
    for (; defined_.size() > scope; defined_.pop_back()) values_.erase(defined_.back());
  }

  void read_node(Block& block) {
    std::vector<Declared> outputs;
    while (s_.peek() == '%') {
      outputs.push_back(read_declared());
      if (!s_.accept(",")) break;
    }
    if (!outputs.empty() || s_.looking_at("=")) s_.expect("=", "before the operator");
    s_.skip_space();
    const std::size_t at = s_.position();
    Node* node = s_.accept("^") ? read_python_op(outputs) : read_plain(outputs);
    for (Declared& output : outputs) {
      Value* value = node->add_output(std::move(output.type));
      value->set_name(std::string(output.name));
      define(output, value);
    }
    block.append(node);
    read_origin(*node);
    while (at_block()) read_block(*node);
    if (const auto fault = arity_fault(*node); !fault.empty()) s_.fail_at(at, std::string(fault));
  }

  Node* read_plain(const std::vector<Declared>& outputs) {
    std::string op = read_operator();
    std::vector<Attribute> attributes = read_attributes(outputs);
    Node* node = graph_.create(op, read_operands(op));
    for (Attribute& attribute : attributes) node->set_attribute(std::move(attribute.name), std::move(attribute.value));
    if (op == "prim::Constant" && !node->attribute("value")) complete_constant(*node, outputs);
    if (const std::size_t bar = op.rfind('_');
        bar != std::string::npos && bar + 1 < op.size() && op.find_first_not_of("0123456789", bar + 1) == std::string::npos)
      numbered_[op] = node;
    return node;
  }

  // A constant without value is None, or the function that it names.
  static void complete_constant(Node& node, const std::vector<Declared>& outputs) {
    const Constant* name = node.attribute("name");
    const bool function = outputs.size() == 1 && is(outputs[0].type, TypeKind::function);
    if (function && name && name->get<std::string>())
      node.set_attribute("value", {FunctionConstant{*name->get<std::string>()}});
    else
      node.set_attribute("value", {});
  }

  // "^MyRelu[module="net"](2, a)(%x)": the plain arguments stand in brackets of their own, printed without quotes or
  // escapes, so only what follows tells where they end.
  Node* read_python_op(const std::vector<Declared>& outputs) {
    std::string name(s_.identifier());
    if (name.empty()) s_.fail_expected("the Python function's name after '^'");
    std::vector<Attribute> attributes = read_attributes(outputs);
    std::string scalars;
    if (s_.looking_at("(")) {
      const std::string_view line = s_.raw_rest_of_line();
      const std::size_t end = std::min(line.find(")(%"), line.find(")()"));
      if (end != std::string_view::npos) {
        scalars = line.substr(1, end - 1);
        s_.raw_advance(end + 1);
      }
    }
    Node* node = graph_.create("prim::PythonOp", read_operands("^" + name));
    node->set_attribute("pyname", {std::move(name)});
    if (!scalars.empty()) node->set_attribute("scalars", {std::move(scalars)});
    for (Attribute& attribute : attributes) node->set_attribute(std::move(attribute.name), std::move(attribute.value));
    return node;
  }

  std::string read_operator() {
    s_.skip_space();
    const std::size_t at = s_.position();
    std::string op(s_.identifier());
    if (op.empty()) s_.fail_expected("an operator like aten::add");
    while (s_.raw_rest().starts_with("::")) {
      s_.raw_advance(2);
      const std::string_view part = s_.identifier();
      if (part.empty()) s_.fail_expected("the operator's name after '::'");
      op += "::" + std::string(part);
    }
    if (op.size() > longest_operator)
      s_.fail_at(at, "an operator's name of more than " + std::to_string(longest_operator) + " letters");
    return op;
  }

  std::vector<Attribute> read_attributes(const std::vector<Declared>& outputs) {
    std::vector<Attribute> attributes;
    if (!s_.accept("[")) return attributes;
    while (!s_.accept("]")) {
      std::string name(s_.identifier());
      if (name.empty()) s_.fail_expected("an attribute's name");
      s_.expect("=", "after the attribute's name");
      Constant value = read_literal(s_);
      if (name == "value" && outputs.size() == 1) value = as_type(std::move(value), outputs[0].type);
      attributes.push_back({std::move(name), std::move(value)});
      if (!s_.looking_at("]")) s_.expect(",", "or ']' after the attribute");
    }
    return attributes;
  }

  std::vector<Value*> read_operands(const std::string& after) {
    std::vector<Value*> values;
    s_.expect("(", "after " + after);
    while (!s_.accept(")")) {
      s_.skip_space();
      const std::size_t at = s_.position();
      const std::string_view name = read_name();
      const auto found = values_.find(name);
      if (found == values_.end()) s_.fail_at(at, '%' + std::string(name) + " is not defined here");
      values.push_back(found->second);
      if (!s_.looking_at(")")) s_.expect(",", "or ')' after a value");
    }
    return values;
  }

  std::string_view read_name() {
    if (!s_.accept("%")) s_.fail_expected("a value like %x");
    const std::string_view name = s_.value_name();
    if (name.empty()) s_.fail_expected("a value's name after '%'");
    return name;
  }

  // "%x : Tensor"; without a type it is a Tensor.
  Declared read_declared() {
    s_.skip_space();
    const std::size_t at = s_.position();
    const std::string_view name = read_name();
    return {name, s_.accept(":") ? read_type(s_) : tensor_type(), at};
  }

  void define(const Declared& declared, Value* value) {
    if (!values_.emplace(declared.name, value).second)
      s_.fail_at(declared.position, '%' + std::string(declared.name) + " is defined already");
    defined_.push_back(declared.name);
  }

  bool at_block() {
    s_.skip_space();
    const std::string_view rest = s_.raw_rest();
    if (!rest.starts_with("block")) return false;
    const std::size_t digits = rest.find_first_not_of("0123456789", 5);
    return digits != std::string_view::npos && digits > 5 && rest[digits] == '(';
  }

  // ", scope: __module.a # net.py:12:4", up to the end of the line.
  void read_origin(Node& node) {
    const std::string_view line = s_.raw_rest_of_line();
    std::string_view rest = trimmed(line);
    const std::size_t hash = rest.find('#');
    if (rest.starts_with(',')) {
      const std::string_view scope = trimmed(rest.substr(1, hash == std::string_view::npos ? hash : hash - 1));
      if (!scope.starts_with("scope:")) s_.fail_expected("the end of the node");
      node.set_module(module_of(trimmed(scope.substr(6))));
    } else if (!rest.empty() && hash != 0) {
      return;  // several nodes on a line
    }
    if (hash != std::string_view::npos) {
      const std::string_view comment = trimmed(rest.substr(hash + 1));
      auto [known, added] = locations_.try_emplace(comment);
      if (added) known->second = location_of(comment);
      node.set_location(known->second);
    }
    s_.raw_advance(line.size());
  }

  Scanner s_;
  Graph graph_;
  std::unordered_map<std::string_view, Value*> values_;  // values in scope
  std::vector<std::string_view> defined_;                // in the order of their definitions
  std::unordered_map<std::string, Node*> numbered_;      // "prim::fork_0" awaits its subgraph
  std::unordered_map<std::string_view, LocationRef> locations_;
};

}  // namespace

Graph parse_graph(std::string_view text, const ParseOptions& options) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return GraphReader(text, options.file).read();
}

}  // namespace compatcheck::ir
