#include "analysis/state_advice.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/site.h"
#include "compatcheck/error.h"

namespace compatcheck::analysis {
namespace {

using Place = std::tuple<std::string, std::string, std::string, int>;

Place place_at(const std::string& op, const Site& site) { return {op, site.module, site.file, site.line}; }

}  // namespace

bool StateAdvice::keeps_attributes() const {
  bool any = false;
  ir::for_each_node(*prepared_.graph.top(),
                    [&](const ir::Node* node) { any = any || node->is("prim::GetAttr") || node->is("prim::SetAttr"); });
  return any;
}

void StateAdvice::make_trial() {
  made_ = true;
  if (options_.state != StateMode::refuse || !model_.program || !keeps_attributes()) return;
  CheckOptions tried_options = options_;
  tried_options.state = StateMode::inputs_outputs;
  try {
    const Model::State& stateful = state_of(model_, tried_options.state, watch_);
    if (stateful.state.empty()) return;
    tried_ = std::make_unique<Tried>(Tried{.prepared = prepare(stateful, tried_options, watch_)});
    tried_->context.emplace(context_of(stateful, tried_->prepared, watch_, tried_options.export_type));
    tried_->assessor.emplace(tried_->prepared.graph, *tried_->context);
  } catch (const Error&) {
    watch_.look();
    tried_.reset();
  }
}

void StateAdvice::advise(std::vector<Finding>& findings, int opset) {
  const auto reads = [](const std::string& op) { return op == "prim::GetAttr"; };
  // The contents of a dictionary that calls change aren't known where it is read.
  const auto is_write = [&](const Finding& finding) {
    return finding.id == "CC007" || (finding.id == "CC005" && reads(finding.op) && finding.help.empty());
  };
  if (std::ranges::none_of(findings, is_write)) return;
  if (!made_) make_trial();
  if (!tried_) return;
  std::set<Place> left;
  for (const conversion::Outcome& outcome : tried_->assessor->assess(opset).outcomes) {
    if (outcome.node == tried_->prepared.graph.top()->return_node() && outcome.status != conversion::Status::ok) return;
    if (outcome.unresolved_write || (reads(outcome.node->op()) && outcome.status != conversion::Status::ok))
      left.insert(place_at(outcome.node->op(), site_of(*outcome.node, 0)));
  }
  // All writes of an attribute have one reason: it is settled when the last of them is.
  std::map<Place, std::string> reasons;
  std::set<std::string> open;
  for (const auto& [node, reason] : prepared_.unresolved_writes) {
    const Place place = place_at(node->op(), site_of(*node, 0));
    reasons[place] = reason;
    if (left.contains(place)) open.insert(reason);
  }
  for (Finding& finding : findings) {
    const auto is_open = [&](const Site& site) {
      if (reads(finding.op)) return left.contains(place_at(finding.op, site));
      const auto reason = reasons.find(place_at(finding.op, site));
      return reason != reasons.end() && open.contains(reason->second);
    };
    if (is_write(finding) && std::ranges::none_of(finding.sites, is_open))
      finding.help =
          "add --state inputs-outputs (docs/convert.md#state): each attribute that keeps its value becomes an input and an "
          "output "
          "of the ONNX model; or " +
          std::string(without_state);
  }
}

}  // namespace compatcheck::analysis
