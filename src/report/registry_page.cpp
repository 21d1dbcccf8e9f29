#include "report/registry_page.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/html.h"
#include "report/html_page.h"
#include "report/json_parts.h"
#include "report/report_text.h"

namespace compatcheck::report {
namespace {

constexpr std::size_t longest_reason = 300;

// Tabs and ends of lines divide fields and rows.
std::string field(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c == '\t')
      made += "\\t";
    else if (c == '\n')
      made += "\\n";
    else
      made += c;
  }
  return made;
}

// Not within a letter of several bytes.
std::string_view cut(std::string_view text) {
  if (text.size() <= longest_reason) return text;
  std::size_t end = longest_reason;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

char letter(const Report& report) {
  if (report.error) return 'x';
  if (is_onnx(report)) return 'o';
  return report.verdict == Verdict::yes ? 'y' : report.verdict == Verdict::no ? 'n' : 'i';
}

char letter(Support support) { return support == Support::yes ? 'y' : support == Support::no ? 'n' : 'u'; }

std::string missing_operators(const Report& report) {
  std::set<std::string_view> names;
  for (const OperatorSummary& op : report.operators)
    if (op.operator_class == OperatorClass::missing) names.insert(op.op);
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : " ") + std::string(name);
  return text;
}

std::string targets(const Report& report) {
  std::string text;
  for (const TargetSummary& target : report.targets)
    text += (text.empty() ? "" : " ") + target.target + "=" + letter(target.support);
  return text;
}

std::string why_not_checked(const Report& report) {
  if (!report.error) return {};
  std::string_view text = *report.error;
  if (text.starts_with(report.model.path + ": ")) text.remove_prefix(report.model.path.size() + 2);
  return std::string(cut(text));
}

// Models share their lists of operators and engines: a row of the page has the number of each.
class Lists {
 public:
  std::string numbered(std::string_view row) {
    std::string made;
    for (std::size_t place = 0;; ++place) {
      const std::size_t end = std::min(row.find('\t'), row.size());
      const std::string text(row.substr(0, end));
      made += is_list(place) ? std::to_string(number(text)) : text;
      if (end == row.size()) return made + '\n';
      made += '\t';
      row.remove_prefix(end + 1);
    }
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  static bool is_list(std::size_t place) { return place == 5 || place == 6; }
  std::size_t number(const std::string& text) {
    const auto [found, fresh] = numbers_.try_emplace(text, texts_.size());
    if (fresh) texts_.push_back(text);
    return found->second;
  }

  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<std::string> texts_;
};

}  // namespace

std::string page_rows(std::span<const Report> reports) {
  std::string rows;
  for (const Report& report : reports) {
    const Summary& summary = report.summary;
    rows += letter(report);
    for (const std::string& each : {field(report.model.path), report.error ? std::string() : std::to_string(report.opset),
                                    report.error ? std::string() : std::to_string(summary.nodes),
                                    summary.lowest_opset ? std::to_string(*summary.lowest_opset) : std::string(),
                                    field(missing_operators(report)), field(targets(report)), field(why_not_checked(report))})
      rows += '\t' + each;
    rows += '\n';
  }
  return rows;
}

std::string registry_page(std::span<const std::string> rows) {
  Lists lists;
  std::string all;
  for (const std::string& part : rows)
    for (std::string_view rest = part; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      all += lists.numbered(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  const Json data = {{"version", COMPATCHECK_VERSION}, {"lists", lists.texts()}, {"rows", std::move(all)}};
  return filled_page(html_registry_script, data);
}

}  // namespace compatcheck::report
