#include "frontend/sample_archive.h"

#include <stdlib.h>
#include <zlib.h>

#include <fstream>

namespace compatcheck::frontend::testing {
namespace {

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i);
  return text;
}

std::string deflate(std::string_view content) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string make(const Records& records, bool wide, bool pack = false) {
  std::string file, directory;
  for (const auto& [name, whole] : records) {
    const std::string content = pack ? deflate(whole) : whole;
    const std::uint64_t header = file.size();
    const std::string crc = number(crc32_z(0, reinterpret_cast<const Bytef*>(whole.data()), whole.size()), 4), size = number(wide ? 0xffffffff : content.size(), 4);
    const std::string common = number(0, 2) + number(pack ? 8 : 0, 2) + number(0, 4) + crc + size +
                               (pack ? number(whole.size(), 4) : size) + number(name.size(), 2);
    const std::string sizes = wide ? number(content.size(), 8) + number(content.size(), 8) : "";
    const std::string local_extra = wide ? number(1, 2) + number(16, 2) + sizes : "";
    const std::string extra = wide ? number(1, 2) + number(24, 2) + sizes + number(header, 8) : "";
    file += number(0x04034b50, 4) + number(45, 2) + common + number(local_extra.size(), 2) + name + local_extra + content;
    directory += number(0x02014b50, 4) + number(45, 2) + number(45, 2) + common + number(extra.size(), 2) + number(0, 2) +
                 number(0, 2) + number(0, 2) + number(0, 4) + number(wide ? 0xffffffff : header, 4) + name + extra;
  }
  const std::uint64_t start = file.size();
  file += directory;
  const std::uint64_t end = file.size();
  if (wide)
    file += number(0x06064b50, 4) + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 4) + number(0, 4) +
            number(records.size(), 8) + number(records.size(), 8) + number(directory.size(), 8) + number(start, 8) +
            number(0x07064b50, 4) + number(0, 4) + number(end, 8) + number(1, 4);
  const std::uint64_t count = wide ? 0xffff : records.size();
  return file + number(0x06054b50, 4) + number(0, 2) + number(0, 2) + number(count, 2) + number(count, 2) +
         number(wide ? 0xffffffff : directory.size(), 4) + number(wide ? 0xffffffff : start, 4) + number(0, 2);
}

}  // namespace

std::string zip(const Records& records) { return make(records, false); }
std::string deflated_zip(const Records& records) { return make(records, false, true); }
std::string zip64(const Records& records) { return make(records, true); }

Records torchscript_records() {
  return {{"m/data.pkl", "\x80\x02."},
          {"m/code/__torch__.py", "class Net(Module):\n"},
          {"m/constants.pkl", "\x80\x02)."},
          {"m/version", "3\n"}};
}

Folder::Folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "compatcheck-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path Folder::write(const std::string& name, std::string_view bytes) const {
  const auto file = path_ / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

}  // namespace compatcheck::frontend::testing
