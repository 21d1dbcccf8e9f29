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
  std::string detail;                            // a pickled module's class, what junk looks like; may be empty
  std::optional<files::ZipDirectory> directory;  // of a zip
};

// Throws ModelError (without the file's name) for what is empty, truncated or damaged. `path` gives the ending alone.
Recognition recognise(const files::InputFile& file, const std::filesystem::path& path);

// "is a …, not TorchScript: …" for a format that is recognised, not read.
std::string why_not(const Recognition& recognition);

}  // namespace compatcheck::frontend
