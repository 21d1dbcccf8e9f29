// The profiles that are compiled in.
#pragma once

#include <span>
#include <string_view>

namespace compatcheck::engines {

struct Shipped {
  std::string_view engine, version, bytes;  // as encode() wrote them
};

std::span<const Shipped> shipped();  // by engine

}  // namespace compatcheck::engines
