// Whatever a helper answers is a program, a graph or a ModelError.
#include <span>

#include "compatcheck/error.h"
#include "frontend/protocol.h"
#include "frontend/snapshot.h"

using namespace compatcheck;

template <class Decode>
static void attempt(Decode&& decode) {
  try {
    decode();
  } catch (const ModelError&) {
  }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  attempt([&] {
    const ir::Program program = frontend::decode_program(bytes);
    for (const auto& [name, function] : program.functions) function.graph.verify();
    if (frontend::encode(frontend::decode_program(frontend::encode(program))) != frontend::encode(program)) __builtin_trap();
  });
  attempt([&] { frontend::decode_graph(bytes).verify(); });
  attempt([&] { frontend::protocol::decode_reply(bytes); });
  attempt([&] { frontend::protocol::decode_request(bytes); });
  return 0;
}
