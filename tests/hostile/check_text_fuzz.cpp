// Whatever a graph's text says, its check ends with a report or a ModelError.
#include <cstdint>
#include <string>

#include "hostile/check_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  compatcheck::hostile::check_text("graph(" + std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
