#include "passes/container_walk.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "compatcheck/error.h"
#include "passes/effects.h"
#include "passes/evaluate.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

// They may return a list or dictionary that somebody else holds, too.
bool hands_on(const ir::Node& node) {
  constexpr auto operators =
      std::to_array<std::string_view>({"aten::__getitem__", "aten::get", "aten::pop", "aten::popitem", "aten::setdefault",
                                       "aten::_unwrap_optional", "prim::GetAttr", "prim::ListUnpack", "prim::TupleIndex",
                                       "prim::TupleUnpack", "prim::Uninitialized", "prim::annotate", "prim::unchecked_cast"});
  return std::ranges::find(operators, node.op()) != operators.end() || gives_what_it_writes(node);
}

}  // namespace

void ContainerWalk::run() {
  label(*graph_.top());
  load_attributes();
  for (ir::Value* input : graph_.inputs()) look(input);  // before a loop or a branch makes another name of it
  walk(*graph_.top());
  safely(graph_.top()->return_node(), &ContainerWalk::check_distinct_lists);
  safely(graph_.top()->return_node(), &ContainerWalk::put_outputs);
}

void ContainerWalk::put_outputs(ir::Node* node) {
  gives_outputs_ = true;
  put_operands(node);
}

void ContainerWalk::run_again(const ir::Graph& original) {
  ir::Block* top = graph_.top();
  gives_outputs_ = false;
  for (const auto& [key, holder] : holders_) heap_.change(holder).untouched = true;
  read_before_write_.clear();
  keep_snapshot();
  ir::Node* last = top->last();
  std::vector<Site> labels;
  ir::for_each_node(*original.top(), [&](const ir::Node*) { labels.push_back(labels.size() + 1); });
  const std::vector<ir::Value*> inputs(top->inputs().begin(), top->inputs().end());
  const auto outputs = graph_.copy_block_contents(*original.top(), inputs, top, nullptr);
  for (ir::Value* output : outputs) top->add_output(output);
  ir::Node* first = last ? last->next() : top->first();
  label_copy(first, nullptr, labels);
  if (!first) return;
  second_call_ = node_before(first, "prim::SecondCall", {}, {});  // no pass knows this operator, so none removes it
  visit_from(first);
  safely(top->return_node(), &ContainerWalk::put_outputs);
}

void ContainerWalk::finish() {
  for (std::size_t i = dropped_.size(); i-- > 0;)
    if (!erase_if_unused(dropped_[i])) throw InternalError("following containers: a dropped " + dropped_[i]->op() + " is read");
}

// ---- Nodes

void ContainerWalk::work(std::size_t steps) {
  if (steps > work_left_) throw TooManySteps{};
  work_left_ -= steps;
}

void ContainerWalk::walk(ir::Block& block) {
  ir::Node* const outer = next_;
  visit_from(block.first());
  next_ = outer;
  done_.insert(block.return_node());
}

void ContainerWalk::visit_from(ir::Node* first) {
  for (next_ = first; next_;) {
    ir::Node* node = next_;
    next_ = node->next();
    safely(node, &ContainerWalk::visit);
  }
}

// One walk finds all that can't be followed, where it can: what comes after the first is looked at as well.
void ContainerWalk::safely(ir::Node* node, Visit step) {
  const std::size_t open = heap_.open_frames();
  try {
    (this->*step)(node);
  } catch (const LeftOut& found) {
    to_spread_.clear();
    to_write_back_.clear();
    (found.lacks_order ? lacks_order_ : failed_).insert(found.sites.begin(), found.sites.end());
    mark(found);
    lacks_names_ = lacks_names_ || found.lacks_names;
    while (heap_.open_frames() > open) heap_.close();
    if (!node->owner()) return;
    for (ir::Value* output : node->outputs()) known_[output] = Abstract::of(output);
  }
}

void ContainerWalk::visit(ir::Node* node) {
  options_.watch.step();
  work();
  done_.insert(node);
  reads_contents_.erase(node);
  if (node->is("prim::Constant") || node->is("prim::Uninitialized")) return;
  if (visit_choice(node)) return;
  const auto found = visits().find(node->op());
  if (found == visits().end() || !has_usual_form(*node))
    visit_other(node);
  else
    (this->*found->second)(node);
}

// An operator that only reads containers, if it has any.
void ContainerWalk::visit_other(ir::Node* node) {
  if (evaluate_known(node)) return;
  if (!node->blocks().empty()) throw NothingToLeaveOut{};
  const auto written = written_operands(*node);
  for (const std::size_t i : written)
    if (const auto at = known_.find(node->input(i)); at != known_.end() && has_cells(at->second)) leave(at->second);
  // A container that the node stores somewhere must stay one object with the followed one.
  const bool stores = node->is("prim::SetAttr") || std::ranges::any_of(written, [&](std::size_t i) {
                        return !ir::is(node->input(i)->type(), ir::TypeKind::tensor);
                      });
  for (ir::Value* input : node->inputs())
    if (const auto at = known_.find(input); stores && at != known_.end() && has_cells(at->second)) {
      mark_held(at->second, {site_of(node->input(0))});
      leave(at->second);
    }
  put_operands(node);
  for (ir::Value* output : node->outputs())
    if (hands_on(*node) && ir::is(output->type(), ir::TypeKind::list))
      known_[output] = Abstract::of(output);
    else
      look(output);
}

bool ContainerWalk::evaluate_known(ir::Node* node) {
  if (node->outputs().size() != 1 || node->inputs().empty() || holds_memory(node->output()->type())) return false;
  if (!can_evaluate(*node)) return false;
  std::vector<ir::Constant> constants;
  for (ir::Value* input : node->inputs()) {
    const auto known = known_.find(input);
    const ir::Constant* constant = known == known_.end() ? ir::constant_of(input) : nullptr;
    auto value = constant ? std::optional(*constant) : known == known_.end() ? std::nullopt : as_constant(known->second);
    if (!value) return false;
    constants.push_back(*std::move(value));
  }
  std::vector<const ir::Constant*> arguments;
  for (const ir::Constant& constant : constants) arguments.push_back(&constant);
  auto result = evaluate(*node, arguments);
  if (!result) return false;
  const ir::TypeRef type = result->is_none() || ir::is(node->output()->type(), ir::TypeKind::number) ||
                                   ir::is(node->output()->type(), ir::TypeKind::optional)
                               ? ir::type_of(*result)
                               : node->output()->type();
  give(node, Abstract::of(constant_before(node, *std::move(result), type)));
  return true;
}

void ContainerWalk::put_operands(ir::Node* node) { put_operands_from(node, 0); }

void ContainerWalk::put_operands_from(ir::Node* node, std::size_t first) {
  for (std::size_t i = first; i < node->inputs().size(); ++i) {
    ir::Value* input = node->input(i);
    const auto known = known_.find(input);
    if (known == known_.end() || !known->second.followed()) continue;
    const Abstract abstract = known->second;
    if (holds(input, abstract)) continue;
    node->replace_input(i, leaf(abstract, node));
    ++changes_;
  }
}

void ContainerWalk::give(ir::Node* node, Abstract result) {
  ++changes_;
  if (result.followed()) {
    know(node->output(), std::move(result));
    return drop(node);
  }
  // The type that a read refines stays refined.
  replace(node->output(), result.value);
  node->erase();
}

void ContainerWalk::visit_next(ir::Node* node) {
  ++changes_;
  next_ = node;
}

void ContainerWalk::visit_instead(ir::Node* node, ir::Node* first, std::span<ir::Value* const> results) {
  for (std::size_t i = 0; i < std::min(results.size(), node->outputs().size()); ++i)
    node->output(i)->replace_all_uses_with(results[i]);
  for (const ir::Node* made = first; made && made != node; made = made->next()) reads_contents_.erase(made);
  node->erase();
  visit_next(first);
}

void ContainerWalk::drop(ir::Node* node) { dropped_.push_back(node); }

}  // namespace compatcheck::passes
