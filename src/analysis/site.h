// Where in the user's code a node stands.
#pragma once

#include <cstdint>
#include <string>

#include "compatcheck/report.h"
#include "ir/graph.h"

namespace compatcheck::analysis {

// `index`: the node's number in graph order. The place is the innermost one in the user's own code; else in a library's,
// else in torch's; the archive's own code where nothing else is recorded.
Site site_of(const ir::Node& node, std::uint32_t index);
Site site_of(const ir::LocationRef& location, std::uint32_t index);  // for a node that no longer exists

std::string place_text(const Site& site);      // " at model.py:12"; empty where no source is recorded
std::string place_text(const ir::Node& node);  // "aten::add at model.py:12"

}  // namespace compatcheck::analysis
