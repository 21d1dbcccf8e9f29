// The user's Python files, as far as they are here.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "compatcheck/report.h"

namespace compatcheck::report {

// Models name files as they lay where the model was made.
class SourceFiles {
 public:
  explicit SourceFiles(std::filesystem::path root);

  // Where the file lies below the root: the longest end of its path that is there. Nothing without a root.
  std::optional<std::string> find(const std::string& file);

  struct Place {
    std::string file;
    int line = 1;
  };
  // The site's file and line, or the model's file if there is none: relative to the working folder if it is inside, because
  // trackers identify files by their place in the repository.
  Place place(const Report& report, const Site* site);

 private:
  std::filesystem::path root_, working_;
  std::map<std::string, std::optional<std::string>> known_;
};

}  // namespace compatcheck::report
