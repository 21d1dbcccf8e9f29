// Whatever a file holds, it is read as example inputs or refused.
#include <span>

#include "compatcheck/error.h"
#include "examples/examples.h"
#include "examples/tensor_proto.h"

using namespace compatcheck;

namespace {

template <class Read>
void read_or_refuse(Read&& read) {
  try {
    read();
  } catch (const ModelError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const files::InputFile file(std::span(data, size));
  read_or_refuse([&] { examples::read(file); });
  read_or_refuse([&] { examples::read_tensor_proto(file); });
  return 0;
}
