#include <unordered_map>
#include <unordered_set>

#include "ir/literal.h"
#include "ir/text.h"

namespace compatcheck::ir {
namespace {

using Names = std::unordered_map<const Value*, std::string>;

template <class Visit>
void for_each_value(const Block& block, Visit&& visit) {
  for (const Value* input : block.inputs()) visit(input);
  for (const Node* node : block) {
    for (const Value* output : node->outputs()) visit(output);
    for (const Block* inner : node->blocks()) for_each_value(*inner, visit);
  }
}

// A number, or "x.3" for another value called "x" or "x.1".
std::string other_name(const Value& value, const std::unordered_set<std::string>& used, std::uint32_t& next) {
  const std::string& name = value.name();
  std::string stem = name.substr(0, name.find_last_not_of("0123456789") + 1);
  if (stem.empty()) {
    std::string number = std::to_string(value.id());
    while (used.contains(number)) number = std::to_string(next++);
    return number;
  }
  if (stem.ends_with('.'))
    stem.pop_back();
  else if (stem.size() < name.size())
    stem = name;  // "x1" is a name of its own
  for (int i = 1;; ++i)
    if (std::string candidate = stem + '.' + std::to_string(i); !used.contains(candidate)) return candidate;
}

// Copying between graphs makes two values of one name; in the text each needs its own.
Names names_of(const Graph& graph) {
  Names names;
  std::unordered_set<std::string> used;
  for_each_value(*graph.top(), [&](const Value* value) {
    if (!value->name().empty() && used.insert(value->name()).second) names[value] = value->name();
  });
  std::uint32_t next = graph.value_limit();
  for_each_value(*graph.top(), [&](const Value* value) {
    if (names.contains(value)) return;
    std::string name = other_name(*value, used, next);
    used.insert(name);
    names[value] = std::move(name);
  });
  return names;
}

class Printer {
 public:
  Printer(const Names* names, const PrintOptions& options) : names_(names), options_(options) {}

  void graph(const Graph& graph) {
    out += "graph(";
    declare(graph.inputs(), ",\n      ");
    out += "):\n";
    for (const Node* inner : *graph.top()) line(*inner, 1);
    out += "  return (";
    use(graph.outputs());
    out += ")\n";
  }

  void node(const Node& node) {
    declare(node.outputs(), ", ");
    out += " = ";
    const Constant* scalars = nullptr;
    if (const Constant* name = python_name(node)) {
      out += '^' + *name->get<std::string>();
      scalars = node.attribute("scalars");
      attributes(node);
      out += '(' + (scalars && scalars->get<std::string>() ? *scalars->get<std::string>() : "") + ')';
    } else {
      out += node.op();
      attributes(node);
    }
    out += '(';
    use(node.inputs());
    out += ')';
  }

  std::string out;

 private:
  void line(const Node& node, int level) {
    indent(level);
    this->node(node);
    if (options_.locations) origin(node);
    out += '\n';
    int number = 0;
    for (const Block* block : node.blocks()) {
      indent(level + 1);
      out += "block" + std::to_string(number++) + '(';
      declare(block->inputs(), ", ");
      out += "):\n";
      for (const Node* inner : *block) line(*inner, level + 2);
      indent(level + 2);
      out += "-> (";
      use(block->outputs());
      out += ")\n";
    }
  }

  void indent(int level) { out.append(static_cast<std::size_t>(level) * 2, ' '); }

  std::string name(const Value* value) const {
    if (names_)
      if (const auto found = names_->find(value); found != names_->end()) return found->second;
    return value->name().empty() ? std::to_string(value->id()) : value->name();
  }

  void declare(std::span<Value* const> values, std::string_view separator) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out += separator;
      out += '%' + name(values[i]);
      if (values[i]->type()) out += " : " + to_string(*values[i]->type());
    }
  }

  void use(std::span<Value* const> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out += ", ";
      out += '%' + name(values[i]);
    }
  }

  static const Constant* python_name(const Node& node) {
    if (!node.is("prim::PythonOp")) return nullptr;
    const Constant* name = node.attribute("pyname");
    return name && name->get<std::string>() ? name : nullptr;
  }

  // Whether the node's head or a constant's type already states the attribute.
  static bool implied(const Node& node, const Attribute& attribute) {
    if (node.is("prim::Constant"))
      return attribute.name == "value" &&
             (attribute.value.is_none() || (attribute.value.get<FunctionConstant>() && node.attribute("name")));
    return python_name(node) && (attribute.name == "pyname" || attribute.name == "scalars");
  }

  void attributes(const Node& node) {
    bool any = false;
    for (const Attribute& attribute : node.attributes()) {
      if (implied(node, attribute)) continue;
      out += any ? ", " : "[";
      any = true;
      const bool function = node.is("prim::Constant") && attribute.value.get<FunctionConstant>();
      out += (function ? "name" : attribute.name) + '=';
      const bool typed = attribute.name == "value" && node.outputs().size() == 1;
      value(attribute.value, typed ? node.output()->type() : nullptr);
    }
    if (any) out += ']';
  }

  void value(const Constant& constant, const TypeRef& type) {
    const bool known = type && equal(*type_of(constant), *type);
    if (const bool* truth = constant.get<bool>(); truth && known)
      out += *truth ? '1' : '0';
    else if (const auto* device = constant.get<DeviceConstant>(); device && known)
      out += quoted(device->device);
    else
      out += write_literal(constant, known ? type : nullptr);
  }

  void origin(const Node& node) {
    if (!node.module().empty()) {
      out += ", scope: ";
      for (std::size_t dot = node.module().find('.'); dot != std::string::npos; dot = node.module().find('.', dot + 1))
        out += "__module." + node.module().substr(0, dot) + '/';
      out += "__module." + node.module();
    }
    const Location* location = node.location().get();
    if (!location || location->file.empty()) return;
    out += " # " + location->file + ':' + std::to_string(location->line) + ':' +
           std::to_string(location->column > 0 ? location->column - 1 : 0);
  }

  const Names* names_;
  PrintOptions options_;
};

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  const Names names = names_of(graph);
  Printer printer(&names, options);
  printer.graph(graph);
  return std::move(printer.out);
}

std::string print(const Node& node) {
  Printer printer(nullptr, {});
  printer.node(node);
  return std::move(printer.out);
}

std::string print(const Constant& constant) { return write_literal(constant, nullptr); }

}  // namespace compatcheck::ir
