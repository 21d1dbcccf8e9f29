// What a target makes of every model of a list, and the ONNX models, for check_models_ort.py.
//   target_cases HELPER OUT TARGET OPSETS < lines of "model.pt[<tab>--input texts…]"
// writes OUT/<stem>@<opset>.onnx of models that convert, and to stdout one JSON line each: {id, opset, verdict, support, reason}.
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

const char* word(Support support) { return support == Support::yes ? "yes" : support == Support::no ? "no" : "unknown"; }

nlohmann::json line_of(const Report& report) {
  std::string reason;
  for (const auto& finding : report.findings)
    if (finding.target && reason.empty()) reason = finding.id + " " + finding.message;
  return {{"opset", report.opset}, {"converts", report.convertible()}, {"support", word(report.targets.front().support)},
          {"lowest", report.targets.front().lowest_opset.value_or(0)}, {"reason", reason}};
}

void look_at(const Model& model, const std::string& stem, const std::filesystem::path& out, const CheckOptions& options, const std::vector<int>& opsets) {
  for (const Report& report : check(model, opsets, options)) {
    auto line = line_of(report);
    line["id"] = stem;
    std::cout << line.dump() << std::endl;
    ConvertOptions asked;
    asked.opset = report.opset;
    asked.inputs = options.inputs;
    if (report.convertible()) convert(model, out / (stem + "@" + std::to_string(report.opset) + ".onnx"), asked);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: target_cases HELPER OUT TARGET OPSETS < list of models\n";
    return 2;
  }
  std::vector<int> opsets;
  for (const auto& opset : split(argv[4], ',')) opsets.push_back(std::stoi(opset));
  std::filesystem::create_directories(argv[2]);
  Loader loader({.helper = argv[1]});
  for (std::string line; std::getline(std::cin, line);) {
    auto words = split(line, '\t');
    const std::filesystem::path file = words.front();
    words.erase(words.begin());
    try {
      CheckOptions options;
      options.inputs = words;
      options.targets = {argv[3]};
      look_at(loader.load(file), file.stem().string(), argv[2], options, opsets);
    } catch (const std::exception& error) {
      std::cout << nlohmann::json{{"id", file.stem().string()}, {"opset", 0}, {"error", error.what()}}.dump() << std::endl;
    }
  }
}
