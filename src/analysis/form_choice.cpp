#include "analysis/form_choice.h"

#include <algorithm>
#include <numeric>

#include "analysis/note_forms.h"

namespace compatcheck::analysis {
FormCost FormChoice::Seen::total() const { return std::accumulate(costs.begin(), costs.end(), FormCost{}); }

// The calls' nodes as the engines see them. An engine that takes no model of this opset has no say.
FormChoice::Calls FormChoice::look() {
  Calls calls;
  whole_ = {};
  const std::span<const engines::Look> looks = look_();
  for (std::size_t engine = 0; engine < looks.size(); ++engine)
    for (const engines::Looked& one : looks[engine].nodes) {
      Seen& seen = calls.seen[one.node->origin];
      if (seen.costs.empty()) {
        seen.costs.resize(looks.size());
        seen.limits.resize(looks.size());
        calls.order.push_back(one.node->origin);
      }
      if (engine == 0) seen.operators.push_back(one.name);
      if (one.verdict.support == Support::yes || one.foreign || !looks[engine].out_of_range.empty()) continue;
      const FormCost cost = one.verdict.support == Support::no ? FormCost{1, 0} : FormCost{0, 1};
      seen.costs[engine] = seen.costs[engine] + cost;
      whole_ = whole_ + cost;
      if (auto& limit = seen.limits[engine]; !limit) limit = one.verdict.message;
    }
  return calls;
}

// Round by round, every call that still costs something has its next form.
void FormChoice::try_forms(Candidates& candidates) {
  for (std::size_t round = 0;; ++round) {
    forms_.clear();
    bool any = false;
    for (const auto& [node, candidate] : candidates) {
      const bool tries = round < candidate.forms.size() && !candidate.seen.at(candidate.best).total().none();
      const int form = tries ? candidate.forms[round] : candidate.best;
      any = any || tries;
      if (form != opset_) forms_[node] = form;
    }
    if (!any) return;
    Calls calls = look();
    for (auto& [node, candidate] : candidates) {
      const auto form = forms_.find(node);
      const auto found = calls.seen.find(node);
      if (form == forms_.end() || found == calls.seen.end() || candidate.seen.contains(form->second)) continue;
      const Seen& seen = candidate.seen.emplace(form->second, std::move(found->second)).first->second;
      if (seen.total() < candidate.seen.at(candidate.best).total()) candidate.best = form->second;
    }
  }
}

// Engines whose forms exclude each other.
void FormChoice::note_conflicts(const ir::Node* node, const Candidate& candidate) {
  std::vector<std::vector<bool>> taken;
  for (const auto& [form, seen] : candidate.seen) {
    taken.emplace_back();
    for (const FormCost& cost : seen.costs) taken.back().push_back(cost.none());
  }
  for (const auto& [a, b] : excluding_engines(taken)) conflicts_.push_back({node, a, b});
}

void FormChoice::choose() {
  forms_.clear();
  Calls calls = look();
  const FormCost before = whole_;
  Candidates candidates;
  for (const ir::Node* node : calls.order) {
    Seen& seen = calls.seen.at(node);
    if (!node || seen.total().none()) continue;
    Candidate candidate{.forms = assessor_.older_forms(*node, opset_), .seen = {}, .best = opset_};
    if (candidate.forms.empty()) continue;
    candidate.seen.emplace(opset_, std::move(seen));
    candidates.emplace_back(node, std::move(candidate));
  }
  if (candidates.empty()) return;
  try_forms(candidates);
  if (!forms_.empty()) look();
  if (forms_.empty() || !(whole_ < before)) {  // clean-up may join what was counted apart
    forms_.clear();
    look();
  }
  for (const auto& [node, candidate] : candidates) {
    note_conflicts(node, candidate);
    const auto form = forms_.find(node);
    if (form == forms_.end()) continue;
    const Seen &newer = candidate.seen.at(opset_), &older = candidate.seen.at(form->second);
    replaced_.push_back({node, form->second, newer.operators, older.operators, newer.limits});
  }
}

}  // namespace compatcheck::analysis
