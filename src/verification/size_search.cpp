#include "verification/size_search.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

#include "symbolic/evaluate.h"

namespace compatcheck::verification {
namespace {

using symbolic::Dim;
using Relation = symbolic::SizeDemand::Relation;

constexpr std::int64_t largest_size = 4096;  // largest size to try
constexpr std::int64_t small_numbers = 12;   // all sizes up to it are tried
constexpr std::size_t most_sizes = 64;       // sizes to try for one name
constexpr std::size_t most_names = 6;
// Demands that are evaluated for sizes which are tried: in one search, in all.
constexpr int most_looks = 50'000;
constexpr int most_looks_in_all = 500'000;

bool has_name(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::int64_t> numbers_in(const Dim& dim) {
  std::vector<std::int64_t> numbers;
  const std::string text = dim.to_string();
  for (std::size_t at = 0; at < text.size();) {
    const bool is_number = std::isdigit(static_cast<unsigned char>(text[at]));
    const std::size_t start = at++;
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    while (is_word(text[start]) && at < text.size() && is_word(text[at])) ++at;
    constexpr std::size_t most_digits = 9;
    if (is_number && at - start <= most_digits) numbers.push_back(std::stoll(text.substr(start, at - start)));
  }
  return numbers;
}

}  // namespace

void add_numbers(const ir::Graph& graph, std::vector<std::int64_t>& numbers) {
  constexpr std::int64_t largest_number = 1024;
  constexpr std::size_t most_numbers = 8;
  const auto add = [&](const ir::Constant& value) {
    const auto* number = value.get<std::int64_t>();
    if (number && *number > 1 && *number <= largest_number && numbers.size() < most_numbers &&
        std::ranges::find(numbers, *number) == numbers.end())
      numbers.push_back(*number);
  };
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    for (const ir::Value* input : node->inputs()) {
      const ir::Constant* value = ir::constant_of(input);
      if (!value) continue;
      add(*value);
      if (const auto* list = value->get<ir::ListConstant>()) std::ranges::for_each(list->items, add);
    }
  });
}

SizeSearch::SizeSearch(const std::vector<inference::Heard>& heard, std::vector<std::int64_t> numbers, const ir::Watch& watch)
    : numbers_(std::move(numbers)), watch_(watch), looks_left_(most_looks_in_all) {
  std::set<std::string> known;
  for (const auto& [size, reader, for_sure] : heard) {
    std::vector<std::string> names = symbolic::names_in(size.size);
    for (std::string& name : symbolic::names_in(size.other))
      if (!has_name(names, name)) names.push_back(std::move(name));
    const std::string text = size.size.to_string() + "|" + size.other.to_string() + "|" +
                             std::to_string(static_cast<int>(size.relation)) + (size.may_stretch ? "s" : "") +
                             (for_sure ? "!" : "");
    if (!names.empty() && known.insert(text).second) demands_.push_back({size, std::move(names), for_sure});
  }
}

bool SizeSearch::holds(const Demand& demand, const Sizes& sizes) {
  const auto size = evaluate(demand.size.size, sizes), other = evaluate(demand.size.other, sizes);
  if (!size || !other) return true;  // nothing is known
  switch (demand.size.relation) {
    case Relation::equal: return *size == *other || (demand.size.may_stretch && (*size == 1 || *other == 1));
    case Relation::multiple: return *other != 0 && *size % *other == 0;
    case Relation::at_least: return *size >= *other;
  }
  return true;
}

// Depth first, the nearest sizes of each name first.
class SizeSearch::Search {
 public:
  Search(std::vector<const Demand*> demands, Sizes likely, const std::vector<std::string>& names, const Sizes& avoided,
         const ir::Watch& watch, int looks)
      : demands_(std::move(demands)),
        sizes_(std::move(likely)),
        names_(names),
        avoided_(avoided),
        watch_(watch),
        looks_left_(looks) {}

  std::optional<Sizes> run() {
    find_free();
    for (const std::string& name : free_) choices_.push_back(choices(name));
    settled_.resize(free_.size());
    for (const Demand* demand : demands_) {
      const auto last =
          std::find_if(free_.rbegin(), free_.rend(), [&](const auto& name) { return has_name(demand->names, name); });
      if (last != free_.rend())
        settled_[static_cast<std::size_t>(free_.rend() - last) - 1].push_back(demand);
      else if (!holds(*demand, sizes_))
        return std::nullopt;
    }
    for (const auto& [name, size] : sizes_)
      if (is_avoided(name, size) && !has_name(free_, name)) return std::nullopt;
    return settle(0) ? std::optional(sizes_) : std::nullopt;
  }

  int looks_left() const { return looks_left_; }

 private:
  bool is_avoided(const std::string& name, std::int64_t size) const {
    const auto found = avoided_.find(name);
    return found != avoided_.end() && found->second == size;
  }

  // Finds the sizes that broken demands depend on, and the sizes connected with these.
  void find_free() {
    const auto add = [&](const std::string& name) {
      if (has_name(names_, name) && !has_name(free_, name) && free_.size() < most_names) free_.push_back(name);
    };
    for (const auto& [name, size] : avoided_)
      if (const auto now = sizes_.find(name); now != sizes_.end() && now->second == size) add(name);
    for (const Demand* demand : demands_)
      if (!holds(*demand, sizes_)) std::ranges::for_each(demand->names, add);
    for (std::size_t before = 0; before != free_.size();) {
      before = free_.size();
      for (const Demand* demand : demands_)
        if (std::ranges::any_of(demand->names, [&](const std::string& name) { return has_name(free_, name); }))
          std::ranges::for_each(demand->names, add);
    }
  }

  // 1 is broadcast, so that it proves little.
  std::vector<std::int64_t> choices(const std::string& name) const {
    std::set<std::int64_t> found;
    const auto add = [&](std::int64_t size) {
      if (size > 1 && size <= largest_size && !is_avoided(name, size)) found.insert(size);
    };
    const std::int64_t likely = sizes_.at(name);
    for (std::int64_t size = 2; size <= small_numbers; ++size) add(size), add(likely + size - 1);
    for (const Demand* demand : demands_) {
      if (!has_name(demand->names, name)) continue;
      for (const Dim& side : {demand->size.size, demand->size.other})
        for (const std::int64_t number : numbers_in(side)) {
          add(2 * number), add(3 * number);
          for (std::int64_t divisor = 1; divisor <= largest_size && divisor * divisor <= number; ++divisor)
            if (number % divisor == 0) add(divisor), add(number / divisor);
        }
    }
    std::vector<std::int64_t> sizes(found.begin(), found.end());
    const auto far = [&](std::int64_t size) { return std::abs(size - likely); };
    std::ranges::stable_sort(sizes, {}, far);
    if (sizes.size() > most_sizes) sizes.resize(most_sizes);
    if (likely <= 1 && !is_avoided(name, likely)) sizes.insert(sizes.begin(), likely);
    if (likely > 1 && !is_avoided(name, 1)) sizes.push_back(1);
    return sizes;
  }

  bool settle(std::size_t place) {
    if (place == free_.size()) return true;
    const auto look = [&](const Demand* demand) {
      --looks_left_;
      watch_.step();
      return holds(*demand, sizes_);
    };
    const std::int64_t before = sizes_[free_[place]];
    for (const std::int64_t size : choices_[place]) {
      if (--looks_left_ <= 0) break;
      sizes_[free_[place]] = size;
      if (std::ranges::all_of(settled_[place], look) && settle(place + 1)) return true;
    }
    sizes_[free_[place]] = before;
    return false;
  }

  std::vector<const Demand*> demands_;
  Sizes sizes_;
  const std::vector<std::string>& names_;
  const Sizes& avoided_;
  std::vector<std::string> free_;
  std::vector<std::vector<std::int64_t>> choices_;
  std::vector<std::vector<const Demand*>> settled_;  // demands that become decidable with each name's size
  const ir::Watch& watch_;
  int looks_left_;
};

std::optional<Sizes> SizeSearch::fit(const Sizes& likely, const std::vector<std::string>& names, const Sizes& avoided) {
  for (const bool all : {true, false}) {  // demands that depend on a branch may not apply
    std::vector<const Demand*> demands;
    for (const Demand& demand : demands_)
      if (all || demand.for_sure) demands.push_back(&demand);
    const int looks = std::min(most_looks, looks_left_);
    Search search(std::move(demands), likely, names, avoided, watch_, looks);
    auto found = search.run();
    looks_left_ -= looks - search.looks_left();
    if (found) return found;
  }
  return std::nullopt;
}

std::string SizeSearch::tie_of(const std::string& name) const {
  for (const Demand& demand : demands_) {
    if (demand.names.size() < 2 || !has_name(demand.names, name) || demand.size.relation != Relation::equal) continue;
    const Dim &size = demand.size.size, &other = demand.size.other;
    return (size.is_number() ? other : size).to_string() + " must be " + (size.is_number() ? size : other).to_string();
  }
  return {};
}

}  // namespace compatcheck::verification
