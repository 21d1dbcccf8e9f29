#include "engines/targets.h"

#include <algorithm>
#include <filesystem>

#include "compatcheck/error.h"
#include "engines/reading/read_profile.h"
#include "engines/shipped.h"
#include "mapping/reading/folder.h"
#include "mapping/reading/suggest.h"

namespace compatcheck::engines {
namespace {

namespace fs = std::filesystem;

const Shipped* find(std::string_view engine) {
  const auto found = std::ranges::find(shipped(), engine, &Shipped::engine);
  return found == shipped().end() ? nullptr : &*found;
}

Profile from_file(const std::string& file) {
  std::error_code error;
  if (const auto status = fs::status(file, error);
      fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status))
    throw TableError(file + ": not a regular file");  // reading a pipe may wait for ever
  const std::string text = mapping::read_file(file);
  return read_own_profile({text, file});
}

// "1.31" begins "1.31.1", not "1.310".
bool begins(std::string_view version, std::string_view pattern) {
  return version.starts_with(pattern) && (version.size() == pattern.size() || version[pattern.size()] == '.');
}

// The engine that another name means; empty if none.
std::string_view engine_meant(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {{"trt", "tensorrt"},
                                                                     {"onnxruntime", "ort-cpu"},
                                                                     {"ort", "ort-cpu"},
                                                                     {"cpu", "ort-cpu"},
                                                                     {"cuda", "ort-cuda"},
                                                                     {"gpu", "ort-cuda"},
                                                                     {"onnxruntime-gpu", "ort-cuda"},
                                                                     {"webgpu", "ort-webgpu"},
                                                                     {"onnxruntime-web", "ort-webgpu"},
                                                                     {"directml", "ort-dml"},
                                                                     {"dml", "ort-dml"},
                                                                     {"coreml", "ort-coreml"},
                                                                     {"nnapi", "ort-nnapi"},
                                                                     {"qnn", "ort-qnn"},
                                                                     {"xnnpack", "ort-xnnpack"},
                                                                     {"ov", "openvino"}};
  const auto* found = std::ranges::find(names, name, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(names) ? std::string_view() : found->second;
}

// "no such engine; did you mean `ort-cpu`? Known are …"
std::string unknown_engine(std::string_view engine) {
  std::vector<std::string_view> known;
  std::string all;
  for (const Shipped& one : shipped()) {
    known.push_back(one.engine);
    all += (all.empty() ? "" : ", ") + std::string(one.engine);
  }
  const std::string_view other = engine_meant(engine);
  const std::string meant = other.empty() ? mapping::did_you_mean(engine, known) : "; did you mean `" + std::string(other) + "`?";
  return "no such engine" + (meant.empty() ? "; known are " : meant + " Known are ") + all;
}

Profile complete(Profile profile) {
  if (!profile.behind.engine.empty())
    profile.profile_behind = std::make_shared<const Profile>(decode(find(profile.behind.engine)->bytes));
  return profile;
}

// Whether two targets that name a profile of the same name are one.
bool are_one(const std::string& a, const std::string& b) {
  if (!names_file(a) && !names_file(b)) return true;  // one version of each engine is shipped
  std::error_code error;
  return names_file(a) && names_file(b) && fs::equivalent(a, b, error);
}

}  // namespace

bool names_file(std::string_view target) {
  return target.find('/') != std::string_view::npos || target.ends_with(".yaml") || target.ends_with(".yml");
}

bool matches_target(std::string_view target, std::string_view pattern) {
  const auto at = target.find('@'), version = pattern.find('@');
  if (target == pattern) return true;
  if (target.substr(0, at) != pattern.substr(0, version)) return false;
  return version == std::string_view::npos ||
         (at != std::string_view::npos && begins(target.substr(at + 1), pattern.substr(version + 1)));
}

Profile read_own_profile(const mapping::yaml::Source& source) {
  Profile profile = read_profile(source);
  const auto& [engine, place] = profile.behind;
  if (!engine.empty() && !find(engine))
    mapping::yaml::fail(source, place, "`behind` is a shipped engine, and `" + engine + "` is " + unknown_engine(engine));
  return complete(std::move(profile));
}

Profile profile_of(std::string_view target) {
  if (names_file(target)) return from_file(std::string(target));
  const auto at = target.find('@');
  const std::string_view engine = target.substr(0, at);
  const Shipped* found = find(engine);
  if (!found)
    throw UsageError("CheckOptions::targets " + std::string(engine) + ": " + unknown_engine(engine) +
                     "; or a profile of your own, FILE.yaml (docs/engines.md)");
  if (at != std::string_view::npos && !begins(found->version, target.substr(at + 1)))
    throw UsageError("CheckOptions::targets " + std::string(target) + ": the profile of " + std::string(engine) +
                     " is of version " + std::string(found->version));
  return complete(decode(found->bytes));
}

std::vector<Profile> profiles_of(std::span<const std::string> targets) {
  std::vector<Profile> profiles;
  std::vector<std::string> from;
  for (const std::string& target : targets) {
    Profile profile = profile_of(target);
    const auto same = std::ranges::find(profiles, profile.target(), &Profile::target);
    if (same == profiles.end()) {
      profiles.push_back(std::move(profile));
      from.push_back(target);
    } else if (const std::string& first = from[static_cast<std::size_t>(same - profiles.begin())]; !are_one(first, target)) {
      throw UsageError("CheckOptions::targets " + first + " and CheckOptions::targets " + target + " are both " +
                       profile.target() + ": a report tells engines apart by that; give one of them a `version` of its own");
    }
  }
  return profiles;
}

std::vector<Profile> all_shipped() {
  std::vector<Profile> profiles;
  for (const Shipped& one : shipped()) profiles.push_back(complete(decode(one.bytes)));
  return profiles;
}

}  // namespace compatcheck::engines
