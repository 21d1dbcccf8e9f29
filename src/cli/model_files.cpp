#include "cli/model_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "compatcheck/error.h"
#include "compatcheck/load.h"

namespace compatcheck::cli {
namespace {

// A file that can't be opened may contain one: the check reports why it can't be read.
bool may_hold_graph(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) return true;
  std::string line;
  while (std::getline(stream, line))
    if (const auto start = line.find_first_not_of(" \t\r"); start != std::string::npos && line[start] != '#')
      return line.compare(start, 6, "graph(") == 0;
  return false;
}

bool is_model(const std::filesystem::directory_entry& entry, bool onnx) {
  std::error_code error;
  const auto type = entry.status(error).type();
  using enum std::filesystem::file_type;
  if (type == fifo || type == socket || type == character || type == block) return false;
  const std::string ending = entry.path().extension().string();
  if (ending == ".txt") return type == regular && may_hold_graph(entry.path());
  if (ending == ".onnx") return onnx;
  return std::ranges::find(model_endings, ending) != model_endings.end();  // also true for a broken link
}

std::string known_endings(bool onnx) {
  std::string text;
  for (const std::string_view ending : model_endings) text += std::string(ending) + (ending == ".txt" ? " with a graph" : ", ");
  return text + (onnx ? ", .onnx" : "");
}

bool matches(const std::string& glob, const std::string& text) { return ::fnmatch(glob.c_str(), text.c_str(), 0) == 0; }

class Search {
 public:
  Search(std::filesystem::path folder, const FolderSearch& how) : top_(std::move(folder)), how_(how) {}

  std::vector<std::string> run() {
    look_into(top_);
    if (found_.empty())
      throw UsageError(top_.string() + ": no model in this folder (" + known_endings(how_.onnx) + ")" +
                       (excluded_ ? "; --exclude leaves out " + std::to_string(excluded_) : std::string()));
    std::sort(found_.begin(), found_.end());
    return std::move(found_);
  }

 private:
  // Folders that can't be read stay among the models, so that the check reports them. Links to folders aren't followed,
  // because they may be circular.
  void look_into(const std::filesystem::path& folder) {
    std::error_code error;
    std::vector<std::filesystem::path> folders;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      std::error_code none;
      if (entry->is_directory(none)) {
        const bool hidden = entry->path().filename().string().starts_with('.');  // .git, .venv
        if (!hidden && !entry->is_symlink(none) && !excluded(entry->path())) folders.push_back(entry->path());
      } else if (is_model(*entry, how_.onnx) && !excluded(entry->path())) {
        found_.push_back(entry->path().string());
      }
    }
    if (error) found_.push_back(folder.string());
    for (const auto& each : folders) look_into(each);
  }

  bool excluded(const std::filesystem::path& path) {
    const bool hit = std::ranges::any_of(how_.exclude, [&](const std::string& glob) {
      if (glob.find('/') == std::string::npos) return matches(glob, path.filename().string());
      return matches(glob, path.string()) || matches(glob, path.lexically_relative(top_).string());
    });
    excluded_ += hit;
    return hit;
  }

  std::filesystem::path top_;
  const FolderSearch& how_;
  std::vector<std::string> found_;
  std::size_t excluded_ = 0;  // files and folders
};

// Takes each file once, however its folder is spelled. A link is a name of its own.
class Names {
 public:
  bool is_new(const std::filesystem::path& file) {
    const auto folder = file.has_filename() ? "." / file.parent_path() : file;
    const auto [known, is_new_folder] = folders_.try_emplace(folder.string());
    std::error_code error;
    if (is_new_folder) {
      const auto absolute = std::filesystem::absolute(folder, error);
      known->second = std::filesystem::weakly_canonical(absolute, error);
      if (error) known->second = absolute.lexically_normal();  // inside a folder that can't be searched
    }
    return files_.insert((known->second / file.filename()).string()).second;
  }

 private:
  std::unordered_map<std::string, std::filesystem::path> folders_;  // whole, by how they are spelled
  std::unordered_set<std::string> files_;
};

}  // namespace

std::vector<std::string> model_files(const std::vector<std::string>& arguments, const FolderSearch& search) {
  if (std::count(arguments.begin(), arguments.end(), "-") > 1)
    throw UsageError("'-' is given twice; standard input holds one model");
  std::vector<std::string> files;
  Names names;
  for (const auto& argument : arguments) {
    std::error_code error;
    const bool is_folder = argument != "-" && std::filesystem::is_directory(argument, error);
    for (auto& file : is_folder ? Search(argument, search).run() : std::vector{argument})
      if (file == "-" || names.is_new(file)) files.push_back(std::move(file));
  }
  return files;
}

std::vector<std::string> listed_models(const std::filesystem::path& list) {
  const auto fail = [&](const std::string& why) { throw UsageError("--models-from " + list.string() + ": " + why); };
  std::error_code error;
  if (list != "-" && std::filesystem::is_directory(list, error)) fail("that is a folder, not a list; name it as a model");
  std::ifstream file;
  if (list != "-") file.open(list, std::ios::binary);
  std::istream& stream = list == "-" ? std::cin : file;
  if (!stream) fail("there is no such file that can be read");
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  const bool by_nul = text.find('\0') != std::string::npos;  // find -print0, git ls-files -z: names as they are
  std::vector<std::string> models;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line, by_nul ? '\0' : '\n');) {
    if (!by_nul) {
      line.erase(line.find_last_not_of(" \t\r") + 1);
      line.erase(0, std::min(line.find_first_not_of(" \t"), line.size()));
      if (line.starts_with('#')) continue;
    }
    if (!line.empty()) models.push_back(std::move(line));
  }
  if (stream.bad() || models.empty()) fail("there is no model in it");
  return models;
}

std::vector<FolderModel> onnx_files_of(const std::filesystem::path& folder, const std::filesystem::path& out) {
  std::vector<FolderModel> all;
  std::unordered_set<std::string> made;
  for (std::string& file : model_files({folder.string()}, {})) {
    std::filesystem::path target = out / std::filesystem::path(file).lexically_relative(folder);
    const std::string ending = target.extension();
    target.replace_extension(".onnx");
    if (!made.insert(target).second) target.replace_extension(ending + ".onnx");  // net.pt and net.pt2
    all.push_back({std::move(file), std::move(target)});
  }
  return all;
}

bool is_onnx(const std::string& file) {
  if (file == "-") return false;
  if (file.ends_with(".onnx")) return true;
  const std::string ending = std::filesystem::path(file).extension().string();
  if (std::ranges::find(model_endings, ending) != model_endings.end()) return false;
  try {
    return format_of(file) == "onnx";
  } catch (const Error&) {
    return false;
  }
}

}  // namespace compatcheck::cli
