// Build step: writes the schemas of the linked onnx as one C++ file of static data.
//   compile_onnx_schemas OUT.cpp
#include <onnx/defs/schema.h>

#include <algorithm>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "process/generator_main.h"

namespace {

using onnx::OpSchema;

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    made += c;
  }
  return made + "\"";
}

std::string number(float value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

template <class Items, class Write>
std::string list(const Items& items, Write&& write) {
  std::string text = "[";
  for (const auto& item : items) text += (text.size() > 1 ? ", " : "") + write(item);
  return text + "]";
}

// Empty if there is none.
std::string default_text(const onnx::AttributeProto& value) {
  const auto plain = [](const auto& item) { return std::to_string(item); };
  switch (value.type()) {
    case onnx::AttributeProto::FLOAT: return number(value.f());
    case onnx::AttributeProto::INT: return std::to_string(value.i());
    case onnx::AttributeProto::STRING: return quoted(value.s());
    case onnx::AttributeProto::FLOATS: return list(value.floats(), number);
    case onnx::AttributeProto::INTS: return list(value.ints(), plain);
    case onnx::AttributeProto::STRINGS: return list(value.strings(), quoted);
    default: return {};
  }
}

class File {
 public:
  explicit File(std::ostream& out) : out_(out) {}

  void write(std::vector<OpSchema> schemas) {
    std::sort(schemas.begin(), schemas.end(), [](const OpSchema& a, const OpSchema& b) {
      return std::tuple(a.domain(), a.Name(), a.SinceVersion()) < std::tuple(b.domain(), b.Name(), b.SinceVersion());
    });
    out_ << "// Generated from onnx's schemas.\n#include \"onnx/schema.h\"\n\nnamespace compatcheck::onnx {\nnamespace {\n\n"
         << "using enum Formal::Option;\n";
    std::string table;
    for (const OpSchema& schema : schemas) table += "  " + one(schema) + ",\n";
    out_ << "\nconstexpr Schema schemas[] = {\n"
         << table << "};\n\n}  // namespace\n\n"
         << "std::span<const Schema> compiled_schemas() { return schemas; }\n\n}  // namespace compatcheck::onnx\n";
  }

 private:
  std::string one(const OpSchema& schema) {
    const auto count = [](int n) { return n == std::numeric_limits<int>::max() ? std::string("any_number") : std::to_string(n); };
    return "{" + quoted(schema.domain()) + ", " + quoted(schema.Name()) + ", " + std::to_string(schema.SinceVersion()) + ", " +
           (schema.Deprecated() ? "true" : "false") + ", " + count(schema.min_input()) + ", " + count(schema.max_input()) + ", " +
           count(schema.min_output()) + ", " + count(schema.max_output()) + ", " + attributes(schema) + ", " +
           formals(schema.inputs()) + ", " + formals(schema.outputs()) + "}";
  }
  std::string attributes(const OpSchema& schema) {
    std::string items;
    const std::map<std::string, OpSchema::Attribute> sorted(schema.attributes().begin(), schema.attributes().end());
    for (const auto& [name, attribute] : sorted) {
      const std::string text = default_text(attribute.default_value);
      items += "{" + quoted(name) + ", AttributeType(" + std::to_string(attribute.type) + "), " +
               (attribute.required ? "true" : "false") + ", " + (text.empty() ? "std::nullopt" : quoted(text)) + "}, ";
    }
    return array("Attribute", items);
  }
  std::string formals(const std::vector<OpSchema::FormalParameter>& parameters) {
    std::string items;
    for (const auto& parameter : parameters) {
      std::vector<std::string> types;
      for (const std::string* type : parameter.GetTypes()) types.push_back(*type);
      std::sort(types.begin(), types.end());
      std::string listed;
      for (const std::string& type : types) listed += quoted(type) + ", ";
      const char* const option = parameter.GetOption() == OpSchema::Single     ? "single"
                                 : parameter.GetOption() == OpSchema::Optional ? "optional"
                                                                               : "variadic";
      items += "{" + quoted(parameter.GetName()) + ", " + option + ", " + quoted(parameter.GetTypeStr()) + ", " +
               array("std::string_view", listed) + "}, ";
    }
    return array("Formal", items);
  }
  // The name of a static array with these items; equal ones are shared.
  std::string array(const std::string& type, const std::string& items) {
    if (items.empty()) return "{}";
    const auto [found, added] = arrays_.emplace(type + items, "a" + std::to_string(arrays_.size()));
    if (added) out_ << "constexpr " << type << " " << found->second << "[] = {" << items << "};\n";
    return found->second;
  }

  std::ostream& out_;
  std::map<std::string, std::string> arrays_;
};

}  // namespace

int main(int argc, char** argv) {
  return compatcheck::process::generate(argc, argv, "compile_onnx_schemas OUT.cpp", 0, [](auto, std::ostream& out) {
    File(out).write(onnx::OpSchemaRegistry::get_all_schemas_with_history());
  });
}
