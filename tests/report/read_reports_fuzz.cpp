// Whatever a saved report says, reading it ends with reports that every format can show, or with a ModelError.
#include <cstdint>
#include <string>

#include "compatcheck/error.h"
#include "compatcheck/render.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace compatcheck;
  try {
    const auto reports = read_reports({reinterpret_cast<const char*>(data), size});
    if (reports.empty()) return 0;
    for (const Format format :
         {Format::text, Format::sarif, Format::junit, Format::github, Format::gitlab, Format::markdown, Format::allowlist_yaml})
      render(reports, format);
    const std::string saved = render(reports, Format::jsonl);
    if (render(read_reports(saved), Format::jsonl) != saved) __builtin_trap();
  } catch (const ModelError&) {
  }
  return 0;
}
