// Findings about calls, and about nodes of ONNX files, in forms that an engine takes.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "compatcheck/report.h"

namespace compatcheck::analysis {

struct WrittenForm {
  std::string op, overload;
  int opset = 0;                          // of the form
  std::string text;                       // "the form of opset 16"
  std::vector<std::string> newer, older;  // ONNX operators of the nodes of either form
  std::string limit;                      // why the engine doesn't take the newer one
  Site site;
};

// Adds the target's older forms, and a note (CC106), which no gate counts, for those of one operator.
void note_forms(const std::string& target, std::vector<WrittenForm> forms, TargetSummary& summary,
                std::vector<Finding>& findings);

// Returns each two engines that take some form, but no common one. `taken`: by form, whether each engine takes it.
std::vector<std::pair<std::size_t, std::size_t>> excluding_engines(const std::vector<std::vector<bool>>& taken);

struct FormConflict {
  std::string first, second;  // engines
  std::string op, overload;
  Site site;
};

// Adds a warning (CC107) for those of one operator and two engines.
void note_conflicts(std::vector<FormConflict> conflicts, std::vector<Finding>& findings);

}  // namespace compatcheck::analysis
