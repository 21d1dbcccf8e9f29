// Lines of the user's Python files around what findings name.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compatcheck/report.h"

namespace compatcheck::report {

struct SourceBlock {
  int first = 1;  // the number of the first line
  std::vector<std::string> lines;
};

// By file as findings name it, blocks in the file's order. Files that aren't below `root` are left out, as are ones that can't be
// read; an empty root has none.
std::map<std::string, std::vector<SourceBlock>> source_lines(std::span<const Report> reports, const std::filesystem::path& root);

}  // namespace compatcheck::report
