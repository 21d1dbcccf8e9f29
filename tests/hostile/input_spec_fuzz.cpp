// Whatever --input says, it fits the model or is refused with a UsageError that quotes it.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "analysis/input_spec.h"
#include "compatcheck/error.h"
#include "ir/text.h"

using namespace compatcheck;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ir::Graph graph = ir::parse_graph(
      "graph(%x : Tensor, %pair : (Tensor, (Tensor, int)), %many : Tensor[], %n : int, %maybe : Tensor?):\n  return (%x)");
  // One a line, as in COMPATCHECK_INPUT.
  std::vector<std::string> texts(1);
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == '\n')
      texts.emplace_back();
    else
      texts.back() += static_cast<char>(data[i]);
  }
  try {
    for (const auto& input : analysis::match_inputs(texts, graph)) symbolic::to_string(input.fact);
  } catch (const UsageError& error) {
    for (const auto& text : texts)  // what() ends at a NUL
      if (std::string(error.what()).find(text.c_str()) != std::string::npos) return 0;
    std::cerr << error.what() << '\n';
    std::abort();
  }
  return 0;
}
