// In-place writes become new values: each block is walked in order, and what reads a tensor that was written reads its
// newest value. A view that is read after its root was written is made again; a root of which a view was written is put
// together when somebody reads it. Which writes this holds for is the plan's matter.
#include <algorithm>
#include <unordered_map>

#include "ir/control_flow.h"
#include "passes/effects.h"
#include "passes/functional_form.h"
#include "passes/passes.h"
#include "passes/rebind.h"
#include "passes/rewrite.h"
#include "passes/views.h"
#include "passes/write_causes.h"
#include "passes/write_plan.h"

namespace compatcheck::passes {
namespace {

class Functionalizer {
 public:
  Functionalizer(ir::Graph& graph, const WritePlan& plan, const schema::Registry& registry, const ir::Watch& watch)
      : graph_(graph), plan_(plan), registry_(registry), watch_(watch), newest_(graph.value_limit()) {}

  std::size_t run() {
    ir::for_each_node(*graph_.top(),
                      [&](const ir::Node* node) { by_strides_ = by_strides_ || node->op().starts_with("aten::as_strided"); });
    begin(*graph_.top());
    block(*graph_.top());
    return done_;
  }

 private:
  // The newest value of a tensor, if its stamp is that of its root. If a view of the tensor was written since, `written` is
  // that view and `value` is the value before that write.
  struct Newest {
    ir::Value* value = nullptr;
    ir::Value* written = nullptr;
    const ir::Node* writer = nullptr;
    std::uint32_t stamp = 0;
  };

  // ---- Knowledge about each value, undone at the end of a block

  const Newest& newest(const ir::Value* value) const { return newest_[value->id()]; }
  void set(const ir::Value* value, Newest state) {
    undo_.emplace_back(value->id(), newest_[value->id()]);
    newest_[value->id()] = state;
  }
  void take_back(std::size_t mark) {
    for (; undo_.size() > mark; undo_.pop_back()) newest_[undo_.back().first] = undo_.back().second;
  }

  std::uint32_t stamp(const ir::Value* value) const { return newest(plan_.views().root(value)).stamp; }
  bool valid(const ir::Value* value) const { return newest(value).value && newest(value).stamp == stamp(value); }
  // Everything that is a view of the root is out of date.
  void renew(const ir::Value* root, ir::Value* value) { set(root, {value, nullptr, nullptr, ++last_stamp_}); }

  bool tracked(const ir::Value* value) const { return value->id() < newest_.size() && plan_.follows(value); }
  bool is_bundle(const ir::Value* value) const { return value->id() < newest_.size() && bundles_.contains(value); }

  // ---- The newest value, for a reader at `place`

  ir::Value* value(ir::Value* of, ir::Node* place) {
    if (is_bundle(of)) return bundle(of, place);
    if (!tracked(of)) return of;
    if (!valid(of))
      make_again(of, place);
    else if (newest(of).written)
      put_together(of, place);
    return newest(of).value;
  }

  void make_again(ir::Value* view, ir::Node* place) {
    watch_.step();
    const ir::Node& node = *view->producer();
    ir::Value* source = value(plan_.views().source(view), place);
    if (is_whole(node)) return set(view, {source, nullptr, nullptr, stamp(view)});
    ir::Node* copy = graph_.copy_node(node);
    copy->replace_input(0, source);
    copy->insert_before(place);
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      copy->output(i)->set_name({});
      set(node.output(i), {copy->output(i), nullptr, nullptr, stamp(view)});
    }
  }

  void put_together(ir::Value* of, ir::Node* place) {
    const Newest state = newest(of);
    std::vector<ir::Value*> parts;
    for (ir::Value* part : parts_beside(state.written)) parts.push_back(value(part, place));
    ir::Value* child = parts.empty() ? value(state.written, place) : nullptr;
    ir::Value* made = put_back(state.written, state.value, child, parts, place, *state.writer, registry_);
    set(of, {made, nullptr, nullptr, state.stamp});
  }

  ir::Value* bundle(ir::Value* of, ir::Node* place) {
    std::vector<ir::Value*> items;
    for (ir::Value* item : bundles_.at(of)) items.push_back(value(item, place));
    ir::Value* last = newest(of).value;
    const auto held = last->producer()->inputs();
    if (std::equal(items.begin(), items.end(), held.begin(), held.end())) return last;
    ir::Node* made = node_before(place, of->producer()->op(), items, {&of->type(), 1});
    made->copy_origin(*of->producer());
    set(of, {made->output(), nullptr, nullptr, 0});
    return made->output();
  }

  // ---- Walking

  void begin(const ir::Block& block) {
    for (ir::Value* input : block.inputs())
      if (tracked(input)) renew(input, input);
  }

  void block(ir::Block& block) {
    const std::vector<ir::Node*> nodes = [&] {
      std::vector<ir::Node*> all;
      for (ir::Node* node : block) all.push_back(node);
      return all;
    }();
    for (ir::Node* node : nodes) {
      watch_.step();
      if (ir::Value* target = plan_.target(node))
        write(node, target);
      else
        visit(node);
    }
    read_newest(block.return_node());
  }

  void visit(ir::Node* node) {
    const std::vector<ir::Value*> given(node->inputs().begin(), node->inputs().end());
    read_newest(node);
    if (node->is("prim::If"))
      branch(node);
    else if (node->is("prim::Loop"))
      loop(node);
    else
      for (ir::Block* inner : node->blocks()) nested(*inner, {}, {});
    for (ir::Value* output : node->outputs()) {
      if (output->id() >= newest_.size()) continue;
      if (tracked(output))
        begin(output);
      else if (plan_.is_bundle(output))
        begin_bundle(output, given);
    }
  }

  void begin(ir::Value* made) {
    if (plan_.views().source(made))
      set(made, {made, nullptr, nullptr, stamp(made)});
    else
      renew(made, made);
  }

  void begin_bundle(ir::Value* made, const std::vector<ir::Value*>& items) {
    if (!std::any_of(items.begin(), items.end(), [&](const ir::Value* item) { return tracked(item) || is_bundle(item); })) return;
    bundles_.emplace(made, items);
    set(made, {made, nullptr, nullptr, 0});
  }

  void read_newest(ir::Node* node) {
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      ir::Value* input = node->input(i);
      if (!tracked(input) && !is_bundle(input)) continue;
      const bool form = tracked(input) && reads_only_form(*node, i);  // doesn't change by what is written
      if (!form)
        node->replace_input(i, value(input, node));
      else if (valid(input))
        node->replace_input(i, newest(input).value);
    }
  }

  void write(ir::Node* node, ir::Value* target) {
    ir::Value* current = value(target, node);
    read_newest(node);
    std::vector<ir::Value*> beside;  // parts of the same splits, which don't change
    for (ir::Value* view = target; plan_.views().source(view); view = plan_.views().parent(view))
      for (ir::Value* part : parts_beside(view))
        if (part != view && valid(part)) beside.push_back(part), value(part, node);
    const bool keeps_sizes = !changes_its_sizes(*node);
    ir::Value* result = take_functional_form(node, current, registry_);
    if (by_strides_ && keeps_sizes && result != current) result->producer()->set_attribute("written", {std::int64_t{1}});
    const std::uint32_t after = ++last_stamp_;
    for (ir::Value* part : beside) set(part, {newest(part).value, nullptr, nullptr, after});
    set(target, {result, nullptr, nullptr, after});
    for (ir::Value* view = target; ir::Value* parent = plan_.views().parent(view); view = parent)
      set(parent, {newest(parent).value, view, node, after});
    if (node->owner() && node->output() != result && tracked(node->output())) begin(node->output());  // pop's item
    ++done_;
  }

  // ---- Branches and loops

  // The block's own outputs get the newest values of `roots` added. What is known inside is forgotten.
  void nested(ir::Block& inner, std::span<ir::Value* const> roots, std::span<ir::Value* const> entering) {
    const std::size_t mark = undo_.size();
    begin(inner);
    for (std::size_t i = 0; i < entering.size(); ++i) renew(roots[i], entering[i]);
    block(inner);
    for (ir::Value* root : roots) inner.add_output(value(root, inner.return_node()));
    take_back(mark);
  }

  void branch(ir::Node* node) {
    const auto roots = plan_.written_inside(node);
    for (ir::Value* root : roots) value(root, node);
    for (ir::Block* inner : node->blocks()) nested(*inner, roots, {});
    for (ir::Value* root : roots) renew(root, node->add_output(root->type()));
  }

  void loop(ir::Node* node) {
    const auto roots = plan_.written_inside(node);
    ir::Block& body = ir::LoopView(*node).body();
    std::vector<ir::Value*> entering;
    for (ir::Value* root : roots) {
      node->add_input(value(root, node));
      entering.push_back(body.add_input(root->type()));
    }
    nested(body, roots, entering);
    for (ir::Value* root : roots) renew(root, node->add_output(root->type()));
  }

  ir::Graph& graph_;
  const WritePlan& plan_;
  const schema::Registry& registry_;
  const ir::Watch& watch_;
  std::vector<Newest> newest_;  // indexed by the ids of the values that the graph had before
  std::vector<std::pair<std::uint32_t, Newest>> undo_;
  std::unordered_map<const ir::Value*, std::vector<ir::Value*>> bundles_;  // lists made of tracked values, and their items
  std::uint32_t last_stamp_ = 0;
  std::size_t done_ = 0;
  bool by_strides_ = false;  // something asks where elements lie: a "written" value lies as its node's first input
};

// An in-place operator returns the tensor or list it wrote: let everybody read that one.
void use_written_itself(const ir::Graph& graph) {
  ir::for_each_node(*graph.top(), [](ir::Node* node) {
    if (!gives_what_it_writes(*node)) return;
    const auto operands = written_operands(*node);
    if (operands.size() == 1) node->output()->replace_all_uses_with(node->input(operands[0]));
  });
}

}  // namespace

std::size_t functionalize_writes(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry,
                                 std::vector<ir::LostWrite>* lost, const ir::Watch& watch) {
  if (!writes_anything(*graph.top())) return 0;
  use_written_itself(graph);
  const std::size_t rebound = rebind_tensors(graph, program, registry, lost, watch);
  const WritePlan plan(graph, Aliases::of(graph, program, watch), registry, watch);
  if (lost) std::ranges::move(plan.written_inputs(), std::back_inserter(*lost));
  return rebound + Functionalizer(graph, plan, registry, watch).run();
}

std::vector<UnresolvedWrite> unresolved_writes(const ir::Graph& graph, const ir::Program* program,
                                               const schema::Registry& registry, const ir::Watch& watch) {
  if (!writes_anything(*graph.top())) return {};
  const WritePlan plan(graph, Aliases::of(graph, program, watch), registry, watch);
  std::vector<UnresolvedWrite> unresolved;
  for (ir::Node* node : plan.writes()) {
    std::string why = plan.obstacle(node);
    if (why.empty()) why = "is left where normalising came to its end";
    unresolved.push_back({node, std::move(why)});
  }
  return unresolved;
}

std::unordered_map<const ir::Node*, const ir::Node*> write_causes(const ir::Graph& graph, const ir::Program* program,
                                                                  const schema::Registry& registry, const ir::Watch& watch) {
  const WritePlan plan(graph, Aliases::of(graph, program, watch), registry, watch);
  std::unordered_map<const ir::Node*, const ir::Node*> causes;
  for (const ir::Node* node : plan.writes())
    if (const ir::Node* cause = plan.cause(node)) causes.emplace(node, cause);
  return causes;
}

}  // namespace compatcheck::passes
