// Converts outcomes to the report's operators, with their classes, and findings, with their sites.
#pragma once

#include <vector>

#include "analysis/causes.h"
#include "compatcheck/report.h"
#include "conversion/assess.h"
#include "symbolic/fact.h"

namespace compatcheck::analysis {

// The ONNX nodes that calls become: those that the trial emitted, without plumbing unless there is nothing else; for a call that
// wasn't tried, or that needs none, those that its row names.
struct Becomes {
  std::vector<std::string> onnx;
  bool several = false;  // a single call becomes several nodes
  bool known = false;

  void add(const conversion::Outcome& call);
  void add(const mapping::Row& row);

 private:
  void add(const std::string& name);
};

std::vector<OperatorSummary> summarize_operators(const conversion::Assessment& assessment, const conversion::Context& context,
                                                 int opset);

// By severity, then by number of nodes.
void sort(std::vector<Finding>& findings);

// With `others`, sorted. `graph` is the one that was assessed. `for_engines`: rows to add must be ones that an engine can run.
std::vector<Finding> collect_findings(const ir::Graph& graph, const conversion::Assessment& assessment,
                                      const conversion::Context& context, int opset, std::vector<Finding> others,
                                      const WriteCauses& writes, bool for_engines = false);

Summary summarize(const conversion::Assessment& assessment, const std::vector<OperatorSummary>& operators);

// "grid_sampler(input, grid, 0, 0, False)": the call as its author would write it, cut to one line.
std::string spell_call(const ir::Node& node);

}  // namespace compatcheck::analysis
