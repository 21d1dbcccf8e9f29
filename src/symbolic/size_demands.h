// The demands of facts and conditions on sizes: mostly that they are equal. They state each once, where they use it; to
// know it, listen while they are evaluated.
#pragma once

#include <cstdint>
#include <functional>

#include "symbolic/dim.h"

namespace compatcheck::symbolic {

struct SizeDemand {
  enum class Relation : std::uint8_t { equal, multiple, at_least };  // relation of `size` to `other`
  Dim size, other;
  bool may_stretch = false;  // one of them may be 1 instead: operands broadcast
  Relation relation = Relation::equal;
};

// While it lives, demands that this thread states come to it. The last one made listens alone.
class Listening {
 public:
  explicit Listening(std::function<void(const SizeDemand&)> heard);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  friend void demand(const SizeDemand&);
  std::function<void(const SizeDemand&)> heard_;
  Listening* before_;
};

// Reports a demand to the listener, if there is one; nothing is checked here.
void demand(const Dim& size, const Dim& other, bool may_stretch = false);
void demand(const SizeDemand& demanded);

}  // namespace compatcheck::symbolic
