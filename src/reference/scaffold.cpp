#include "reference/scaffold.h"

#include <algorithm>

#include "analysis/scaffold.h"
#include "compatcheck/check.h"
#include "reference/operator_names.h"

namespace compatcheck::reference {
namespace {

// An operator, with the schema of one overload: the first that takes and gives tensors.
struct ScaffoldSubject {
  std::string name, key;  // key: with the overload, if the name has one
  schema::Schema schema;
  bool known = false;  // somebody ships the schema
  bool has_facts = false;
  int opset = default_opset;
  const onnx::Schema* onnx = nullptr;  // ONNX's operator of that name
};

constexpr std::string_view python_function = "prim::PythonOp.";

// Returns a Python function's own name.
std::string bare_name(const std::string& key) {
  if (key.starts_with(python_function)) return key.substr(python_function.size());
  const std::string name = key.substr(0, key.find('.'));
  return name.substr(name.rfind(':') + 1);
}

// The schema as a row states it: docs/mappings.md.
std::string stated(const schema::Schema& schema) {
  const std::string text = schema::to_string(schema);
  return text.starts_with(python_function) ? text.substr(python_function.size()) : text;
}

schema::Schema parsed(const std::string& key, const std::string& arguments) {
  try {
    return schema::parse(key + arguments);
  } catch (const schema::ParseError& error) {
    throw UsageError(key + " isn't an operator's name: " + error.reason);
  }
}

const schema::Schema& best(std::span<const schema::Schema* const> overloads) {
  const auto fits = [](const schema::Schema* schema) {
    return !schema->is_out() && std::ranges::any_of(schema->arguments, analysis::is_tensor) &&
           std::ranges::any_of(schema->returns, analysis::is_tensor);
  };
  const auto found = std::ranges::find_if(overloads, fits);
  return found == overloads.end() ? *overloads.front() : **found;
}

bool is_custom(const std::string& name) {
  const auto colons = name.find("::");
  return colons != std::string::npos && colons > 0 && colons + 2 < name.size() && !name.starts_with("aten::") &&
         !name.starts_with("prim::");
}

ScaffoldSubject scaffold_subject(const std::string& given, const ReferenceOptions& options, const lint::InForce& in_force) {
  ScaffoldSubject subject;
  subject.opset = options.opset.value_or(default_opset);
  const bool function =
      given.starts_with(python_function) && !in_force.schemas.find("prim::PythonOp", given.substr(python_function.size()));
  const bool unknown = function || (is_custom(given) && !in_force.schemas.contains(given.substr(0, given.find('.'))));
  subject.name = unknown ? given : full_name(given, in_force);
  subject.key = subject.name;
  const auto dot = subject.name.find('.');
  const std::string overload = dot == std::string::npos ? "" : subject.name.substr(dot + 1);
  subject.name.resize(std::min(dot, subject.name.size()));
  if (unknown) {
    subject.has_facts = function;  // the graph states them
    subject.schema = parsed(subject.key, function ? "(Tensor input_0) -> Tensor" : "(Tensor x) -> Tensor");
    return subject;
  }
  const auto overloads = in_force.schemas.overloads(subject.name);
  if (overloads.empty()) throw UsageError(subject.name + " has no schema: nothing calls it by arguments");
  const auto* named = overload.empty() ? nullptr : in_force.schemas.find(subject.name, overload);
  if (!overload.empty() && !named) throw UsageError(subject.name + " has no overload " + overload);
  subject.known = true;
  subject.schema = named ? *named : best(overloads);
  const auto takes_others = [&](const schema::Schema* other) {
    return !other->is_out() &&
           !std::ranges::equal(other->arguments, subject.schema.arguments, {}, &schema::Argument::name, &schema::Argument::name);
  };
  if (!subject.schema.overload.empty() && std::ranges::any_of(overloads, takes_others))
    subject.key = subject.name + "." + subject.schema.overload;
  const std::string form = in_force.schemas.functional_form(subject.name).value_or(subject.name);
  subject.has_facts = !in_force.table.facts(subject.name, subject.schema.overload, in_force.schemas).empty() ||
                      in_force.registry.find_facts(form, subject.schema.overload);
  subject.onnx = analysis::counterpart(subject.name, subject.schema, subject.opset, in_force.schemas);
  return subject;
}

std::string binding_lines(const analysis::Bindings& bindings, const std::string& lead) {
  std::string lines;
  if (!bindings.inputs.empty()) lines += lead + "inputs: [" + mapping::joined(bindings.inputs) + "]\n";
  if (!bindings.attributes.empty()) lines += lead + "attributes: {" + mapping::joined(bindings.attributes) + "}\n";
  if (!bindings.conditions.empty()) lines += lead + "when: {" + mapping::joined(bindings.conditions) + "}\n";
  return lines;
}

std::string results_of(const schema::Schema& schema) {
  std::vector<std::string> outputs;
  for (std::size_t i = 0; i < schema.returns.size(); ++i)
    outputs.push_back(schema.returns.size() == 1 ? "result" : "result_" + std::to_string(i));
  return mapping::joined(outputs);
}

// "fused <alpha, beta> (x, y) => (result)": as ONNX's text has a function.
std::string signature(const std::string& name, const schema::Schema& schema) {
  std::vector<std::string> attributes, inputs;
  for (const auto& argument : schema.arguments) {
    if (analysis::is_tensor(argument))
      inputs.push_back(argument.name);
    else if (!analysis::kind_of(argument).empty())
      attributes.push_back(argument.name);
  }
  return name + (attributes.empty() ? "" : " <" + mapping::joined(attributes) + ">") + " (" + mapping::joined(inputs) + ") => (" +
         results_of(schema) + ")";
}

// The word that the tables have for the operator; empty if they have none.
std::string shipped_facts(const ScaffoldSubject& subject, const lint::InForce& in_force) {
  return subject.known ? std::string(in_force.table.facts(subject.name, subject.schema.overload, in_force.schemas))
                       : std::string();
}

std::string yaml(const ScaffoldSubject& subject, const lint::InForce& in_force) {
  const std::string name = bare_name(subject.key), opset = std::to_string(subject.opset);
  std::string text;
  for (const auto* schema : in_force.schemas.overloads(subject.name))
    if (subject.known) text += "# " + schema::to_string(*schema) + "\n";
  text +=
      "# Rows to start from: keep one of the forms, save them as rows.yaml, and give them with --mappings rows.yaml.\n"
      "# docs/mappings.md describes the language; `compatcheck lint rows.yaml` checks it.\n\n" +
      subject.key + ":\n";
  if (!subject.known) text += "  schema: \"" + stated(subject.schema) + "\"   # state its own arguments and results\n";
  const auto word = analysis::facts_word_for(subject.schema);
  if (const auto shipped = shipped_facts(subject, in_force); !shipped.empty())
    text += "  # facts: " + shipped + "   as shipped: how the dtype and shape of the results follow from the arguments\n";
  else if (subject.has_facts && subject.known)
    text += "  # how the dtype and shape of the results follow from the arguments is shipped: no `facts` are needed\n";
  else if (!subject.has_facts && !word.empty())
    text += "  facts: " + std::string(analysis::facts_to_fill) + "   # for example " + word +
            ": how the dtype and shape of the results follow from the arguments, as docs/mappings.md lists them\n";
  text +=
      "  # For calls that take or give complex tensors add `complex: true` to the row: each complex tensor is then a real one,\n"
      "  # with the real and the imaginary parts in a last dimension of 2.\n";
  const auto own = analysis::bindings_of(subject.schema);
  if (subject.onnx)
    text += "\n  # ONNX's operator of that name, if it computes the same:\n  " +
            std::to_string(std::max(subject.onnx->since, lowest_opset)) + ":\n    to: " + std::string(subject.onnx->name) + "\n" +
            binding_lines(analysis::bindings_of(subject.schema, subject.onnx), "    ");
  const std::string comment = subject.onnx ? "  # " : "  ";
  text += "\n  # One node of a domain of your own, which your runtime registers:\n" + comment + opset + ":\n" + comment +
          "  to: your.domain::" + name + "\n" + binding_lines(own, comment + "  ");
  text += "\n  # Several nodes of ONNX, put into the graph; in ONNX's text notation:\n  # " + opset + ":\n" +
          binding_lines(own, "  #   ") + "  #   inline: |\n  #     " + signature(name, subject.schema) + "\n  #     { " +
          results_of(subject.schema) + " = YourOperators (" + mapping::joined(own.inputs) + ") }\n";
  text += "\n  # Or a function of these nodes, which the model carries:\n  # " + opset + ":\n" + binding_lines(own, "  #   ") +
          "  #   function: |\n  #     <domain: \"your.domain\", opset_import: [\"\" : " + opset + "]>\n  #     " +
          signature(name, subject.schema) + "\n  #     { " + results_of(subject.schema) + " = YourOperators (" +
          mapping::joined(own.inputs) + ") }\n";
  return text;
}

// How a plugin reads the argument: "e.number(\"alpha\")"; empty: it can't.
std::string reading(const schema::Argument& argument) {
  const std::string quoted = "(\"" + argument.name + "\")";
  const ir::TypeKind kind = argument.type->kind;
  if (analysis::is_tensor(argument))
    return (kind == ir::TypeKind::optional ? "e.optional_tensor"
            : kind == ir::TypeKind::list   ? "e.tensors"
                                           : "e.tensor") +
           quoted;
  const auto word = analysis::kind_of(argument);
  if (word == "int") return "e.integer" + quoted;
  if (word == "float") return "e.number" + quoted;
  if (word == "bool") return "e.boolean" + quoted;
  return word == "ints" || word == "floats" || word == "string" ? "e." + std::string(word) + quoted : "";
}

std::string plugin(const ScaffoldSubject& subject) {
  const std::string name = bare_name(subject.key);
  std::string reads;
  for (const auto& argument : subject.schema.arguments)
    if (const auto read = reading(argument); !read.empty()) reads += "  //   " + read + "\n";
  const auto word = analysis::facts_word_for(subject.schema);
  std::string about = ".emits = {\"Identity\"}";
  if (!subject.has_facts && !word.empty()) about += ", .facts = \"" + std::string(analysis::facts_to_fill) + "\"";
  if (!subject.known) about += ",\n                    .schema = \"" + schema::to_string(subject.schema) + "\"";
  return "// " + schema::to_string(subject.schema) +
         (subject.known ? "" : ": state its own arguments and results, here and below") +
         "\n//\n"
         "//   g++ -std=c++20 -shared -fPIC -I <include folder of compatcheck> plugin.cpp -o libplugin.so\n"
         "//   compatcheck MODEL --plugin ./libplugin.so\n"
         "#include <compatcheck/plugin.h>\n\nnamespace plugin = compatcheck::plugin;\n\n"
         "static void convert_" +
         name + "([[maybe_unused]] plugin::Emission& e) {\n  // Its arguments:\n" + reads +
         "  // Its nodes: e.give(e.node(\"Identity\", {x})), each operator that carries the meaning named in `emits` below.\n"
         "  throw plugin::Refusal{\"" +
         subject.name +
         " isn't written yet\"};\n}\n\n"
         "static void enter(plugin::Registry& registry) {\n  registry.handler(\"" +
         subject.key + "\", {" + about + "}, convert_" + name +
         ");\n}\n\n"
         "extern \"C\" const compatcheck_plugin_entry compatcheck_plugin = compatcheck::plugin::entry<enter>();\n";
}

}  // namespace

std::string scaffold(const std::string& name, const ReferenceOptions& options, const lint::InForce& in_force) {
  const ScaffoldSubject subject = scaffold_subject(name, options, in_force);
  if (const auto* listed = in_force.table.find_structural(subject.name))
    throw UsageError("there is no scaffold for " + subject.name + ": a structural operator (" + listed->why +
                     ") has no rows; the converter handles it itself");
  return options.scaffold == Scaffold::yaml ? yaml(subject, in_force) : plugin(subject);
}

}  // namespace compatcheck::reference
