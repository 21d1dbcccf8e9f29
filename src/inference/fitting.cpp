#include "inference/fitting.h"

#include <algorithm>
#include <new>
#include <unordered_map>

#include "compatcheck/error.h"
#include "ir/control_flow.h"
#include "passes/assertions.h"
#include "symbolic/cast.h"
#include "symbolic/condition.h"
#include "symbolic/shapes.h"

namespace compatcheck::inference {

using symbolic::Fact;
using symbolic::FactTable;

// The nodes that an input reaches, as far as they are examined.
struct Fitting::Cone {
  conversion::NodeSelection nodes;
  std::unordered_set<const ir::Value*> values;
  std::unordered_set<const ir::Node*> refused_anyway;  // whatever the input is
  std::unordered_map<const ir::Node*, std::size_t> places;

  // A member of a tuple begins where the tuple is unpacked.
  void begin(const Leaf& leaf) { begin(leaf.input, leaf.path); }
  void begin(const ir::Value* value, std::span<const std::size_t> path) {
    if (path.empty() || !std::ranges::all_of(value->uses(), takes_apart)) {
      values.insert(value);
      return;
    }
    for (const ir::Use& use : value->uses()) {
      const ir::Value* member = member_of(*use.user, path[0]);
      if (!member) continue;
      nodes.add(use.user);
      places.emplace(use.user, places.size());
      begin(member, path.subspan(1));
    }
  }

  static bool takes_apart(const ir::Use& use) {
    return use.user->is("prim::TupleUnpack") || (use.user->is("prim::TupleIndex") && ir::constant_of(use.user->input(1)));
  }
  // Returns the value that stands for a member of the tuple; null where the node reads another one.
  static const ir::Value* member_of(const ir::Node& node, std::size_t place) {
    if (node.is("prim::TupleUnpack")) return place < node.outputs().size() ? node.output(place) : nullptr;
    const auto* index = ir::constant_of(node.input(1))->get<std::int64_t>();
    const auto length = static_cast<std::int64_t>(node.input(0)->type()->elements.size());
    return index && *index + (*index < 0 ? length : 0) == static_cast<std::int64_t>(place) ? node.output() : nullptr;
  }

  bool full(std::size_t most) const { return nodes.size() >= most; }
  bool holds(const ir::Value* value) const { return values.contains(value); }

  // Blocks are gone into, so that what is read inside of them counts.
  bool add(const ir::Block& block, std::size_t most) {
    bool any = false;
    for (const ir::Node* node : block) {
      if (full(most)) return any;
      bool reached = std::ranges::any_of(node->inputs(), [&](const ir::Value* input) { return holds(input); });
      if (node->is("prim::Loop"))
        for (const ir::Value* parameter : ir::LoopView(*node).parameters())
          if (holds(ir::carried_by(parameter)->initial_value())) values.insert(parameter);
      for (const ir::Block* inner : node->blocks()) reached |= add(*inner, most);
      if (!reached) continue;
      any = true;
      nodes.add(node);
      places.emplace(node, places.size());
      values.insert(node->outputs().begin(), node->outputs().end());
    }
    return any;
  }
};

namespace {

// The nearest readers, and as many as are looked at in all.
constexpr std::size_t nearest = 24, farthest = 400;

std::optional<std::size_t> rank_of(const Fact& fact) {
  const auto* tensor = fact.tensor();
  return tensor && tensor->shape ? std::optional(tensor->shape->size()) : std::nullopt;
}

std::optional<std::int64_t> known_number(const Fact& fact) {
  const auto* number = fact.number();
  return number && number->integer ? number->integer->number() : std::nullopt;
}

// A list that is taken apart, or asked for a member, which it hasn't.
bool misses_members(const ir::Node& node, const FactTable& facts) {
  const auto* list = node.inputs().empty() ? nullptr : facts.of(node.input(0)).list();
  if (!list || !list->items) return false;
  const auto length = static_cast<std::int64_t>(list->items->size());
  if (node.is("prim::ListUnpack")) return length != static_cast<std::int64_t>(node.outputs().size());
  if (!node.is("aten::__getitem__")) return false;
  const auto place = known_number(facts.of(node.input(1)));
  return place && (*place >= length || *place < -length);
}

// Operands of the same rank most often, though one may have fewer dimensions.
bool broadcasts(const ir::Node& node, std::string_view facts_word) {
  return facts_word == "pointwise" || facts_word == "pointwise_float" || facts_word == "comparison" ||
         node.op().starts_with("aten::masked_");
}

}  // namespace

bool Refusals::refuses(const ir::Node& node, const FactTable& facts) const {
  if (std::ranges::any_of(node.outputs(), [&](const ir::Value* output) { return !facts.of(output).impossible.empty(); }))
    return true;
  if (misses_members(node, facts)) return true;
  const auto found = sources_.table.find(node.op(), node.overload(), mapping::highest_opset, sources_.schemas);
  if (!found.op || !node.schema()) return false;
  const auto word = sources_.table.facts(node.op(), node.overload(), sources_.schemas);
  try {
    return symbolic::accepts(sources_.table.valid(*found.op), word, symbolic::Call(node, facts), sources_.registry,
                             sources_.schemas)
               .truth == symbolic::Truth::no;
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {  // the arguments don't fit together
    return true;
  } catch (const symbolic::Impossible&) {
    return true;
  }
}

void Refusals::state(const ir::Node& node, const FactTable& facts) {
  if (!node.schema()) return;
  try {
    if (const auto& rule = rules_.of(node)) rule(symbolic::Call(node, facts));
  } catch (const symbolic::Impossible&) {
    return;
  } catch (const std::logic_error&) {
    return;
  }
  refuses(node, facts);
}

void Fitting::look_for_hints(const ir::Node& node, const Cone& cone, Candidate& candidate) const {
  const FactTable& facts = trials_.facts();
  if (std::ranges::find(candidate.hints, &node, &Hint::reader) != candidate.hints.end()) return;
  const auto add = [&](Hint::Kind kind) { candidate.hints.push_back({cone.places.at(&node), &node, kind}); };
  if (node.is("aten::dim") && cone.holds(node.input(0))) {
    const auto rank = rank_of(facts.of(node.input(0)));
    for (const ir::Use& use : node.output()->uses())
      if ((use.user->is("aten::eq") || use.user->is("aten::ne")) && rank &&
          known_number(facts.of(use.user->input(1 - use.operand))) == static_cast<std::int64_t>(*rank))
        return add(Hint::Kind::rank_test);
    return;
  }
  // Below a branch its condition may have asked first.
  if (!node.owner()->owner() && symbolic::takes_one_element(node.op(), node.overload()) && cone.holds(node.input(0)) &&
      rank_of(facts.of(node.input(0))) == 0)
    return add(Hint::Kind::number);
  if (!broadcasts(node, sources_.table.facts(node.op(), node.overload(), sources_.schemas))) return;
  for (const ir::Value* ours : node.inputs()) {
    const auto rank = cone.holds(ours) ? rank_of(facts.of(ours)) : std::nullopt;
    if (!rank || *rank == 0) continue;
    for (const ir::Value* other : node.inputs())
      if (!cone.holds(other) && rank_of(facts.of(other)) == rank)
        return add(facts.of(other).tensor()->known_constant ? Hint::Kind::constant : Hint::Kind::operand);
  }
}

// False where the candidate is out for sure.
bool Fitting::judge(const ir::Node& node, bool sure, const Cone& cone, Candidate& candidate) {
  const auto out = [&] {
    if (!candidate.refused_by || (sure && !candidate.for_sure)) candidate.refused_by = &node, candidate.for_sure = sure;
    return !sure;
  };
  if (node.is("prim::If")) {
    const ir::IfView branch(node);
    const auto known = known_number(trials_.facts().of(branch.condition()));
    for (const bool holds : {true, false}) {
      const bool taken = known == std::int64_t{holds};
      if (known && !taken) continue;
      if (taken && &branch.block_if(holds) == passes::raising_block(node)) return out();
      if (!walk(branch.block_if(holds), sure && taken, cone, candidate)) return false;
    }
    return true;
  }
  if (node.is("prim::Loop")) return walk_loop(node, cone, candidate);
  for (const ir::Block* block : node.blocks())
    if (!walk(*block, false, cone, candidate)) return false;
  if (cone.refused_anyway.contains(&node)) return true;
  if (refusals_.refuses(node, trials_.facts())) return out();
  look_for_hints(node, cone, candidate);
  return true;
}

// Carried values may lose their rank or dtype after the first iteration.
bool Fitting::walk_loop(const ir::Node& loop, const Cone& cone, Candidate& candidate) {
  const ir::Block& body = ir::LoopView(loop).body();
  bool fits = true;
  if (!exhausted()) trials_.first_iteration(loop, [&] { fits = walk(body, false, cone, candidate); });
  return fits && walk(body, false, cone, candidate);
}

bool Fitting::walk(const ir::Block& block, bool sure, const Cone& cone, Candidate& candidate) {
  for (const ir::Node* node : cone.nodes.in(block))
    if (!judge(*node, sure, cone, candidate)) return false;
  return true;
}

void Fitting::suppose(const Leaf& leaf, std::span<const Leaf> alike, const Cone& cone, Candidate& candidate) {
  candidate = {.tensor = std::move(candidate.tensor)};
  for (const Leaf& each : alike) {
    const Fact& whole = trials_.facts().of(each.input);
    const auto* known = each.in(whole) ? each.in(whole)->tensor() : nullptr;
    symbolic::TensorFact same = known ? *known : candidate.tensor;  // keeps what is known of the other input
    if (!same.dtype) same.dtype = candidate.tensor.dtype;
    if (!same.shape) same.shape = candidate.tensor.shape;
    trials_.suppose(each.input, each.with(whole, {.value = std::move(same)}), {});
  }
  trials_.suppose(leaf.input, leaf.with(trials_.facts().of(leaf.input), {.value = candidate.tensor}), cone.nodes);
  walk(*graph_.top(), true, cone, candidate);
  trials_.restore();
}

namespace {

// Drops hints that all candidates share.
void drop_shared_hints(std::vector<Candidate>& candidates) {
  std::unordered_map<const ir::Node*, std::size_t> count;
  std::size_t left = 0;
  for (const Candidate& candidate : candidates) {
    if (candidate.refused_by) continue;
    ++left;
    for (const Hint& hint : candidate.hints) ++count[hint.reader];
  }
  for (Candidate& candidate : candidates)
    std::erase_if(candidate.hints, [&](const Hint& hint) { return left > 1 && count[hint.reader] >= left; });
}

}  // namespace

bool Fitting::try_out(const Leaf& leaf, std::vector<Candidate>& candidates, std::size_t enough, std::span<const Leaf> alike) {
  for (const std::size_t most : {nearest, farthest}) {
    sources_.watch.look();
    Cone cone;
    cone.begin(leaf);
    for (const Leaf& each : alike) cone.begin(each);
    cone.add(*graph_.top(), most);
    for (const ir::Node* node : cone.nodes.all())
      if (node->blocks().empty() && refusals_.refuses(*node, trials_.facts())) cone.refused_anyway.insert(node);
    for (Candidate& candidate : candidates) {
      if (exhausted()) return false;
      suppose(leaf, alike, cone, candidate);
    }
    const auto left = std::ranges::count_if(candidates, [](const Candidate& candidate) { return !candidate.refused_by; });
    if (!cone.full(most) || static_cast<std::size_t>(left) <= enough) break;
  }
  drop_shared_hints(candidates);
  return true;
}

}  // namespace compatcheck::inference
