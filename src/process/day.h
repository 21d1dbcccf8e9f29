// Days as text, which sorts as they do: "2027-01-31".
#pragma once

#include <string>
#include <string_view>

namespace compatcheck::process {

bool is_day(std::string_view text);  // whether the calendar has that day
// The day in UTC, or that of SOURCE_DATE_EPOCH, if it is set: the same sources give the same reports.
std::string today();

}  // namespace compatcheck::process
