// The graph as a report carries it.
#pragma once

#include "compatcheck/report.h"
#include "conversion/assess.h"

namespace compatcheck::analysis {

GraphSummary summarize_graph(const conversion::Assessment& assessment, const symbolic::FactTable& facts);

}  // namespace compatcheck::analysis
