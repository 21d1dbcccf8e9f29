// Whatever a file holds, it is recognised or refused.
#include <span>

#include "compatcheck/error.h"
#include "frontend/foreign.h"

using namespace compatcheck;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const files::InputFile file(std::span(data, size));
    const frontend::Recognition recognition = frontend::recognise(file, "model.pt");
    frontend::why_not(recognition);
    if (recognition.directory)
      for (const files::ZipRecord& record : recognition.directory->records)
        if (record.deflated || !record.compressed) files::read_zip_record(file, record, 1 << 20);
  } catch (const ModelError&) {
  }
  return 0;
}
