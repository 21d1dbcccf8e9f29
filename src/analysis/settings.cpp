// What a report hangs on beside the model, as one word.
#include <sstream>

#include "analysis/boundary.h"
#include "compatcheck/check.h"
#include "frontend/sha256.h"
#include "mapping/files.h"
#include "mapping/table.h"

namespace compatcheck {
namespace {

// Parts are told apart by their lengths.
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
  // Files by their bytes, so that a table may move.
  void add_files(std::span<const std::filesystem::path> files) {
    add(std::to_string(files.size()));
    for (const auto& file : files) add(std::filesystem::is_regular_file(file) ? frontend::sha256_of_file(file) : file.string());
  }
  std::string finish() && { return std::move(sha_).finish().substr(0, digits); }

 private:
  static constexpr std::size_t digits = 16;
  frontend::Sha256 sha_;
};

}  // namespace

std::string settings_digest(const LoadOptions& load, const CheckOptions& options, std::span<const std::filesystem::path> others) {
  return analysis::guarded("the settings", [&] {
    Digest digest;
    digest.add(COMPATCHECK_VERSION);
    digest.add(COMPATCHECK_ONNX_VERSION);
    digest.add(mapping::Table::shipped_bytes());
    digest.add(load.method);
    digest.add_files(mapping::table_files(load.mappings));
    digest.add_files(load.plugins);
    digest.add_files(load.op_libraries);
    digest.add_files(others);
    digest.add(load.libtorch.string());
    for (const auto* list : {&options.inputs, &options.dims, &options.custom_opsets}) digest.add(*list);
    digest.add_files(std::vector<std::filesystem::path>{options.inputs_from});
    digest.add_files(std::vector<std::filesystem::path>(options.targets.begin(), options.targets.end()));
    digest.add(std::vector<std::string>{options.inline_functions ? "inline" : "", options.hash ? "hash" : "", options.graph ? "graph" : "",
                                        std::to_string(static_cast<int>(options.export_type))});
    return std::move(digest).finish();
  });
}

}  // namespace compatcheck
