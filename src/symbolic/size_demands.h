// Which sizes facts and conditions demand to be equal. They state it once, where they use it; whoever wants to know it listens
// while they are asked.
#pragma once

#include <functional>

#include "symbolic/dim.h"

namespace compatcheck::symbolic {

struct SizeDemand {
  Dim size, other;
  bool may_stretch = false;  // one of them may be 1 instead: operands that are broadcast
};

// While it lives, demands that this thread states come to it. The last one made listens alone.
class Listening {
 public:
  explicit Listening(std::function<void(const SizeDemand&)> heard);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  friend void demand(const Dim&, const Dim&, bool);
  std::function<void(const SizeDemand&)> heard_;
  Listening* before_;
};

// Told of, not judged.
void demand(const Dim& size, const Dim& other, bool may_stretch = false);

}  // namespace compatcheck::symbolic
