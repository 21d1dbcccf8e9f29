#include "report/written.h"

#include "compatcheck/printable.h"
#include "report/page.h"
#include "report/style.h"

namespace compatcheck::report {
namespace {

std::string line(const std::string& what, const std::string& list) {
  return list.empty() ? list : "\n  " + pad_right(what, 18) + "  " + printable(list);
}

void append(std::string& list, const std::string& item) { list += (list.empty() ? "" : ", ") + item; }

}  // namespace

std::string text(const WrittenModel& written) {
  std::string dims, functions, files;
  for (const auto& name : written.dynamic_dimensions) append(dims, name);
  for (const auto& name : written.functions) append(functions, name);
  for (const auto& [file, size] : written.external_files) append(files, file + " (" + bytes(size) + ")");
  return "opset " + std::to_string(written.opset) + " · " + count(static_cast<long long>(written.nodes), "node") + " · " +
         bytes(written.bytes) + line("dynamic dimensions", dims) + line("functions", functions) + line("external data", files);
}

}  // namespace compatcheck::report
