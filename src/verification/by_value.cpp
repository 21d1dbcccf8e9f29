#include "verification/by_value.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <unordered_set>

#include "analysis/site.h"
#include "compatcheck/error.h"
#include "process/spell_count.h"
#include "schema/traits.h"
#include "verification/compare.h"
#include "verification/value_pairs.h"

namespace compatcheck::verification {
namespace {

using Values = std::unordered_set<const ir::Value*>;
using Tensors = ValuePairs::Tensors;

constexpr std::size_t most_places = 24;   // places in the file to try for one value
constexpr int most_trials = 96;           // trials in total
constexpr std::size_t most_behind = 64;   // values of the file behind a place
constexpr std::size_t most_listed = 4;    // operators in a sentence
constexpr std::size_t most_suspects = 4;  // calls of which one is named

bool is_pairable(const ir::Value* value) {
  const auto is_tensor = [](const ir::TypeRef& type) { return ir::is(type, ir::TypeKind::tensor); };
  return is_tensor(value->type()) || (value->type() && std::ranges::any_of(value->type()->elements, is_tensor));
}

// The tensors that a node of the top block reads, in its bodies too; lists of them by their members.
void add_read(const ir::Node& node, Values& lists, std::vector<const ir::Value*>& values) {
  const ir::Block* top = node.graph()->top();
  const auto add = [&](const ir::Value* value) {
    if (value->block() != top || ir::constant_of(value) || !is_pairable(value)) return;
    if (ir::is(value->type(), ir::TypeKind::tensor) || !value->producer()) return values.push_back(value);
    if (lists.insert(value).second) add_read(*value->producer(), lists, values);
  };
  for (const ir::Value* input : node.inputs()) add(input);
  for (const ir::Block* body : node.blocks()) {
    ir::for_each_node(*body, [&](const ir::Node* inner) { std::ranges::for_each(inner->inputs(), add); });
    std::ranges::for_each(body->outputs(), add);
  }
}

std::vector<const ir::Value*> read_for(const ir::Value* value) {
  Values lists;
  std::vector<const ir::Value*> values;
  if (value->producer()) add_read(*value->producer(), lists, values);
  return values;
}

// Elements of its input in other places: right wherever in the file that input is put.
bool moves_elements(const ir::Node& node) {
  using schema::Trait;
  static const std::set<std::string_view> others = {"aten::_unsafe_view", "aten::dropout", "aten::flip", "aten::repeat",
                                                    "aten::reshape_as",   "aten::roll",    "aten::tile"};
  return node.op().starts_with("prim::") || others.contains(node.op()) ||
         std::ranges::any_of(std::array{Trait::view, Trait::split, Trait::same_order},
                             [&](Trait trait) { return schema::has_trait(node.op(), trait); });
}

bool is_moved(const ir::Value* value, const ir::Value* from) {
  while (value != from) {
    const ir::Node* node = value->producer();
    if (!node || !moves_elements(*node) || node->inputs().empty()) return false;
    value = node->input(0);
  }
  return true;
}

// "aten::gelu at net.py:7 in layers.1"
std::string place_of_value(const ir::Value* value) {
  const ir::Node& node = *value->producer();
  const Site site = analysis::site_of(node, 0);
  return node.op() + analysis::place_text(site) + (site.module.empty() ? "" : " in " + site.module);
}

std::string places_of(const std::vector<const ir::Value*>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size() && i < most_listed; ++i) text += (i ? ", " : "") + place_of_value(values[i]);
  return text + (values.size() > most_listed ? " and " + std::to_string(values.size() - most_listed) + " more" : "");
}

class FaultSearch {
 public:
  FaultSearch(const BisectInput& in, const NamedValues& inputs, const PairedOutputs& outputs)
      : in_(in), outputs_(outputs), pairs_(in, inputs) {}

  BisectedByValue run() {
    find_bad_outputs();
    const std::size_t paired = static_cast<std::size_t>(
        std::ranges::count_if(pairs_.values(), [&](const ir::Value* value) { return is_paired(value); }));
    if (bad_.empty()) {
      made_.note = "the outputs agree without ONNX Runtime's graph optimizations, so one of these optimizations is at fault";
      return finish();
    }
    find_unpaired();
    for (const ir::Value* value : unpaired_)
      if (trials_left_ > 0 && find_place(value)) return finish();
    made_.note = "the search can't name an operator: the file holds " + std::to_string(paired) + " of the " +
                 spell_count(pairs_.values().size(), "value") + " that TorchScript computes";
    if (!unpaired_.empty())
      made_.note += "; it lacks the values of " + places_of(unpaired_) + ", which come before the wrong outputs";
    return finish();
  }

 private:
  BisectedByValue finish() {
    made_.found.runs = pairs_.runs();
    made_.found.bytes = pairs_.bytes();
    made_.found.compared = pairs_.values().size();
    return std::move(made_);
  }

  bool is_bad_output(const ir::Value* value) const {
    return std::ranges::any_of(bad_, [&](const auto& output) { return output.first == value; });
  }
  bool is_paired(const ir::Value* value) const { return pairs_.is_paired(value) && !is_bad_output(value); }

  // Outputs are paired by their places; of the file as it is, without the runtime's own rewriting.
  void find_bad_outputs() {
    for (const auto& output : outputs_) {
      if (!in_.onnx.is_made(output.second) || !pairs_.sketch(output.first)) continue;
      const auto expected = pairs_.value_of(output.first);
      const auto got = try_run({output.second}, {});
      const auto found = got.find(output.second);
      if (expected && (found == got.end() || !pairs_.agree(*expected, found->second))) bad_.push_back(output);
    }
  }

  // Empty where the runtime fails.
  Tensors try_run(const std::vector<std::string>& names, const Tensors& given) const {
    try {
      return pairs_.run(names, given);
    } catch (const ModelError&) {
      return {};
    }
  }

  // Finds the values that the bad outputs depend on, in the model's order. An error of a value may vanish in a paired value
  // that adds large numbers to it.
  void find_unpaired() {
    Values outputs;
    for (const auto& [value, name] : bad_) outputs.insert(value);
    const Values all = all_before(outputs);
    for (const ir::Value* value : pairs_.values())
      if (all.contains(value) && !is_paired(value)) unpaired_.push_back(value);
  }

  // The unpaired values that this one depends on, itself the last, and the paired ones before them.
  struct Region {
    std::vector<const ir::Value*> values;
    Values before;
  };
  Region region_of(const ir::Value* value) const {
    Values seen;
    Region region;
    std::vector<const ir::Value*> waiting = {value};
    while (!waiting.empty()) {
      const ir::Value* next = waiting.back();
      waiting.pop_back();
      if (next != value && (!next->producer() || is_paired(next))) {
        region.before.insert(next);
        continue;
      }
      if (!seen.insert(next).second) continue;
      for (const ir::Value* read : read_for(next)) waiting.push_back(read);
    }
    for (const ir::Value* each : unpaired_)
      if (seen.contains(each)) region.values.push_back(each);
    return region;
  }

  static Values all_before(const Values& values) {
    Values seen;
    std::vector<const ir::Value*> waiting(values.begin(), values.end());
    while (!waiting.empty()) {
      const ir::Value* next = waiting.back();
      waiting.pop_back();
      if (!seen.insert(next).second) continue;
      for (const ir::Value* read : read_for(next)) waiting.push_back(read);
    }
    return seen;
  }

  // The file's nodes between paired values and this value.
  std::optional<Segment> segment_to(const std::string& name, std::map<std::string, std::vector<std::int64_t>> sizes = {}) const {
    std::set<std::string> cut = pairs_.paired_names();
    for (const auto& [value, output] : bad_) cut.erase(output);
    cut.erase(name);
    std::map<std::string, ir::DType> dtypes;
    for (const std::string& each : cut) dtypes.emplace(each, pairs_.sketch(each)->dtype);
    const std::set<std::string> no_sequences;
    return in_.onnx.segment({{name}, cut, dtypes, no_sequences, std::move(sizes)});
  }

  // It is made of the same as the region, as far as that is paired.
  bool is_made_of(const Segment& segment, const Values& before) const {
    return std::ranges::all_of(segment.inputs, [&](const std::string& input) {
      const auto* partners = pairs_.partners(input);
      return !partners || std::ranges::any_of(*partners, [&](const ir::Value* one) { return before.contains(one); });
    });
  }

  // Finds a place where the file has this value, but wrong: with TorchScript's value there, the file computes the rest
  // correctly.
  bool find_place(const ir::Value* value) {
    const Region region = region_of(value);
    const Values before = all_before(region.before);
    const Sketch& own = *pairs_.sketch(value);
    if (own.is_even && !is_bad_output(value)) return false;
    if (region.values.size() > most_suspects) return false;
    const auto expected = pairs_.value_of(value);
    if (!expected) return false;
    std::size_t places_left = most_places;
    for (const std::string& name : pairs_.names()) {
      if (places_left == 0 || trials_left_ <= 0) return false;
      if (!may_stand_for(name, value, own)) continue;
      in_.watch.look();
      const auto segment = segment_to(name);
      if (!segment || !is_made_of(*segment, before)) continue;
      --places_left;
      --trials_left_;
      const Tensors given = given_to(*segment);
      if (is_right(name, given, *expected) || !heals(value, name, *expected)) continue;
      report(value, name, region, *segment, given, *expected);
      return true;
    }
    return false;
  }

  bool may_stand_for(const std::string& name, const ir::Value* value, const Sketch& own) const {
    if (std::ranges::any_of(bad_, [&](const auto& output) { return output.second == name; }))
      return std::ranges::find(bad_, std::pair(value, name)) != bad_.end();
    if (is_bad_output(value) || pairs_.paired_names().contains(name)) return false;
    if (const Sketch* other = pairs_.sketch(name)) return other->dtype == own.dtype && other->sizes == own.sizes;
    return in_.onnx.dtype_of(name) == own.dtype && in_.onnx.rank_of(name).value_or(own.sizes.size()) == own.sizes.size();
  }

  Tensors given_to(const Segment& segment) {
    Tensors given;
    for (const std::string& input : segment.inputs)
      if (const auto* partners = pairs_.partners(input))
        if (auto tensor = pairs_.value_of(partners->front())) given.emplace(input, std::move(*tensor));
    return given;
  }

  // On TorchScript's own values the file's nodes give the same: the fault lies before them.
  bool is_right(const std::string& name, const Tensors& given, const ir::TensorView& expected) const {
    const Tensors found = try_run({name}, given);
    const auto got = found.find(name);
    return got != found.end() && compare(expected, got->second, in_.tolerance(expected.dtype)).passed();
  }

  bool heals(const ir::Value* value, const std::string& name, const ir::TensorView& expected) {
    if (std::ranges::find(bad_, std::pair(value, name)) != bad_.end()) return true;
    std::vector<std::string> behind;
    std::set<std::string> outputs;
    for (const auto& [output, each] : bad_) outputs.insert(each);
    const auto at = std::ranges::find(pairs_.names(), name);
    for (auto next = at == pairs_.names().end() ? at : at + 1; next != pairs_.names().end(); ++next)
      if (outputs.contains(*next) || (behind.size() < most_behind && !pairs_.paired_names().contains(*next)))
        behind.push_back(*next);
    if (behind.empty()) return false;
    const Tensors found = try_run(behind, {{name, expected}});
    for (const ir::Value* next : unpaired_) {
      if (next == value || pairs_.is_even(next) || !depends(next, value)) continue;
      std::optional<ir::TensorView> right;
      for (const auto& [other, tensor] : found) {
        const bool in_place = std::ranges::find(bad_, std::pair(next, other)) != bad_.end();
        if (!in_place && (outputs.contains(other) || is_moved(next, value))) continue;
        if (!pairs_.may_agree(*pairs_.sketch(next), sketch_of(tensor))) continue;
        if (!right) right = pairs_.value_of(next);
        if (right && pairs_.agree(*right, tensor)) return true;
      }
    }
    return false;
  }

  bool depends(const ir::Value* value, const ir::Value* on) const {
    const Region region = region_of(value);
    return std::ranges::find(region.values, on) != region.values.end();
  }

  void report(const ir::Value* value, const std::string& name, const Region& region, const Segment& segment, const Tensors& given,
              const ir::TensorView& expected) {
    BadValue bad{
        .value = value, .name = name, .nodes = segment.nodes, .difference = {}, .segment = {}, .inputs = {}, .expected = {}};
    try {
      const Tensors found = pairs_.run({name}, given);
      if (const auto got = found.find(name); got != found.end())
        bad.difference = describe(compare(expected, got->second, in_.tolerance(expected.dtype)));
    } catch (const ModelError& error) {
      bad.difference = error.what();
    }
    add_case(bad, segment, given, expected);
    std::vector<const ir::Value*> others(region.values);
    std::erase(others, value);
    std::string& note = made_.note;
    note = "the values of the file were compared by their elements, because their names come from another exporter";
    if (!others.empty())
      note += "; the fault may also be in " + places_of(others) + ", because the file doesn't hold their values";
    for (const ir::Value* before : region.before)
      if (before->producer() && pairs_.is_even(before))
        note += "; the result of " + place_of_value(before) + " has equal elements only, so its pair is uncertain";
    made_.found.bad = std::move(bad);
  }

  // The nodes alone, given what TorchScript has.
  void add_case(BadValue& bad, const Segment& segment, const Tensors& given, const ir::TensorView& expected) const {
    for (const std::string& input : segment.inputs) {
      if (const auto found = given.find(input); found != given.end())
        bad.inputs.emplace_back(input, ir::Constant{found->second});
      else if (const auto whole = pairs_.input(input))
        bad.inputs.emplace_back(input, *whole);
    }
    if (bad.inputs.size() != segment.inputs.size()) return bad.inputs.clear();
    std::map<std::string, std::vector<std::int64_t>> sizes = {{bad.name, expected.sizes}};
    for (const auto& [input, value] : bad.inputs)
      if (const auto* tensor = value.get<ir::TensorView>()) sizes[input] = tensor->sizes;
    bad.segment = segment_to(bad.name, std::move(sizes)).value_or(segment);
    bad.expected = ir::Constant{expected};
  }

  const BisectInput& in_;
  const PairedOutputs& outputs_;
  ValuePairs pairs_;
  PairedOutputs bad_;                       // outputs that differ
  std::vector<const ir::Value*> unpaired_;  // values that the bad outputs depend on
  int trials_left_ = most_trials;
  BisectedByValue made_;
};

}  // namespace

BisectedByValue bisect_by_value(const BisectInput& input, const NamedValues& inputs, const PairedOutputs& outputs) {
  return FaultSearch(input, inputs, outputs).run();
}

}  // namespace compatcheck::verification
