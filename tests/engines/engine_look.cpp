// What a profile says of ONNX models: for check_ort.py.
//   engine_look TARGET < models      each model: its size in bytes and a line break, then the bytes
// prints "yes|no|unknown, rule, message" of each model's nodes together, separated by tabs.
#include <onnx/shape_inference/implementation.h>

#include <iostream>
#include <string>

#include "engines/judge.h"
#include "engines/targets.h"
#include "mapping/table.h"

namespace {

using namespace compatcheck;

const char* word(Support support) { return support == Support::yes ? "yes" : support == Support::no ? "no" : "unknown"; }

engines::Verdict look(::onnx::ModelProto model, const engines::Profile& profile, const mapping::Table& table) {
  int opset = 0;
  for (const auto& one : model.opset_import())
    if (one.domain().empty()) opset = static_cast<int>(one.version());
  if (profile.opsets && !profile.opsets->holds(opset)) return {Support::no, "CC102", "opset out of range", {}};
  try {
    ::onnx::shape_inference::InferShapes(model);
  } catch (const std::exception&) {
    // Types stay unknown.
  }
  engines::Verdict worst;
  const engines::Judge judge(profile, table.onnx_changes());
  for (const auto& node : engines::nodes_of(model)) {
    const auto verdict = judge(node, opset);
    if (worst.support == Support::yes || verdict.support == Support::no) worst = verdict;
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto profile = engines::profile_of(argv[1]);
  const auto table = mapping::Table::shipped();
  for (std::string line; std::getline(std::cin, line);) {
    std::string bytes(std::stoul(line), '\0');
    std::cin.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    ::onnx::ModelProto model;
    if (!model.ParseFromString(bytes)) return 3;
    const auto verdict = look(std::move(model), profile, table);
    std::cout << word(verdict.support) << "\t" << verdict.rule << "\t" << verdict.message << "\n";
  }
  return 0;
}
