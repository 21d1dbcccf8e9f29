// What `make test` does on some days only; `make test-all` sets COMPATCHECK_WHOLE and does it whole. As in convert/days.py.
#pragma once

#include <chrono>
#include <cstdlib>

namespace compatcheck {

inline bool whole() { return std::getenv("COMPATCHECK_WHOLE") != nullptr; }

// Whether a case belongs to today's part of `parts`.
inline bool is_of_today(std::size_t number, std::size_t parts) {
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()).time_since_epoch().count();
  return whole() || number % parts == static_cast<std::size_t>(today) % parts;
}

}  // namespace compatcheck
