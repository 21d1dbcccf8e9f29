#include "verification/feed.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compatcheck/error.h"
#include "verification/pairing.h"

namespace compatcheck::verification {
namespace {

const ir::Constant* leaf(const MadeCall& call, const std::string& name) {
  const auto found = std::ranges::find(call.leaves, name, &std::pair<std::string, ir::Constant>::first);
  return found == call.leaves.end() ? nullptr : &found->second;
}

// One side may have a list as one value, the other its members: a sequence that is given member by member, or "sizes.1" of a
// list.
std::optional<ir::Constant> by_members(const MadeCall& call, const std::string& name) {
  ir::ListConstant whole{ir::tensor_type(), {}};
  while (const auto* member = leaf(call, name + "." + std::to_string(whole.items.size()))) whole.items.push_back(*member);
  if (!whole.items.empty()) return ir::Constant{std::move(whole)};
  const auto dot = name.rfind('.');
  const auto* value = dot == name.npos ? nullptr : leaf(call, name.substr(0, dot));
  const auto* list = value ? value->get<ir::ListConstant>() : nullptr;
  for (std::size_t i = 0; list && i < list->items.size(); ++i)
    if (name.substr(dot + 1) == std::to_string(i)) return list->items[i];
  return std::nullopt;
}

std::optional<ir::Constant> named(const MadeCall& call, const std::string& input) {
  if (const auto* found = leaf(call, input)) return *found;
  return by_members(call, input);
}

// Whether an input has the value's name, or the name of a member of the value or of the list that holds it.
bool is_matched(const std::string& value, const std::vector<std::string>& inputs) {
  return std::ranges::any_of(inputs, [&](const std::string& input) {
    return input == value || input.starts_with(value + ".") || value.starts_with(input + ".");
  });
}

[[noreturn]] void refuse(const std::string& input, const Statements& stated) {
  const std::string how = how_to_state(stated.file, stated.options, stated.model);
  throw UsageError(how.empty() ? "the TorchScript model is given no value for the ONNX model's input '" + input + "'" : how);
}

}  // namespace

ir::Constants feed(const MadeCall& call, const std::vector<std::string>& inputs, const Statements& stated) {
  if (!stated.file.empty())
    if (const std::string other = other_members(inputs, call, stated.options, stated.model); !other.empty())
      throw UsageError(other);
  if (stated.values)
    if (const std::string other = other_values(inputs, call, *stated.values, stated.options, stated.model); !other.empty())
      throw UsageError(other);
  ir::Constants values;
  std::vector<std::size_t> others;
  for (const std::string& input : inputs) {
    auto found = named(call, input);
    if (!found) others.push_back(values.size());
    values.push_back(found ? *std::move(found) : ir::Constant());
  }
  if (others.empty()) return values;
  std::vector<const ir::Constant*> rest;  // remaining values, in order
  for (const auto& [name, value] : call.leaves)
    if (!is_matched(name, inputs)) rest.push_back(&value);
  if (rest.size() != others.size()) refuse(inputs[others.front()], stated);
  for (std::size_t i = 0; i < rest.size(); ++i) values[others[i]] = *rest[i];
  return values;
}

}  // namespace compatcheck::verification
