// Whatever a pickle holds, its storages and tensors are found or it is refused.
#include <cstdint>
#include <span>

#include "compatcheck/error.h"
#include "frontend/torchscript/pickle_scan.h"

using namespace compatcheck;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto found = frontend::torchscript::scan_weights({data, size}, "data.pkl");
    // Every one of them takes some bytes of the pickle to name.
    if (found.storages.size() > size || found.tensors.size() > size) __builtin_trap();
  } catch (const ModelError&) {
  }
  return 0;
}
