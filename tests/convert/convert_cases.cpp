// Converts every model of a folder at several opsets.
//   convert_cases HELPER OUT OPSETS < lines of "model.pt[<tab>--input texts…]"
// writes OUT/<stem>@<opset>.onnx, and to stdout one JSON line each: {id, opset, verdict, reason}.
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compatcheck/convert.h"

namespace {

using namespace compatcheck;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

nlohmann::json convert_one(const Model& model, const std::filesystem::path& file, int opset, const std::vector<std::string>& inputs) {
  try {
    ConvertOptions options;
    options.opset = opset;
    options.inputs = inputs;
    const Report report = convert(model, file, options);
    if (report.convertible()) return {{"outcome", "converted"}};
    std::string reason;
    for (const auto& finding : report.findings)
      if (finding.severity == Severity::error && reason.empty()) reason = finding.id + " " + finding.op + ": " + finding.message;
    return {{"outcome", report.verdict == Verdict::needs_input ? "needs_input" : "refused"}, {"reason", reason}};
  } catch (const std::exception& error) {
    return {{"outcome", "error"}, {"reason", error.what()}};
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: convert_cases HELPER OUT OPSETS < list of models\n";
    return 2;
  }
  const std::filesystem::path out = argv[2];
  std::filesystem::create_directories(out);
  Loader loader({.helper = argv[1]});
  for (std::string line; std::getline(std::cin, line);) {
    auto words = split(line, '\t');
    const std::filesystem::path file = words.front();
    words.erase(words.begin());
    try {
      const Model model = loader.load(file);
      for (const auto& opset : split(argv[3], ',')) {
        auto result = convert_one(model, out / (file.stem().string() + "@" + opset + ".onnx"), std::stoi(opset), words);
        result["id"] = file.stem().string();
        result["opset"] = std::stoi(opset);
        std::cout << result.dump() << std::endl;
      }
    } catch (const std::exception& error) {
      std::cout << nlohmann::json{{"id", file.stem().string()}, {"opset", 0}, {"outcome", "error"}, {"reason", error.what()}}.dump() << std::endl;
    }
  }
}
