#include "verification/temporary.h"

#include <stdlib.h>
#include <string.h>

#include <cerrno>
#include <string>

#include "compatcheck/error.h"

namespace compatcheck::verification {

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const auto parent = std::filesystem::temp_directory_path(error);
  std::string name = ((error ? std::filesystem::path("/tmp") : parent) / "compatcheck-XXXXXX").string();
  if (!::mkdtemp(name.data()))
    throw UsageError(name + ": no temporary folder can be made (" + ::strerror(errno) + "); TMPDIR can name another place");
  path_ = name;
  unfinished_ = std::make_unique<process::UnfinishedPath>(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace compatcheck::verification
