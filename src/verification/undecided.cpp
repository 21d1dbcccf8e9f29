#include "verification/undecided.h"

#include <utility>
#include <vector>

#include "analysis/site.h"
#include "compatcheck/error.h"
#include "verification/match.h"
#include "verification/ties.h"

namespace compatcheck::verification {
namespace {

constexpr std::uint64_t most_executions = 1000;  // of a block, in which equal values are looked for
constexpr std::uint64_t nudges = 4;

// The nodes whose order among equal values the program reads, and along which dimension.
std::vector<std::pair<const ir::Node*, std::int64_t>> choosers_of(const Reference& reference,
                                                                  const analysis::Prepared& prepared) {
  std::vector<std::pair<const ir::Node*, std::int64_t>> choosers;
  for (const ir::Node* node : reference.decisions().choosers) {
    if (ir::constant_of(node->input(0)) || node->outputs().back()->unused()) continue;
    const symbolic::Call call(*node, prepared.facts);
    choosers.emplace_back(node, call.has("dim") ? call.integer("dim").value_or(-1) : -1);
  }
  return choosers;
}

}  // namespace

std::string chose_among_equals(Reference& reference, const Model::State& model, const VerifyOptions& options,
                               const analysis::Prepared& prepared, const Expected& expected) {
  const auto choosers = choosers_of(reference, prepared);
  if (choosers.empty()) return {};
  std::vector<frontend::Frontend::InnerRequest> requests;
  for (const auto& [node, dim] : choosers)
    requests.push_back({.block = node->owner(), .first = 0, .end = most_executions, .values = {node->input(0)}});
  std::vector<const MadeCall*> calls = {&expected.call};
  for (const Expected& next : expected.later) calls.push_back(&next.call);
  try {
    for (const MadeCall* call : calls) {
      const auto inner = reference.frontend().inner_values(
          *model.file, model.path, prepared.graph, reference.prepared_arguments(*call), options.seed, requests, options.memory);
      for (std::size_t i = 0; i < inner.values.size() && !inner.too_many; ++i)
        for (const ir::Constants& values : inner.values[i])
          if (const auto* view = values.front().get<ir::TensorView>(); view && has_equals(*view, choosers[i].second))
            return analysis::place_text(*choosers[i].first);
    }
  } catch (const ModelError&) {  // nothing is learned
  }
  return {};
}

bool is_at_edge(Reference& reference, const Judge& judge, const Expected& expected) {
  if (!reference.decisions().rounds) return false;
  const auto right = leaves_of(expected.result);
  for (const auto what : {Reference::Nudged::inputs, Reference::Nudged::weights})
    for (std::uint64_t draw = 0; draw < nudges; ++draw) {
      const auto other = reference.nudged_result(expected, what, draw);
      if (!other) break;
      const auto moved = leaves_of(*other);
      if (moved.size() != right.size()) return true;
      for (std::size_t i = 0; i < right.size(); ++i)
        if (!compare(right[i], moved[i], judge.tolerance(right[i].dtype)).passed()) return true;
    }
  return false;
}

}  // namespace compatcheck::verification
