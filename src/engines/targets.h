// What --target names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engines/profile.h"

namespace compatcheck::engines {

// "tensorrt", "ort-cpu@1.31" (a version, or how it begins: whole numbers between dots), or a profile's file: "FILE.yaml". Throws
// UsageError for an engine or version that isn't shipped, TableError for what is wrong in a file.
Profile profile_of(std::string_view target);

std::vector<Profile> all_shipped();

}  // namespace compatcheck::engines
