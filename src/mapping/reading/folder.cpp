#include "mapping/reading/folder.h"

#include <algorithm>
#include <fstream>

#include "compatcheck/error.h"

namespace compatcheck::mapping {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> yaml_files(const fs::path& folder) {
  std::vector<fs::path> files;
  if (fs::is_directory(folder))
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file() && entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// Sorts by `key`, and reports what stands in two files.
template <class Item, class Key>
void sort_and_check(std::vector<Item>& items, Key&& key, std::vector<Defect>& defects) {
  std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) { return key(a) < key(b); });
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (key(items[i]) != key(items[i - 1])) continue;
    const Place& first = items[i - 1].place;
    defects.push_back({items[i].place, "is defined twice; first at " + first.file + ":" + std::to_string(first.line)});
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(i--));
  }
}

}  // namespace

std::string read_file(const fs::path& file) {
  std::error_code error;
  if (fs::is_directory(file, error)) throw TableError(file.string() + ": a folder, not a table file");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw TableError(file.string() + ": can't be opened");
  std::string text(yaml::max_bytes + 1, '\0');  // one more than allowed is enough to refuse it
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (in.bad()) throw TableError(file.string() + ": can't be read");
  return text;
}

Tables read_folder(const fs::path& folder, const std::string& prefix, std::vector<Defect>& defects) {
  Tables tables;
  const auto take = [&](const fs::path& file, auto& items, auto read) {
    if (!fs::exists(file)) return;
    const std::string name = prefix + file.lexically_relative(folder).generic_string();
    std::string text = read_file(file);
    auto contents = read(yaml::Source(text, name));
    std::move(contents.items.begin(), contents.items.end(), std::back_inserter(items));
    std::move(contents.defects.begin(), contents.defects.end(), std::back_inserter(defects));
    tables.sources.emplace_back(name, std::move(text));
  };
  for (const char* rows : {"operators", "libraries"})
    for (const fs::path& file : yaml_files(folder / rows)) take(file, tables.operators, read_operators);
  take(folder / "onnx_changes.yaml", tables.changes, read_onnx_changes);
  take(folder / "structural.yaml", tables.structural, read_structural);
  const auto by_name = [](const auto& item) -> const std::string& { return item.name; };
  sort_and_check(tables.operators, by_name, defects);
  sort_and_check(
      tables.changes, [](const OnnxChange& change) { return std::pair(change.op, change.to); }, defects);
  sort_and_check(tables.structural, by_name, defects);
  return tables;
}

std::string describe(const std::vector<Defect>& defects, const Tables& tables) {
  std::string text;
  for (const Defect& defect : defects) {
    const auto source =
        std::find_if(tables.sources.begin(), tables.sources.end(), [&](const auto& s) { return s.first == defect.place.file; });
    const std::string_view line =
        source == tables.sources.end() ? std::string_view() : yaml::line_of(source->second, defect.place.line);
    text += (text.empty() ? "" : "\n") + yaml::describe(defect.place, defect.message, line);
  }
  return text;
}

}  // namespace compatcheck::mapping
