// Notes on sizes that tracing may have fixed, found where --input names sizes. They are no errors: the author may intend each
// one.
#pragma once

#include <string>
#include <vector>

#include "analysis/prepare.h"
#include "compatcheck/report.h"

namespace compatcheck::analysis {

struct BakedIn {
  Finding finding{};                 // CC012
  std::vector<std::string> names{};  // named sizes of the finding; none: an input that nothing reads
  std::string number{};              // "8"; empty: the finding isn't about a number
  std::string origin{};              // origin of the number in the trace: "was the size 'batch' of 'x'", "was b*t"
  // The number stands where the named sizes were when the model was traced, and other sizes pass: the first of the sites.
  bool surely = false;
};

// Inputs that nothing reads, named sizes that nothing follows, and numbers equal to the size that a trace saw where a name stands
// now.
std::vector<BakedIn> collect_baked_in(const Model::State& model, const Prepared& prepared);

}  // namespace compatcheck::analysis
