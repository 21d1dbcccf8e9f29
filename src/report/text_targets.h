// The part of the text report about the requested engines.
#pragma once

#include <string>

#include "compatcheck/render.h"
#include "report/style.h"

namespace compatcheck::report {

// A line for each engine: target, support, nodes, partitions, lowest opset. Empty without targets.
Color color_of_support(Support support);
std::string targets_table(const Report& report, const RenderOptions& options, const Style& style);

}  // namespace compatcheck::report
