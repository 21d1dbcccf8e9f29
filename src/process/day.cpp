#include "process/day.h"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace compatcheck::process {
namespace {

bool read(std::string_view digits, unsigned& value) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end == digits.data() + digits.size();
}

std::time_t now() {
  if (const char* given = std::getenv("SOURCE_DATE_EPOCH")) {
    std::time_t seconds = 0;
    const char* end = given + std::strlen(given);
    const auto parsed = std::from_chars(given, end, seconds);
    if (parsed.ec == std::errc() && parsed.ptr == end) return seconds;
  }
  return std::time(nullptr);
}

}  // namespace

bool is_day(std::string_view text) {
  unsigned year = 0, month = 0, day = 0;
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  if (!read(text.substr(0, 4), year) || !read(text.substr(5, 2), month) || !read(text.substr(8, 2), day)) return false;
  return std::chrono::year_month_day(std::chrono::year(static_cast<int>(year)), std::chrono::month(month), std::chrono::day(day))
      .ok();
}

std::string today() {
  const std::time_t seconds = now();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d", &parts)};
}

}  // namespace compatcheck::process
