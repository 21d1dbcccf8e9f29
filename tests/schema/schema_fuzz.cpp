// Any bytes are a schema or a TableError; what reads prints as text that reads as the same.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "compatcheck/error.h"
#include "schema/schema.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace compatcheck;
  std::string printed;
  try {
    printed = schema::to_string(schema::parse({reinterpret_cast<const char*>(data), size}));
  } catch (const TableError&) {
    return 0;
  }
  const std::string again = schema::to_string(schema::parse(printed));
  if (again != printed) {
    std::cerr << printed << "\nprints as\n" << again << '\n';
    std::abort();
  }
  return 0;
}
