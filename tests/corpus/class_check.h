// Holds the classes of a report against the nodes of the file that was written, and against nothing else that the converter
// knows.
#pragma once

#include <filesystem>
#include <string>

#include "compatcheck/report.h"

namespace compatcheck::corpus {

// Why they disagree; empty where they agree.
std::string class_disagreement(const Report& report, const std::filesystem::path& file);

}  // namespace compatcheck::corpus
