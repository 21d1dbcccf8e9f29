// Several reports as models: which ones pass, and the most frequent obstacles.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compatcheck/report.h"

namespace compatcheck::report {

// The reports of one path, at several opsets or of several runs, are one model; each failure is a model of its own. In order
// of first appearance.
std::vector<std::vector<const Report*>> models_of(std::span<const Report> reports);

// Returns the report of a model with the fewest obstacles; the first on a tie.
const Report& best_of(std::span<const Report* const> model);

// By which the gate judges a model for which one opset is enough: one that passes, and of these the best.
const Report& deciding(std::span<const Report* const> model);

// The totals of a run. For a scan, whose reports no process holds together, python/compatcheck/registry/results.py adds up the
// same counts.
struct Totals {
  int models = 0, yes = 0, no = 0, needs_input = 0, not_checked = 0;  // a model counts by its best report
  int onnx = 0;                                                       // ONNX files, which aren't converted
  struct Missing {
    std::string op;
    int models = 0;
    std::int64_t nodes = 0;
  };
  std::vector<Missing> missing;  // operators without a mapping, by models, then nodes, then name
};

Totals totals_of(std::span<const Report> reports);

}  // namespace compatcheck::report
