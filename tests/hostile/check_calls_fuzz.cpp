// Whatever operators are called with, the check ends with a report or a ModelError.
#include "hostile/check_text.h"
#include "hostile/random_calls.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace compatcheck;
  static const schema::Registry registry;
  hostile::Choices choices({data, size});
  hostile::check_text(hostile::random_calls(choices, registry));
  return 0;
}
