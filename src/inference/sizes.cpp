#include "inference/sizes.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ir/control_flow.h"
#include "passes/assertions.h"
#include "symbolic/shapes.h"

namespace compatcheck::inference {
namespace {

using symbolic::Dim;
using symbolic::evaluate;
using symbolic::names_in;

// A picture's side that a classifier behind convolutions was made for.
constexpr std::int64_t longest_side = 1024;

// A size that is nothing but a name.
std::optional<std::string> plain_name(const Dim& dim) {
  const auto names = names_in(dim);
  return names.size() == 1 && dim.to_string() == names.front() ? std::optional(names.front()) : std::nullopt;
}

// The first size that fits, or a rounder one beside it that windows round down to the same. nullopt: more fit further on, as
// multiples of a stride do, so that nothing is settled.
template <class Fits>
std::optional<std::int64_t> settled_size(std::int64_t first, const Fits& fits) {
  constexpr std::int64_t widest = 256, reach = 4096;
  std::int64_t last = first, roundest = first;
  while (fits(last + 1)) {
    if (++last - first > widest) return std::nullopt;
    if (std::countr_zero(static_cast<std::uint64_t>(last)) > std::countr_zero(static_cast<std::uint64_t>(roundest)))
      roundest = last;
  }
  for (std::int64_t size = last + 2; size <= std::min(4 * last + 64, last + reach); ++size)
    if (fits(size)) return std::nullopt;
  return roundest;
}

// The other names are of the sizes given.
std::optional<std::int64_t> linear_root(const Dim& difference, symbolic::Sizes sizes, const std::string& name) {
  const auto at = [&](std::int64_t size) {
    sizes[name] = size;
    return evaluate(difference, sizes);
  };
  const auto at_one = at(1), at_two = at(2);
  if (!at_one || !at_two || *at_one == *at_two) return std::nullopt;
  const std::int64_t slope = *at_two - *at_one, distance = -*at_one;
  if (distance % slope != 0) return std::nullopt;
  const std::int64_t root = 1 + distance / slope;
  return root >= 1 && at(root) == 0 ? std::optional(root) : std::nullopt;
}

// The same whatever the other names are: x·y·n = x·y·24. The sizes tried are unrelated: n + x = y settles nothing.
std::optional<std::int64_t> common_root(const Dim& difference, const std::string& name) {
  static constexpr std::int64_t trials[][7] = {{2, 7, 31, 13, 5, 23, 43}, {11, 3, 17, 41, 29, 2, 19}, {5, 37, 3, 23, 47, 13, 7}};
  const auto others = names_in(difference);
  if (others.size() > std::size(trials[0])) return std::nullopt;
  std::optional<std::int64_t> common;
  for (const auto& trial : trials) {
    symbolic::Sizes sizes;
    const std::int64_t* size = trial;
    for (const std::string& other : others) sizes[other] = *size++;
    const auto root = linear_root(difference, std::move(sizes), name);
    if (!root || (common && *common != *root)) return std::nullopt;
    common = root;
  }
  return common;
}

std::optional<std::int64_t> whole_root(const Dim& difference, const std::string& name) {
  const auto fits = [&](std::int64_t size) { return evaluate(difference, {{name, size}}) == 0; };
  if (symbolic::has_quotient(difference)) {
    std::int64_t first = 1;
    while (first <= longest_side && !fits(first)) ++first;
    return first <= longest_side ? settled_size(first, fits) : std::nullopt;
  }
  return linear_root(difference, {}, name);
}

// Whether the value is made of sizes alone, as zeros(h, w) is: its rows are the model's, not an input's.
bool is_made_of_sizes(const ir::Value* value) {
  while (const ir::Node* producer = value->producer()) {
    const auto tensor = std::ranges::find_if(producer->inputs(), [](const ir::Value* input) {
      return ir::is(input->type(), ir::TypeKind::tensor) || ir::is_tensor_list(input->type());
    });
    if (tensor == producer->inputs().end()) return !ir::constant_of(value);
    value = *tensor;
  }
  return false;
}

// Pictures or rows as rows of so many numbers, x.view(-1, 400): each is a row, though all that has to fit is their number.
std::optional<symbolic::SizeDemand> made_flat(const ir::Node& node, const symbolic::FactTable& facts) {
  constexpr std::size_t rows = 2, picture = 4;  // ranks
  if (!node.is("aten::view") && !node.is("aten::reshape")) return std::nullopt;
  const auto* tensor = facts.of(node.input(0)).tensor();
  const auto sizes = node.schema() ? symbolic::Call(node, facts).ints(node.is("aten::view") ? "size" : "shape") : std::nullopt;
  if (!tensor || !tensor->shape || (tensor->shape->size() < picture && tensor->shape->size() != rows) || !sizes ||
      sizes->size() != 2 || sizes->front() != -1)
    return std::nullopt;
  Dim row = 1;
  for (std::size_t i = 1; i < tensor->shape->size(); ++i) row = row * (*tensor->shape)[i];
  if (symbolic::has_quotient(row) || is_made_of_sizes(node.input(0))) return std::nullopt;
  return symbolic::SizeDemand{.size = row, .other = Dim((*sizes)[1]), .may_stretch = true};
}

// `a, b, c, d = x.unbind(-1)`.
std::optional<symbolic::SizeDemand> unpacked(const ir::Node& node, const symbolic::FactTable& facts) {
  const ir::Node* unbind = node.is("prim::ListUnpack") ? node.input(0)->producer() : nullptr;
  if (!unbind || !unbind->is("aten::unbind") || !unbind->schema()) return std::nullopt;
  const symbolic::Call call(*unbind, facts);
  const auto* tensor = call.tensor("self");
  const auto dim = call.integer("dim");
  const auto index = tensor && tensor->shape && dim ? symbolic::wrap_dim(*dim, tensor->shape->size()) : std::nullopt;
  if (!index || *index >= tensor->shape->size()) return std::nullopt;
  return symbolic::SizeDemand{.size = (*tensor->shape)[*index], .other = Dim(static_cast<std::int64_t>(node.outputs().size()))};
}

// `assert x.size(1) == 4`. `holds`: what is asked must be true, else false.
std::optional<symbolic::SizeDemand> asserted(const ir::Node& branch, bool holds, const symbolic::FactTable& facts) {
  const ir::Node* comparison = branch.input(0)->producer();
  while (comparison && comparison->is("aten::__not__")) {
    holds = !holds;
    comparison = comparison->input(0)->producer();
  }
  if (!comparison || comparison->inputs().size() != 2 || !comparison->is(holds ? "aten::eq" : "aten::ne")) return std::nullopt;
  const auto size_of = [&](std::size_t input) {
    const auto* number = facts.of(comparison->input(input)).number();
    return number && number->kind == symbolic::NumberFact::Kind::integer ? number->integer : std::nullopt;
  };
  const auto one = size_of(0), other = size_of(1);
  return one && other ? std::optional(symbolic::SizeDemand{.size = *one, .other = *other}) : std::nullopt;
}

// The program compares sizes: what the branches demand of them would settle the branch.
bool compares_sizes(const ir::Value* condition) {
  constexpr std::size_t most = 64;
  std::vector<const ir::Value*> behind{condition};
  for (std::size_t at = 0; at < behind.size() && behind.size() < most; ++at) {
    const ir::Node* node = behind[at]->producer();
    if (!node) continue;
    if (node->is("aten::size") || node->is("aten::numel") || node->is("aten::len")) return true;
    behind.insert(behind.end(), node->inputs().begin(), node->inputs().end());
  }
  return false;
}

class Listener {
 public:
  Listener(SizeSolver& solver, Refusals& refusals, conversion::FactTrials& trials, const ir::Watch& watch)
      : solver_(solver), refusals_(refusals), trials_(trials), watch_(watch) {}

  void block(const ir::Block& block, bool for_sure) {
    for (const ir::Node* node : block) {
      watch_.step();
      if (node->is("prim::If"))
        branch(*node, for_sure);
      else
        other(*node, for_sure);
    }
  }

 private:
  void branch(const ir::Node& node, bool for_sure) {
    const ir::IfView branch(node);
    const auto* condition = facts().of(branch.condition()).number();
    const auto known = condition && condition->integer ? condition->integer->number() : std::nullopt;
    const ir::Block* raises = known ? nullptr : passes::raising_block(node);
    if (raises)
      if (const auto demand = asserted(node, raises == &branch.else_block(), facts())) solver_.hear(*demand, node, for_sure);
    for (const bool holds : {true, false})
      if (&branch.block_if(holds) != raises && (!known || *known == std::int64_t{holds}) &&
          (known || raises || !compares_sizes(branch.condition())))
        block(branch.block_if(holds), for_sure && (known || raises));
  }

  void other(const ir::Node& node, bool for_sure) {
    if (node.is("prim::Loop") && trials_.work() <= most_work)
      trials_.first_iteration(node, [&] { block(ir::LoopView(node).body(), false); });
    for (const ir::Block* inner : node.blocks())
      if (!trials_.in_first_iteration()) block(*inner, false);
    const symbolic::Listening listening([&](const symbolic::SizeDemand& demand) { solver_.hear(demand, node, for_sure); });
    refusals_.state(node, facts());
    for (const auto& demand : {made_flat(node, facts()), unpacked(node, facts())})
      if (demand) solver_.hear(*demand, node, for_sure);
  }

  const symbolic::FactTable& facts() const { return trials_.facts(); }

  SizeSolver& solver_;
  Refusals& refusals_;
  conversion::FactTrials& trials_;
  const ir::Watch& watch_;
};

}  // namespace

std::optional<std::size_t> SizeSolver::place_of(const std::string& name) const {
  const auto found = std::ranges::find(free_, name, &FreeSize::name);
  return found == free_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - free_.begin()));
}

void SizeSolver::hear(const symbolic::SizeDemand& demand, const ir::Node& reader, bool for_sure) {
  if (demand.size.is_unknown() || demand.other.is_unknown()) return;
  heard_.push_back({demand, &reader, for_sure});
}

std::vector<Settled> SizeSolver::make_equal(const std::string& name, const Dim& other, const ir::Node* reader) const {
  const auto place = place_of(name);
  if (!place) return {};
  if (other.is_number()) return *other.number() >= 1 ? std::vector<Settled>{{name, other, reader}} : std::vector<Settled>();
  const auto other_name = plain_name(other);
  if (!other_name || *other_name == name) return {};
  const auto other_place = place_of(*other_name);
  if (other_place && *other_place > *place) return {{*other_name, Dim::symbol(name), reader}};  // the earlier name stays
  return {{name, other, reader}};
}

// Assumes that height and width are equal: the side for which the demand holds, whatever the other names are.
std::vector<Settled> SizeSolver::find_square(const Heard& heard) const {
  const Dim difference = heard.demand.size - heard.demand.other;
  std::vector<std::string> sides;
  symbolic::Sizes sizes;
  for (const std::string& name : names_in(difference)) {
    const auto place = place_of(name);
    if (place && free_[*place].spatial)
      sides.push_back(name);
    else
      sizes[name] = 2;
  }
  symbolic::Sizes others = sizes;
  for (auto& [name, size] : others) size = 3;
  if (sides.empty()) return {};
  const auto fits = [&](std::int64_t side) {
    for (const std::string& name : sides) sizes[name] = others[name] = side;
    return evaluate(difference, sizes) == 0 && evaluate(difference, others) == 0;
  };
  std::int64_t first = 1;
  while (first <= longest_side && !fits(first)) ++first;
  const auto side = first <= longest_side ? settled_size(first, fits) : std::nullopt;
  std::vector<Settled> settled;
  if (side)
    for (const std::string& name : sides) settled.push_back({name, Dim(*side), heard.reader});
  return settled;
}

std::vector<Settled> SizeSolver::settle(const Heard& heard) const {
  const auto& [size, other, may_stretch, relation] = heard.demand;
  if (relation != symbolic::SizeDemand::Relation::equal) return {};
  if (may_stretch && (size.number() == 1 || other.number() == 1)) return {};
  for (const auto& [one, another] : {std::pair(size, other), std::pair(other, size)})
    if (const auto name = plain_name(one))
      if (auto settled = make_equal(*name, another, heard.reader); !settled.empty()) return settled;
  if (may_stretch && !size.is_number() && !other.is_number()) return {};
  const Dim difference = size - other;
  const auto names = names_in(difference);
  if (names.size() == 1 && place_of(names.front()))
    if (const auto root = whole_root(difference, names.front())) return {{names.front(), Dim(*root), heard.reader}};
  if (names.size() > 1 && !symbolic::has_quotient(difference))
    for (const std::string& name : names)
      if (const auto root = place_of(name) ? common_root(difference, name) : std::nullopt)
        return {{name, Dim(*root), heard.reader}};
  return find_square(heard);
}

// One demand at a time: what it settles changes the others.
std::vector<Settled> SizeSolver::settle(bool for_sure, bool may_stretch) const {
  std::vector<Settled> all;
  std::vector<std::string> touched;
  for (const Heard& heard : heard_) {
    if (heard.for_sure != for_sure || heard.demand.may_stretch != may_stretch) continue;
    const auto names = names_in(heard.demand.size - heard.demand.other);
    if (std::ranges::any_of(names, [&](const auto& name) { return std::ranges::find(touched, name) != touched.end(); })) continue;
    auto settled = settle(heard);
    if (settled.empty()) continue;
    touched.insert(touched.end(), names.begin(), names.end());
    std::ranges::move(settled, std::back_inserter(all));
  }
  return all;
}

std::vector<Settled> SizeSolver::solve() const {
  for (const bool may_stretch : {false, true})
    for (const bool for_sure : {true, false})
      if (auto settled = settle(for_sure, may_stretch); !settled.empty()) return settled;
  return {};
}

symbolic::NamedRanges least_sizes(const std::vector<Heard>& heard) {
  symbolic::NamedRanges ranges;
  for (const auto& [demand, reader, for_sure] : heard) {
    if (!for_sure || demand.relation != symbolic::SizeDemand::Relation::at_least) continue;
    const Dim difference = demand.size - demand.other;
    const auto names = names_in(difference);
    if (names.size() != 1) continue;
    std::int64_t least = 0;
    const auto is_too_small = [&] { return evaluate(difference, {{names.front(), least}}).value_or(0) < 0; };
    while (least <= longest_side && is_too_small()) ++least;
    if (least == 0 || least > longest_side) continue;
    auto& known = ranges[names.front()].least;
    known = std::max(known.value_or(0), least);
  }
  return ranges;
}

std::vector<Heard> demands_of(const ir::Graph& graph, const Sources& sources, conversion::FactTrials& trials) {
  Refusals refusals(sources);
  SizeSolver solver({});
  listen(solver, graph, refusals, trials, sources.watch);
  return solver.heard();
}

void listen(SizeSolver& solver, const ir::Graph& graph, Refusals& refusals, conversion::FactTrials& trials,
            const ir::Watch& watch) {
  Listener(solver, refusals, trials, watch).block(*graph.top(), true);
}

}  // namespace compatcheck::inference
