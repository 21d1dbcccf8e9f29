#include "analysis/note_forms.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "mapping/row.h"
#include "process/spell_count.h"

namespace compatcheck::analysis {
namespace {

std::vector<std::string> each_once(const std::vector<std::string>& operators) {
  std::vector<std::string> names;
  for (const auto& name : operators)
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

std::string nodes_of_form(const std::vector<std::string>& operators) {
  return mapping::joined(each_once(operators)) + " (" + spell_count(operators.size(), "node") + ")";
}

}  // namespace

void note_forms(const std::string& target, std::vector<WrittenForm> forms, TargetSummary& summary,
                std::vector<Finding>& findings) {
  std::map<std::tuple<std::string, std::string, int, std::string, std::string, std::string>, Finding> all;
  for (WrittenForm& written : forms) {
    const auto newer = each_once(written.newer), older = each_once(written.older);
    const auto same = [&](const TargetSummary::OlderForm& other) {
      return other.op == written.op && other.overload == written.overload && other.opset == written.opset &&
             other.newer == newer && other.older == older && other.limit == written.limit;
    };
    auto form = std::ranges::find_if(summary.older_forms, same);
    if (form == summary.older_forms.end())
      form = summary.older_forms.insert(form, {.op = written.op,
                                               .overload = written.overload,
                                               .opset = written.opset,
                                               .newer = newer,
                                               .older = older,
                                               .limit = written.limit});
    ++form->calls;
    form->more_nodes += static_cast<int>(written.older.size()) - static_cast<int>(written.newer.size());
    const std::string nodes = nodes_of_form(written.older);
    Finding& finding = all[{written.op, written.overload, written.opset, written.text, written.limit, nodes}];
    if (finding.nodes == 0) {
      finding.id = "CC106";
      finding.severity = Severity::note;
      finding.target = target;
      finding.message =
          "written as " + nodes + ", " + written.text + ", instead of " + nodes_of_form(written.newer) + ": " + written.limit;
      finding.op = written.op;
      finding.overload = written.overload;
    }
    ++finding.nodes;
    finding.sites.push_back(std::move(written.site));
  }
  for (auto& [key, finding] : all) findings.push_back(std::move(finding));
}

std::vector<std::pair<std::size_t, std::size_t>> excluding_engines(const std::vector<std::vector<bool>>& taken) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  const std::size_t engines = taken.empty() ? 0 : taken.front().size();
  const auto some_form = [&](const auto& takes) { return std::ranges::any_of(taken, takes); };
  for (std::size_t a = 0; a < engines; ++a)
    for (std::size_t b = a + 1; b < engines; ++b)
      if (some_form([&](const auto& form) { return form[a]; }) && some_form([&](const auto& form) { return form[b]; }) &&
          !some_form([&](const auto& form) { return form[a] && form[b]; }))
        found.emplace_back(a, b);
  return found;
}

void note_conflicts(std::vector<FormConflict> conflicts, std::vector<Finding>& findings) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, Finding> all;
  for (FormConflict& conflict : conflicts) {
    Finding& finding = all[{conflict.first, conflict.second, conflict.op, conflict.overload}];
    if (finding.nodes == 0) {
      finding.id = "CC107";
      finding.severity = Severity::warning;
      finding.target = conflict.first;
      finding.message = "no form of this call suits " + conflict.second + " too";
      finding.help = "convert a file for each: --target " + conflict.first + ", and --target " + conflict.second;
      finding.op = conflict.op;
      finding.overload = conflict.overload;
    }
    ++finding.nodes;
    finding.sites.push_back(std::move(conflict.site));
  }
  for (auto& [key, finding] : all) findings.push_back(std::move(finding));
}

}  // namespace compatcheck::analysis
