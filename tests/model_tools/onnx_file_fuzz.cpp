// Whatever a file holds, it is inspected, extracted from and the same as itself, or refused.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>

#include "compatcheck/diff.h"
#include "compatcheck/error.h"
#include "compatcheck/extract.h"
#include "compatcheck/inspect.h"

using namespace compatcheck;

namespace {

template <class Work>
void do_or_refuse(Work&& work) {
  try {
    work();
  } catch (const ModelError&) {
  } catch (const UsageError&) {
  }
}

// A folder of this process's own, in which external data isn't found.
const std::filesystem::path& folder() {
  static const std::filesystem::path made = [] {
    auto path = std::filesystem::temp_directory_path() / ("onnx_file_fuzz." + std::to_string(getpid()));
    std::filesystem::create_directories(path);
    return path;
  }();
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto model = folder() / "model.onnx", out = folder() / "out.onnx";
  std::ofstream(model, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  Inspection found;
  do_or_refuse([&] { found = inspect(model, {.weights = true}); });
  do_or_refuse([&] { diff(model, model); });
  do_or_refuse([&] { extract(model, out, {.add_outputs = {"all"}}); });
  // Between each node's values: what it gives, from what it reads.
  for (std::size_t i = 0; i < found.node_list.size() && i < 4; ++i)
    do_or_refuse([&] { extract(model, out, {.from = found.node_list[i].inputs, .to = found.node_list[i].outputs}); });
  return 0;
}
