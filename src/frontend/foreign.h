// Files that aren't plain TorchScript: what they are, and what their owner can do.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "files/input_file.h"
#include "files/zip.h"
#include "frontend/load.h"

namespace compatcheck::frontend {

struct Recognition {
  Format format = Format::unknown;
  std::string detail;                            // details of the format, such as the class of a pickled module; may be empty
  std::optional<files::ZipDirectory> directory;  // the directory of a zip
};

// Throws ModelError (without the file's name) for a file that is empty, truncated or damaged. Uses only the ending of `path`.
Recognition recognise(const files::InputFile& file, const std::filesystem::path& path);

// "is a …, not TorchScript: …" for a format that is recognised, not read.
std::string why_not(const Recognition& recognition);

}  // namespace compatcheck::frontend
