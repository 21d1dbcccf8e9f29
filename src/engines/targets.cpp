#include "engines/targets.h"

#include <algorithm>

#include "compatcheck/error.h"
#include "engines/reading/read_profile.h"
#include "engines/shipped.h"
#include "mapping/reading/folder.h"
#include "mapping/reading/suggest.h"

namespace compatcheck::engines {
namespace {

bool names_file(std::string_view target) {
  return target.find('/') != std::string_view::npos || target.ends_with(".yaml") || target.ends_with(".yml");
}

Profile from_file(const std::string& file) {
  const std::string text = mapping::read_file(file);
  return read_profile({text, file});
}

// "1.31" begins "1.31.1", not "1.310".
bool begins(std::string_view version, std::string_view asked) {
  return version.starts_with(asked) && (version.size() == asked.size() || version[asked.size()] == '.');
}

[[noreturn]] void unknown_engine(std::string_view engine) {
  std::vector<std::string_view> known;
  std::string all;
  for (const Shipped& one : shipped()) {
    known.push_back(one.engine);
    all += (all.empty() ? "" : ", ") + std::string(one.engine);
  }
  throw UsageError("--target " + std::string(engine) + ": no such engine" + mapping::did_you_mean(engine, known) + " Known are " + all +
                   "; or a profile of your own, FILE.yaml (docs/engines.md)");
}

}  // namespace

Profile profile_of(std::string_view target) {
  if (names_file(target)) return from_file(std::string(target));
  const auto at = target.find('@');
  const std::string_view engine = target.substr(0, at);
  const auto found = std::ranges::find(shipped(), engine, &Shipped::engine);
  if (found == shipped().end()) unknown_engine(engine);
  if (at != std::string_view::npos && !begins(found->version, target.substr(at + 1)))
    throw UsageError("--target " + std::string(target) + ": the profile of " + std::string(engine) + " is of version " + std::string(found->version));
  return decode(found->bytes);
}

std::vector<Profile> all_shipped() {
  std::vector<Profile> profiles;
  for (const Shipped& one : shipped()) profiles.push_back(decode(one.bytes));
  return profiles;
}

}  // namespace compatcheck::engines
