// Build step: writes mappings/onnxruntime_types.yaml as one C++ file of static data.
//   compile_runtime_types TABLE.yaml OUT.cpp
#include <yaml-cpp/yaml.h>

#include <map>
#include <stdexcept>
#include <string>

#include "ir/dtype.h"
#include "process/generator_main.h"

namespace {

using compatcheck::ir::dtype_from_name;

std::string dtype_list(const YAML::Node& names) {
  std::string text;
  for (const auto& name : names) {
    const auto dtype = dtype_from_name(name.as<std::string>());
    if (!dtype) throw std::runtime_error("'" + name.as<std::string>() + "' is no dtype");
    text += (text.empty() ? "" : ", ") + ("ir::DType(" + std::to_string(static_cast<int>(*dtype)) + ")");
  }
  return text;
}

// "6-12".
std::pair<int, int> versions(const std::string& text) {
  const auto dash = text.find('-');
  const int since = std::stoi(text.substr(0, dash));
  return {since, dash == std::string::npos ? since : std::stoi(text.substr(dash + 1))};
}

void write(const YAML::Node& table, std::ostream& out) {
  out << "// Generated from mappings/onnxruntime_types.yaml.\n#include \"onnx/runtime_types.h\"\n\n"
         "namespace compatcheck::onnx {\nnamespace {\n\n";
  std::map<std::string, YAML::Node> sorted;
  for (const auto& entry : table) sorted.emplace(entry.first.as<std::string>(), entry.second);
  std::string rows;
  int number = 0;
  for (const auto& [op, kernels] : sorted)
    for (const auto& kernel : kernels) {
      const auto [since, until] = versions(kernel.first.as<std::string>());
      std::string parameters;
      for (const auto& parameter : kernel.second) {
        std::string name = "{}";
        if (parameter.second.size() > 0) {
          name = "d" + std::to_string(number++);
          out << "constexpr ir::DType " << name << "[] = {" << dtype_list(parameter.second) << "};\n";
        }
        parameters += (parameters.empty() ? "" : ", ") + ("{\"" + parameter.first.as<std::string>() + "\", " + name + "}");
      }
      if (parameters.empty()) continue;
      const std::string name = "p" + std::to_string(number++);
      out << "constexpr RuntimeTypes::Parameter " << name << "[] = {" << parameters << "};\n";
      rows += "  {\"" + op + "\", " + std::to_string(since) + ", " + std::to_string(until) + ", " + name + "},\n";
    }
  out << "\nconstexpr RuntimeTypes rows[] = {\n"
      << rows << "};\n\n}  // namespace\n\n"
      << "std::span<const RuntimeTypes> runtime_types() { return rows; }\n\n}  // namespace compatcheck::onnx\n";
}

}  // namespace

int main(int argc, char** argv) {
  return compatcheck::process::generate(argc, argv, "compile_runtime_types TABLE.yaml OUT.cpp", 1,
                                        [](auto arguments, std::ostream& out) {
                                          try {
                                            write(YAML::LoadFile(arguments[0]), out);
                                          } catch (const std::exception& error) {
                                            throw std::runtime_error(arguments[0] + std::string(": ") + error.what());
                                          }
                                        });
}
