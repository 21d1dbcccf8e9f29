#include "inference/infer.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "inference/choices.h"
#include "inference/fitting.h"
#include "inference/leaves.h"
#include "inference/sizes.h"
#include "ir/quantizer_text.h"
#include "ir/value_name.h"
#include "symbolic/quantizer.h"

namespace compatcheck::inference {
namespace {

using ir::DType;
using symbolic::Dim;
using symbolic::Fact;
using symbolic::TensorFact;

// The likely ones first.
constexpr std::array dtypes = {DType::f32,  DType::i64, DType::boolean, DType::f64, DType::f16,
                               DType::bf16, DType::i32, DType::u8,      DType::i16, DType::i8};
constexpr std::size_t most_partners = 4;
constexpr int most_rounds = 12;  // limit for sizes: each round settles what the last one left

std::string in_dimension(std::size_t dim) { return " in dimension " + std::to_string(dim); }

// An input that is stated isn't inferred, even if its facts were lost behind a write that can't be followed.
std::vector<Leaf> unstated_leaves(const ir::Graph& graph, const symbolic::FactTable& facts,
                                  const std::vector<conversion::InputFact>& given) {
  std::vector<Leaf> leaves = open_leaves(graph, facts);
  std::erase_if(leaves, [&](const Leaf& leaf) {
    return std::ranges::any_of(given, [&](const conversion::InputFact& each) {
      const auto* list = leaf.of_list ? each.fact.list() : nullptr;
      const auto* tensor = each.name != leaf.name  ? nullptr
                           : list && list->element ? list->element->tensor()
                                                   : each.fact.tensor();
      return tensor && tensor->dtype && tensor->shape;
    });
  });
  return leaves;
}

class Inferring {
 public:
  Inferring(const ir::Graph& graph, conversion::FactTrials& facts, const std::vector<conversion::InputFact>& given,
            const Sources& sources, Inferred& inferred)
      : graph_(graph), trials_(facts), given_(given), sources_(sources), inferred_(inferred), fitting_(graph, sources, facts) {}

  bool infer() {
    const std::vector<Leaf> leaves = unstated_leaves(graph_, trials_.facts(), given_);
    while (settle(leaves, Strength::decisive, false) || settle(leaves, Strength::decisive, true) ||
           settle(leaves, Strength::likely, false) || settle(leaves, Strength::likely, true) ||
           settle(leaves, Strength::guess, false)) {
    }
    const std::string before = spelled();
    const bool found = std::exchange(found_, false);
    name_sizes(leaves);
    settle_sizes();
    forget_names_of_members();
    return found || spelled() != before;
  }

 private:
  void state() {
    std::vector<conversion::InputFact> all = inferred_.facts;  // over what is given of their members
    all.insert(all.end(), given_.begin(), given_.end());
    trials_.state(all);
  }

  // As it is assumed by now.
  Fact whole_of(const Leaf& leaf) const {
    const auto found = std::ranges::find(inferred_.facts, ir::input_name(*leaf.input), &conversion::InputFact::name);
    return found == inferred_.facts.end() ? trials_.facts().of(leaf.input) : found->fact;
  }

  TensorFact tensor_of(const Leaf& leaf) const {
    const Fact whole = whole_of(leaf);
    const Fact* fact = leaf.in(whole);
    return fact && fact->tensor() ? *fact->tensor() : TensorFact{};
  }

  // `alike`: others that are open are supposed to be the same, as operands of one operator are.
  bool settle(const std::vector<Leaf>& leaves, Strength strength, bool alike) {
    bool any = false;
    for (const Leaf& leaf : leaves) {
      if (fitting_.exhausted()) return false;
      const auto others = [&](auto&& open) {
        std::vector<Leaf> found;
        if (alike)
          std::ranges::copy_if(leaves, std::back_inserter(found),
                               [&](const Leaf& other) { return other.name != leaf.name && open(tensor_of(other)); });
        return found;
      };
      const auto untyped = [](const TensorFact& tensor) { return !tensor.dtype && !tensor.shape; };
      const auto unranked = [](const TensorFact& tensor) { return !tensor.shape; };
      if (const auto same = others(untyped); untyped(tensor_of(leaf)) || (!alike && !tensor_of(leaf).dtype))
        any |= (!alike || !same.empty()) && settle_dtype(leaf, strength, same);
      if (const auto same = others(unranked); unranked(tensor_of(leaf)))
        any |= (!alike || !same.empty()) && settle_rank(leaf, strength, same, leaves);
      if (any && (alike || strength != Strength::decisive)) return true;  // it may decide for others
    }
    return any;
  }

  bool settle_dtype(const Leaf& leaf, Strength strength, const std::vector<Leaf>& alike) {
    std::vector<Candidate> candidates;
    for (const DType dtype : dtypes) candidates.push_back({.tensor = tensor_of(leaf)}), candidates.back().tensor.dtype = dtype;
    if (!fitting_.try_out(leaf, candidates, 1, alike)) return false;
    forget_unsure(candidates);
    const bool mask =
        leaf.path.empty() && std::ranges::any_of(leaf.input->uses(), [](const ir::Use& use) { return reads_masks(*use.user); });
    const auto choice = choose_dtype(candidates, strength, mask);
    if (!choice) return false;
    const TensorFact& chosen = candidates[choice->candidate].tensor;
    assume(leaf, chosen, {std::string(ir::name(*chosen.dtype)), choice->reader});
    return true;
  }

  // In the order of their ranks; empty where that is too much work.
  std::vector<Candidate> of_each_rank(const Leaf& leaf, std::span<const Leaf> alike = {}) {
    std::vector<Candidate> candidates;
    for (std::size_t rank = 0; rank <= highest_rank; ++rank) {
      candidates.push_back({.tensor = tensor_of(leaf)});
      candidates.back().tensor.shape = symbolic::Shape(rank, Dim::unknown());
    }
    if (!fitting_.try_out(leaf, candidates, 2, alike)) return {};
    forget_unsure(candidates);
    return candidates;
  }

  bool settle_rank(const Leaf& leaf, Strength strength, const std::vector<Leaf>& alike, const std::vector<Leaf>& leaves) {
    std::vector<Candidate> candidates = of_each_rank(leaf, alike);
    auto choice = candidates.empty() ? std::nullopt : choose_rank(candidates, strength);
    if (!choice || (leaf.of_list && choice->candidate == highest_rank)) return false;  // compared with what follows from it
    if (choice->batch) prefer_fewer_demands(leaf, candidates, *choice);
    if (choice->guess) leave_out_misfits(leaf, candidates, strength, *choice);
    if (choice->guess) prefer_partners(leaf, candidates, leaves, *choice);
    const std::string rank = "rank " + std::to_string(choice->candidate);
    assume(leaf, candidates[choice->candidate].tensor,
           {choice->guess && choice->reader ? rank + " (others possible)" : rank, choice->reader});
    note(leaf).open_rank = choice->open;
    return true;
  }

  // Sizes that follow from a rank may not fit each other: another one is guessed, if there is one.
  void leave_out_misfits(const Leaf& leaf, std::vector<Candidate>& candidates, Strength strength, Choice& choice) {
    if (tensor_of(leaf).shape) return;
    const std::vector<const ir::Node*> anyway = refusing();
    for (std::optional<Choice> next = choice; next; next = choose_rank(candidates, strength)) {
      const ir::Node* misfit = fitting_.exhausted() ? nullptr : misfit_of(leaf, candidates[next->candidate].tensor, anyway);
      if (!misfit) {
        choice = *next;
        return;
      }
      candidates[next->candidate].refused_by = misfit;
    }
  }

  // Readers that demand a size of the batch, too, are likely to mean the tensor without one: a batch norm behind a linear layer.
  void prefer_fewer_demands(const Leaf& leaf, const std::vector<Candidate>& candidates, Choice& choice) {
    if (choice.candidate <= rank_of_batch || tensor_of(leaf).shape || fitting_.exhausted()) return;
    const auto demanded = [&](std::size_t rank) {
      std::size_t sizes = rank;
      with_sizes(leaf, candidates[rank].tensor, [&] {
        for (const Dim& size : *tensor_of(leaf).shape)
          sizes -= std::ranges::count_if(inferred_.free, [&](const FreeSize& free) { return free.name == size.to_string(); });
      });
      return sizes;
    };
    if (is_left(candidates[choice.candidate - 1]) && demanded(choice.candidate - 1) < demanded(choice.candidate))
      --choice.candidate;
  }

  // Returns the node that refuses the sizes that the leaf would get.
  const ir::Node* misfit_of(const Leaf& leaf, const TensorFact& tensor, const std::vector<const ir::Node*>& anyway) {
    const ir::Node* misfit = nullptr;
    with_sizes(leaf, tensor, [&] {
      for (const ir::Node* node : refusing())
        if (!misfit && std::ranges::find(anyway, node) == anyway.end()) misfit = node;
    });
    return misfit;
  }

  // While the leaf is so, with the sizes that follow.
  template <class Look>
  void with_sizes(const Leaf& leaf, const TensorFact& tensor, Look look) {
    const Inferred before = inferred_;
    const bool found = found_;
    const std::set<std::string> names_before = names_;
    give(leaf, tensor);
    name_sizes({leaf});
    settle_sizes();
    look();
    inferred_ = before;
    found_ = found;
    names_ = names_before;
    state();
  }

  // Outside of branches: these run for sure.
  std::vector<const ir::Node*> refusing() const {
    std::vector<const ir::Node*> nodes;
    const Refusals refusals(sources_);
    for (const ir::Node* node : *graph_.top())
      if (node->blocks().empty() && refusals.refuses(*node, trials_.facts())) nodes.push_back(node);
    return nodes;
  }

  // The lowest rank from the guessed one on at which another input can be an operand of the same rank beside this one: a mask for
  // a batch of sequences fits what a mask for a batch of rows doesn't.
  void prefer_partners(const Leaf& leaf, const std::vector<Candidate>& candidates, const std::vector<Leaf>& leaves,
                       Choice& choice) {
    std::vector<Leaf> others;
    for (const Leaf& other : leaves)
      if (other.name != leaf.name && !tensor_of(other).shape && others.size() < most_partners) others.push_back(other);
    for (std::size_t rank = choice.candidate; rank <= pictures && !others.empty(); ++rank) {
      const ir::Node* reader = is_left(candidates[rank]) ? partner_of(leaf, candidates[rank].tensor, others) : nullptr;
      if (!reader) continue;
      if (rank != choice.candidate) choice.reader = reader;
      choice.candidate = rank;
      return;
    }
  }

  // Returns the node that would read both.
  const ir::Node* partner_of(const Leaf& leaf, const TensorFact& tensor, const std::vector<Leaf>& others) {
    const Inferred before = inferred_;
    const bool found = found_;
    give(leaf, tensor);
    state();
    const ir::Node* reader = nullptr;
    for (const Leaf& other : others)
      if (const auto choice = hinted(of_each_rank(other), Hint::Kind::operand)) {
        reader = choice->reader;
        break;
      }
    inferred_ = before;
    found_ = found;
    state();
    return reader;
  }

  // ---- Sizes

  void settle_sizes() {
    Refusals refusals(sources_);
    for (int round = 0; round < most_rounds && !inferred_.free.empty() && !fitting_.exhausted(); ++round) {
      SizeSolver solver(inferred_.free);
      listen(solver, graph_, refusals, trials_, sources_.watch);
      const auto settled = solver.solve();
      if (settled.empty()) return;
      for (const Settled& size : settled) put(size);
      state();
    }
  }

  std::string free_name(const Leaf& leaf, std::size_t dim) {
    std::string name = dimension_name(leaf.name, dim);
    while (!names_.insert(name).second) name += '_';
    return name;
  }

  std::string spelled() const {
    std::string text;
    for (const auto& fact : inferred_.facts) text += fact.name + symbolic::to_string(fact.fact) + "\n";
    return text;
  }

  // Members of a list may be of different sizes each: what readers don't settle has no name.
  void forget_names_of_members() {
    const std::vector<Assumption> before = inferred_.assumptions;
    for (const Assumption& assumption : before) {
      TensorFact tensor = tensor_of(assumption.leaf);
      if (!assumption.leaf.of_list || !tensor.shape) continue;
      for (Dim& size : *tensor.shape) {
        if (size.is_number()) continue;
        std::erase_if(inferred_.free, [&](const FreeSize& free) { return free.name == size.to_string(); });
        size = Dim::unknown();
      }
      give(assumption.leaf, std::move(tensor));
    }
    state();
  }

  void name_sizes(const std::vector<Leaf>& leaves) {
    for (const auto* input : graph_.inputs()) names_.insert(input->name()), take_names(trials_.facts().of(input));
    for (const Leaf& leaf : leaves) {
      TensorFact tensor = tensor_of(leaf);
      if (!tensor.shape) continue;
      bool named = false;
      for (std::size_t dim = 0; dim < tensor.shape->size(); ++dim) {
        Dim& size = (*tensor.shape)[dim];
        if (!size.is_unknown()) continue;
        inferred_.free.push_back({free_name(leaf, dim), dim >= 2});
        size = Dim::symbol(inferred_.free.back().name);
        named = true;
      }
      if (named) give(leaf, std::move(tensor));
    }
    state();
  }

  void take_names(const Fact& fact) {
    if (const auto* tensor = fact.tensor(); tensor && tensor->shape)
      for (const Dim& size : *tensor->shape)
        for (const auto& name : symbolic::names_in(size)) names_.insert(name);
    if (const auto* list = fact.list(); list && list->items)
      for (const Fact& item : *list->items) take_names(item);
  }

  void put(const Settled& settled) {
    std::erase_if(inferred_.free, [&](const FreeSize& size) { return size.name == settled.name; });
    const std::vector<Assumption> before = inferred_.assumptions;
    for (const Assumption& assumption : before) {
      const Leaf& leaf = assumption.leaf;
      TensorFact tensor = tensor_of(leaf);
      if (!tensor.shape) continue;
      bool changed = false;
      for (std::size_t dim = 0; dim < tensor.shape->size(); ++dim) {
        Dim& size = (*tensor.shape)[dim];
        if (!provably_equal(size, Dim::symbol(settled.name))) continue;
        size = settled.size;
        std::vector<Reason>& reasons = note(leaf).reasons;
        std::erase_if(reasons, [&](const Reason& reason) { return reason.what == settled.name + in_dimension(dim); });
        reasons.push_back({size.to_string() + in_dimension(dim), settled.reader});
        changed = true;
      }
      if (changed) give(leaf, std::move(tensor));
    }
  }

  // ---- What is found

  // Facts that stay open are for --input to state.
  void give(const Leaf& leaf, TensorFact tensor) {
    const auto index = static_cast<std::uint32_t>(leaf.input->index());
    Fact fact{.value = std::move(tensor)};
    const auto* known = fact.tensor();
    if (!known->dtype || !known->shape || leaf.of_list) fact.wants = {index};
    Assumption& assumption = note(leaf);
    assumption.fact = fact;
    const std::string name = ir::input_name(*leaf.input);
    Fact whole = leaf.with(whole_of(leaf), std::move(fact));
    const auto found = std::ranges::find(inferred_.facts, name, &conversion::InputFact::name);
    if (found == inferred_.facts.end())
      inferred_.facts.push_back({name, std::move(whole)});
    else
      found->fact = std::move(whole);
    found_ = true;
  }

  void assume(const Leaf& leaf, TensorFact tensor, Reason reason) {
    give(leaf, std::move(tensor));
    note(leaf).reasons.push_back(std::move(reason));
    state();
  }

  Assumption& note(const Leaf& leaf) {
    const auto found =
        std::ranges::find_if(inferred_.assumptions, [&](const auto& known) { return known.leaf.name == leaf.name; });
    if (found != inferred_.assumptions.end()) return *found;
    inferred_.assumptions.push_back({.leaf = leaf, .fact = {}, .reasons = {}});
    return inferred_.assumptions.back();
  }

  const ir::Graph& graph_;
  conversion::FactTrials& trials_;
  const std::vector<conversion::InputFact>& given_;
  const Sources& sources_;
  Inferred& inferred_;
  Fitting fitting_;
  std::set<std::string> names_;
  bool found_ = false;
};

}  // namespace

bool infer(const ir::Graph& graph, conversion::FactTrials& facts, const std::vector<conversion::InputFact>& given,
           const Sources& sources, Inferred& inferred) {
  if (inferred.free.empty() && unstated_leaves(graph, facts.facts(), given).empty()) return false;
  const bool found = Inferring(graph, facts, given, sources, inferred).infer();
  std::ranges::stable_sort(inferred.assumptions, {}, [](const Assumption& made) { return made.leaf.input->index(); });
  return found;
}

std::string dimension_name(const std::string& input, std::size_t dim) {
  std::string base = input;
  std::ranges::replace_if(
      base, [](unsigned char c) { return !std::isalnum(c) && c != '_'; }, '_');
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0]))) base = "input_" + base;
  if (std::isdigit(static_cast<unsigned char>(base.back()))) base += '_';
  return base + std::to_string(dim);
}

std::string spell(const TensorFact& tensor) {
  std::string text = tensor.dtype ? std::string(ir::name(*tensor.dtype)) : "f32";
  if (tensor.dtype && tensor.quantizer && symbolic::states_numbers(*tensor.quantizer))
    text = ir::to_string(*tensor.dtype, *tensor.quantizer);
  text += ":";
  if (!tensor.shape || tensor.shape->empty()) return text + "scalar";
  for (std::size_t dim = 0; dim < tensor.shape->size(); ++dim) {
    const Dim& size = (*tensor.shape)[dim];
    text += (dim ? "," : "") + (size.is_unknown() ? "d" + std::to_string(dim) : size.to_string());
  }
  return text;
}

}  // namespace compatcheck::inference
