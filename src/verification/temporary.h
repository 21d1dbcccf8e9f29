// A folder that is gone when its user is.
#pragma once

#include <filesystem>
#include <memory>

#include "process/unfinished.h"

namespace compatcheck::verification {

class TemporaryFolder {
 public:
  TemporaryFolder();  // creates it in TMPDIR; throws UsageError if that fails
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::unique_ptr<process::UnfinishedPath> unfinished_;
};

}  // namespace compatcheck::verification
