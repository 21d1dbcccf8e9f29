#include "symbolic/size_demands.h"

#include <utility>

namespace compatcheck::symbolic {
namespace {

thread_local Listening* listening = nullptr;

}  // namespace

Listening::Listening(std::function<void(const SizeDemand&)> heard)
    : heard_(std::move(heard)), before_(std::exchange(listening, this)) {}

Listening::~Listening() { listening = before_; }

void demand(const SizeDemand& demanded) {
  const bool is_settled = demanded.size.is_number() && demanded.other.is_number();
  if (listening && !is_settled && !provably_equal(demanded.size, demanded.other)) listening->heard_(demanded);
}

void demand(const Dim& size, const Dim& other, bool may_stretch) {
  demand({.size = size, .other = other, .may_stretch = may_stretch});
}

}  // namespace compatcheck::symbolic
