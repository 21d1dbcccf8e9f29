#include "report/allowlist.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "compatcheck/printable.h"
#include "report/report_text.h"
#include "report/style.h"

namespace compatcheck::report {
namespace {

// Plain where YAML reads it as this text; else in quotes. Letters of patterns stand for any one: there is no escape for them.
std::string yaml_scalar(const std::string& text, bool pattern) {
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ':'; };
  const bool name = text.starts_with("CC") || (text.find("::") != text.npos && !text.ends_with(':') &&
                                               std::isalpha(static_cast<unsigned char>(text.front())));
  if (name && std::ranges::all_of(text, plain)) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (pattern && (c == '*' || c == '?' || c == '[' || byte < 0x20 || byte >= 0x7F))
      quoted += '?';
    else if (c == '"' || c == '\\')
      quoted += std::string("\\") + c;
    else
      quoted += c;
  }
  return quoted + "\"";
}

struct Entry {
  long long nodes = 0;
  std::string message;  // the first
};

// Errors of the configuration itself can't be allowed.
bool is_to_be_allowed(const Report& report, const Finding& finding) {
  if (finding.suppressed || finding.id.starts_with("CC9")) return false;
  if (finding.severity != Severity::note) return true;
  return report.gate.fail_on == FailOn::composite && finding.id == "CC004";
}

}  // namespace

std::string allowlist(std::span<const Report> reports) {
  std::map<std::tuple<std::string, std::string, std::string>, Entry> entries;  // rule, operator, engine
  for (const Report& report : reports)
    for (const Finding& finding : report.findings) {
      if (!is_to_be_allowed(report, finding)) continue;
      // CC006 is about an input, whichever operator required it first.
      Entry& entry = entries[{finding.id, finding.id == "CC006" ? "" : full_name(finding.op, finding.overload),
                              finding.target.value_or("")}];
      entry.nodes += finding.nodes;
      if (entry.message.empty()) entry.message = finding.message;
    }
  if (entries.empty()) return "# No finding needs to be allowed.\nallow: []\n";
  std::string text =
      "# Entries for compatcheck.yaml that allow the findings of this run. Write a reason for each: an empty one is an "
      "error.\nallow:\n";
  for (const auto& [key, entry] : entries) {
    const auto& [rule, op, target] = key;
    text +=
        "  # " + count(entry.nodes, "node") + ": " + printable(entry.message) + "\n  - rule: " + yaml_scalar(rule, true) + "\n";
    if (!op.empty()) text += "    op: " + yaml_scalar(op, true) + "\n";
    if (!target.empty()) text += "    target: " + yaml_scalar(target, false) + "\n";
    text += "    reason: \"\"   # why is this allowed?\n";
  }
  return text;
}

}  // namespace compatcheck::report
