// Texts about a report that several formats share.
#pragma once

#include <span>
#include <string>

#include "compatcheck/report.h"

namespace compatcheck::report {

bool is_onnx(const Report& report);                                         // a check of an ONNX file: nothing is converted
std::string full_name(const std::string& op, const std::string& overload);  // "aten::add.Tensor"
std::string verdict_name(const Report& report);                             // "not convertible", "not checked"
std::string gate_options(const Report& report);                             // "--fail-on never, --max-missing 2"
std::string headline(const Report& report);                                 // "3 of 41 operators missing · 14 of 1,204 nodes"
long long emitted_nodes(const OperatorSummary& op);                         // number of ONNX nodes, plumbing included
// "8 calls → 213 nodes"; empty if each converted call is one node, or nothing was emitted.
std::string emission_words(const OperatorSummary& op);
bool is_of_run(const Finding& finding);        // CC901, CC904: belongs to no model, but stands in the last report
std::string sentence(const Finding& finding);  // message and advice

std::string place(const Site& site);  // "models/warp.py:88 in warp · net.flow · grid_sampler(…)"

// "16", "none"; "not known" while it depends on inputs or failures.
std::string lowest_opset_words(const Report& report);
std::string lowest_opset_words(const Report& report, const TargetSummary& target);
std::string targets_lowest_opset_words(const Report& report);
int calls_in_older_forms(const TargetSummary& target);

// How a page calls its models: the only one by its file, several as their paths were given.
class ModelNames {
 public:
  explicit ModelNames(std::span<const Report> reports);
  explicit ModelNames(bool several) : several_(several) {}
  bool several() const { return several_; }
  std::string of(const Report& report) const;

 private:
  bool several_ = false;
};

// Findings that count, by severity, and those that are suppressed.
struct FindingCounts {
  int errors = 0, warnings = 0, notes = 0, suppressed = 0;
  void add(const Finding& finding);
};

FindingCounts counts_of(const Report& report);
std::string spell(const FindingCounts& counts);  // "1 error · 4 notes · 2 suppressed", "no findings"

}  // namespace compatcheck::report
