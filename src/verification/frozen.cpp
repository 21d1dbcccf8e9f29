#include "verification/frozen.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "analysis/input_spec.h"
#include "analysis/site.h"
#include "ir/constant.h"
#include "verification/compare.h"

namespace compatcheck::verification {
namespace {

constexpr std::size_t most_visited = 10'000;

bool has_size(const std::vector<std::int64_t>& sizes, std::int64_t size) { return std::ranges::find(sizes, size) != sizes.end(); }

// The nodes that the reason speaks of.
std::vector<std::pair<const ir::Node*, std::uint32_t>> failing(const std::string& reason, const ir::Graph& graph) {
  std::vector<std::pair<const ir::Node*, std::uint32_t>> nodes;
  std::uint32_t index = 0;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    const auto names = [&](const std::string& place) { return reason.find(place + ":") != reason.npos; };
    if (names(interpreter_place(*node)) || names(analysis::place_text(*node))) nodes.emplace_back(node, index);
    ++index;
  });
  return nodes;
}

class CauseSearch {
 public:
  CauseSearch(const std::string& name, std::int64_t size, const analysis::Prepared& prepared)
      : name_(name), size_(size), prepared_(prepared) {}

  // Breadth first: the nearest is the likeliest.
  std::string run(const std::vector<std::pair<const ir::Node*, std::uint32_t>>& from) {
    for (const auto& [node, index] : from) add_inputs(*node);
    while (!waiting_.empty() && seen_.size() < most_visited) {
      const auto [value, reader] = waiting_.front();
      waiting_.pop_front();
      if (std::string found = look(*value, *reader); !found.empty()) return found;
      if (const ir::Node* producer = value->producer()) add_inputs(*producer);
    }
    return {};
  }

 private:
  void add_inputs(const ir::Node& node) {
    for (const ir::Value* input : node.inputs())
      if (seen_.insert(input).second) waiting_.emplace_back(input, &node);
  }

  std::string look(const ir::Value& value, const ir::Node& reader) const {
    if (const ir::Constant* constant = ir::constant_of(&value)) return constant_cause(*constant, reader);
    const auto inputs = prepared_.graph.inputs();
    return std::ranges::find(inputs, &value) == inputs.end() ? std::string() : input_cause(value);
  }

  std::string constant_cause(const ir::Constant& constant, const ir::Node& reader) const {
    const std::string had = std::to_string(size_) + ", the size that '" + name_ + "' had";
    if (const auto* tensor = constant.get<ir::TensorView>())
      return has_size(tensor->sizes, size_) ? analysis::place_text(reader) + " reads a constant of the file with the shape " +
                                                  spell(tensor->sizes) + ", which holds " + had
                                            : "";
    std::vector<std::int64_t> numbers;
    if (const auto* number = constant.get<std::int64_t>()) numbers = {*number};
    if (const auto* list = constant.get<ir::ListConstant>())
      for (const ir::Constant& item : list->items)
        if (const auto* number = item.get<std::int64_t>()) numbers.push_back(*number);
    const auto multiple =
        std::ranges::find_if(numbers, [&](std::int64_t number) { return number != size_ && number > 0 && number % size_ == 0; });
    if (has_size(numbers, size_))
      return analysis::place_text(reader) + " reads the constant " + had + " when the model was traced: " + without_int;
    if (numbers.size() > 0 && multiple != numbers.end())
      return analysis::place_text(reader) + " reads the constant " + std::to_string(*multiple) + ", a multiple of " + had +
             " when the model was traced: " + without_int;
    return {};
  }

  std::string input_cause(const ir::Value& input) const {
    const auto* tensor = prepared_.facts.of(&input).tensor();
    if (!tensor || !tensor->shape) return {};
    std::string dims;
    bool found = false;
    for (const auto& dim : *tensor->shape) {
      const bool is_it = !found && dim.number() == size_;
      found |= is_it;
      dims += (dims.empty() ? "" : ",") + (is_it ? name_ : dim.to_string());
    }
    if (!found) return {};
    return "input '" + input.name() + "' has the fixed size " + std::to_string(size_) + ", which may have to be '" + name_ +
           "': name that size, too (--input " + input.name() + "=" +
           (tensor->dtype ? std::string(ir::name(*tensor->dtype)) + ":" : "") + dims + ")";
  }

  const std::string& name_;
  std::int64_t size_;
  const analysis::Prepared& prepared_;
  std::deque<std::pair<const ir::Value*, const ir::Node*>> waiting_;
  std::set<const ir::Value*> seen_;
};

}  // namespace

std::string interpreter_place(const ir::Node& node) {
  const auto& at = node.location();
  return node.op() + (at && !at->file.empty() ? " at " + at->file + ":" + std::to_string(at->line) : "");
}

Frozen explain_frozen(const std::string& reason, const std::string& name, std::int64_t size, const analysis::Prepared& prepared,
                      const std::optional<FixedTie>& tie) {
  Frozen frozen;
  auto nodes = failing(reason, prepared.graph);
  if (nodes.empty() && tie) nodes.emplace_back(tie->reader, 0);
  for (const auto& [node, index] : nodes) frozen.sites.push_back(analysis::site_of(*node, index));
  // The number 1 is everywhere and identifies no cause.
  if (size > 1) frozen.help = CauseSearch(name, size, prepared).run(nodes);
  if (frozen.help.empty() && tie)
    frozen.help =
        analysis::place_text(*tie->reader) + " needs this equation; its number comes from a constant or a tensor in the file";
  if (frozen.help.empty()) frozen.help = "TorchScript fails at every other size that was tried: state the number in --input";
  frozen.help += "; --dim " + name + "=" + std::to_string(size) + " verifies this size alone";
  return frozen;
}

}  // namespace compatcheck::verification
