// Reading engine profiles: docs/engines.md is the language.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engines/profile.h"
#include "mapping/reading/yaml.h"

namespace compatcheck::engines {

// Whether it is meant as one, not as a mapping table. Throws mapping::yaml::DefectError for what is no YAML.
bool is_profile(const mapping::yaml::Source& source);
// Throws mapping::yaml::DefectError: also for names that ONNX's schemas don't have.
Profile read_profile(const mapping::yaml::Source& source);

// The profile as bytes that are compiled in, and back.
std::string encode(const Profile& profile);
Profile decode(std::string_view bytes);

}  // namespace compatcheck::engines
