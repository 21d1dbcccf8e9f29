#include "analysis/container_advice.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/advice.h"
#include "analysis/site.h"
#include "ir/control_flow.h"
#include "ir/value_name.h"
#include "passes/loops.h"
#include "passes/unfollowed.h"

namespace compatcheck::analysis {
namespace {

using ir::TypeKind;
using passes::Unfollowed;

constexpr std::size_t most_containers = 400;

bool is_followable(const ir::TypeRef& type) {
  const ir::TypeRef& held = ir::without_optional(type);
  return ir::is(held, TypeKind::list) || ir::is(held, TypeKind::dict) || ir::is(held, TypeKind::named) ||
         (ir::is(held, TypeKind::tuple) && std::ranges::any_of(held->elements, is_followable));
}

struct Marked {
  const ir::Value* made = nullptr;
  std::int64_t mark = 0;
};

// Returns the values for which the call may fail: its first argument, or the results of a branch or loop.
std::vector<const ir::Value*> handled_by(const conversion::Outcome& outcome) {
  const ir::Node& call = *outcome.node;
  const auto inputs = call.inputs(), outputs = call.outputs();
  if (call.is("prim::Return")) return {};
  if (!call.blocks().empty())
    return outcome.reason.starts_with("ONNX has no value for") ? std::vector<const ir::Value*>(outputs.begin(), outputs.end())
                                                               : std::vector<const ir::Value*>();
  if (inputs.empty()) return {outputs.begin(), outputs.end()};
  return {inputs[0]};
}

// The nearest container that is marked, on the way back from what the call handles.
Marked marked_container(const conversion::Outcome& outcome) {
  std::vector<const ir::Value*> waiting = handled_by(outcome);
  std::unordered_set<const ir::Value*> seen;
  for (std::size_t at = 0; at < waiting.size() && seen.size() < most_containers; ++at) {
    const ir::Value* value = waiting[at];
    if (!is_followable(value->type()) || !seen.insert(value).second) continue;
    const ir::Node* producer = value->producer();
    if (!producer) {
      if (const auto carried = ir::carried_by(value))
        waiting.insert(waiting.end(), {carried->initial_value(), carried->next_value()});
      continue;
    }
    if (const ir::Constant* mark = producer->attribute(passes::unfollowed_mark))
      if (const auto* number = mark->get<std::int64_t>()) return {value, *number};
    waiting.insert(waiting.end(), producer->inputs().begin(), producer->inputs().end());
    for (const ir::Block* block : producer->blocks())
      if (const auto results = ir::returned_results(*block); value->index() < results.size())
        waiting.push_back(results[value->index()]);
  }
  return {};
}

Unfollowed why(const Marked& marked) { return passes::UnfollowedMark::of(marked.mark).why; }

// "the list `groups`", "the dict", "`track`".
std::string named(const ir::Value& value) {
  const std::string name(ir::source_name(value));
  const ir::TypeRef& type = ir::without_optional(value.type());
  const std::string_view kind = ir::is(type, TypeKind::list) ? "list" : ir::is(type, TypeKind::dict) ? "dict" : "object";
  return "the " + std::string(kind) + (name.empty() ? " that is made here" : " `" + name + "`");
}

std::string plural(const ir::TypeRef& type) {
  using enum TypeKind;
  if (ir::is(type, tensor)) return "tensors";
  if (ir::is(type, integer)) return "ints";
  if (ir::is(type, floating)) return "floats";
  if (ir::is(type, boolean)) return "bools";
  if (ir::is(type, string)) return "texts";
  if (ir::is(type, dict)) return "dictionaries";
  if (ir::is(type, list)) return "lists of " + plural(type->elements.front());
  if (ir::is(type, tuple)) return "tuples";
  if (ir::is(type, optional)) return "values that may be None";
  return ir::is(type, named) ? "objects" : "such values";
}

bool is_plain_number(const ir::TypeRef& type) {
  return ir::is(type, TypeKind::integer) || ir::is(type, TypeKind::floating) || ir::is(type, TypeKind::boolean);
}

// Whether there are lists of such items.
bool is_fit(const ir::TypeRef& part) {
  return is_plain_number(part) || ir::is(part, TypeKind::tensor) ||
         (ir::is(part, TypeKind::list) && is_plain_number(part->elements.front()));
}

// The part of an item for which there is no list: what is in a tuple counts by itself.
const ir::TypeRef& unfit_part(const ir::TypeRef& item) {
  if (!ir::is(item, TypeKind::tuple)) return item;
  for (const ir::TypeRef& part : item->elements)
    if (const ir::TypeRef& unfit = unfit_part(part); !is_fit(unfit)) return unfit;
  return item->elements.empty() ? item : item->elements.front();
}

std::string hint_for_items(const ir::TypeRef& part, bool of_dict) {
  if (ir::is(part, TypeKind::list)) {
    if (ir::is(part->elements.front(), TypeKind::tensor))
      return std::string("make one tensor of each inner list: torch.cat adds to it") +
             (of_dict ? "" : "; or keep all tensors in one list, and how many belong together in a list of ints");
    return of_dict ? "make one tensor of each inner list, or use a dictionary with more keys: n * key + place"
                   : "keep what the inner lists hold in one list, and their lengths in a list of ints";
  }
  if (ir::is(part, TypeKind::dict)) {
    if (ir::is(part->elements.front(), TypeKind::string)) return "give each of these dictionaries the same keys, from the start";
    return of_dict ? "use one dictionary, whose keys say both: n * outer key + inner key"
                   : "use one dictionary, whose keys also say which item of the list is meant: n * place + key";
  }
  if (ir::is(part, TypeKind::optional)) return "use a value in each case, and a bool that says whether it counts";
  return "keep what the items are made of in a list for each of their parts";
}

std::optional<ContainerAdvice> of_items(const ir::Value& made) {
  const ir::TypeRef& type = ir::without_optional(made.type());
  const bool dict = ir::is(type, TypeKind::dict);
  const ir::TypeRef &item = type->elements.back(), &part = unfit_part(item);
  if (is_fit(part)) return std::nullopt;  // what it holds stays for another reason
  std::string reason = "only the running model knows " + std::string(dict ? "the keys of " : "the length of ") + named(made) +
                       ", and ONNX has no list for its " + (dict ? "values" : "items") + ", which are " + plural(item);
  if (part != item) reason += " with " + plural(part);
  return ContainerAdvice{.reason = std::move(reason), .hint = hint_for_items(part, dict)};
}

}  // namespace

std::optional<std::int64_t> container_group(const conversion::Outcome& outcome) {
  const Marked marked = marked_container(outcome);
  return marked.made ? std::optional(passes::UnfollowedMark::of(marked.mark).place) : std::nullopt;
}

const conversion::Outcome* first_of_group(const std::vector<const conversion::Outcome*>& calls) {
  const auto says = [](const conversion::Outcome* call) {
    return std::tuple(container_advice(*call).has_value(), call->unresolved_write,
                      !site_of(*call->node, 0).file.starts_with("code/"));
  };
  return *std::ranges::max_element(calls, {}, says);
}

bool fails_for_every_input(const conversion::Outcome& outcome) {
  const Unfollowed reason = why(marked_container(outcome));
  return reason == Unfollowed::of_names || reason == Unfollowed::of_copies;
}

bool fails_for_keys(const conversion::Outcome& outcome) { return why(marked_container(outcome)) == Unfollowed::of_keys; }

namespace {

// A loop or branch fails for every size, as long as a call in it fails for the same reason.
void withdraw_around(conversion::Assessment& assessment) {
  std::unordered_map<const ir::Node*, conversion::Outcome*> outcomes;
  for (conversion::Outcome& outcome : assessment.outcomes) outcomes.emplace(outcome.node, &outcome);
  for (const conversion::Outcome& inner : assessment.outcomes) {
    if (inner.status != conversion::Status::refused || !inner.wants.empty()) continue;
    for (const ir::Block* block = inner.node->owner(); block && block->owner(); block = block->parent()) {
      const auto around = outcomes.find(block->owner());
      if (around == outcomes.end() || around->second->reason != inner.reason || around->second->wants.empty()) continue;
      around->second->wants.clear();
      around->second->option.clear();
      around->second->status = conversion::Status::refused;
    }
  }
}

}  // namespace

void settle_needs_input(conversion::Assessment& assessment) {
  using conversion::Status;
  withdraw_around(assessment);
  std::set<std::int64_t> fail;
  for (const conversion::Outcome& outcome : assessment.outcomes)
    if (conversion::is_failure(outcome.status) && outcome.wants.empty())
      if (const auto group = container_group(outcome)) fail.insert(*group);
  for (conversion::Outcome& outcome : assessment.outcomes) {
    if (outcome.wants.empty() || outcome.status == Status::ok) continue;
    const auto group = container_group(outcome);
    if (group && fail.contains(*group)) {
      outcome.wants.clear();
      outcome.option.clear();
      if (outcome.status == Status::needs_input) outcome.status = Status::refused;
    } else if (outcome.status == Status::missing && is_beyond_rows(*outcome.node)) {
      outcome.status = Status::needs_input;
    }
  }
}

namespace {

// How to write what changes a list.
constexpr std::string_view new_list = ": `l = l + [v]` instead of `l.append(v)`";

std::string without_changes() {
  return "make a new list instead of changing one that other names or lists may hold" + std::string(new_list);
}

bool holds_numbers(const ir::TypeRef& type) {
  const ir::TypeRef& item = type->elements.front();
  return is_plain_number(item) || (ir::is(item, TypeKind::list) && is_plain_number(item->elements.front()));
}

}  // namespace

std::string long_loop_around(const conversion::Outcome& outcome) {
  if (outcome.node->inputs().empty() || !is_followable(outcome.node->input(0)->type())) return {};
  for (const ir::Block* block = outcome.node->owner(); block && block->owner(); block = block->parent())
    if (const auto iterations =
            block->owner()->is("prim::Loop") ? passes::iterations_beyond_budget(*block->owner()) : std::nullopt)
      return "; the loop around it has " + std::to_string(*iterations) + " iterations, too many to unroll it";
  return {};
}

std::optional<ContainerAdvice> container_advice(const conversion::Outcome& outcome) {
  const Marked marked = marked_container(outcome);
  const ir::Value* made = marked.made;
  if (!made) return std::nullopt;
  const ir::TypeRef& type = ir::without_optional(made->type());
  const bool items = ir::is(type, TypeKind::list) || ir::is(type, TypeKind::dict);
  const Unfollowed reason = why(marked);
  const std::string loop = long_loop_around(outcome);
  if (reason == Unfollowed::of_items && items) {
    auto advice = of_items(*made);
    if (advice) advice->reason += loop;
    return advice;
  }
  if (reason == Unfollowed::of_keys && ir::is(type, TypeKind::dict))
    return ContainerAdvice{.reason = "only the running model knows a key of " + named(*made) + ", whose keys are " +
                                     plural(type->elements.front()) + ", and ONNX has no dictionaries",
                           .hint = "use ints as keys, or keys that are fixed in the model's code"};
  if (reason == Unfollowed::of_names)
    return ContainerAdvice{.reason = "only the running model knows which other names or lists also hold " + named(*made) +
                                     ", which is changed" + loop,
                           .hint = "make a new one with the changed values instead of changing it" +
                                   std::string(ir::is(type, TypeKind::list) ? new_list : "")};
  if (reason == Unfollowed::of_copies)
    return ContainerAdvice{
        .reason = "loops are unrolled to follow " + named(*made) + ", but they have too many iterations for this",
        .hint = "use sizes or numbers with which the loops have fewer iterations, or make a new " +
                std::string(ir::is(type, TypeKind::dict) ? "dictionary" : "list") +
                " instead of changing one that other names or lists may hold"};
  return std::nullopt;
}

std::string advice_for_writes_to(const ir::Value& target) {
  const ir::TypeRef& type = ir::without_optional(target.type());
  if (ir::is(type, TypeKind::dict))
    return "use keys that are fixed in the model's code, or ints as keys and tensors or numbers as values";
  if (ir::is(type, TypeKind::list) && holds_numbers(type)) return without_changes();
  if (ir::is(type, TypeKind::list)) return "keep what the list holds in a tensor (torch.cat adds to it), or in lists of numbers";
  if (ir::is(type, TypeKind::named) || ir::is(type, TypeKind::tuple))
    return "keep what the object holds in variables or lists of the function";
  return {};
}

}  // namespace compatcheck::analysis
