#include "compatcheck/inspect.h"

#include "analysis/boundary.h"
#include "files/input_file.h"
#include "files/naming.h"
#include "frontend/foreign.h"
#include "model_tools/inspect_onnx.h"
#include "model_tools/inspect_torchscript.h"

namespace compatcheck {
namespace {

// A file with ONNX's ending is read as ONNX, and errors describe it as such.
bool is_onnx(const files::InputFile& file, const std::filesystem::path& path) {
  return path.extension() == ".onnx" || frontend::recognise(file, path).format == frontend::Format::onnx;
}

using InputFilePtr = std::shared_ptr<const files::InputFile>;

// Nullopt for a file that isn't ONNX.
std::optional<Inspection> if_onnx(const InputFilePtr& file, const std::filesystem::path& path, const std::string& name,
                                  const InspectOptions& options) {
  return files::naming(name, [&]() -> std::optional<Inspection> {
    if (!is_onnx(*file, path)) return std::nullopt;
    Inspection found = model_tools::inspect_onnx(file, path.parent_path(), options);
    found.path = name;
    return found;
  });
}

}  // namespace

Inspection inspect(const std::filesystem::path& path, const InspectOptions& options) {
  return analysis::guarded(path.string(), [&] {
    const InputFilePtr file = files::naming(path.string(), [&] { return std::make_shared<const files::InputFile>(path); });
    if (auto found = if_onnx(file, path, path.string(), options)) return *std::move(found);
    return model_tools::inspect_torchscript(load(path, options.load), options);
  });
}

Inspection inspect(std::span<const std::byte> bytes, const std::string& display_name, const InspectOptions& options) {
  return analysis::guarded(display_name, [&] {
    const std::span data(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    const InputFilePtr file = files::naming(display_name, [&] { return std::make_shared<const files::InputFile>(data); });
    if (auto found = if_onnx(file, {}, display_name, options)) return *std::move(found);
    return model_tools::inspect_torchscript(Loader(options.load).load(bytes, display_name), options);
  });
}

}  // namespace compatcheck
