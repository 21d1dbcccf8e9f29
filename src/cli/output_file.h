// Files that are whole or as they were.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "process/unfinished.h"

namespace compatcheck::cli {

// Written under a temporary name until finish() renames it; the temporary file is removed otherwise, also when SIGINT, SIGTERM
// or SIGHUP ends the program. The target of a link is replaced, not the link. A device or pipe is written directly: renaming
// would replace it by a file. All functions throw UsageError, naming the file.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path file);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  void write(const std::string& text);  // flushes, too
  void finish();

 private:
  void check() const;

  std::filesystem::path file_, target_, written_;
  std::unique_ptr<process::UnfinishedPath> unfinished_;  // null: written in place, or finished
  std::ofstream stream_;
};

void write_file(const std::filesystem::path& file, const std::string& text);

}  // namespace compatcheck::cli
