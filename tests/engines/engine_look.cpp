// What a profile says of ONNX models: for check_ort.py and check_nodes.py.
//   engine_look TARGET < models      each model: its size in bytes and a line break, then the bytes
// prints "yes|no|unknown, rule, message" of each model's nodes together, separated by tabs.
#include <onnx/shape_inference/implementation.h>

#include <iostream>
#include <string>

#include "engines/look.h"
#include "engines/targets.h"
#include "mapping/table.h"

namespace {

using namespace compatcheck;

const char* word(Support support) { return support == Support::yes ? "yes" : support == Support::no ? "no" : "unknown"; }

engines::Verdict look(::onnx::ModelProto model, const engines::Profile& profile, const mapping::Table& table) {
  try {
    ::onnx::shape_inference::InferShapes(model);
  } catch (const std::exception&) {
    // Types stay unknown.
  }
  const auto looked = engines::look_at(model, profile, table.onnx_changes());
  if (!looked.out_of_range.empty()) return {Support::no, "CC102", looked.out_of_range, {}};
  engines::Verdict worst;
  for (const auto& one : looked.nodes)
    if (worst.support == Support::yes || one.verdict.support == Support::no) worst = one.verdict;
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
