// Why a list, dictionary or object stays in the graph: a mark on the node that makes it. Those that were left for one reason at
// one place have the same mark.
#pragma once

#include <cstdint>
#include <string_view>

namespace compatcheck::passes {

inline constexpr std::string_view unfollowed_mark = "unfollowed";

enum class Unfollowed : std::int64_t {
  unknown,    // another reason
  of_items,   // only the running model knows how many items there are, and there are no lists for what an item is made of
  of_keys,    // only the running model knows a key, and not all keys are numbers
  of_names,   // only the running model knows whether a write reaches what another name or list holds
  of_holder,  // the container or object that holds it stays
  of_copies,  // loops were unrolled, and following all containers of their copies takes too many steps
};

struct UnfollowedMark {
  Unfollowed why = Unfollowed::unknown;
  std::int64_t place = 0;  // numbers the places

  static constexpr std::int64_t reasons = 8;
  static constexpr UnfollowedMark of(std::int64_t mark) { return {static_cast<Unfollowed>(mark % reasons), mark / reasons}; }
  constexpr std::int64_t mark() const { return place * reasons + static_cast<std::int64_t>(why); }
};

}  // namespace compatcheck::passes
