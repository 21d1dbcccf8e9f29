#include "reference/scaffold.h"

#include <algorithm>
#include <set>

#include "analysis/model_state.h"
#include "analysis/scaffold.h"
#include "compatcheck/check.h"
#include "compatcheck/load.h"
#include "reference/operator_names.h"

namespace compatcheck::reference {
namespace {

// An operator, with the schema of one overload: the first that takes and gives tensors.
struct ScaffoldSubject {
  std::string name, key;  // key: with the overload, if the name has one
  schema::Schema schema;
  bool known = false;    // its arguments aren't made up
  bool shipped = false;  // by libtorch or torchvision: a row need not state the schema
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

// The arguments that the calls of the operator pass in a model. Throws UsageError for a model that doesn't call it.
schema::Schema schema_in(const std::filesystem::path& file, const std::string& name, const std::string& overload,
                         const ReferenceOptions& options) {
  LoadOptions load;
  load.mappings = options.mappings;
  load.plugins = options.plugins;
  const Model model = compatcheck::load(file, load);
  std::optional<schema::Schema> found;
  std::set<std::string> others;
  static const schema::Registry shipped;
  ir::for_each_node(*model.state().graph.top(), [&](const ir::Node* node) {
    if (node->op() == name && (overload.empty() || node->overload() == overload)) {
      if (!found) found = analysis::schema_of_call(*node);
    } else if (is_custom(node->op()) && !shipped.contains(node->op())) {
      others.insert(node->op());
    }
  });
  if (found) return *found;
  throw UsageError(file.string() + " doesn't call " + name +
                   (others.empty() ? ""
                                   : "; the custom operators that it calls are " +
                                         mapping::joined(std::vector<std::string>(others.begin(), others.end()))));
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
  if (unknown && !options.model.empty()) {
    subject.schema = schema_in(options.model, subject.name, overload, options);
    subject.known = true;
    return subject;
  }
  if (unknown) {
    subject.has_facts = function;  // the graph states them
    subject.schema = parsed(subject.key, function ? "(Tensor input_0) -> Tensor" : "(Tensor x) -> Tensor");
    return subject;
  }
  const auto overloads = in_force.schemas.overloads(subject.name);
  if (overloads.empty()) throw UsageError(subject.name + " has no schema: nothing calls it by arguments");
  const auto* named = overload.empty() ? nullptr : in_force.schemas.find(subject.name, overload);
  if (!overload.empty() && !named) throw UsageError(subject.name + " has no overload " + overload);
  static const schema::Registry shipped;
  subject.known = true;
  subject.shipped = shipped.contains(subject.name) || subject.name == "prim::PythonOp";
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

// The word that the tables have for the operator; empty if they have none.
std::string shipped_facts(const ScaffoldSubject& subject, const lint::InForce& in_force) {
  return subject.known ? std::string(in_force.table.facts(subject.name, subject.schema.overload, in_force.schemas))
                       : std::string();
}

// One form of the row, in comments unless it is the one to keep.
std::string form(std::string_view about, int opset, const std::string& lines, bool chosen) {
  std::string text = "\n  # " + std::string(about) + "\n", all = std::to_string(opset) + ":\n" + lines;
  for (std::size_t from = 0; from < all.size();) {
    const std::size_t end = all.find('\n', from) + 1;
    text += (chosen ? "  " : "  # ") + all.substr(from, end - from);
    from = end;
  }
  return text;
}

// ONNX text to fill in, as a block of lines.
std::string text_lines(std::string_view key, const std::string& before, const std::string& name, const schema::Schema& schema,
                       bool chosen) {
  const std::string text = analysis::text_to_fill(name, schema, chosen ? analysis::facts_to_fill : "YourOperators");
  const auto body = text.find(" {");
  return "  " + std::string(key) + ": |\n" + before + "    " + text.substr(0, body) + "\n    " + text.substr(body + 1) + "\n";
}

std::string facts_lines(const ScaffoldSubject& subject, const lint::InForce& in_force, bool inlined) {
  const auto word = analysis::facts_word_for(subject.schema);
  if (const auto shipped = shipped_facts(subject, in_force); !shipped.empty())
    return "  # facts: " + shipped + "   as shipped: how the dtype and shape of the results follow from the arguments\n";
  if (subject.has_facts && subject.known)
    return "  # how the dtype and shape of the results follow from the arguments is shipped: no `facts` are needed\n";
  if (subject.has_facts || word.empty()) return {};
  if (inlined) return "  # no `facts` are needed: the dtype and shape of the results follow from the ONNX text\n";
  return "  facts: " + std::string(analysis::facts_to_fill) + "   # for example " + word +
         ": how the dtype and shape of the results follow from the arguments, as docs/mappings.md lists them\n";
}

std::string yaml(const ScaffoldSubject& subject, const lint::InForce& in_force, bool inlined) {
  const std::string name = bare_name(subject.key);
  std::string text;
  for (const auto* schema : in_force.schemas.overloads(subject.name))
    if (subject.shipped) text += "# " + schema::to_string(*schema) + "\n";
  text +=
      "# Rows to start from: keep one of the forms, save them as rows.yaml, and give them with --mappings rows.yaml.\n"
      "# docs/mappings.md describes the language; `compatcheck lint rows.yaml` checks it.\n\n" +
      subject.key + ":\n";
  if (!subject.shipped)
    text +=
        "  schema: \"" + stated(subject.schema) + "\"" + (subject.known ? "" : "   # state its own arguments and results") + "\n";
  text +=
      facts_lines(subject, in_force, inlined) +
      "  # For calls that take or give complex tensors add `complex: true` to the row: each complex tensor is then a real one,\n"
      "  # with the real and the imaginary parts in a last dimension of 2.\n";
  const auto bindings = binding_lines(analysis::bindings_of(subject.schema), "  ");
  if (subject.onnx)
    text += form("ONNX's operator of that name, if it computes the same:", std::max(subject.onnx->since, lowest_opset),
                 "  to: " + std::string(subject.onnx->name) + "\n" +
                     binding_lines(analysis::bindings_of(subject.schema, subject.onnx), "  "),
                 !inlined);
  text += form("One node of a domain of your own, which your runtime registers:", subject.opset,
               "  to: your.domain::" + name + "\n" + bindings, !subject.onnx && !inlined);
  text += form("Several nodes of ONNX, put into the graph; in ONNX's text notation:", subject.opset,
               bindings + text_lines("inline", "", name, subject.schema, inlined), inlined);
  const std::string domain = "    <domain: \"your.domain\", opset_import: [\"\" : " + std::to_string(subject.opset) + "]>\n";
  text += form("Or a function of these nodes, which the model carries:", subject.opset,
               bindings + text_lines("function", domain, name, subject.schema, false), false);
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
  if (!subject.shipped) about += ",\n                    .schema = \"" + schema::to_string(subject.schema) + "\"";
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
  if (options.scaffold == Scaffold::plugin) return plugin(subject);
  return yaml(subject, in_force, options.scaffold == Scaffold::inlined);
}

}  // namespace compatcheck::reference
