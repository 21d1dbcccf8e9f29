// The targets that --target names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engines/profile.h"
#include "mapping/reading/yaml.h"

namespace compatcheck::engines {

// "tensorrt", "ort-cpu@1.31" (a version, or how it begins: whole numbers between dots), or a profile's file: "FILE.yaml", a
// regular one. Throws UsageError for an engine or version that isn't shipped, TableError for what is wrong in a file.
Profile profile_of(std::string_view target);
bool names_file(std::string_view target);  // not an engine
// Whether a profile's target, "ort-cpu@1.31.1", is the one that `pattern` names: by its engine, with its version or how that
// begins.
bool matches_target(std::string_view target, std::string_view pattern);

// Returns the profile of each target, in order; one that is named twice comes once. Throws UsageError for two of the same
// engine@version, by which reports distinguish them.
std::vector<Profile> profiles_of(std::span<const std::string> targets);

std::vector<Profile> all_shipped();

// Reads a profile that isn't shipped, as read_profile() does; its `behind` names a shipped one.
Profile read_own_profile(const mapping::yaml::Source& source);

}  // namespace compatcheck::engines
