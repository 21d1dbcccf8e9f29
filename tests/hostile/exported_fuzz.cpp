// Whatever an exported program's archive holds, it is read, checked and converted, or refused.
#include "hostile/exported_edits.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace compatcheck;
  hostile::Choices choices({data, size});
  hostile::convert_exported(hostile::edited_archive(choices));
  return 0;
}
