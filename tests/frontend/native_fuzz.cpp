// Whatever code and pickle an archive holds, it is read or refused. The input: the pickle's size in two bytes, the pickle, the
// code.
#include <cstdint>
#include <span>
#include <string>

#include "compatcheck/error.h"
#include "native_archive.h"

using namespace compatcheck;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t pickle = std::min<std::size_t>(data[0] + 256u * data[1], size - 2);
  auto records = frontend::testing::native_records(std::string(all.substr(2 + pickle)));
  if (pickle > 0) records[0].second = std::string(all.substr(2, pickle));
  try {
    frontend::testing::read_native(records);
  } catch (const Error&) {
  }
  return 0;
}
