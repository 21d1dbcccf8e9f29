#include "report/written.h"

#include <algorithm>

#include "compatcheck/printable.h"
#include "report/page.h"
#include "report/style.h"

namespace compatcheck::report {
namespace {

constexpr std::size_t default_width = 100;

std::string line(const std::string& what, const std::string& list) {
  return list.empty() ? list : "\n  " + pad_right(what, 18) + "  " + printable(list);
}

std::string listed(const std::vector<Signature::Value>& values) {
  std::string text;
  for (const auto& [name, type] : values) text += (text.empty() ? "" : ", ") + name + ": " + type;
  return printable(text);
}

void append(std::string& list, const std::string& item) { list += (list.empty() ? "" : ", ") + item; }

}  // namespace

std::string text(const Signature& signature, std::size_t width, std::size_t indent) {
  const std::size_t room = std::max<std::size_t>(width, indent + 40) - indent;
  const std::string lead(indent, ' ');
  const std::string inputs = listed(signature.inputs);
  std::string lines = lead + wrap((inputs.empty() ? "" : inputs + " ") + "→ " + listed(signature.outputs), room, indent + 2);
  for (const std::string& option : signature.traced_batches)
    lines += "\n" + lead +
             wrap(printable(option.substr(0, option.find('='))) + ": 1 in dimension 0 is the size of the example; --input " +
                      printable(option) + " lets it vary, and `compatcheck verify` shows whether the trace allows other sizes",
                  room, indent + 2);
  return lines;
}

std::string text(const WrittenModel& written) {
  std::string dims, functions, files;
  for (const auto& name : written.dynamic_dimensions) append(dims, name);
  for (const auto& name : written.functions) append(functions, name);
  for (const auto& [file, size] : written.external_files) append(files, file + " (" + bytes(size) + ")");
  return "opset " + std::to_string(written.opset) + " · " + count(static_cast<long long>(written.nodes), "node") + " · " +
         bytes(written.bytes) + line("dynamic dimensions", dims) + line("functions", functions) + line("external data", files) +
         (written.signature.outputs.empty() ? "" : "\n" + text(written.signature, default_width, 2));
}

}  // namespace compatcheck::report
