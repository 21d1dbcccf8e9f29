#include "frontend/native/calls_in_code.h"

#include <algorithm>
#include <optional>
#include <set>

namespace compatcheck::frontend::native {
namespace {

std::optional<std::string_view> variable_name(const Expression& expression) {
  return expression.is(Form::name) ? std::optional(expression.text) : std::nullopt;
}

// As written, without Optional[…] around it.
std::string type_text(const Expression& type) {
  if (type.is(Form::subscript)) {
    const std::string word = dotted(type.parts[0]);
    if (word == "Optional" && type.parts.size() == 2) return type_text(type.parts[1]);
    std::string inner;
    for (std::size_t i = 1; i < type.parts.size(); ++i) inner += (i > 1 ? ", " : "") + type_text(type.parts[i]);
    return word + "[" + inner + "]";
  }
  return type.is(Form::none) ? "None" : dotted(type);
}

// How each local variable of a function is used after it was set.
class VariableUses {
 public:
  explicit VariableUses(const std::vector<Statement>& body) { walk(body); }
  bool unpacked(std::string_view name) const { return unpacked_.contains(name); }
  bool subscripted(std::string_view name) const { return subscripted_.contains(name); }
  std::size_t targets(std::string_view name) const { return unpacked_.at(name); }

 private:
  void walk(const std::vector<Statement>& statements) {
    for (const Statement& each : statements) {
      if (each.kind == Statement::Kind::assignment && each.unpacks && each.values.size() == 1)
        if (const auto name = variable_name(each.values[0])) unpacked_[*name] = each.targets.size();
      for (const Expression& value : each.values) walk(value);
      walk(each.body);
      walk(each.otherwise);
    }
  }
  void walk(const Expression& each) {
    if (each.is(Form::subscript))
      if (const auto name = variable_name(each.parts[0])) subscripted_.insert(*name);
    for (const Expression& part : each.parts) walk(part);
  }
  std::map<std::string_view, std::size_t> unpacked_;
  std::set<std::string_view> subscripted_;
};

class CallScan {
 public:
  CallScan(Definitions& definitions, const std::function<bool(const std::string&)>& is_searched)
      : definitions_(definitions), is_searched_(is_searched) {}

  std::map<std::string, CallShape> run() {
    for (const auto& [qualifier, file] : definitions_.every_file()) {
      for (const ClassSyntax& cls : file->classes)
        for (const FunctionSyntax& method : cls.methods) read(method, qualifier + "." + std::string(cls.name));
      for (const FunctionSyntax& function : file->functions) read(function, {});
    }
    return std::move(shapes_);
  }

 private:
  void read(const FunctionSyntax& function, const std::string& self) {
    const VariableUses uses(function.body);
    uses_ = &uses;
    types_.clear();
    for (const ParameterSyntax& parameter : function.parameters)
      types_[parameter.name] = parameter.type.is(Form::absent) ? self : type_text(parameter.type);
    returned_ = function.result.is(Form::absent) ? std::string() : type_text(function.result);
    visit(function.body);
  }

  void visit(const std::vector<Statement>& statements) {
    for (const Statement& each : statements) {
      if (each.kind == Statement::Kind::assignment)
        visit_assignment(each);
      else
        for (const Expression& value : each.values) visit(value, use_in(each));
      for (const FunctionSyntax& function : each.function) visit(function.body);
      visit(each.body);
      visit(each.otherwise);
    }
  }

  ResultUse use_in(const Statement& each) const {
    if (each.kind == Statement::Kind::result && !each.unpacks) return {.type = returned_};
    if (each.kind == Statement::Kind::expression) return {.targets = 0};
    return {};
  }

  void visit_assignment(const Statement& each) {
    ResultUse use;
    if (!each.annotation.is(Form::absent)) use.type = type_text(each.annotation);
    const bool one = each.values.size() == 1;
    if (one && (each.unpacks || each.targets.size() > 1)) {
      use.targets = each.targets.size();
      use.unpacked = each.trailing_comma;
    } else if (const auto name = one ? variable_name(each.targets[0]) : std::nullopt) {
      if (uses_->unpacked(*name)) use.unpacked = true, use.targets = uses_->targets(*name);
      use.subscripted = uses_->subscripted(*name);
      if (std::string type = type_of(each.values[0]); !type.empty()) types_[*name] = std::move(type);
    }
    for (const Expression& value : each.values) visit(value, one ? use : ResultUse{});
  }

  void visit(const Expression& each, const ResultUse& use) {
    if (each.is(Form::call)) return visit_call(each, use);
    for (std::size_t i = 0; i < each.parts.size(); ++i)
      visit(each.parts[i], each.is(Form::subscript) && i == 0 ? ResultUse{.subscripted = true} : ResultUse{});
  }

  void visit_call(const Expression& call, const ResultUse& use) {
    const Expression& callee = call.parts[0];
    if (callee.is_name("annotate") && call.parts.size() == 3) return visit(call.parts[2], {.type = type_text(call.parts[1])});
    if (const std::string name = callee_of(callee); !name.empty() && is_searched_(name))
      shapes_[name].add(call.parts.size() - 1 - call.keywords.size(), call.keywords, use);
    if (callee.is(Form::attribute)) visit(callee.parts[0], {});
    for (std::size_t i = 1; i < call.parts.size(); ++i) visit(call.parts[i], {});
  }

  // "ns::name" of ops.ns.name, "aten::name" of torch.name, "Class.method" of a method.
  std::string callee_of(const Expression& callee) const {
    if (!callee.is(Form::attribute)) return {};
    const std::string chain = dotted(callee);
    if (chain.starts_with("torch.")) return "aten::" + chain.substr(6);
    if (chain.starts_with("ops.")) {
      const auto dot = chain.find('.', 4);
      return dot == chain.npos ? std::string() : chain.substr(4, dot - 4) + "::" + chain.substr(dot + 1);
    }
    const std::string type = type_of(callee.parts[0]);
    return type.empty() ? type : type + "." + std::string(callee.text);
  }

  // Returns the type of a variable, an attribute, getattr(object, "name"); empty if it isn't known.
  std::string type_of(const Expression& each) const {
    if (const auto name = variable_name(each)) {
      const auto known = types_.find(*name);
      return known == types_.end() ? std::string() : known->second;
    }
    if (each.is(Form::attribute)) return attribute_type(each.parts[0], each.text);
    const bool named = each.is(Form::call) && each.parts[0].is_name("getattr") && each.parts.size() == 3;
    return named ? attribute_type(each.parts[1], each.parts[2].text) : std::string();
  }

  std::string attribute_type(const Expression& object, std::string_view name) const {
    const std::string type = type_of(object);
    const ClassDefinition* cls = type.starts_with("__torch__.") ? definitions_.find_class(type) : nullptr;
    const Attribute* attribute = cls ? cls->attribute(name) : nullptr;
    return attribute ? annotation(*ir::without_optional(attribute->type)) : std::string();
  }

  Definitions& definitions_;
  const std::function<bool(const std::string&)>& is_searched_;
  std::map<std::string, CallShape> shapes_;
  std::map<std::string_view, std::string> types_;  // types of the function's variables
  std::string returned_;
  const VariableUses* uses_ = nullptr;
};

}  // namespace

void CallShape::add(std::size_t positional, const std::vector<std::string_view>& named, const ResultUse& used) {
  fewest = calls == 0 ? positional : std::min(fewest, positional);
  most = std::max(most, positional);
  for (const std::string_view name : named) ++keywords[std::string(name)];
  if (use.type.empty()) use.type = used.type;
  use.targets = calls == 0 ? used.targets : std::max(use.targets, used.targets);
  use.unpacked |= used.unpacked;
  use.subscripted |= used.subscripted;
  ++calls;
}

std::map<std::string, CallShape> calls_of(Definitions& definitions, const std::function<bool(const std::string&)>& is_searched) {
  return CallScan(definitions, is_searched).run();
}

}  // namespace compatcheck::frontend::native
