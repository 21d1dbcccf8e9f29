// How old a profile is: an engine of today may support more, and other versions of it less.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compatcheck/report.h"
#include "engines/profile.h"

namespace compatcheck::engines {

// A note on a profile that was more than a year old on that day ("2027-01-31"): CC108.
std::optional<Finding> note_on_age(const Profile& profile, std::string_view today);

}  // namespace compatcheck::engines
