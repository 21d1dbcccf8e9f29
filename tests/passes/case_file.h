// Cases of passes as text, many to a file:
//
//   == fold_constants, remove_dead_code: what is shown
//   graph(…): …
//   ->
//   graph(…): …          or the word "unchanged"
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace compatcheck::passes {

struct PassCase {
  std::vector<std::string> passes;
  std::string about;
  std::string before;
  std::string after;  // empty: unchanged
};

std::vector<PassCase> read_cases(const std::filesystem::path& file);

}  // namespace compatcheck::passes
