#include "frontend/pt2/custom_calls.h"

#include <algorithm>
#include <cctype>

#include "frontend/pt2/union.h"

namespace compatcheck::frontend::pt2 {
namespace {

constexpr std::int64_t positional = 1;  // ArgumentKind of torch/_export/serde/schema.py

bool is_word(std::string_view name) {
  return std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == ':'; });
}

// The kind of an argument or result in the text of a schema.
std::string kind_in_schema(const ir::TypeRef& type) {
  if (ir::is(type, ir::TypeKind::tensor)) return "Tensor";
  return ir::is(type, ir::TypeKind::none) ? "Tensor?" : ir::to_string(*type);
}

std::string name_of(const Json& input) { return std::string(input.at("name").text()); }

bool is_none(const Json& input) { return tagged(input.at("arg")).tag == "as_none"; }

// torch passes these in the operator's own order, without gaps; it may leave out others that have defaults.
bool is_positional(const Json& input) {
  const auto kind = input.find("kind");
  return kind && kind->is(Json::Kind::integer) && kind->integer() == positional;
}

bool is_always_none(const schema::Argument& argument) { return ir::is(argument.type, ir::TypeKind::none); }

std::optional<std::string> schema_of_calls(const ir::Node& call, const std::vector<std::string>& names,
                                           const std::vector<std::string>& types) {
  std::string formals, returns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto space = types[i].find('=');  // "float?=None"
    formals += (i ? ", " : "") + types[i].substr(0, space) + " " + names[i];
    if (space != std::string::npos) formals += types[i].substr(space);
  }
  for (const ir::Value* result : call.outputs()) returns += (returns.empty() ? "" : ", ") + kind_in_schema(result->type());
  std::string text =
      call.op() + (call.overload().empty() ? "" : "." + call.overload()) + "(" + formals + ") -> (" + returns + ")";
  try {
    schema::parse(text);
  } catch (const schema::ParseError&) {  // a name that no operator can have
    return std::nullopt;
  }
  return text;
}

// Each list holds its names in the order of one schema, and leaves some out.
std::vector<std::string> merged(std::vector<std::string> names, const std::vector<std::string>& more) {
  auto place = names.begin();
  for (const std::string& name : more) {
    auto found = std::ranges::find(names, name);
    if (found == names.end()) found = names.insert(place, name);
    place = std::next(found);
  }
  return names;
}

}  // namespace

std::optional<Placement> place(const schema::Schema& schema, std::span<const Json> inputs) {
  std::vector<std::optional<std::size_t>> formals;  // of the inputs, by name
  for (const Json& input : inputs) formals.push_back(schema.argument_index(input.at("name").text()));
  Placement made{.inputs = std::vector<std::optional<std::size_t>>(schema.arguments.size())};
  const auto in_order = [&] {
    std::size_t next = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::size_t at = formals[i].value_or(next);
      if (!formals[i]) {
        const auto is_free = [&](std::size_t formal) {
          return std::ranges::find(formals, formal) == formals.end() && !schema.arguments[formal].keyword_only &&
                 (!is_always_none(schema.arguments[formal]) || is_none(inputs[i]));
        };
        while (at < schema.arguments.size() && !is_free(at)) ++at;
        made.by_position = true;
      }
      if (at < next || at >= schema.arguments.size()) return false;
      made.inputs[at] = i;
      next = at + 1;
    }
    return true;
  };
  const bool named = std::ranges::all_of(formals, [](const auto& formal) { return formal.has_value(); });
  if (named)
    for (std::size_t i = 0; i < inputs.size(); ++i) made.inputs[*formals[i]] = i;
  else if (!in_order())
    return std::nullopt;
  bool gaps = false;  // the file may leave out an argument that stands before one without a name in the schema
  for (std::size_t i = 0; i < inputs.size(); ++i) gaps = gaps || (!formals[i] && !is_positional(inputs[i]));
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const schema::Argument& formal = schema.arguments[i];
    const bool may_be_left_out = formal.default_value && (!gaps || formal.keyword_only);
    if (!made.inputs[i] && !may_be_left_out && !is_always_none(formal)) return std::nullopt;
  }
  return made;
}

std::string spell_names(const std::string& op, std::span<const Json> inputs) {
  std::string names;
  for (const Json& input : inputs) {
    const std::string name = name_of(input);
    names += (names.empty() ? "" : ", ") + (name.empty() ? "_" : name);
  }
  return op + "(" + names + ")";
}

void AssumedCalls::add(ir::Node* call, std::span<const Json> inputs) {
  if (!is_word(call->op()) || call->inputs().size() != inputs.size()) return;
  Call made{call, {}};
  for (const Json& input : inputs) {
    if (!is_word(input.at("name").text())) return;
    made.names.push_back(name_of(input).empty() ? "arg" + std::to_string(made.names.size()) : name_of(input));
  }
  calls_[{call->op(), call->overload()}].push_back(std::move(made));
}

std::vector<std::string> AssumedCalls::settle(ir::Value* none) {
  std::vector<std::string> schemas;
  for (auto& [op, calls] : calls_) {
    std::vector<std::string> names;
    for (const Call& call : calls) names = merged(std::move(names), call.names);
    std::vector<std::string> types;
    for (const std::string& name : names) {
      std::string kind;
      bool in_all = true, may_be_none = false;
      for (const Call& call : calls) {
        const auto at = std::ranges::find(call.names, name);
        const auto index = static_cast<std::size_t>(at - call.names.begin());
        in_all = in_all && at != call.names.end();
        if (at == call.names.end()) continue;
        const ir::TypeRef& type = call.node->input(index)->type();
        may_be_none = may_be_none || ir::is(type, ir::TypeKind::none);
        if (kind.empty() || kind == "Tensor?") kind = kind_in_schema(type);
      }
      if ((!in_all || may_be_none) && !kind.ends_with('?')) kind += "?";
      types.push_back(kind + (in_all ? "" : "=None"));
    }
    const auto schema = schema_of_calls(*calls.front().node, names, types);
    if (!schema) continue;
    schemas.push_back(*schema);
    for (const Call& call : calls) {
      const std::vector<ir::Value*> given(call.node->inputs().begin(), call.node->inputs().end());
      call.node->erase_all_inputs();
      for (const std::string& name : names) {
        const auto at = std::ranges::find(call.names, name);
        call.node->add_input(at == call.names.end() ? none : given[static_cast<std::size_t>(at - call.names.begin())]);
      }
    }
  }
  return schemas;
}

}  // namespace compatcheck::frontend::pt2
