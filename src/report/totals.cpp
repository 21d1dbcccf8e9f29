#include "report/totals.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "report/report_text.h"

namespace compatcheck::report {
namespace {

// More is better.
std::tuple<int, double> rank(const Report& report) {
  const int verdict = report.error ? 0 : report.verdict == Verdict::no ? 1 : report.verdict == Verdict::needs_input ? 2 : 3;
  return {verdict, report.summary.coverage_nodes};
}

void count_verdict(Totals& totals, const Report& best) {
  ++totals.models;
  if (best.error)
    ++totals.not_checked;
  else if (is_onnx(best))
    ++totals.onnx;
  else if (best.verdict == Verdict::yes)
    ++totals.yes;
  else if (best.verdict == Verdict::no)
    ++totals.no;
  else
    ++totals.needs_input;
}

}  // namespace

std::vector<std::vector<const Report*>> models_of(std::span<const Report> reports) {
  std::vector<std::vector<const Report*>> models;
  std::map<std::string_view, std::size_t> places;
  for (const Report& report : reports) {
    const auto fresh = [&] {
      models.emplace_back();
      return models.size() - 1;
    };
    if (report.error) {
      models[fresh()].push_back(&report);
      continue;
    }
    const auto known = places.find(report.model.path);
    const std::size_t place = known == places.end() ? places.emplace(report.model.path, fresh()).first->second : known->second;
    models[place].push_back(&report);
  }
  return models;
}

const Report& best_of(std::span<const Report* const> model) {
  return **std::ranges::max_element(model, {}, [](const Report* report) { return rank(*report); });
}

const Report& deciding(std::span<const Report* const> model) {
  return **std::ranges::max_element(model, {},
                                    [](const Report* report) { return std::pair(report->gate.passed, rank(*report)); });
}

Totals totals_of(std::span<const Report> reports) {
  Totals totals;
  std::map<std::string_view, Totals::Missing> missing;
  for (const auto& model : models_of(reports)) {
    const Report& best = best_of(model);
    count_verdict(totals, best);
    std::set<std::string_view> met;
    for (const OperatorSummary& op : best.operators) {
      if (op.operator_class != OperatorClass::missing) continue;
      Totals::Missing& entry = missing[op.op];
      entry.nodes += op.nodes;
      if (met.insert(op.op).second) ++entry.models;
    }
  }
  for (auto& [op, entry] : missing) {
    entry.op = op;
    totals.missing.push_back(std::move(entry));
  }
  std::ranges::stable_sort(totals.missing, [](const auto& a, const auto& b) {
    return std::tuple(-a.models, -a.nodes) < std::tuple(-b.models, -b.nodes);
  });
  return totals;
}

}  // namespace compatcheck::report
