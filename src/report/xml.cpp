#include "report/xml.h"

#include "compatcheck/printable.h"

namespace compatcheck::report {

std::string xml(const std::string& text) {
  std::string escaped;
  const std::string plain = printable_lines(text);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[i];
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '"')
      escaped += "&quot;";
    else if (c == '\n')
      escaped += "&#10;";
    else if (plain.compare(i, 3, "\xEF\xBF\xBE") == 0 || plain.compare(i, 3, "\xEF\xBF\xBF") == 0) {
      escaped += "\xEF\xBF\xBD";
      i += 2;
    } else
      escaped += c;
  }
  return escaped;
}

}  // namespace compatcheck::report
