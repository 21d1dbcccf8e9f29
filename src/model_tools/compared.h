// One side of a comparison: a model, or a report of one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compatcheck/inspect.h"
#include "compatcheck/report.h"

namespace compatcheck::model_tools {

struct ComparedFinding {
  std::string severity, message;
  std::uint64_t nodes = 0;
};

struct Compared {
  std::string path;
  std::optional<int> opset;  // set for a report
  std::vector<std::pair<std::string, std::string>> properties;
  std::map<std::string, std::uint64_t> operators;
  std::map<std::pair<std::string, std::string>, ComparedFinding> findings;  // keyed by rule and operator
};

Compared compared(const Report& report);
Compared compared(const Inspection& inspection);

}  // namespace compatcheck::model_tools
