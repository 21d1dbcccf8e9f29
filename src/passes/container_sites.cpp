// Where containers are made, and which of them can't be followed.
#include <algorithm>

#include "passes/container_walk.h"

namespace compatcheck::passes {

// Nodes are numbered in order, so that a place has the same number in each copy of the graph.
void ContainerWalk::label(const ir::Block& block) {
  ir::for_each_node(block, [&](const ir::Node* node) { labels_.emplace(node, labels_.size() + 1); });
}

std::vector<Site> ContainerWalk::labels_of(const ir::Block& block) {
  std::vector<Site> labels;
  ir::for_each_node(block, [&](const ir::Node* node) { labels.push_back(labels_[node]); });
  return labels;
}

void ContainerWalk::label_copy(const ir::Node* first, const ir::Node* end, std::span<const Site> labels) {
  const auto set = [&](const auto& self, const ir::Node* node) -> void {
    if (labels.empty()) return;
    labels_[node] = labels.front();
    labels = labels.subspan(1);
    for (const ir::Block* block : node->blocks())
      for (const ir::Node* inner : *block) self(self, inner);
  };
  for (const ir::Node* node = first; node && node != end; node = node->next()) set(set, node);
}

Site ContainerWalk::site_of(const ir::Node* node) const {
  const auto label = labels_.find(node);
  return label == labels_.end() ? 0 : label->second;
}

Site ContainerWalk::site_of(const ir::Value* value) const {
  constexpr Site inputs = Site{1} << 40;
  return value->producer() ? site_of(value->producer()) : inputs + value->index();
}

void ContainerWalk::leave(std::set<Site> sites, Unfollowed why) const {
  sites.erase(0);
  if (sites.empty()) throw NothingToLeaveOut{};
  throw LeftOut{.sites = std::move(sites), .why = why};
}

void ContainerWalk::leave(const Abstract& abstract, Unfollowed why) const {
  std::set<Site> sites;
  add_sites(abstract, sites);
  leave(std::move(sites), why);
}

void ContainerWalk::leave_names(CellId one, CellId other) const {
  std::set<Site> sites = heap_.origin(one).sites;
  sites.insert(heap_.origin(other).sites.begin(), heap_.origin(other).sites.end());
  leave(std::move(sites), Unfollowed::of_names);
}

void ContainerWalk::add_sites(const Abstract& abstract, std::set<Site>& sites) const {
  if (abstract.present || abstract.code) sites.insert(abstract.site);
  if (abstract.cell) sites.insert(heap_.origin(*abstract.cell).sites.begin(), heap_.origin(*abstract.cell).sites.end());
  if (abstract.parts)
    for (const Abstract& part : *abstract.parts) add_sites(part, sites);
}

// Marks containers as left. Reasons that have a container in common get one place.
void ContainerWalk::mark(const LeftOut& left) {
  if (left.why == Unfollowed::unknown) return;
  std::set<std::int64_t> places;
  if (left.place) places.insert(left.place);
  for (const Site site : left.sites)
    if (const auto known = options_.marks.find(site); known != options_.marks.end()) places.insert(known->second.place);
  const std::int64_t place = places.empty() ? static_cast<std::int64_t>(options_.marks.size()) + 1 : *places.begin();
  for (auto& [site, mark] : options_.marks)
    if (places.contains(mark.place)) mark.place = place;
  for (const Site site : left.sites) options_.marks.try_emplace(site, UnfollowedMark{left.why, place});
}

// Marks the containers that one which is left holds.
void ContainerWalk::mark_held(const Abstract& item, const std::set<Site>& holder) {
  LeftOut left{.sites = {}, .why = Unfollowed::of_holder};
  add_sites(item, left.sites);
  for (const Site site : holder)
    if (const auto known = options_.marks.find(site); known != options_.marks.end()) left.place = known->second.place;
  if (left.place) mark(left);
}

// A container that isn't followed holds the very objects that it gets, so these can't be followed either.
std::set<Site> ContainerWalk::failed_with_contents() {
  std::set<Site> all = failed_;
  const auto fails = [&](CellId id) {
    return std::ranges::any_of(heap_.origin(id).sites, [&](Site site) { return all.contains(site); });
  };
  for (std::size_t before = 0; before != all.size();) {
    before = all.size();
    for (auto id = static_cast<CellId>(heap_.size()); id-- > 0;)
      if (fails(id))
        for (const Abstract& item : heap_.at(id).items)
          if (has_cells(item)) {
            add_sites(item, all);
            mark_held(item, heap_.origin(id).sites);
          }
  }
  all.erase(0);
  return all;
}

}  // namespace compatcheck::passes
