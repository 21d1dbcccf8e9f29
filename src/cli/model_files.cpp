#include "cli/model_files.h"

#include <algorithm>
#include <fstream>
#include <iostream>

#include "compatcheck/error.h"

namespace compatcheck::cli {
namespace {

bool holds_graph(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  while (std::getline(stream, line))
    if (const auto start = line.find_first_not_of(" \t\r"); start != std::string::npos && line[start] != '#')
      return line.compare(start, 6, "graph(") == 0;
  return false;
}

bool is_model(const std::filesystem::directory_entry& entry) {
  std::error_code error;
  if (!entry.is_regular_file(error)) return false;
  const auto ending = entry.path().extension();
  if (ending == ".txt") return holds_graph(entry.path());
  return ending == ".pt" || ending == ".pth" || ending == ".torchscript" || ending == ".ir";
}

std::vector<std::string> search(const std::string& folder) {
  std::vector<std::string> found;
  try {
    const auto options = std::filesystem::directory_options::skip_permission_denied;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, options))
      if (is_model(entry)) found.push_back(entry.path().string());
  } catch (const std::filesystem::filesystem_error& error) {
    throw UsageError(folder + " can't be searched: " + error.code().message());
  }
  if (found.empty()) throw UsageError(folder + ": no model in this folder (.pt, .pth, .torchscript, .ir, or .txt with a graph)");
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<std::string> model_files(const std::vector<std::string>& arguments) {
  if (std::count(arguments.begin(), arguments.end(), "-") > 1) throw UsageError("'-' is given twice; standard input holds one model");
  std::vector<std::string> files;
  for (const auto& argument : arguments) {
    std::error_code error;
    if (argument != "-" && std::filesystem::is_directory(argument, error)) {
      const auto found = search(argument);
      files.insert(files.end(), found.begin(), found.end());
    } else {
      files.push_back(argument);
    }
  }
  return files;
}

std::vector<std::string> listed_models(const std::filesystem::path& list) {
  std::ifstream file;
  if (list != "-") file.open(list);
  std::istream& stream = list == "-" ? std::cin : file;
  if (!stream) throw UsageError("--models-from " + list.string() + ": there is no such file that can be read");
  std::vector<std::string> models;
  for (std::string line; std::getline(stream, line);) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (!line.empty() && line.front() != '#') models.push_back(std::move(line));
  }
  if (stream.bad() || models.empty()) throw UsageError("--models-from " + list.string() + ": there is no model in it");
  return models;
}

}  // namespace compatcheck::cli
