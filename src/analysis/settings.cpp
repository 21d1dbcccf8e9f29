// The settings that a report depends on beside the model, as one word.
#include <algorithm>

#include "analysis/boundary.h"
#include "compatcheck/check.h"
#include "files/sha256.h"
#include "mapping/table.h"

namespace compatcheck {
namespace {

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

// Lengths separate the parts.
class Digest {
 public:
  void add(std::string_view text) {
    sha_.add(std::to_string(text.size()) + ":");
    sha_.add(text);
  }
  void add(const std::vector<std::string>& list) {
    add(std::to_string(list.size()));
    for (const auto& text : list) add(text);
  }
  // Files by their bytes, so that a table may move; a folder is the files in it.
  void add_files(std::span<const std::filesystem::path> files) {
    add(std::to_string(files.size()));
    for (const auto& file : files) {
      if (std::filesystem::is_directory(file))
        add_files(files_in(file));
      else
        add(std::filesystem::is_regular_file(file) ? files::sha256_of_file(file) : file.string());
    }
  }
  std::string finish() && { return std::move(sha_).finish().substr(0, digits); }

 private:
  static constexpr std::size_t digits = 16;
  files::Sha256 sha_;
};

// Whether a target is the user's own profile, not an engine.
bool is_file(const std::string& target) {
  std::error_code error;
  return std::filesystem::is_regular_file(target, error);
}

}  // namespace

std::vector<std::filesystem::path> settings_files(const LoadOptions& load, const CheckOptions& options) {
  std::vector<std::filesystem::path> files;
  for (const auto* list : {&load.mappings, &load.plugins, &load.op_libraries})
    files.insert(files.end(), list->begin(), list->end());
  if (!options.inputs_from.empty()) files.push_back(options.inputs_from);
  std::ranges::copy_if(options.targets, std::back_inserter(files), is_file);
  return files;
}

std::string settings_digest(const LoadOptions& load, const CheckOptions& options, std::span<const std::filesystem::path> others) {
  return analysis::guarded("the settings", [&] {
    Digest digest;
    digest.add(COMPATCHECK_VERSION);
    digest.add(COMPATCHECK_ONNX_VERSION);
    digest.add(mapping::Table::shipped_bytes());
    digest.add(load.method);
    digest.add(load.model);
    for (const auto* list : {&load.mappings, &load.plugins, &load.op_libraries}) digest.add(std::to_string(list->size()));
    digest.add_files(settings_files(load, options));
    digest.add_files(others);
    digest.add(load.libtorch.string());
    for (const auto* list : {&options.inputs, &options.dims, &options.custom_opsets}) digest.add(*list);
    for (const auto& target : options.targets) digest.add(is_file(target) ? "" : target);
    digest.add(std::vector<std::string>{options.inline_functions ? "inline" : "", options.hash ? "hash" : "",
                                        options.graph ? "graph" : "", std::to_string(static_cast<int>(options.export_type)),
                                        options.state == StateMode::inputs_outputs ? "state" : "",
                                        options.complex_io == ComplexIo::pairs ? "complex pairs" : "",
                                        options.quantized_io == QuantizedIo::integers ? "quantized int" : "",
                                        options.prefer == Preference::compact ? "compact" : ""});
    return std::move(digest).finish();
  });
}

}  // namespace compatcheck
