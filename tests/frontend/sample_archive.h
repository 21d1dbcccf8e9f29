// Zip archives and files for the tests of the front end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace compatcheck::frontend::testing {

using Records = std::vector<std::pair<std::string, std::string>>;  // names and contents, stored

std::string zip(const Records& records);
std::string deflated_zip(const Records& records);
std::string zip64(const Records& records);  // every size and place in the extra field

// What makes an archive TorchScript at first sight.
Records torchscript_records();

// A folder of its own for a test, gone with it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, std::string_view bytes) const;

 private:
  std::filesystem::path path_;
};

inline std::span<const std::uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace compatcheck::frontend::testing
