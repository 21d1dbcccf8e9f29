#include "analysis/size_places.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace compatcheck::analysis {
namespace {

using symbolic::Dim;
using SizeList = std::vector<std::int64_t>;

std::optional<SizeList> at_trace(const std::vector<Dim>& dims, const symbolic::Sizes& traced) {
  SizeList numbers;
  for (const Dim& dim : dims) {
    const auto number = dim.is_unknown() ? std::nullopt : evaluate(dim, traced);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

// The products of all sizes before each place, and of all; nullopt where one isn't positive or they get large.
std::optional<SizeList> ends_of(const SizeList& sizes) {
  constexpr std::int64_t largest = std::int64_t{1} << 48;
  SizeList ends = {1};
  for (const std::int64_t size : sizes) {
    if (size < 1 || ends.back() > largest / size) return std::nullopt;
    ends.push_back(ends.back() * size);
  }
  return ends;
}

bool contains(const SizeList& numbers, std::int64_t number) { return std::ranges::find(numbers, number) != numbers.end(); }

class Placing {
 public:
  Placing(const symbolic::Shape& shape, const std::vector<Dim>& sizes, const symbolic::Sizes& traced, SizeList before,
          SizeList after, std::size_t inferred)
      : shape_(shape),
        sizes_(sizes),
        traced_(traced),
        before_(std::move(before)),
        after_(std::move(after)),
        old_ends_(*ends_of(before_)),
        new_ends_(*ends_of(after_)),
        inferred_(inferred) {}

  std::vector<SizePlace> run() {
    for (std::size_t first = 0; first < after_.size();) {
      std::size_t end = first;
      while (is_number(end) && !(end > first && is_whole(first, end))) ++end;
      if (end > first && is_whole(first, end)) {
        add(first, end, true);
        first = end;
      } else {
        if (is_number(first)) add(first, first + 1, false);
        ++first;
      }
    }
    return std::move(places_);
  }

 private:
  bool is_number(std::size_t place) const {
    return place < after_.size() && place != inferred_ && sizes_[place].is_number() && after_[place] > 1;
  }
  bool is_whole(std::size_t first, std::size_t end) const {
    return contains(old_ends_, new_ends_[first]) && contains(old_ends_, new_ends_[end]);
  }

  void add(std::size_t first, std::size_t end, bool whole) {
    const std::int64_t from = new_ends_[first], to = new_ends_[end];
    if (!contains(old_ends_, from) && !contains(old_ends_, to)) return;
    SizePlace place{.text = {}, .size = 1, .names = {}};
    for (std::size_t i = first; i < end; ++i) place.text += (i > first ? "*" : "") + std::to_string(after_[i]);
    for (std::size_t dim = 0; dim < before_.size(); ++dim)
      if (before_[dim] > 1 && old_ends_[dim] >= from && old_ends_[dim + 1] <= to) place.size = place.size * shape_[dim];
    if (place.size.is_unknown()) return;
    place.names = names_in(place.size);
    if (place.names.empty()) return;
    place.traced = 1;
    for (std::size_t dim = 0; dim < before_.size(); ++dim)
      if (before_[dim] > 1 && old_ends_[dim] >= from && old_ends_[dim + 1] <= to) place.traced *= before_[dim];
    place.whole = whole;
    const std::int64_t rest = after_[inferred_];
    place.surely =
        whole && inferred_ >= end && rest != 1 && rest != to / from && (end == first + 1 || are_sizes(first, end, place));
    places_.push_back(std::move(place));
  }

  // Several numbers are those of as many names, in any order: not a literal split of one size.
  bool are_sizes(std::size_t first, std::size_t end, const SizePlace& place) const {
    SizeList numbers(after_.begin() + static_cast<std::ptrdiff_t>(first), after_.begin() + static_cast<std::ptrdiff_t>(end)),
        named;
    for (const std::string& name : place.names) named.push_back(traced_.at(name));
    std::ranges::sort(numbers);
    std::ranges::sort(named);
    return numbers == named;
  }

  const symbolic::Shape& shape_;
  const std::vector<Dim>& sizes_;
  const symbolic::Sizes& traced_;
  SizeList before_, after_, old_ends_, new_ends_;
  std::size_t inferred_;
  std::vector<SizePlace> places_;
};

}  // namespace

std::vector<SizePlace> size_places(const symbolic::Shape& shape, const std::vector<Dim>& sizes, const symbolic::Sizes& traced) {
  const auto inferred = std::ranges::find_if(sizes, [](const Dim& size) { return size.number() == -1; });
  if (inferred == sizes.end()) return {};
  std::vector<Dim> given = sizes;
  const auto place = static_cast<std::size_t>(inferred - sizes.begin());
  given[place] = 1;
  auto before = at_trace(shape, traced), after = at_trace(given, traced);
  if (!before || !after) return {};
  const auto old_ends = ends_of(*before), new_ends = ends_of(*after);
  if (!old_ends || !new_ends || old_ends->back() % new_ends->back() != 0) return {};
  (*after)[place] = old_ends->back() / new_ends->back();
  return Placing(shape, sizes, traced, *std::move(before), *std::move(after), place).run();
}

}  // namespace compatcheck::analysis
