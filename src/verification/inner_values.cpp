#include "verification/inner_values.h"

#include <algorithm>
#include <limits>

#include "verification/members.h"

namespace compatcheck::verification {
namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

std::vector<InnerValues::Values> paired(const std::vector<const ir::Value*>& values, const std::vector<ir::Constants>& executions,
                                        std::uint64_t first, std::uint64_t end) {
  std::vector<InnerValues::Values> made;
  for (std::uint64_t at = first; at < std::min<std::uint64_t>(end, executions.size()); ++at) {
    made.emplace_back();
    for (std::size_t i = 0; i < values.size(); ++i) made.back().emplace(values[i], &executions[at][i]);
  }
  return made;
}

}  // namespace

InnerValues::InnerValues(const BisectInput& input, const std::unordered_set<const ir::Value*>& requested) : in_(input) {
  survey_ = observe({}, 0);
  collect(*in_.prepared.graph.top(), requested, {});
  if (bytes_of(all_) <= in_.memory)
    survey_ = observe(all_, in_.memory);
  else
    survey_.too_many = true;
}

std::uint64_t InnerValues::bytes_of(const ir::Value* value) const {
  return survey_.bytes.at(value) / std::max<std::uint64_t>(1, executions_of(*value->block()));
}

std::uint64_t InnerValues::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [value, each] : survey_.bytes) bytes += each;
  return bytes;
}

// The bytes that a reply holds: values around a block count once for each of its executions.
std::uint64_t InnerValues::bytes_of(const std::vector<InnerRequest>& requested) const {
  std::uint64_t bytes = 0;
  for (const InnerRequest& one : requested)
    for (const ir::Value* value : one.values) bytes += bytes_of(value) * executions_of(*one.block);
  return bytes;
}

void InnerValues::collect(const ir::Block& block, const std::unordered_set<const ir::Value*>& requested,
                          std::vector<const ir::Value*> values) {
  const auto add = [&](const ir::Value* value) {
    if (requested.contains(value) && !ir::constant_of(value)) values.push_back(value);
  };
  for (const ir::Value* input : block.inputs()) add(input);
  for (const ir::Node* node : block)
    for (const ir::Value* output : node->outputs()) add(output);
  places_.emplace(&block, all_.size());
  all_.push_back({.block = &block, .first = 0, .end = no_limit, .values = values});
  for (const ir::Node* node : block)
    for (const ir::Block* inner : node->blocks()) collect(*inner, requested, values);
}

InnerValues::Executions InnerValues::of(const ir::Block& block, std::uint64_t first, std::uint64_t end,
                                        const std::vector<const ir::Value*>& values) {
  Executions made;
  if (holds_all()) {
    const std::size_t place = places_.at(&block);
    made.each_ = paired(all_[place].values, survey_.values[place], first, end);
  } else {
    made.held_ = observe({{.block = &block, .first = first, .end = end, .values = values}}, no_limit);
    made.each_ = paired(values, made.held_.values.front(), 0, end - first);
  }
  return made;
}

frontend::Frontend::Inner InnerValues::observe(const std::vector<InnerRequest>& requested, std::uint64_t most_bytes) {
  in_.watch.look();
  if (in_.progress) in_.progress(runs_);
  ++runs_;
  auto inner = in_.frontend.inner_values(*in_.model.file, in_.model.path, in_.prepared.graph, in_.arguments, in_.seed, requested,
                                         most_bytes);
  for (auto& executions : inner.values)
    for (ir::Constants& values : executions)
      for (ir::Constant& value : values) value = in_parts(std::move(value));
  return inner;
}

}  // namespace compatcheck::verification
