#include "frontend/torchscript/calls_in_code.h"

#include <torch/csrc/jit/frontend/lexer.h>
#include <torch/csrc/jit/frontend/parser.h>
#include <torch/csrc/jit/frontend/tree_views.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "frontend/torchscript/packed_parameters.h"

namespace compatcheck::frontend::torchscript {
namespace {

using torch::jit::TreeRef;
using Attributes = std::map<std::string, std::string>;  // attribute → type as written

std::string text_of(const TreeRef& tree) { return tree->range().text().str(); }

// What is written there without Optional[...] around it.
std::string type_text(const TreeRef& tree) {
  std::string text = text_of(tree);
  if (text.starts_with("Optional[") && text.ends_with("]")) text = text.substr(9, text.size() - 10);
  return text;
}

std::optional<std::string> variable(const TreeRef& tree) {
  if (tree->kind() != torch::jit::TK_VAR) return std::nullopt;
  return torch::jit::Var(tree).name().name();
}

// ops.ns.name → "ns::name", torch.name → "aten::name".
std::optional<std::string> operator_called(const TreeRef& callee) {
  if (callee->kind() != '.') return std::nullopt;
  const torch::jit::Select last(callee);
  if (variable(last.value().tree()) == "torch") return "aten::" + last.selector().name();
  if (last.value().kind() != '.') return std::nullopt;
  const torch::jit::Select space(last.value().tree());
  if (variable(space.value().tree()) != "ops") return std::nullopt;
  return space.selector().name() + "::" + last.selector().name();
}

// `a, b, = f(x)`, unlike `a, b = f(x)`, takes one result apart.
bool followed_by_comma(const torch::jit::SourceRange& target) {
  const auto& text = target.source()->text_str();
  return target.end() < text.size() && text.at(target.end()) == ',';
}

// How each local variable of a function is used after it was set.
class VariableUses {
 public:
  explicit VariableUses(const TreeRef& body) { walk(body); }
  bool unpacked(const std::string& name) const { return unpacked_.contains(name); }
  bool subscripted(const std::string& name) const { return subscripted_.contains(name); }
  std::size_t targets(const std::string& name) const { return unpacked_.at(name); }

 private:
  void walk(const TreeRef& tree) {
    if (tree->kind() == torch::jit::TK_SUBSCRIPT) {
      if (const auto name = variable(torch::jit::Subscript(tree).value().tree())) subscripted_.insert(*name);
    } else if (tree->kind() == torch::jit::TK_ASSIGN) {
      const torch::jit::Assign assign(tree);
      if (assign.rhs().present() && assign.lhs().kind() == torch::jit::TK_TUPLE_LITERAL)
        if (const auto name = variable(assign.rhs().get().tree()))
          unpacked_[*name] = torch::jit::TupleLiteral(assign.lhs().tree()).inputs().size();
    }
    for (const TreeRef& inner : tree->trees()) walk(inner);
  }
  std::map<std::string, std::size_t> unpacked_;
  std::set<std::string> subscripted_;
};

class CallScan {
 public:
  CallScan(const std::set<std::string>& operators, const std::set<std::string>& classes)
      : operators_(operators), classes_(classes) {}

  void read_classes(const std::string& qualifier, const TreeRef& tree) {
    if (tree->kind() != torch::jit::TK_CLASS_DEF) return;
    const torch::jit::ClassDef cls(tree);
    Attributes& attributes = attributes_[qualifier + "." + cls.name().name()];
    for (const auto& statement : cls.body()) {
      if (statement.kind() != torch::jit::TK_ASSIGN) continue;
      const torch::jit::Assign assign(statement.tree());
      if (const auto name = variable(assign.lhs().tree()); name && assign.type().present())
        attributes[*name] = type_text(assign.type().get().tree());
      else if (assign.lhs().kind() == torch::jit::TK_SUBSCRIPT && assign.rhs().present())  // __annotations__["0"] = T
        attributes[torch::jit::StringLiteral(torch::jit::Subscript(assign.lhs().tree()).subscript_exprs()[0].tree()).text()] =
            type_text(assign.rhs().get().tree());
    }
  }

  void read_calls(const TreeRef& tree) {
    if (tree->kind() == torch::jit::TK_DEF) return read_function(torch::jit::Def(tree));
    for (const TreeRef& inner : tree->trees()) read_calls(inner);
  }

  CallsInCode take() { return std::move(calls_); }

 private:
  void read_function(const torch::jit::Def& def) {
    const VariableUses uses(def.statements().tree());
    uses_ = &uses;
    types_.clear();
    returned_.clear();
    for (const auto& parameter : def.decl().params())
      if (parameter.type().present()) types_[parameter.ident().name()] = type_text(parameter.type().get().tree());
    if (def.decl().return_type().present()) returned_ = text_of(def.decl().return_type().get().tree());
    for (const auto& statement : def.statements()) visit(statement.tree(), {});
    uses_ = nullptr;
  }

  void visit(const TreeRef& tree, const ResultUse& use) {
    switch (tree->kind()) {
      case torch::jit::TK_ASSIGN: return visit_assignment(torch::jit::Assign(tree));
      case torch::jit::TK_RETURN: return visit(torch::jit::Return(tree).expr().tree(), {returned_, 1, false, false});
      case torch::jit::TK_EXPR_STMT: return visit(torch::jit::ExprStmt(tree).expr().tree(), {"", 0, false, false});
      case torch::jit::TK_APPLY: return visit_call(torch::jit::Apply(tree), use);
      case torch::jit::TK_SUBSCRIPT: visit(torch::jit::Subscript(tree).value().tree(), {"", 1, false, true}); break;
      default: break;
    }
    const bool subscript = tree->kind() == torch::jit::TK_SUBSCRIPT;
    for (std::size_t i = subscript ? 1 : 0; i < tree->trees().size(); ++i) visit(tree->trees()[i], {});
  }

  void visit_assignment(const torch::jit::Assign& assign) {
    if (!assign.rhs().present()) return;
    const TreeRef value = assign.rhs().get().tree();
    ResultUse use;
    if (assign.type().present()) use.type = text_of(assign.type().get().tree());
    if (assign.lhs().kind() == torch::jit::TK_TUPLE_LITERAL) {
      const auto targets = torch::jit::TupleLiteral(assign.lhs().tree()).inputs();
      use.targets = targets.size();
      use.unpacked = use.targets == 0 || followed_by_comma(targets[use.targets - 1].range());
    } else if (const auto name = variable(assign.lhs().tree())) {
      if (uses_->unpacked(*name)) use.unpacked = true, use.targets = uses_->targets(*name);
      use.subscripted = uses_->subscripted(*name);
      if (const std::string type = type_of(value); !type.empty()) types_[*name] = type;
    }
    visit(value, use);
  }

  void visit_call(const torch::jit::Apply& call, const ResultUse& use) {
    const TreeRef callee = call.callee().tree();
    std::vector<std::string> named;
    for (const auto& attribute : call.attributes()) named.push_back(attribute.name().name());
    if (variable(callee) == "annotate" && call.inputs().size() == 2)
      return visit(call.inputs()[1].tree(), {text_of(call.inputs()[0].tree()), 1, false, false});
    if (const auto op = operator_called(callee)) {
      if (operators_.contains(*op)) calls_.operators[*op].add(call.inputs().size(), named, use);
    } else if (callee->kind() == '.') {
      const torch::jit::Select method(callee);
      const std::string type = type_of(method.value().tree());
      if (classes_.contains(type)) calls_.methods[type][method.selector().name()].add(call.inputs().size(), named, use);
      visit(method.value().tree(), {});
    }
    for (const auto& input : call.inputs()) visit(input.tree(), {});
    for (const auto& attribute : call.attributes()) visit(attribute.value().tree(), {});
  }

  // Of a variable, an attribute, getattr(object, "name"); empty if it can't be told.
  std::string type_of(const TreeRef& tree) const {
    if (const auto name = variable(tree)) {
      const auto known = types_.find(*name);
      return known == types_.end() ? std::string() : known->second;
    }
    if (tree->kind() == '.')
      return attribute_type(torch::jit::Select(tree).value().tree(), torch::jit::Select(tree).selector().name());
    if (tree->kind() == torch::jit::TK_APPLY) {
      const torch::jit::Apply call(tree);
      if (variable(call.callee().tree()) == "getattr" && call.inputs().size() == 2 &&
          call.inputs()[1].kind() == torch::jit::TK_STRINGLITERAL)
        return attribute_type(call.inputs()[0].tree(), torch::jit::StringLiteral(call.inputs()[1].tree()).text());
    }
    return {};
  }

  std::string attribute_type(const TreeRef& object, const std::string& name) const {
    const auto cls = attributes_.find(type_of(object));
    if (cls == attributes_.end()) return {};
    const auto found = cls->second.find(name);
    return found == cls->second.end() ? std::string() : found->second;
  }

  const std::set<std::string>& operators_;
  const std::set<std::string>& classes_;
  CallsInCode calls_;
  std::map<std::string, Attributes> attributes_;
  std::map<std::string, std::string> types_;  // of the function's variables
  std::string returned_;
  const VariableUses* uses_ = nullptr;
};

// The classes and functions of a code file. What can't be parsed is libtorch's to refuse, with its own message.
std::vector<TreeRef> definitions(const std::shared_ptr<torch::jit::Source>& source) {
  std::vector<TreeRef> found;
  torch::jit::Parser parser(source);
  auto& lexer = parser.lexer();
  while (lexer.cur().kind != torch::jit::TK_EOF) {
    if (lexer.cur().kind == torch::jit::TK_CLASS_DEF)
      found.push_back(parser.parseClass());
    else if (lexer.cur().kind == torch::jit::TK_DEF)
      found.push_back(parser.parseFunction(/*is_method=*/false));
    else
      lexer.next();
  }
  return found;
}

bool name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string_view name_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && name_character(text[end])) ++end;
  return text.substr(at, end - at);
}

}  // namespace

void CallShape::add(std::size_t positional, const std::vector<std::string>& named, const ResultUse& used) {
  fewest = calls == 0 ? positional : std::min(fewest, positional);
  most = std::max(most, positional);
  for (const std::string& name : named) ++keywords[name];
  if (use.type.empty()) use.type = used.type;
  use.targets = calls == 0 ? used.targets : std::max(use.targets, used.targets);
  use.unpacked |= used.unpacked;
  use.subscripted |= used.subscripted;
  ++calls;
}

std::set<std::string> operators_named(std::string_view code) {
  std::set<std::string> found;
  for (std::size_t at = code.find("ops."); at != code.npos; at = code.find("ops.", at + 4)) {
    if (at > 0 && (name_character(code[at - 1]) || code[at - 1] == '.')) continue;
    const std::string_view space = name_at(code, at + 4);
    const std::size_t dot = at + 4 + space.size();
    if (space.empty() || dot >= code.size() || code[dot] != '.') continue;
    const std::string_view name = name_at(code, dot + 1);
    if (!name.empty()) found.insert(std::string(space) + "::" + std::string(name));
  }
  return found;
}

std::set<std::string> custom_classes_named(std::string_view code) {
  std::set<std::string> found;
  for (std::size_t at = code.find(custom_class_prefix); at != code.npos; at = code.find(custom_class_prefix, at + 1)) {
    const std::string_view space = name_at(code, at + custom_class_prefix.size());
    const std::size_t dot = at + custom_class_prefix.size() + space.size();
    if (dot >= code.size() || code[dot] != '.') continue;
    const std::string_view name = name_at(code, dot + 1);
    if (!name.empty()) found.insert(std::string(code.substr(at, dot + 1 + name.size() - at)));
  }
  return found;
}

CallsInCode find_calls(Sources& sources, const std::set<std::string>& operators, const std::set<std::string>& classes) {
  CallScan scan(operators, classes);
  std::vector<TreeRef> all;
  for (const std::string& qualifier : sources.qualifiers())
    for (const TreeRef& tree : definitions(sources.load(qualifier))) {
      scan.read_classes(qualifier, tree);
      all.push_back(tree);
    }
  for (const TreeRef& tree : all) scan.read_calls(tree);
  return scan.take();
}

}  // namespace compatcheck::frontend::torchscript
