// The roles of a call's nodes: its meaning, or plumbing.
#include <algorithm>
#include <array>

#include "onnx/builder.h"

namespace compatcheck::onnx {
namespace {

// Sizes become elements there: the result is data.
bool fills(std::string_view op) {
  static constexpr std::array names{"ConstantOfShape", "EyeLike", "Expand", "OneHot", "Range", "Tile"};
  return std::ranges::find(names, op) != names.end();
}

// The operator gives the elements of its first input; its other inputs say how.
bool moves_its_first(std::string_view op) {
  static constexpr std::array names{"Expand", "Gather",  "Pad",  "Reshape",   "Slice",
                                    "Split",  "Squeeze", "Tile", "Transpose", "Unsqueeze"};
  return std::ranges::find(names, op) != names.end();
}

}  // namespace

Value Builder::size(const Value& value) {
  if (value && !value.sequence && !constants_.contains(value.id)) sizes_.emplace(value.id, from_outside);
  return value;
}

// A node that reads nothing but sizes and constants computes a size; one that moves a constant's elements moves data.
void Builder::record(const Node& node) {
  Added added{.op = node.domain.empty() ? node.op : node.domain + "::" + node.op, .role = role_, .of_sizes = false, .inputs = {}};
  bool reads_sizes = node.op == "Shape" || node.op == "Size";
  const bool of_data = moves_its_first(node.op) && !sizes_.contains(node.inputs.front());
  const bool sizes_alone = reads_sizes || std::ranges::all_of(node.inputs, [&](ValueId input) {
                             const bool size = sizes_.contains(input);
                             reads_sizes |= size;
                             return size || input == absent || constants_.contains(input);
                           });
  const bool has_bodies = std::ranges::any_of(node.attributes, [](const NodeAttribute& attribute) {
    return std::holds_alternative<std::shared_ptr<Graph>>(attribute.value);
  });
  if (node.domain.empty() && reads_sizes && sizes_alone && !of_data && !has_bodies && !fills(node.op)) {
    added.of_sizes = true;
    added.inputs = node.inputs;
    for (const ValueId output : node.outputs) sizes_.emplace(output, emitted_.size());
  }
  emitted_.push_back(std::move(added));
}

void Builder::mark_result(const Value& value) {
  const auto found = sizes_.find(value.id);
  if (found == sizes_.end() || found->second >= emitted_.size()) return;
  Added& added = emitted_[found->second];
  if (!std::exchange(added.of_sizes, false)) return;
  for (const ValueId input : added.inputs) mark_result({input});
}

std::vector<Emitted> Builder::take_emitted() {
  std::vector<Emitted> all;
  for (Added& added : emitted_) {
    const bool meant =
        added.role == Role::work || (added.role == Role::layout && std::ranges::find(meaning_, added.op) != meaning_.end());
    const bool plumbing = added.of_sizes || !meant;
    if (!all.empty() && all.back().op == added.op && all.back().plumbing == plumbing)
      ++all.back().count;
    else
      all.push_back({.op = std::move(added.op), .plumbing = plumbing});
  }
  emitted_.clear();
  sizes_.clear();
  return all;
}

}  // namespace compatcheck::onnx
