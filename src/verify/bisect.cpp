#include "verify/bisect.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "compatcheck/error.h"
#include "verify/match.h"
#include "verify/members.h"
#include "verify/ties.h"

namespace compatcheck::verification {
namespace {

constexpr std::uint64_t weight_batch = 1ull << 30;   // bytes that one part of the model carries, about

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
  explicit Bisection(const BisectInput& input) : in_(input) {}

  Bisected run() {
    for (const NamedStand& stand : in_.stands) {
      if (!in_.onnx.is_made(stand.name) && !in_.onnx.is_given(stand.name)) continue;
      leaves_[stand.value].push_back({stand.path, stand.name});
    }
    for (auto& [value, leaves] : leaves_) std::ranges::sort(leaves, {}, &Leaf::path);
    survey_ = ask({}, 0);
    wanted_ = everything();
    if (bytes_of(wanted_) <= in_.memory) survey_ = ask(wanted_, in_.memory);
    else survey_.too_many = true;
    for (const auto& [value, bytes] : survey_.bytes) made_.bytes += bytes;
    made_.bad = scan(*in_.prepared.graph.top(), {});
    return std::move(made_);
  }

 private:
  using Values = std::unordered_map<const ir::Value*, const ir::Constant*>;
  using Sources = std::map<std::string, std::pair<const ir::Value*, std::vector<std::size_t>>>;

  // One part of a block's values, and how to run it.
  struct Part {
    std::size_t first = 0, end = 0;          // of the items
    std::optional<Segment> segment;
    std::optional<Session> session;
    std::string failure;                     // why the runtime doesn't take it
    std::vector<const ir::Value*> wanted;    // of TorchScript: what it is given and what it must give
  };

  using Wanted = frontend::Frontend::Wanted;

  // Of one execution of the block that it stands in.
  std::uint64_t bytes_of(const ir::Value* value) const { return survey_.bytes.at(value) / std::max<std::uint64_t>(1, survey_.executions.at(value->block())); }

  // As they are handed over: values around a block once for each of its executions.
  std::uint64_t bytes_of(const std::vector<Wanted>& wanted) const {
    std::uint64_t bytes = 0;
    for (const Wanted& one : wanted)
      for (const ir::Value* value : one.values) bytes += bytes_of(value) * survey_.executions.at(one.block);
    return bytes;
  }

  // Of each block its values and those around it that something stands for. A model whose values take little memory is run once.
  std::vector<Wanted> everything() {
    std::vector<Wanted> wanted;
    collect(*in_.prepared.graph.top(), {}, wanted);
    return wanted;
  }

  void collect(const ir::Block& block, std::vector<const ir::Value*> values, std::vector<Wanted>& wanted) {
    const auto add = [&](const ir::Value* value) {
      if (leaves_.contains(value) && !ir::constant_of(value)) values.push_back(value);
    };
    for (const ir::Value* input : block.inputs()) add(input);
    for (const ir::Node* node : block)
      for (const ir::Value* output : node->outputs()) add(output);
    places_.emplace(&block, wanted.size());
    wanted.push_back({.block = &block, .first = 0, .end = std::numeric_limits<std::uint64_t>::max(), .values = values});
    for (const ir::Node* node : block)
      for (const ir::Block* inner : node->blocks()) collect(*inner, values, wanted);
  }

  struct Executions {
    frontend::Frontend::Inner held;   // what the values are of, unless the survey has them
    std::vector<Values> values;
  };

  Executions values_of(const ir::Block& block, std::uint64_t first, std::uint64_t end, const std::vector<const ir::Value*>& values) {
    Executions made;
    if (!survey_.too_many) {
      const std::size_t place = places_.at(&block);
      made.values = paired(wanted_[place].values, survey_.values[place], first, end);
    } else {
      made.held = ask({{.block = &block, .first = first, .end = end, .values = values}}, std::numeric_limits<std::uint64_t>::max());
      made.values = paired(values, made.held.values.front(), 0, end - first);
    }
    return made;
  }

  static std::vector<Values> paired(const std::vector<const ir::Value*>& values, const std::vector<ir::Constants>& executions, std::uint64_t first, std::uint64_t end) {
    std::vector<Values> made;
    for (std::uint64_t at = first; at < std::min<std::uint64_t>(end, executions.size()); ++at) {
      made.emplace_back();
      for (std::size_t i = 0; i < values.size(); ++i) made.back().emplace(values[i], &executions[at][i]);
    }
    return made;
  }

  frontend::Frontend::Inner ask(const std::vector<Wanted>& wanted, std::uint64_t most_bytes) {
    in_.watch.look();
    if (in_.progress) in_.progress(made_.runs);
    ++made_.runs;
    return in_.frontend.inner_values(*in_.model.file, in_.model.path, in_.prepared.graph, in_.arguments, in_.seed, wanted, most_bytes);
  }

  // `around`: where the values of the blocks around it come from.
  std::optional<BadValue> scan(const ir::Block& block, Sources around) {
    const std::uint64_t executions = survey_.executions.at(&block);
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

  // What is read from around the block comes anew with each of them.
  std::uint64_t executions_at_a_time(Part& part, const std::vector<Item>& items, const Sources& sources) {
    if (!survey_.too_many) return std::numeric_limits<std::uint64_t>::max();
    try {
      open(part, items, sources);
    } catch (const Unreachable&) {
      return 1;
    }
    std::uint64_t bytes = 0;
    for (const ir::Value* value : part.wanted) bytes += bytes_of(value);
    return std::max<std::uint64_t>(1, in_.memory / std::max<std::uint64_t>(1, bytes));
  }

  // A part ends when it holds as much as may be held: so there are no more than all bytes divided by that, and one.
  std::vector<Part> divide(const std::vector<Item>& items) const {
    std::vector<Part> parts;
    std::uint64_t bytes = 0, weights = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (parts.empty() || bytes >= in_.memory || weights >= weight_batch) {
        parts.emplace_back().first = i;
        bytes = weights = 0;
      }
      parts.back().end = i + 1;
      bytes += bytes_of(items[i].value);
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

  std::optional<Segment> segment_of(const std::vector<std::string>& names, const Sources& sources, std::map<std::string, std::vector<std::int64_t>> sizes = {}) const {
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
    std::vector<std::string> names;
    for (std::size_t i = part.first; i < part.end; ++i)
      for (std::string& name : own_names(items[i], sources)) names.push_back(std::move(name));
    std::set<const ir::Value*> wanted;
    for (std::size_t i = part.first; i < part.end; ++i) wanted.insert(items[i].value);
    if (!names.empty()) {
      part.segment = segment_of(names, sources);
      if (!part.segment) throw Unreachable{};
      for (const std::string& input : part.segment->inputs) {
        const auto source = sources.find(input);
        if (source == sources.end()) throw Unreachable{};
        wanted.insert(source->second.first);
      }
      try {
        part.session = in_.runtime.open_bytes(part.segment->bytes);
      } catch (const ModelError& error) {
        part.failure = error.what();
      }
    }
    // An alias is held against what it stands for.
    for (std::size_t i = part.first; i < part.end; ++i) {
      for (const Leaf& leaf : items[i].leaves) wanted.insert(sources.at(leaf.name).first);
      if (const auto by = indexed_by(items[i].value, in_.prepared.facts)) wanted.insert(by->input);
    }
    std::erase_if(wanted, [](const ir::Value* value) { return ir::constant_of(value) != nullptr; });
    part.wanted.assign(wanted.begin(), wanted.end());
  }

  struct Unfed {};         // a value that the nodes read can't be given to the runtime
  struct Unreachable {};   // the nodes of a value need one that nothing stands for

  // Of executions `first` to `end`.
  std::optional<BadValue> look(Part& part, const std::vector<Item>& items, const Sources& sources, const ir::Block& block, std::uint64_t first, std::uint64_t end) {
    if (part.wanted.empty()) {
      try {
        open(part, items, sources);
      } catch (const Unreachable&) {
        if (part.end - part.first == 1) return std::nullopt;
        return one_by_one(part, items, sources, block, first, end);
      }
    }
    std::uint64_t execution = first;
    const Executions executions = values_of(block, first, end, part.wanted);
    for (const Values& values : executions.values)
      if (auto bad = judge(part, items, sources, values, execution++)) return bad;
    return std::nullopt;
  }

  std::optional<BadValue> one_by_one(const Part& part, const std::vector<Item>& items, const Sources& sources, const ir::Block& block, std::uint64_t first, std::uint64_t end) {
    for (std::size_t i = part.first; i < part.end; ++i) {
      Part one;
      one.first = i;
      one.end = i + 1;
      if (auto bad = look(one, items, sources, block, first, end)) return bad;
    }
    return std::nullopt;
  }

  const ir::Constant* value_of(const std::string& name, const Sources& sources, const Values& values) const {
    const auto& [value, path] = sources.at(name);
    const auto held = values.find(value);
    return held == values.end() ? nullptr : member(*held->second, path);
  }

  // As the runtime takes it.
  std::optional<ir::Constant> fed(const std::string& name, const ir::Constant* value) const {
    if (!value) return std::nullopt;
    if (value->is_none()) {   // of a path that isn't taken: any value will do
      const auto dtype = in_.onnx.dtype_of(name);
      if (!dtype) return std::nullopt;
      const ir::Constant nothing = ir::is_floating(*dtype) ? ir::Constant{0.0} : *dtype == ir::DType::boolean ? ir::Constant{false} : ir::Constant{std::int64_t{0}};
      return ir::Constant{*as_tensor(nothing, *dtype)};
    }
    if (holds_tensors(*value) && !in_.onnx.dtype_of(name)) {
      const bool empty = value->get<ir::ListConstant>()->items.empty();   // which the runtime's C API can't make
      return empty ? std::nullopt : std::optional(*value);
    }
    if (auto tensor = as_tensor(*value, in_.onnx.dtype_of(name))) return ir::Constant{std::move(*tensor)};
    return std::nullopt;
  }

  std::optional<BadValue> judge(const Part& part, const std::vector<Item>& items, const Sources& sources, const Values& values, std::uint64_t execution) {
    std::map<std::string, ir::Constant> found;
    std::string failure = part.failure;
    bool unfed = false;
    if (part.session) {
      try {
        found = compute(part, sources, values);
      } catch (const ModelError& error) {
        failure = error.what();
      } catch (const Unfed&) {
        unfed = true;
      }
    }
    if (unfed && part.end - part.first == 1) {   // its bodies may be given what they read
      for (const ir::Block* body : items[part.first].value->producer()->blocks())
        if (auto inside = scan(*body, sources)) return inside;
      return std::nullopt;
    }
    if ((unfed || !failure.empty()) && part.end - part.first > 1) {
      for (std::size_t i = part.first; i < part.end; ++i) {
        Part one;
        one.first = i;
        one.end = i + 1;
        try {
          open(one, items, sources);
        } catch (const Unreachable&) {
          continue;
        }
        if (auto bad = judge(one, items, sources, values, execution)) return bad;
      }
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
    const auto& names = part.session->outputs();
    std::map<std::string, ir::Constant> found;
    for (std::size_t i = 0; i < names.size(); ++i) found.emplace(names[i], results[i]);
    return found;
  }

  // Empty if it agrees.
  std::string compare_leaf(const Item& item, const Leaf& leaf, const std::map<std::string, ir::Constant>& found, const Sources& sources, const Values& values) const {
    const auto held = values.find(item.value);
    const ir::Constant* expected = held == values.end() ? nullptr : member(*held->second, leaf.path);
    if (!expected || expected->is_none()) return {};
    const ir::Constant* got = nullptr;
    if (const auto at = std::ranges::find_if(found, [&](const auto& one) { return one.first == leaf.name || one.first.starts_with(leaf.name + ".computed"); }); at != found.end()) got = &at->second;
    else if (sources.at(leaf.name).first != item.value) got = value_of(leaf.name, sources, values);
    if (!got) return {};
    return compare_values(item, *expected, *got, values);
  }

  std::string compare_values(const Item& item, const ir::Constant& expected, const ir::Constant& got, const Values& values) const {
    if (const auto* list = expected.get<ir::ListConstant>(); list && got.get<ir::ListConstant>()) {
      const auto& members = got.get<ir::ListConstant>()->items;
      if (members.size() != list->items.size()) return "a sequence of " + std::to_string(members.size()) + " for " + std::to_string(list->items.size());
      for (std::size_t i = 0; i < members.size(); ++i)
        if (std::string difference = compare_values(item, list->items[i], members[i], values); !difference.empty()) return difference;
      return {};
    }
    const auto right = as_tensor(got, {});
    const auto left = as_tensor(expected, right ? std::optional(right->dtype) : std::nullopt);
    if (!left || !right) return {};
    const Comparison comparison = compare(*left, *right, in_.tolerance(left->dtype));
    if (comparison.passed()) return {};
    if (comparison.same_form() && (is_arbitrary(*item.value->producer(), in_.model.table, in_.model.schemas) || ties(item, *left, *right, values))) return {};
    return describe(comparison);
  }

  bool ties(const Item& item, const ir::TensorView& expected, const ir::TensorView& found, const Values& values) const {
    const auto by = indexed_by(item.value, in_.prepared.facts);
    const auto input = by ? values.find(by->input) : values.end();
    const auto* tensor = input == values.end() ? nullptr : input->second->get<ir::TensorView>();
    return tensor && is_tie(*by, *tensor, expected, found, in_.tolerance(tensor->dtype));
  }

  BadValue bad_value(const Item& item, const std::string& name, std::string difference, const Sources& sources, const Values& values, std::uint64_t execution) const {
    BadValue bad{.value = item.value, .name = name, .nodes = {}, .difference = std::move(difference), .execution = execution, .segment = {}, .inputs = {}, .expected = {}};
    const auto own = own_names(item, sources);
    if (std::ranges::find(own, name) == own.end()) return bad;   // an alias: no node makes it
    std::map<std::string, std::vector<std::int64_t>> sizes;
    const auto note_size = [&](const std::string& of, const ir::Constant* value) {
      if (const auto* view = value ? value->get<ir::TensorView>() : nullptr) sizes[of] = view->sizes;
      else if (value && !value->get<ir::ListConstant>()) sizes[of] = {};
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
  std::unordered_map<const ir::Value*, std::vector<Leaf>> leaves_;
  std::vector<Wanted> wanted_;                            // everything, by block
  std::unordered_map<const ir::Block*, std::size_t> places_;   // in it
  frontend::Frontend::Inner survey_;                      // of everything
  Bisected made_;
};

}  // namespace

Bisected bisect(const BisectInput& input) { return Bisection(input).run(); }

}  // namespace compatcheck::verification
