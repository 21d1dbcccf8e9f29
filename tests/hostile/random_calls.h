// Graphs of calls that fit their schemas and make no sense: any operator, any sizes and numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "schema/schema.h"

namespace compatcheck::hostile {

// What to choose next, from bytes that a fuzzer or a seed gives; 0 when they are used up.
class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool any() const { return at_ < bytes_.size(); }
  std::size_t below(std::size_t bound);
  bool one_in(std::size_t n) { return below(n) == 1; }
  template <class Items>
  const auto& of(const Items& items) {
    return items[below(std::size(items))];
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

// `op` names the operator of every call; empty: any.
std::string random_calls(Choices& choices, const schema::Registry& registry, std::string_view op = {},
                         std::size_t most_calls = 12);

}  // namespace compatcheck::hostile
