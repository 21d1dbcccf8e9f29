// The profiles that are compiled in.
#pragma once

#include <span>
#include <string_view>

namespace compatcheck::engines {

struct Shipped {
  std::string_view engine, version, bytes;  // `bytes`: written by encode()
};

std::span<const Shipped> shipped();  // sorted by engine

}  // namespace compatcheck::engines
