#include "verification/sizes.h"

#include <algorithm>
#include <array>
#include <set>

#include "schema/traits.h"
#include "symbolic/evaluate.h"
#include "verification/size_search.h"

namespace compatcheck::verification {
namespace {

using symbolic::Dim;

// Returns the window sizes of a convolution, from its weight.
std::vector<std::int64_t> extents(const ir::Node& node, const symbolic::FactTable& facts) {
  std::vector<std::int64_t> sizes;
  if (node.op().find("conv") == node.op().npos || node.inputs().size() < 2) return sizes;
  const auto* weight = facts.of(node.inputs()[1]).tensor();
  if (!weight || !weight->shape) return sizes;
  for (std::size_t dim = 2; dim < weight->shape->size(); ++dim) sizes.push_back((*weight->shape)[dim].number().value_or(1));
  return sizes;
}

// Whether the name is a list's length: "len(xs)".
bool is_length(const std::string& name) { return name.ends_with(')'); }

// Images that models are made for; at least one is a multiple of every usual stride.
constexpr std::array<std::int64_t, 9> spatial_sizes = {8, 16, 32, 64, 96, 128, 160, 192, 224};
constexpr std::array<std::int64_t, 2> small_sizes = {2, 3};
constexpr std::array<std::int64_t, 5> scales = {1, 4, 16, 64, 112};
constexpr std::int64_t usual_stride = 32;
constexpr std::int64_t widest_step = 64;
constexpr std::int64_t longest_list = 16;
constexpr std::size_t most_first = 200;

// A dimension of a value in the graph, and the size that its reader requires.
struct Window {
  Dim size;
  std::int64_t least = 1;  // smallest size at which the window fits
};

// The smallest size at which every window that depends on this name alone fits into its input.
std::int64_t smallest_at_which(const std::vector<Window>& windows, const std::string& name) {
  const auto fits = [&](std::int64_t size) {
    return std::ranges::all_of(windows, [&](const Window& window) {
      const auto value = evaluate(window.size, {{name, size}});
      return !value || *value >= window.least;
    });
  };
  const auto found = std::ranges::find_if(spatial_sizes, fits);
  return found == spatial_sizes.end() ? spatial_sizes.back() : *found;
}

}  // namespace

std::string spell(const Sizes& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes) text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(size);
  return text.empty() ? "these sizes" : text;
}

SizePlan::SizePlan(std::vector<std::string> names, Sizes fixed, Sizes seen, const ir::Graph& graph,
                   const symbolic::FactTable& facts, SizeSearch& search)
    : names_(std::move(names)), fixed_(std::move(fixed)), seen_(std::move(seen)), search_(search) {
  for (const std::string& name : names_)
    if (!fixed_.contains(name)) varied_.push_back(name);
  if (!varied_.empty()) find_windows(graph, facts);
}

void SizePlan::find_windows(const ir::Graph& graph, const symbolic::FactTable& facts) {
  std::set<std::string> known;
  std::map<std::string, std::vector<Window>> windows;  // keyed by the name that determines their size
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    for (const ir::Value* output : node->outputs())
      if (const auto* tensor = facts.of(output).tensor(); tensor && tensor->shape)
        for (const Dim& dim : *tensor->shape)
          if (!dim.is_number() && !dim.is_unknown() && known.insert(dim.to_string()).second)
            followed_.push_back({dim, names_in(dim)});
    if (!schema::has_trait(node->op(), schema::Trait::slides) || node->inputs().empty()) return;
    const auto* input = facts.of(node->inputs().front()).tensor();
    if (!input || !input->shape || input->shape->size() < 3) return;
    const auto extent = extents(*node, facts);
    for (std::size_t dim = 2; dim < input->shape->size(); ++dim)
      if (const Dim& size = (*input->shape)[dim]; !size.is_number() && !size.is_unknown())
        for (const std::string& name : names_in(size))
          windows[name].push_back({size, dim - 2 < extent.size() ? std::max<std::int64_t>(extent[dim - 2], 2) : 2});
  });
  for (const auto& [name, slid] : windows) spatial_[name] = smallest_at_which(slid, name);
}

std::int64_t SizePlan::plausible(const std::string& name, std::size_t place) const {
  if (const auto seen = seen_.find(name); seen != seen_.end()) return seen->second;
  if (is_length(name)) return small_sizes.front();
  if (!is_spatial(name)) return small_sizes[place % small_sizes.size()];
  return spatial_.at(name);
}

std::vector<Sizes> SizePlan::first() const {
  std::vector<Sizes> all, unfit;
  const auto keep = [](std::vector<Sizes>& in, Sizes sizes) {
    if (std::ranges::find(in, sizes) == in.end()) in.push_back(std::move(sizes));
  };
  const auto add = [&](const auto& size_of) {
    if (all.size() + unfit.size() >= most_first) return;
    Sizes sizes = fixed_;
    for (std::size_t i = 0; i < names_.size(); ++i) sizes.try_emplace(names_[i], size_of(names_[i], i));
    if (all.empty() && !seen_.empty()) keep(all, sizes);
    auto fit = search_.fit(sizes, varied_);
    if (fit != sizes) keep(unfit, sizes);
    if (fit) keep(all, *std::move(fit));
  };
  add([&](const std::string& name, std::size_t i) { return plausible(name, i); });
  add([&](const std::string& name, std::size_t) { return plausible(name, 0); });
  for (const std::int64_t size : spatial_sizes)
    if (size >= usual_stride)
      add([&](const std::string& name, std::size_t i) {
        return is_spatial(name) ? std::max(size, plausible(name, i)) : plausible(name, i);
      });
  for (const std::int64_t scale : scales)
    add([&](const std::string& name, std::size_t i) {
      return is_length(name) ? small_sizes.front() : scale * small_sizes[i % small_sizes.size()];
    });
  for (const std::int64_t number : search_.numbers()) {
    for (const std::string& only : varied_)
      if (!is_length(only) || number <= longest_list)
        add([&](const std::string& name, std::size_t i) { return name == only ? number : plausible(name, i); });
    add([&](const std::string& name, std::size_t) { return is_length(name) ? small_sizes.front() : number; });
  }
  for (Sizes& sizes : unfit) keep(all, std::move(sizes));  // demands may stand in a branch that doesn't run
  return all;
}

// The smallest increase that changes every size that depends on it: a stride may round a smaller one off.
std::int64_t SizePlan::step(const std::string& name, const Sizes& from) const {
  std::vector<std::pair<const Dim*, std::int64_t>> before;
  for (const auto& [size, names] : followed_)
    if (std::ranges::find(names, name) != names.end())
      if (const auto value = evaluate(size, from)) before.emplace_back(&size, *value);
  for (std::int64_t step = 1; step < widest_step; ++step) {
    Sizes changed = from;
    changed[name] += step;
    if (std::ranges::all_of(before, [&](const auto& each) { return evaluate(*each.first, changed) != each.second; })) return step;
  }
  return 1;
}

std::vector<Sizes> SizePlan::changed(const Sizes& from, const std::vector<std::string>& names, std::int64_t turn) const {
  std::vector<Sizes> all;
  Sizes before;  // sizes of the names
  for (const std::string& name : names) before[name] = from.at(name);
  const auto keep = [&](Sizes sizes) {
    // 1 is broadcast: it fits where no other size does.
    const auto is_changed = [&](const std::string& name) { return sizes[name] > 1 && sizes[name] != from.at(name); };
    if (std::ranges::all_of(names, is_changed) && std::ranges::find(all, sizes) == all.end()) all.push_back(std::move(sizes));
  };
  const auto add = [&](const auto& change) {
    Sizes sizes = from;
    for (const std::string& name : names) sizes[name] = std::max<std::int64_t>(change(name, from.at(name)), 1);
    if (auto fit = search_.fit(sizes, names, before); fit && fit != sizes) keep(std::move(*fit));
    keep(std::move(sizes));
  };
  const auto next = [&](const std::string& name, std::int64_t size) { return size + turn * step(name, from); };
  const auto aligned = [&](const std::string& name, std::int64_t size) {
    return is_spatial(name) ? (size / usual_stride + turn) * usual_stride : next(name, size);
  };
  add(next);
  if (turn > 1) add([&](const std::string& name, std::int64_t size) { return size + step(name, from); });
  add(aligned);
  add([&](const std::string& name, std::int64_t size) { return is_spatial(name) ? 2 * size : next(name, size); });
  add([](const std::string&, std::int64_t size) { return 2 * size; });
  add([&](const std::string& name, std::int64_t size) { return size - step(name, from); });
  add([](const std::string&, std::int64_t size) { return size + 1; });
  // From 0 all of these may lead to 1.
  for (std::int64_t size = 2; all.empty(); ++size) add([&](const std::string&, std::int64_t) { return size; });
  return all;
}

Sizes SizePlan::of_size(const Sizes& from, std::int64_t size) const {
  Sizes sizes = from;
  for (const std::string& name : varied_)
    if (!is_spatial(name)) sizes[name] = size;
  return search_.fit(sizes, varied_).value_or(sizes);
}

}  // namespace compatcheck::verification
