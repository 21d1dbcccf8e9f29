#include "engines/age.h"

#include <charconv>

namespace compatcheck::engines {
namespace {

// The same day a year later, as text that sorts as days do; February 29 becomes one that no month has, before March 1.
std::string a_year_after(const std::string& day) {
  int year = 0;
  std::from_chars(day.data(), day.data() + 4, year);
  return std::to_string(year + 1) + day.substr(4);
}

}  // namespace

std::optional<Finding> note_on_age(const Profile& profile, std::string_view today) {
  if (profile.date.size() != 10 || today <= a_year_after(profile.date)) return std::nullopt;
  Finding finding;
  finding.id = "CC108";
  finding.severity = Severity::note;
  finding.message = "the profile of " + profile.title + " is of " + profile.date + ": more than a year old";
  finding.help = "newer releases of the engine may support other nodes; a profile of your own can say so (--target FILE.yaml)";
  finding.target = profile.target();
  return finding;
}

}  // namespace compatcheck::engines
