#include <algorithm>
#include <array>
#include <string_view>

#include "compatcheck/error.h"
#include "files/pickle.h"
#include "frontend/foreign.h"
#include "frontend/saved.h"
#include "frontend/text/graph_text.h"

namespace compatcheck::frontend {
namespace {

using Head = std::span<const std::uint8_t>;
using namespace std::string_view_literals;

constexpr std::uint64_t head_bytes = 64 << 10, zip_mark_bytes = 4;
constexpr std::uint64_t small_file = 256 << 10, fetched_head = 4 << 10, fetched_tail = 128 << 10;
constexpr std::uint64_t pickle_bytes = 64 << 20;  // for weights' names; a state_dict of 100,000 tensors needs 20 MB

bool starts_with(Head head, std::string_view magic, std::size_t at = 0) {
  return head.size() >= at + magic.size() &&
         std::equal(magic.begin(), magic.end(), head.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

// torch.save before 1.6: a number, the protocol, the machine's sizes and the object, each a pickle of its own.
constexpr std::string_view legacy_magic = "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv;

Recognition legacy_pickle(const files::InputFile& file) {
  const auto bytes = file.head(pickle_bytes);
  Head rest(bytes);
  Head object;
  for (int pickle = 0; pickle < 4; ++pickle) {
    const files::PickledNames names = files::names_in_pickle(rest);
    if (!names.whole) throw ModelError("is a torch.save file that is cut short or damaged");
    object = rest.first(names.bytes);
    rest = rest.subspan(names.bytes);
  }
  return recognise_saved(object);
}

// PyTorch's tar has these members; any other tar is just a tar.
bool is_tar(Head head) { return starts_with(head, "ustar", 257); }

bool head_contains(Head head, std::string_view text) {
  return std::search(head.begin(), head.end(), text.begin(), text.end(),
                     [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); }) != head.end();
}

// ModelProto begins with ir_version, a small varint, then one of its next fields.
bool is_onnx(Head head) {
  constexpr std::string_view next_fields = "\x12\x1a\x22\x28\x32\x3a\x42"sv;
  return head.size() > 8 && head[0] == 0x08 && head[1] >= 1 && head[1] <= 30 &&
         next_fields.find(static_cast<char>(head[2])) != next_fields.npos;
}

struct Magic {
  std::string_view bytes;
  std::size_t at;
  Format format;  // unknown: it may hold the model
  std::string_view sentence;
};
constexpr std::array<Magic, 11> others = {{
    {"ftrt"sv, 0, Format::tensorrt_engine,
     "is a built TensorRT engine: compatcheck reads the TorchScript model that it was made from"},
    {"ptrt"sv, 0, Format::tensorrt_engine,
     "is a built TensorRT engine: compatcheck reads the TorchScript model that it was made from"},
    {"TFL3"sv, 4, Format::tflite, "is a TensorFlow Lite model, not TorchScript"},
    {"\x89HDF\r\n\x1a\n"sv, 0, Format::hdf5, "is an HDF5 file (Keras?), not TorchScript"},
    {"GGUF"sv, 0, Format::gguf, "is a GGUF file: weights without TorchScript code"},
    {"\x1f\x8b"sv, 0, Format::unknown, "is compressed with gzip: unpack it first"},
    {"7z\xbc\xaf\x27\x1c"sv, 0, Format::unknown, "is a 7z archive: unpack it first"},
    {"\xfd"
     "7zXZ"sv,
     0, Format::unknown, "is compressed with xz: unpack it first"},
    {"version https://git-lfs"sv, 0, Format::unknown, "is a Git LFS pointer, not the model itself: run git lfs pull"},
    {"PTE"sv, 0, Format::executorch,
     "is an ExecuTorch program, lowered for a backend: save the exported program itself with torch.export.save"},
    {"ET12"sv, 4, Format::executorch,
     "is an ExecuTorch program, lowered for a backend: save the exported program itself with torch.export.save"},
}};

bool is_safetensors(Head head) {
  if (head.size() < 10 || head[8] != '{' || head[9] != '"') return false;
  return std::all_of(head.begin() + 4, head.begin() + 8, [](std::uint8_t byte) { return byte == 0; });
}

Recognition recognise_head(const files::InputFile& file, Head head) {
  if (starts_with(head, legacy_magic)) return legacy_pickle(file);
  if (is_tar(head)) {
    if (head_contains(head, "sys_info") || head_contains(head, "storages")) return {Format::legacy_tar, {}, {}};
    return {Format::unknown, "is a tar archive: unpack it first", {}};
  }
  for (const Magic& other : others)
    if (starts_with(head, other.bytes, other.at)) return {other.format, std::string(other.sentence), {}};
  if (is_safetensors(head)) return {Format::safetensors, "is a safetensors file: weights without TorchScript code", {}};
  if (is_onnx(head)) return {Format::onnx, {}, {}};
  if (starts_with(head, "\x80"sv) && head.size() > 1 && head[1] <= 5)
    if (const auto names = files::names_in_pickle(head); names.whole || !names.classes.empty()) return recognise_saved(head);
  return {};
}

Recognition recognise_pickle_archive(const files::InputFile& file, const files::ZipDirectory& directory) {
  const files::ZipRecord* record = directory.find("data.pkl");
  if (record->compressed) return {Format::saved_object, "Python objects", {}};
  return recognise_saved(read_zip_record(file, *record, pickle_bytes));
}

bool is_export(const files::ZipDirectory& directory) {
  return directory.find("serialized_exported_program.json") || directory.find("archive_format") ||
         std::any_of(directory.records.begin(), directory.records.end(), [](const files::ZipRecord& record) {
           return record.name == "serialized_exported_program.json" || record.name.ends_with("/archive_format") ||
                  (record.name.find("models/") != std::string::npos && record.name.ends_with(".json"));
         });
}

Recognition recognise_zip(const files::InputFile& file, const files::ZipDirectory& directory) {
  if (directory.records.empty()) throw ModelError("is an empty zip archive");
  if (directory.has_folder("code/") && directory.find("data.pkl")) {
    if (directory.find("constants.pkl")) return {Format::torchscript, {}, {}};
    return {Format::unknown,
            "has code but no constants.pkl: it is not a whole TorchScript archive; save it again with torch.jit.save",
            {}};
  }
  if (is_export(directory)) return {Format::exported_program, {}, {}};
  if (directory.find("bytecode.pkl")) return {Format::mobile_bytecode, {}, {}};
  if (directory.find("model.json"))
    return {Format::unknown,
            "is TorchScript of torch 1.0: load it there with torch.jit.load, and save it with torch 1.6 or newer",
            {}};
  if (directory.find("data.pkl")) return recognise_pickle_archive(file, directory);
  return {Format::unknown, "is a zip archive that holds neither TorchScript code nor an exported program", {}};
}

// Fetches, of a file that is read by ranges, the magic number and the directory of an archive, or all of a small file.
void fetch_ends(const files::InputFile& file) {
  const std::uint64_t size = file.size();
  if (size <= small_file)
    file.fetch(std::array{ByteRange{0, size}});
  else
    file.fetch(std::array{ByteRange{0, fetched_head}, ByteRange{size - fetched_tail, fetched_tail}});
}

}  // namespace

Recognition recognise(const files::InputFile& file, const std::filesystem::path& path) {
  if (file.size() == 0) throw ModelError("is empty");
  fetch_ends(file);
  if (files::starts_as_zip(file.head(zip_mark_bytes))) {
    files::ZipDirectory directory = files::read_zip_directory(file);
    Recognition recognition = recognise_zip(file, directory);
    recognition.directory = std::move(directory);
    return recognition;
  }
  const auto head = file.head(head_bytes);
  Recognition recognition = recognise_head(file, head);
  if (recognition.format == Format::unknown && recognition.detail.empty())
    recognition.format = text::looks_like_graph(head, path) ? Format::graph_text
                         : text::is_text(head)              ? Format::text
                                                            : Format::unknown;
  return recognition;
}

Format detect(const std::filesystem::path& path) {
  try {
    return recognise(files::InputFile(path), path).format;
  } catch (const ModelError& error) {
    throw ModelError(path.string() + ": " + error.what());
  }
}

}  // namespace compatcheck::frontend
