#include "analysis/causes.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "analysis/container_advice.h"
#include "analysis/required_input.h"
#include "ir/control_flow.h"
#include "passes/state.h"
#include "symbolic/condition.h"

namespace compatcheck::analysis {
namespace {

using conversion::Outcome;
using conversion::Status;
using ir::TypeKind;

// How many values are looked at on the way back from one node.
constexpr std::size_t most_looks = 4000;

bool may_be_tensor(const ir::Value* value) { return !value->type() || value->type()->kind == TypeKind::tensor; }

// Adding a key has a form in more cases than removing one.
bool removes_key(const ir::Node& node) {
  return (node.is("aten::Delete") || node.is("aten::popitem") || node.is("aten::pop")) &&
         ir::is(node.input(0)->type(), TypeKind::dict);
}

bool is_container_value(const ir::Value* value) {
  if (may_be_tensor(value)) return false;
  switch (value->type()->kind) {
    case TypeKind::integer:
    case TypeKind::floating:
    case TypeKind::boolean:
    case TypeKind::number:
    case TypeKind::none: return false;
    default: return true;
  }
}

// Control flow, and operators on lists, dictionaries, objects or numbers rather than tensors: they fail if their operands
// aren't known, whatever their row is.
bool handles_no_tensors(const ir::Node& node) {
  if (!node.blocks().empty() || node.op().starts_with("prim::")) return !node.is("prim::PythonOp");
  if (!node.outputs().empty() && std::ranges::none_of(node.outputs(), may_be_tensor)) return true;
  return !node.inputs().empty() && is_container_value(node.input(0));
}

// Operators on dictionaries, or on their keys: texts that are computed.
bool handles_dictionaries(const ir::Node& node) {
  const auto is_dict = [](const ir::Value* value) {
    const ir::TypeRef& held = ir::without_optional(value->type());
    return ir::is(held, TypeKind::dict) || (ir::is(held, TypeKind::string) && !ir::constant_of(value));
  };
  return std::ranges::any_of(node.inputs(), is_dict) || std::ranges::any_of(node.outputs(), is_dict);
}

std::string attribute_of(const ir::Node& node) {
  const ir::Constant* name = node.attribute("name");
  const auto* text = name ? name->get<std::string>() : nullptr;
  return text ? *text : std::string();
}

// A list of unknown length, or a tuple that contains one.
bool is_open_list(const symbolic::Fact& fact) {
  const auto* list = fact.list();
  return list && (!list->items || std::ranges::any_of(*list->items, is_open_list));
}

// A list that may be omitted from a call: no fact tells whether it is there.
bool may_be_list(const ir::Value* input, const symbolic::Fact& fact) {
  return ir::is(input->type(), TypeKind::optional) && ir::is(ir::without_optional(input->type()), TypeKind::list) &&
         !fact.is_none() && !fact.list();
}

bool holds_dictionary(const ir::TypeRef& type) {
  if (ir::is(type, TypeKind::tuple)) return std::ranges::any_of(type->elements, holds_dictionary);
  return ir::is(type, TypeKind::dict);
}

bool is_failure(const Outcome& outcome) {
  return !outcome.kept &&
         (outcome.status == Status::missing || outcome.status == Status::refused || outcome.status == Status::unassessed);
}

}  // namespace

Causes::Causes(const conversion::Assessment& assessment, const conversion::Context& context, const WriteCauses& writes)
    : context_(context), writes_(writes) {
  CauseOf causes;
  for (const Outcome& outcome : assessment.outcomes) outcomes_.emplace(outcome.node, &outcome);
  for (const Outcome& outcome : assessment.outcomes)
    if (outcome.unresolved_write && outcome.node->is("prim::SetAttr"))
      attributes_.emplace(attribute_of(*outcome.node), outcome.node);
  for (const Outcome& outcome : assessment.outcomes)
    if (outcome.unresolved_write)
      for (const ir::Value* input : outcome.node->inputs())
        if (&input == &outcome.node->inputs().front() || is_container_value(input)) written_.emplace(input, outcome.node);
  for (const Outcome& outcome : assessment.outcomes)
    if (is_failure(outcome) && may_follow(outcome))
      if (const Node cause = cause_of(outcome)) causes.emplace(outcome.node, cause);
  add_marked(assessment, causes);
  CauseOf tops;
  for (const auto& [node, cause] : causes)
    if (const Outcome* root = outcomes_.at(top_of(node, causes, tops)); root->node != node && root->status != Status::unassessed)
      roots_.emplace(node, root);
}

// Calls that handle what stays in the graph for one reason follow from one of them.
void Causes::add_marked(const conversion::Assessment& assessment, CauseOf& causes) const {
  std::map<std::int64_t, std::vector<const Outcome*>> groups;
  for (const Outcome& outcome : assessment.outcomes)
    if (is_failure(outcome))
      if (const auto group = container_group(outcome)) groups[*group].push_back(&outcome);
  std::map<std::string, const Outcome*> attributes;  // by what keeps them from being state
  for (const Outcome& outcome : assessment.outcomes)
    if (const ir::Constant* why = outcome.unresolved_write ? outcome.node->attribute(passes::state_obstacle) : nullptr)
      if (const auto [first, fresh] = attributes.emplace(*why->get<std::string>(), &outcome); !fresh)
        causes[outcome.node] = first->second->node;
  for (const auto& [group, outcomes] : groups) {
    const Outcome* first = first_of_group(outcomes);
    causes.erase(first->node);
    for (const Outcome* outcome : outcomes)
      if (outcome != first) causes[outcome->node] = first->node;
  }
}

const Outcome* Causes::root_of(const Outcome& outcome) const {
  const auto root = roots_.find(outcome.node);
  return root == roots_.end() ? nullptr : root->second;
}

// In a cycle of dependent nodes, the first node represents all of them, or the first one that removes a key. An unassessed node
// has no finding, so that it can't represent others. `tops`: results so far.
Causes::Node Causes::top_of(Node node, const CauseOf& causes, CauseOf& tops) const {
  std::vector<Node> path;
  std::unordered_map<Node, std::size_t> places;
  auto next = causes.find(node);
  for (; next != causes.end() && !tops.contains(node) && places.emplace(node, path.size()).second; next = causes.find(node)) {
    path.push_back(node);
    node = next->second;
  }
  if (const auto circle = places.find(node); circle != places.end()) {
    const auto begin = path.begin() + static_cast<std::ptrdiff_t>(circle->second);
    const auto rank = [&](Node one) { return std::pair(!removes_key(*one), outcomes_.at(one)); };  // in graph order
    Node first = *std::min_element(begin, path.end(), [&](Node a, Node b) { return rank(a) < rank(b); });
    for (auto member = begin; member != path.end(); ++member) tops[*member] = first;
    path.erase(begin, path.end());
    node = first;
  }
  Node top = tops.emplace(node, node).first->second;
  for (std::size_t i = path.size(); i-- > 0; tops[path[i]] = top)
    if (outcomes_.at(top)->status == Status::unassessed) top = path[i];
  return top;
}

bool Causes::fails(Node node) const {
  const auto outcome = outcomes_.find(node);
  return outcome != outcomes_.end() && is_failure(*outcome->second);
}

// If the length of the loop were known, the loop would be unrolled, and the write have a form.
bool Causes::is_of_loop(const Outcome& outcome) const {
  for (const ir::Block* block = outcome.node->owner(); block && block->owner(); block = block->parent())
    if (block->owner()->is("prim::Loop") && !is_settled(ir::LoopView(*block->owner()).trip_count())) return true;
  return false;
}

// An operator without a mapping, a broken condition and a write with an obstacle of its own are to be mended where they stand;
// but for those of dictionaries and of loops over what isn't known, which follow from what makes these, and calls that are
// refused with complex tensors, which follow from what makes the tensors complex.
bool Causes::may_follow(const Outcome& outcome) const {
  if (outcome.node->is("prim::Return")) return false;  // a text among the outputs fails independently of others
  if (outcome.unresolved_write)
    return writes_.contains(outcome.node) || handles_dictionaries(*outcome.node) || is_of_loop(outcome) ||
           (outcome.node->is("prim::SetAttr") && !ir::constant_of(outcome.node->input(0)));
  if (outcome.status == Status::missing && handles_dictionaries(*outcome.node)) return true;
  if (outcome.status == Status::refused)
    if (std::ranges::any_of(outcome.node->inputs(),
                            [&](const auto* input) { return symbolic::is_complex(context_.facts.of(input)); }))
      return true;
  if (outcome.status == Status::unassessed || (outcome.status == Status::refused && outcome.of_unknown)) return true;
  return outcome.status == Status::refused && !outcome.impossible && handles_no_tensors(*outcome.node);
}

bool Causes::is_settled(const ir::Value* value) const {
  if (ir::constant_of(value)) return true;
  const symbolic::Fact& fact = context_.facts.of(value);
  if (symbolic::is_complex(fact)) return false;  // ONNX may have no operator for it
  if (const auto* tensor = fact.tensor()) return tensor->dtype && tensor->shape;
  return symbolic::is_constant(fact);
}

Causes::Node Causes::cause_of(const Outcome& outcome) const {
  const ir::Node& node = *outcome.node;
  if (outcome.unresolved_write)
    if (const Node cause = cause_among(trip_counts(node), &node)) return cause;
  if (const auto write = writes_.find(&node); write != writes_.end()) {
    if (fails(write->second)) return write->second;
    const auto results = write->second->outputs();
    return cause_among({results.begin(), results.end()}, &node);
  }
  if (outcome.blamed && outcome.blamed != &node && fails(outcome.blamed)) return outcome.blamed;
  return cause_among(followed(outcome), &node);
}

std::vector<std::uint32_t> Causes::inputs_of(const Outcome& outcome, int farthest) const {
  std::vector<std::uint32_t> inputs;
  if (!outcome.wants.empty() || !is_failure(outcome) || !may_follow(outcome) || farthest == 0) return {};
  if (fails_for_every_input(outcome)) return {};
  const auto of_cause = [&](const Outcome& cause) { return cause.wants.empty() ? inputs_of(cause, farthest - 1) : cause.wants; };
  if (const Outcome* root = root_of(outcome)) return root_of(*root) ? inputs : of_cause(*root);
  // The call's cause may itself fail because an input is unknown.
  if (const Node cause = cause_among(followed(outcome), outcome.node, &inputs)) return of_cause(*outcomes_.at(cause));
  if (fails_for_keys(outcome))
    std::erase_if(inputs, [&](std::uint32_t input) { return !holds_dictionary(outcome.node->graph()->inputs()[input]->type()); });
  std::ranges::sort(inputs);
  return inputs;
}

// Returns the trip counts of the loops around the node, and the conditions of the branches around it.
std::vector<const ir::Value*> Causes::trip_counts(const ir::Node& node) {
  std::vector<const ir::Value*> counts;
  for (const ir::Block* block = node.owner(); block && block->owner(); block = block->parent())
    counts.push_back(block->owner()->input(0));
  return counts;
}

std::vector<const ir::Value*> Causes::followed(const Outcome& outcome) const {
  const ir::Node& node = *outcome.node;
  if (const ir::Value* lacked = lacked_number(outcome, context_.facts)) return {lacked};
  std::vector<const ir::Value*> waiting(node.inputs().begin(), node.inputs().end());
  if (outcome.unresolved_write) {
    const auto counts = trip_counts(node);
    waiting.insert(waiting.end(), counts.begin(), counts.end());
    return waiting;
  }
  for (const ir::Value* output : node.outputs())
    if (is_container_value(output)) waiting.push_back(output);
  for (const ir::Block* block : node.blocks()) waiting.insert(waiting.end(), block->outputs().begin(), block->outputs().end());
  return waiting;
}

// The nearest failure on the way back from the values, through unknown ones.
Causes::Node Causes::cause_among(std::vector<const ir::Value*> waiting, Node self, std::vector<std::uint32_t>* inputs) const {
  std::unordered_set<const ir::Value*> seen;
  for (std::size_t at = 0; at < waiting.size() && seen.size() < most_looks; ++at) {
    context_.watch.step();
    const ir::Value* value = waiting[at];
    if (!seen.insert(value).second || is_settled(value)) continue;
    if (const auto write = written_.find(value); write != written_.end() && write->second != self) return write->second;
    const ir::Node* producer = value->producer();
    if (producer == self) continue;
    if (!producer) {
      const ir::Node* owner = value->block() ? value->block()->owner() : nullptr;
      if (!owner && inputs &&
          (is_open_list(context_.facts.of(value)) || may_be_list(value, context_.facts.of(value)) ||
           holds_dictionary(value->type())))
        inputs->push_back(static_cast<std::uint32_t>(value->index()));
      if (owner) waiting.insert(waiting.end(), owner->inputs().begin(), owner->inputs().end());
      continue;
    }
    const auto root = roots_.find(producer);
    const bool of_self = inputs && root != roots_.end() && root->second->node == self;
    if (fails(producer) && !of_self && !(inputs && outcomes_.at(producer)->status == Status::unassessed)) return producer;
    if (producer->is("prim::GetAttr"))
      if (const auto write = attributes_.find(attribute_of(*producer)); write != attributes_.end() && write->second != self)
        return write->second;
    waiting.insert(waiting.end(), producer->inputs().begin(), producer->inputs().end());
    for (const ir::Block* block : producer->blocks())
      if (value->index() < block->outputs().size())
        waiting.push_back(block->outputs()[block->outputs().size() - producer->outputs().size() + value->index()]);
  }
  return nullptr;
}

void leave_lists_to_inputs(conversion::Assessment& assessment, const conversion::Context& context, const WriteCauses& writes) {
  const Causes causes(assessment, context, writes);
  std::vector<std::vector<std::uint32_t>> inputs;
  for (const Outcome& outcome : assessment.outcomes) inputs.push_back(causes.inputs_of(outcome));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Outcome& outcome = assessment.outcomes[i];
    if (inputs[i].empty()) continue;
    outcome.wants = std::move(inputs[i]);
    if (outcome.status == Status::missing && !handles_dictionaries(*outcome.node)) continue;
    outcome.status = Status::needs_input;
    outcome.unresolved_write = false;
  }
}

}  // namespace compatcheck::analysis
