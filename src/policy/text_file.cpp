#include "policy/text_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "compatcheck/error.h"

namespace compatcheck::policy {

namespace fs = std::filesystem;

std::string why_no_file(const fs::path& file) {
  std::error_code error, none;
  const fs::file_status status = fs::status(file, error);
  if (fs::is_directory(status)) return file.string() + " is a folder, not a file";
  if (fs::is_socket(status)) return file.string() + " is a socket, not a file";
  if (fs::exists(status) && !error) return {};
  if (fs::is_symlink(fs::symlink_status(file, none)))
    return file.string() + " is a link to " + fs::read_symlink(file, none).string() +
           ", which can't be reached: " + error.message();
  if (status.type() == fs::file_type::not_found) return file.string() + ": there is no such file";
  return file.string() + ": " + error.message();
}

std::string read_text(const fs::path& file, std::size_t most) {
  if (const std::string why = why_no_file(file); !why.empty()) throw UsageError(why);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw UsageError(file.string() + " can't be opened: " + std::strerror(errno));
  std::string text;
  std::array<char, 1 << 16> part{};
  do {
    stream.read(part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > most) throw UsageError(file.string() + " is too big: more than " + std::to_string(most >> 20) + " MB");
  } while (stream);
  if (stream.bad()) throw UsageError(file.string() + " can't be read");
  return text;
}

}  // namespace compatcheck::policy
