#include "report/occurrences.h"

#include <algorithm>

#include "files/sha256.h"
#include "report/report_text.h"
#include "report/totals.h"

namespace compatcheck::report {

std::string Part::title() const {
  if (report->error) return name;
  return name + " opset " + std::to_string(report->opset) + (target ? " " + target->target : "");
}

// Findings for an engine without a summary in the report are kept with the model.
bool Part::has(const Finding& finding) const {
  if (target) return finding.target == target->target;
  return !finding.target ||
         std::ranges::none_of(report->targets, [&](const auto& each) { return each.target == *finding.target; });
}

std::vector<Part> parts_of(std::span<const Report> reports) {
  const ModelNames names(reports);
  std::vector<Part> parts;
  for (const auto& model : models_of(reports)) {
    const bool one = model.size() > 1 && model.front()->gate.one_opset_is_enough;
    for (const Report* report : one ? std::vector{&deciding(model)} : model) {
      const Part whole{report, nullptr, names.of(*report), !one && model.size() > 1};
      parts.push_back(whole);
      for (const TargetSummary& target : report->targets) parts.push_back({report, &target, whole.name, whole.has_siblings});
    }
  }
  return parts;
}

std::vector<Occurrence> occurrences(const Part& part) {
  std::vector<Occurrence> all;
  std::size_t number = 0;
  for (const Finding& finding : part.report->findings) {
    ++number;
    if (!part.has(finding)) continue;
    const std::size_t first = all.size();
    std::map<std::string_view, std::size_t> places;
    for (const Site& site : finding.sites) {
      const auto [place, fresh] = places.emplace(site.module, all.size());
      if (fresh) all.push_back({&finding, number, site.module, {}, 0});
      all[place->second].sites.push_back(&site);
      ++all[place->second].nodes;
    }
    // Nodes that stand nowhere are the model's.
    const int rest = finding.nodes - static_cast<int>(finding.sites.size());
    if (all.size() == first || rest > 0) all.push_back({&finding, number, "", {}, std::max(rest, 0)});
  }
  return all;
}

std::string Fingerprints::of(const Part& part, const Occurrence& occurrence) {
  const Finding& finding = *occurrence.finding;
  const std::string opset = part.has_siblings ? std::to_string(part.report->opset) : "";
  std::string key;
  for (const std::string& text : {finding.id, full_name(finding.op, finding.overload), occurrence.module,
                                  finding.target.value_or(""), part.report->model.path, opset})
    key += std::to_string(text.size()) + ":" + text;  // different lists of texts have different keys
  const int before = met_[key]++;
  if (before) key += "#" + std::to_string(before);
  files::Sha256 hash;
  hash.add(std::string_view(key));
  return std::move(hash).finish();
}

}  // namespace compatcheck::report
