#include "verification/bisect.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compatcheck/error.h"
#include "verification/inner_values.h"
#include "verification/match.h"
#include "verification/members.h"
#include "verification/ties.h"

namespace compatcheck::verification {
namespace {

// Bytes of weights in one part of the model, which holds them twice while it is opened: a small share of all.
constexpr std::uint64_t least_weights = 64ull << 20, most_weights = 1ull << 30, weight_parts = 8;

// A value of the graph and the ONNX values that stand for it.
struct Leaf {
  std::vector<std::size_t> path;
  std::string name;
};
struct Item {
  const ir::Value* value = nullptr;
  std::vector<Leaf> leaves;
};

class Bisection {
 public:
  explicit Bisection(const BisectInput& input) : in_(input), leaves_(leaves_of(input)), values_(input, keys(leaves_)) {}

  Bisected run() {
    made_.bad = scan(*in_.prepared.graph.top(), {});
    made_.runs = values_.runs();
    made_.bytes = values_.bytes();
    return std::move(made_);
  }

 private:
  using Values = InnerValues::Values;
  using Leaves = std::unordered_map<const ir::Value*, std::vector<Leaf>>;
  using Sources = std::map<std::string, std::pair<const ir::Value*, std::vector<std::size_t>>>;

  static Leaves leaves_of(const BisectInput& in) {
    Leaves leaves;
    for (const NamedStand& stand : in.stands)
      if (in.onnx.is_made(stand.name) || in.onnx.is_given(stand.name)) leaves[stand.value].push_back({stand.path, stand.name});
    for (auto& [value, each] : leaves) std::ranges::sort(each, {}, &Leaf::path);
    return leaves;
  }

  static std::unordered_set<const ir::Value*> keys(const Leaves& leaves) {
    std::unordered_set<const ir::Value*> values;
    for (const auto& [value, each] : leaves) values.insert(value);
    return values;
  }

  // One part of a block's values, and how to run it.
  struct Part {
    std::size_t first = 0, end = 0;  // range of items
    bool opened = false;
    std::vector<std::string> names;  // names of the ONNX values that it computes
    std::optional<Segment> segment;
    std::optional<Session> session;
    std::string failure;                   // reason why the runtime rejects it
    std::vector<const ir::Value*> needed;  // TorchScript's values that it reads and computes; empty: it can't be judged
    std::vector<Part> pieces;              // one part for each item, if the items don't run together

    bool is_one() const { return end - first == 1; }
  };

  // `around`: where the values of the blocks around it come from.
  std::optional<BadValue> scan(const ir::Block& block, Sources around) {
    const std::uint64_t executions = values_.executions_of(block);
    if (executions == 0) return std::nullopt;
    for (const ir::Value* input : block.inputs()) add_source(input, around);
    std::vector<Item> items;
    for (const ir::Node* node : block)
      for (const ir::Value* output : node->outputs())
        if (const auto found = leaves_.find(output); found != leaves_.end()) {
          items.push_back({output, found->second});
          add_source(output, around);
        }
    std::vector<Part> parts = divide(items);
    const std::uint64_t together = parts.size() == 1 ? executions_at_a_time(parts.front(), items, around) : 1;
    for (std::uint64_t first = 0; first < executions; first += std::min(together, executions - first))
      for (Part& part : parts)
        if (auto bad = look(part, items, around, block, first, std::min(executions, first + together))) return bad;
    return std::nullopt;
  }

  // The first value in graph order that a name stands for: what others read by it.
  void add_source(const ir::Value* value, Sources& sources) const {
    const auto found = leaves_.find(value);
    if (found == leaves_.end()) return;
    for (const Leaf& leaf : found->second) sources.try_emplace(leaf.name, value, leaf.path);
  }

  // Values from around the block are held once for each execution.
  std::uint64_t executions_at_a_time(Part& part, const std::vector<Item>& items, const Sources& sources) {
    if (values_.holds_all()) return std::numeric_limits<std::uint64_t>::max();
    open(part, items, sources);
    std::uint64_t bytes = 0;
    for (const ir::Value* value : part.needed) bytes += values_.bytes_of(value);
    return std::max<std::uint64_t>(1, in_.memory / std::max<std::uint64_t>(1, bytes));
  }

  // A part ends when it holds as much as may be held: so there are no more than all bytes divided by that, and one.
  std::vector<Part> divide(const std::vector<Item>& items) const {
    std::vector<Part> parts;
    std::uint64_t bytes = 0, weights = 0, all_weights = 0;
    for (const Item& item : items)
      for (const Leaf& leaf : item.leaves) all_weights += in_.onnx.weight_bytes_of(leaf.name);
    const std::uint64_t most = std::clamp(all_weights / weight_parts, least_weights, most_weights);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (parts.empty() || bytes >= in_.memory || weights >= most) {
        parts.emplace_back().first = i;
        bytes = weights = 0;
      }
      parts.back().end = i + 1;
      bytes += values_.bytes_of(items[i].value);
      for (const Leaf& leaf : items[i].leaves) weights += in_.onnx.weight_bytes_of(leaf.name);
    }
    return parts;
  }

  // The values that this item's own nodes make; not those that another item has made before.
  std::vector<std::string> own_names(const Item& item, const Sources& sources) const {
    std::vector<std::string> names;
    for (const Leaf& leaf : item.leaves)
      if (in_.onnx.is_made(leaf.name) && sources.at(leaf.name).first == item.value) names.push_back(leaf.name);
    return names;
  }

  std::optional<Segment> segment_of(const std::vector<std::string>& names, const Sources& sources,
                                    std::map<std::string, std::vector<std::int64_t>> sizes = {}) const {
    std::set<std::string> cut, sequences;
    std::map<std::string, ir::DType> dtypes;
    for (const auto& [name, source] : sources) {
      cut.insert(name);
      const auto* tensor = source.second.empty() ? in_.prepared.facts.of(source.first).tensor() : nullptr;
      if (tensor && tensor->dtype) dtypes.emplace(name, *tensor->dtype);
      if (source.second.empty() && ir::is(source.first->type(), ir::TypeKind::list) && !source.first->type()->elements.empty() &&
          ir::is(source.first->type()->elements.front(), ir::TypeKind::tensor))
        sequences.insert(name);
    }
    return in_.onnx.segment({names, cut, dtypes, sequences, std::move(sizes)});
  }

  void open(Part& part, const std::vector<Item>& items, const Sources& sources) const {
    if (std::exchange(part.opened, true)) return;
    std::set<const ir::Value*> needed, read;
    if (open_nodes(part, items, sources, read)) {
      needed = std::move(read);
      for (std::size_t i = part.first; i < part.end; ++i) {
        needed.insert(items[i].value);
        for (const Leaf& leaf : items[i].leaves)
          needed.insert(sources.at(leaf.name).first);  // an alias is compared with the value that it stands for
        if (const auto by = indexed_by(items[i].value, in_.prepared.facts)) needed.insert(by->input);
      }
    } else if (!part.is_one()) {
      split(part, items, sources);
      for (const Part& piece : part.pieces) needed.insert(piece.needed.begin(), piece.needed.end());
    }
    std::erase_if(needed, [](const ir::Value* value) { return ir::constant_of(value) != nullptr; });
    part.needed.assign(needed.begin(), needed.end());
  }

  // False: they need a value that nothing stands for.
  bool open_nodes(Part& part, const std::vector<Item>& items, const Sources& sources, std::set<const ir::Value*>& read) const {
    for (std::size_t i = part.first; i < part.end; ++i)
      for (std::string& name : own_names(items[i], sources)) part.names.push_back(std::move(name));
    if (part.names.empty()) return true;
    part.segment = segment_of(part.names, sources);
    if (!part.segment) return false;
    for (const std::string& input : part.segment->inputs) {
      const auto source = sources.find(input);
      if (source == sources.end()) return false;
      read.insert(source->second.first);
    }
    try {
      part.session = in_.runtime.open_bytes(part.segment->bytes);
    } catch (const ModelError& error) {
      part.failure = error.what();
    }
    part.segment->bytes = {};
    return true;
  }

  void split(Part& part, const std::vector<Item>& items, const Sources& sources) const {
    part.session.reset();  // frees the session and its weights
    part.segment.reset();
    for (std::size_t i = part.first; i < part.end; ++i) {
      Part& piece = part.pieces.emplace_back();
      piece.first = i;
      piece.end = i + 1;
      open(piece, items, sources);
      if (piece.needed.empty()) part.pieces.pop_back();
    }
  }

  struct Unfed {};  // a value that the nodes read can't be given to the runtime

  // Returns the first bad value in the executions from `first` to before `end`.
  std::optional<BadValue> look(Part& part, const std::vector<Item>& items, const Sources& sources, const ir::Block& block,
                               std::uint64_t first, std::uint64_t end) {
    open(part, items, sources);
    if (part.needed.empty()) return std::nullopt;
    std::uint64_t execution = first;
    const InnerValues::Executions executions = values_.of(block, first, end, part.needed);
    for (const Values& values : executions.each())
      if (auto bad = judge(part, items, sources, values, execution++)) return bad;
    return std::nullopt;
  }

  const ir::Constant* value_of(const std::string& name, const Sources& sources, const Values& values) const {
    const auto& [value, path] = sources.at(name);
    const auto held = values.find(value);
    return held == values.end() ? nullptr : member(*held->second, path);
  }

  // Returns the value in the form in which the runtime takes it.
  std::optional<ir::Constant> fed(const std::string& name, const ir::Constant* value) const {
    if (!value) return std::nullopt;
    if (value->is_none()) {  // the value of a path that isn't executed: any value will do
      const auto dtype = in_.onnx.dtype_of(name);
      if (!dtype) return std::nullopt;
      const ir::Constant nothing = ir::is_floating(*dtype)        ? ir::Constant{0.0}
                                   : *dtype == ir::DType::boolean ? ir::Constant{false}
                                                                  : ir::Constant{std::int64_t{0}};
      return ir::Constant{*as_tensor(nothing, *dtype)};
    }
    if (holds_tensors(*value) && !in_.onnx.dtype_of(name)) {
      const bool empty = value->get<ir::ListConstant>()->items.empty();  // the runtime's C API can't make empty lists
      return empty ? std::nullopt : std::optional(*value);
    }
    const auto dtype = in_.onnx.dtype_of(name);
    auto tensor = as_tensor(*value, dtype);
    if (!tensor || (dtype && tensor->dtype != *dtype)) return std::nullopt;
    if (const auto rank = in_.onnx.rank_of(name); rank && *rank != tensor->sizes.size()) return std::nullopt;
    return ir::Constant{std::move(*tensor)};
  }

  std::optional<BadValue> judge(Part& part, const std::vector<Item>& items, const Sources& sources, const Values& values,
                                std::uint64_t execution) {
    std::map<std::string, ir::Constant> found;
    std::string failure = part.failure;
    bool unfed = false;
    if (part.session && part.pieces.empty()) {
      try {
        found = compute(part, sources, values);
      } catch (const ModelError& error) {
        failure = error.what();
      } catch (const Unfed&) {
        unfed = true;
      }
    }
    if (unfed && part.is_one()) {  // the values that its bodies read may be available
      if (items[part.first].value->producer()->blocks().empty()) ++made_.unfed;
      for (const ir::Block* body : items[part.first].value->producer()->blocks())
        if (auto inside = scan(*body, sources)) return inside;
      return std::nullopt;
    }
    if (part.pieces.empty() && (unfed || !failure.empty()) && !part.is_one()) split(part, items, sources);
    if (!part.pieces.empty()) {
      for (Part& piece : part.pieces)
        if (auto bad = judge(piece, items, sources, values, execution)) return bad;
      return std::nullopt;
    }
    for (std::size_t i = part.first; i < part.end; ++i) {
      const Item& item = items[i];
      const ir::Node& node = *item.value->producer();
      std::string difference = failure;
      std::string name = item.leaves.front().name;
      ++made_.compared;
      if (failure.empty()) {
        for (const Leaf& leaf : item.leaves) {
          difference = compare_leaf(item, leaf, found, sources, values);
          name = leaf.name;
          if (!difference.empty()) break;
        }
      }
      if (difference.empty()) continue;
      for (const ir::Block* body : node.blocks())
        if (auto inside = scan(*body, sources)) return inside;
      return bad_value(item, name, std::move(difference), sources, values, execution);
    }
    return std::nullopt;
  }

  std::map<std::string, ir::Constant> compute(const Part& part, const Sources& sources, const Values& values) const {
    ir::Constants given;
    for (const std::string& input : part.session->inputs()) {
      auto value = fed(input, value_of(input, sources, values));
      if (!value) throw Unfed{};
      given.push_back(std::move(*value));
    }
    const ir::Constants results = part.session->run(given);
    const auto& outputs = part.session->outputs();
    std::map<std::string, ir::Constant> found;
    for (std::size_t i = 0; i < part.names.size(); ++i)
      if (const auto at = std::ranges::find(outputs, part.segment->results[i]); at != outputs.end())
        found.emplace(part.names[i], results[static_cast<std::size_t>(at - outputs.begin())]);
    return found;
  }

  // Empty if it agrees.
  std::string compare_leaf(const Item& item, const Leaf& leaf, const std::map<std::string, ir::Constant>& found,
                           const Sources& sources, const Values& values) {
    const auto held = values.find(item.value);
    const ir::Constant* expected = held == values.end() ? nullptr : member(*held->second, leaf.path);
    if (!expected || expected->is_none()) return {};
    const ir::Constant* got = nullptr;
    if (sources.at(leaf.name).first != item.value)
      got = value_of(leaf.name, sources, values);  // judged where it is made
    else if (const auto at = found.find(leaf.name); at != found.end())
      got = &at->second;
    if (!got) return {};
    return compare_values(item, *expected, *got, values);
  }

  std::string compare_values(const Item& item, const ir::Constant& expected, const ir::Constant& got, const Values& values) {
    if (const auto* list = expected.get<ir::ListConstant>(); list && got.get<ir::ListConstant>()) {
      const auto& members = got.get<ir::ListConstant>()->items;
      if (members.size() != list->items.size())
        return "a sequence of " + std::to_string(members.size()) + " for " + std::to_string(list->items.size());
      for (std::size_t i = 0; i < members.size(); ++i)
        if (std::string difference = compare_values(item, list->items[i], members[i], values); !difference.empty())
          return difference;
      return {};
    }
    const auto right = as_tensor(got, {});
    const auto left = as_tensor(expected, right ? std::optional(right->dtype) : std::nullopt);
    if (!left || !right) return {};
    const Comparison comparison = compare(*left, *right, in_.tolerance(left->dtype));
    if (comparison.passed()) return {};
    if (comparison.same_form() && is_arbitrary(*item.value->producer(), in_.model.table, in_.model.schemas)) return {};
    if (comparison.same_form() && ties(item, *left, *right, values)) {
      if (!made_.tied) made_.tied = item.value;
      return {};
    }
    return describe(comparison);
  }

  bool ties(const Item& item, const ir::TensorView& expected, const ir::TensorView& found, const Values& values) const {
    const auto by = indexed_by(item.value, in_.prepared.facts);
    const auto input = by ? values.find(by->input) : values.end();
    const auto* tensor = input == values.end() ? nullptr : input->second->get<ir::TensorView>();
    return tensor && is_tie(*by, *tensor, expected, found, in_.tolerance(tensor->dtype));
  }

  BadValue bad_value(const Item& item, const std::string& name, std::string difference, const Sources& sources,
                     const Values& values, std::uint64_t execution) const {
    BadValue bad{.value = item.value,
                 .name = name,
                 .nodes = {},
                 .difference = std::move(difference),
                 .execution = execution,
                 .segment = {},
                 .inputs = {},
                 .expected = {}};
    const auto own = own_names(item, sources);
    if (std::ranges::find(own, name) == own.end()) return bad;  // an alias: no node computes it
    std::map<std::string, std::vector<std::int64_t>> sizes;
    const auto note_size = [&](const std::string& of, const ir::Constant* value) {
      if (const auto* view = value ? value->get<ir::TensorView>() : nullptr)
        sizes[of] = view->sizes;
      else if (value && !value->get<ir::ListConstant>())
        sizes[of] = {};
    };
    auto segment = segment_of({name}, sources);
    if (!segment) return bad;
    for (const std::string& input : segment->inputs) note_size(input, value_of(input, sources, values));
    note_size(name, value_of(name, sources, values));
    segment = segment_of({name}, sources, sizes);
    bad.nodes = segment->nodes;
    for (const std::string& input : segment->inputs)
      if (auto value = fed(input, value_of(input, sources, values))) bad.inputs.emplace_back(input, std::move(*value));
    if (auto value = fed(name, value_of(name, sources, values))) bad.expected = std::move(*value);
    bad.segment = std::move(*segment);
    return bad;
  }

  const BisectInput& in_;
  Leaves leaves_;
  InnerValues values_;
  Bisected made_;
};

}  // namespace

Bisected bisect(const BisectInput& input) { return Bisection(input).run(); }

}  // namespace compatcheck::verification
