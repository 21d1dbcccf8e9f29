#include "symbolic/size_demands.h"

#include <utility>

namespace compatcheck::symbolic {
namespace {

thread_local Listening* listening = nullptr;

}  // namespace

Listening::Listening(std::function<void(const SizeDemand&)> heard)
    : heard_(std::move(heard)), before_(std::exchange(listening, this)) {}

Listening::~Listening() { listening = before_; }

void demand(const Dim& size, const Dim& other, bool may_stretch) {
  if (listening && !provably_equal(size, other)) listening->heard_({size, other, may_stretch});
}

}  // namespace compatcheck::symbolic
