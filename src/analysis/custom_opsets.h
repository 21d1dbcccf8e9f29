// Versions of custom ONNX domains: what the tables state, and --custom-opset over it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "mapping/table.h"

namespace compatcheck::analysis {

// `given` are "DOMAIN=N". Throws UsageError for what isn't, and for a domain given two versions.
std::map<std::string, int, std::less<>> custom_opsets(const std::vector<std::string>& given, const mapping::Table& table);

}  // namespace compatcheck::analysis
