// Divides reports into the parts that trackers of findings need.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "compatcheck/report.h"

namespace compatcheck::report {

// The part of a report about one engine, or, without a target, about the model itself.
struct Part {
  const Report* report = nullptr;
  const TargetSummary* target = nullptr;

  std::string name;           // name of the model
  bool has_siblings = false;  // the model has reports at other opsets, too

  std::string title() const;  // "net.pt opset 17 tensorrt@10.15"
  bool has(const Finding& finding) const;
};

// Returns the deciding report alone for a model for which one opset of several is enough.
std::vector<Part> parts_of(std::span<const Report> reports);

// The part of a finding about one module: it persists while node numbers and lines change with each edit of the model.
struct Occurrence {
  const Finding* finding = nullptr;
  std::size_t number = 0;  // index of the finding in its report
  std::string module;
  std::vector<const Site*> sites;  // empty: the finding is about the whole model
  int nodes = 0;
};

std::vector<Occurrence> occurrences(const Part& part);

// Names for occurrences that outlive edits. A name contains rule, operator, module, engine and model, the opset if there are
// several, and a number that distinguishes equal ones.
class Fingerprints {
 public:
  std::string of(const Part& part, const Occurrence& occurrence);

 private:
  std::map<std::string, int> met_;
};

}  // namespace compatcheck::report
