#include <algorithm>

#include "compatcheck/error.h"
#include "examples/elements.h"
#include "examples/examples.h"
#include "examples/npz.h"
#include "examples/tensor_proto.h"
#include "files/saved_object.h"

namespace compatcheck::examples {
namespace {

[[noreturn]] void not_examples(const std::string& what) {
  throw ModelError(what + " (expected a .pt file of torch.save, an .npz file, or a folder of input_0.pb, input_1.pb …)");
}

// torch.save before 1.6: no zip, but pickles one after the other.
constexpr std::string_view legacy_magic("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);

Examples read_zip(const files::InputFile& file, Elements elements) {
  const auto directory = files::read_zip_directory(file);
  if (directory.has_folder("code/"))
    throw ModelError("is a TorchScript model, not example inputs: torch.save a tuple of tensors");
  const auto with_elements = [&](ir::Constant value, bool names_may_be_order) -> Examples {
    if (elements == Elements::read) read_elements(value, file, &directory);
    return {std::move(value), names_may_be_order};
  };
  if (directory.find("data.pkl")) return with_elements(files::read_saved_object(file, directory), false);
  if (std::any_of(directory.records.begin(), directory.records.end(),
                  [](const auto& record) { return record.name.ends_with(".npy"); }))
    return with_elements(read_npz(file, directory), true);
  not_examples("is a zip archive of something else");
}

}  // namespace

Examples read(const files::InputFile& file, Elements elements) {
  const auto head = file.head(legacy_magic.size());
  if (files::starts_as_zip(head)) return read_zip(file, elements);
  if (std::equal(head.begin(), head.end(), legacy_magic.begin(), legacy_magic.end(),
                 [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); }))
    throw ModelError("is in the format of torch.save before 1.6: save it again with torch 1.6 or newer");
  not_examples("holds no example inputs");
}

Examples read(const std::filesystem::path& file, Elements elements) {
  std::error_code ignored;
  try {
    if (std::filesystem::is_directory(file, ignored)) return {read_proto_folder(file, elements), true};
    if (std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored))
      not_examples("is neither a file nor a folder");
    return read(files::InputFile(file), elements);
  } catch (const ModelError& error) {
    throw UsageError("CheckOptions::inputs_from " + file.string() + ": " + error.what());
  }
}

}  // namespace compatcheck::examples
