// Any bytes are a graph or a ModelError; what reads is sound, and prints as text that reads as the same.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "compatcheck/error.h"
#include "ir/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace compatcheck;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string printed;
  try {
    const ir::Graph graph = ir::parse_graph(text);
    graph.verify();
    printed = ir::print(graph);
  } catch (const ModelError&) {
    return 0;
  }
  const ir::Graph again = ir::parse_graph(printed);
  again.verify();
  if (ir::print(again) != printed) {
    std::cerr << printed << "\nprints as\n" << ir::print(again);
    std::abort();
  }
  return 0;
}
