// TorchScript archives written by hand, for the tests of the native reader.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "frontend/native/program_reader.h"
#include "sample_archive.h"

namespace compatcheck::frontend::testing {

inline std::string pickled(const std::string& text) {
  const auto size = static_cast<char>(text.size());
  return std::string("X") + size + std::string(3, '\0') + text;
}
inline std::string pickled(bool value) { return value ? "\x88" : "\x89"; }
inline std::string pickled(int value) { return std::string("K") + static_cast<char>(value); }

// An object with these attributes, each pickled.
inline std::string pickled_object(const std::string& module, const std::string& name,
                                  const std::vector<std::pair<std::string, std::string>>& attributes) {
  std::string text = "c" + module + "\n" + name + "\n)\x81}(";
  for (const auto& [attribute, value] : attributes) text += pickled(attribute) + value;
  return text + "ub";
}

// `code`: of __torch__.py; its class Net is the root's.
inline Records native_records(const std::string& code, const std::string& root = pickled_object("__torch__", "Net", {}),
                              const std::string& version = "10") {
  return {{"m/data.pkl", "\x80\x02" + root + "."},
          {"m/code/__torch__.py", code},
          {"m/constants.pkl", "\x80\x02)."},
          {"m/version", version + "\n"}};
}

inline ir::Program read_native(const Records& records) {
  const files::InputFile file(as_bytes(zip(records)));
  return native::read_program(file, files::read_zip_directory(file), {});
}

}  // namespace compatcheck::frontend::testing
