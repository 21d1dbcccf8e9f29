#include <algorithm>
#include <array>
#include <vector>

#include "analysis/gate.h"
#include "analysis/rules.h"
#include "report/report_text.h"
#include "report/text_parts.h"

namespace compatcheck::report {
namespace {

std::size_t name_width(const RenderOptions& options) { return options.width < 80 ? 20 : 30; }

// One line, or two where the file and line leave no room for the rest. `more` stands at the end.
std::string site_lines(const Site& site, const std::string& more, std::size_t room, const Style& style) {
  constexpr std::size_t least_rest = 16;
  const std::string indent(finding_indent, ' '), whole = place(site);
  const std::size_t end = site.file.empty() ? 0 : site.file.size() + (site.line ? 1 + std::to_string(site.line).size() : 0);
  const std::string head = whole.substr(0, end);
  std::string rest = whole.substr(end);
  const std::size_t used = columns(head) + columns(more);
  if (used + std::min(columns(rest), least_rest) <= room)
    return indent + style(Color::dim, head + fit(rest, room - used) + more) + "\n";
  rest.erase(0, rest.starts_with(" · ") ? std::string_view(" · ").size() : rest.starts_with(" ") ? 1 : 0);
  return indent + style(Color::dim, head) + "\n" + indent + "  " +
         style(Color::dim, fit(rest, std::max<std::size_t>(room - columns(more), 22) - 2) + more) + "\n";
}

std::string lines_of_sites(const Finding& finding, const RenderOptions& options, const Style& style) {
  const std::size_t room = options.width > finding_indent + 20 ? options.width - finding_indent : 20;
  const std::size_t shown = options.verbosity > 0 ? finding.sites.size() : std::min<std::size_t>(finding.sites.size(), 1);
  std::string lines;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t more = i + 1 == shown ? finding.sites.size() - shown : 0;
    const std::string rest = more ? "   (+" + number(static_cast<long long>(more)) + ")" : "";
    lines += site_lines(finding.sites[i], rest, room, style);
  }
  return lines;
}

Color color_of_severity(Severity severity) {
  return severity == Severity::error ? Color::red : severity == Severity::warning ? Color::magenta : Color::dim;
}

std::string when(const Finding& finding) {
  std::string text;
  if (finding.available_from)
    text = "   from opset " + std::to_string(*finding.available_from);
  else if (finding.id == "CC001")
    text = "   no opset";
  if (finding.target) text += "   " + *finding.target;
  if (finding.baseline == BaselineState::added) text += "   new";
  if (finding.baseline == BaselineState::grown) text += "   more than in the baseline";
  return text;
}

std::string name_of(const Finding& finding) {
  if (finding.id == "CC006" && !finding.input.empty()) return "input " + finding.input;
  if (!finding.op.empty() && finding.id != "CC006") return finding.op;
  if (finding.id == "CC016") return "the file";
  if (finding.id == "CC013") return "the program";
  return finding.id == "CC005" || finding.target ? "the model" : finding.id.starts_with("CC9") ? "the run" : "input";
}

std::string finding_lines(const Finding& finding, bool with_help, const RenderOptions& options, const Style& style) {
  const std::string indent(finding_indent, ' ');
  const std::size_t room = options.width > finding_indent + 20 ? options.width - finding_indent : 20;
  const std::string name = name_of(finding);
  const std::string nodes = finding.nodes ? " " + pad_left(count(finding.nodes, "node"), 10) : "";
  std::string lines = "  " + style(color_of_severity(finding.severity), finding.id) + "  " +
                      style(Color::bold, nodes.empty() ? name : pad_right(name, name_width(options))) + nodes + when(finding) +
                      "\n" + indent + wrap(finding.message, room, finding_indent) + "\n";
  lines += lines_of_sites(finding, options, style);
  if (!with_help && !finding.help.empty())
    lines += indent + style(Color::cyan, "→ ") + "as below\n";
  else if (!finding.help.empty())
    lines += indent + style(Color::cyan, "→ ") + wrap(finding.help, room - 2, finding_indent + 2) + "\n";
  if (!finding.row.empty()) lines += indent + "  " + finding.row + "\n";  // the row is for copying: not wrapped
  return lines;
}

// The same advice for findings in a row is given once, after the last of them.
std::string section_lines(const std::vector<const Finding*>& found, const RenderOptions& options, const Style& style) {
  std::string lines;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool repeated = i + 1 < found.size() && found[i]->row.empty() && found[i + 1]->help == found[i]->help;
    lines += finding_lines(*found[i], !repeated, options, style);
  }
  return lines;
}

constexpr const char* assertion_section = "assertions missing from the ONNX model";

struct Section {
  const char* title;
  bool (*belongs)(const Finding&);
};
// A finding stands in the first that it belongs to. Other notes, of composites, are in no section: the bars count them.
constexpr std::array sections{
    Section{"missing", [](const Finding& f) { return f.severity == Severity::error && analysis::is_missing(f.id); }},
    Section{"conditions", [](const Finding& f) { return f.severity == Severity::error && (f.id == "CC005" || f.id == "CC008"); }},
    Section{"writes", [](const Finding& f) { return f.id == "CC007"; }},
    Section{"needs input", [](const Finding& f) { return f.id == "CC006"; }},
    Section{"values that tracing may have made constant", [](const Finding& f) { return f.id == "CC012"; }},
    Section{assertion_section, [](const Finding& f) { return f.id == "CC013"; }},
    Section{"lost writes", [](const Finding& f) { return f.id == "CC014"; }},
    Section{"kept by the first call", [](const Finding& f) { return f.id == "CC015"; }},
    Section{"reading the file", [](const Finding& f) { return f.id == "CC016"; }},
    Section{"engines", [](const Finding& f) { return f.target.has_value(); }},
    Section{"errors", [](const Finding& f) { return f.severity == Severity::error; }},
    Section{"warnings", [](const Finding& f) { return f.severity == Severity::warning; }},
    Section{"baseline", [](const Finding& f) { return f.id == "CC904"; }},
};

auto section_of(const Finding& finding) {
  return std::ranges::find_if(sections, [&](const Section& section) { return section.belongs(finding); });
}

}  // namespace

int hidden_notes(const Report& report) {
  return static_cast<int>(std::ranges::count_if(report.findings, [&](const Finding& finding) {
    return !finding.suppressed && !analysis::fails(finding, report) && section_of(finding) == sections.end();
  }));
}

std::string findings(const Report& report, const RenderOptions& options, const Style& style) {
  constexpr int most_assertions = 5;  // torch's own code makes many
  int assertions = 0;
  std::array<std::vector<const Finding*>, sections.size()> members;
  std::vector<const Finding*> failing_notes, other_notes;
  for (const auto& finding : report.findings) {
    const bool fails = analysis::fails(finding, report);
    if (finding.suppressed || (options.quiet && !fails)) continue;
    const auto section = section_of(finding);
    if (finding.id == "CC013" && ++assertions > most_assertions && options.verbosity == 0 && !fails) continue;
    if (section != sections.end())
      members[static_cast<std::size_t>(section - sections.begin())].push_back(&finding);
    else if (fails)
      failing_notes.push_back(&finding);
    else if (options.verbosity > 0)
      other_notes.push_back(&finding);
  }
  std::string lines;
  const auto add = [&](const char* title, const std::vector<const Finding*>& found) {
    if (found.empty()) return;
    lines += "\n" + style(Color::bold, title) + "\n" + section_lines(found, options, style);
    if (title == assertion_section && assertions > most_assertions && options.verbosity == 0)
      lines += "  and " + count(assertions - most_assertions, "more assertion") + " (-v shows all)\n";
  };
  for (std::size_t i = 0; i < sections.size(); ++i) add(sections[i].title, members[i]);
  add("notes that fail the gate", failing_notes);
  add("notes", other_notes);
  return lines;
}

std::string allowed(const Report& report, const RenderOptions& options, const Style& style) {
  std::string lines;
  for (const auto& finding : report.findings) {
    if (!finding.suppressed) continue;
    const auto& [reason, expires, source] = *finding.suppressed;
    const std::string why = reason + (expires ? ", until " + *expires : "") + " · " + source;
    lines += "  " + style(Color::dim, finding.id) + "  " + pad_right(finding.op, name_width(options)) + " " +
             pad_left(count(finding.nodes, "node"), 10) + "\n" + std::string(finding_indent, ' ') +
             style(Color::dim, fit(why, std::max<std::size_t>(options.width, 40) - finding_indent)) + "\n";
  }
  return lines.empty() ? lines : "\n" + style(Color::bold, "allowed") + "\n" + lines;
}

}  // namespace compatcheck::report
