// Files that are whole or as they were.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "process/unfinished.h"

namespace compatcheck::cli {

// Written under a temporary name, which goes unless finish() gives it the file's, also when SIGINT, SIGTERM or SIGHUP ends the
// program. Of a link, what it leads to is replaced. A device or pipe is written as it is: renaming would put a file in its place.
// All throw UsageError, naming the file.
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
