// The committed graphs that torch printed.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace compatcheck::ir {

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::vector<std::filesystem::path> sample_graphs() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(COMPATCHECK_SOURCE_DIR "/tests/ir/graphs"))
    files.push_back(entry.path());
  if (files.empty()) throw std::runtime_error("there are no sample graphs");
  return files;
}

}  // namespace compatcheck::ir
