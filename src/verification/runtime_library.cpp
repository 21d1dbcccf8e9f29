#include "verification/runtime_library.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "compatcheck/error.h"
#include "frontend/surroundings.h"

namespace compatcheck::verification {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> library_in(const fs::path& place) {
  std::error_code ignored;
  if (fs::is_regular_file(place, ignored)) return place;
  for (const fs::path& folder : {place, place / "capi", place / "lib"}) {
    std::vector<fs::path> found;
    for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored))
      if (at->path().filename().string().starts_with("libonnxruntime.so")) found.push_back(at->path());
    if (!found.empty()) return *std::min_element(found.begin(), found.end());
  }
  return std::nullopt;
}

}  // namespace

fs::path find_library(const fs::path& named) {
  const auto must = [](const fs::path& place, const std::string& by) {
    if (const auto found = library_in(place)) return *found;
    throw UsageError(by + " names " + place.string() +
                     ", where there is no libonnxruntime.so; name another file, or leave it out to use the installed onnxruntime "
                     "package");
  };
  const std::string variable = frontend::variable("COMPATCHECK_ORT_LIBRARY");
  if (!named.empty() && named != variable) return must(named, "VerifyOptions::ort_library");
  if (!variable.empty()) return must(variable, "COMPATCHECK_ORT_LIBRARY");
  std::vector<fs::path> places;
  if (const fs::path self = frontend::executable_folder(); !self.empty())
    places = {self / "onnxruntime", self.parent_path() / "lib"};
  for (const fs::path& packages : frontend::python_packages()) places.push_back(packages / "onnxruntime");
  for (const fs::path& built : frontend::split_path(COMPATCHECK_ORT_PLACES)) places.push_back(built);
  std::string looked;
  for (const fs::path& place : places) {
    if (const auto found = library_in(place)) return *found;
    looked += "\n  " + place.string();
  }
  throw UsageError("ONNX Runtime is not there; looked for libonnxruntime.so in" + looked +
                   "\n  pip install onnxruntime, or name it with VerifyOptions::ort_library FILE or COMPATCHECK_ORT_LIBRARY");
}

}  // namespace compatcheck::verification
