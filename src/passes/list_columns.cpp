// Lists of tuples whose length is known only when the model runs: a list for each place of the tuples, as ONNX has no list of
// tuples.
#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "passes/effects.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

bool is_list_of_tuples(const ir::Value* value) {
  return ir::is(value->type(), ir::TypeKind::list) && ir::is(value->type()->elements[0], ir::TypeKind::tuple) &&
         !value->type()->elements[0]->elements.empty();
}

const std::vector<ir::TypeRef>& places_of(const ir::Value* list) { return list->type()->elements[0]->elements; }

// A new list of members of its first argument, or of its first two.
bool selects_members(const ir::Node& node) {
  return node.is("aten::slice") || node.is("aten::add") || node.is("aten::list") || node.is("aten::mul") ||
         node.is("prim::Uninitialized");
}

class Columns {
 public:
  Columns(ir::Graph& graph, const ir::Watch& watch) : graph_(graph), nodes_(all_nodes(graph, watch)), watch_(watch) {}

  std::size_t run() {
    find();
    bool read = false;
    for (const ir::Node* node : nodes_) {
      if (writes(*node) && std::ranges::any_of(node->inputs(), is_list_of_tuples)) return 0;  // no list stays as it was made
      read = read || (reads(*node) && divided_.contains(node->input(0)));
    }
    if (!read) return 0;
    divide(*graph_.top());
    return changes_;
  }

 private:
  static bool reads(const ir::Node& node) {
    return (node.is("aten::__getitem__") && node.inputs().size() == 2) || (node.is("aten::len") && node.inputs().size() == 1);
  }

  // All lists of tuples but those that come from something else, or are joined with such.
  void find() {
    for (const ir::Node* node : nodes_) {
      for (const ir::Value* output : node->outputs()) add(output);
      for (const ir::Block* block : node->blocks())
        for (const ir::Value* input : block->inputs()) add(input);
    }
    std::size_t before = 0;
    while (before != divided_.size()) {
      before = divided_.size();
      std::erase_if(divided_, [&](const ir::Value* value) {
        watch_.step();
        return !is_divisible(value);
      });
    }
  }
  void add(const ir::Value* value) {
    if (is_list_of_tuples(value)) divided_.insert(value);
  }

  bool is_divisible(const ir::Value* value) const {
    const ir::Node* node = value->producer();
    if (!node) {
      const ir::Node* loop = value->block()->owner();
      return loop && loop->is("prim::Loop") && value->index() > 0 && is_carried(*loop, value->index() - 1);
    }
    const auto divided = [&](const ir::Value* input) { return !is_list_of_tuples(input) || divided_.contains(input); };
    if (node->is("prim::Loop")) return is_carried(*node, value->index());
    if (node->is("prim::If"))
      return std::ranges::all_of(node->blocks(), [&](const ir::Block* way) { return divided(way->outputs()[value->index()]); });
    if (const ir::Constant* constant = ir::constant_of(value)) return is_list_of_constant_tuples(*constant, places_of(value));
    if (node->is("prim::ListConstruct")) return true;
    return selects_members(*node) && std::ranges::all_of(node->inputs(), divided);
  }

  bool is_carried(const ir::Node& loop, std::size_t i) const {
    const ir::Block& body = *loop.blocks()[0];
    return divided_.contains(loop.input(i + 2)) && divided_.contains(loop.output(i)) && divided_.contains(body.inputs()[i + 1]) &&
           divided_.contains(body.outputs()[i + 1]);
  }

  static bool is_list_of_constant_tuples(const ir::Constant& constant, const std::vector<ir::TypeRef>& places) {
    const auto* list = constant.get<ir::ListConstant>();
    return list && std::ranges::all_of(list->items, [&](const ir::Constant& item) {
             const auto* tuple = item.get<ir::TupleConstant>();
             return tuple && tuple->items.size() == places.size();
           });
  }

  // ---- Rewriting

  using Lists = std::vector<ir::Value*>;

  void divide(ir::Block& block) {
    for (ir::Node* node = block.first(); node;) {
      ir::Node* const next = node->next();
      divide(node);
      node = next;
    }
  }

  void divide(ir::Node* node) {
    if (node->is("prim::Loop")) return divide_loop(node);
    for (ir::Block* way : node->blocks()) divide(*way);
    if (node->is("prim::If")) return divide_branches(node);
    if (reads(*node) && divided_.contains(node->input(0))) return read(node);
    if (node->outputs().size() != 1 || !divided_.contains(node->output())) return;
    Lists& lists = columns_[node->output()];
    for (std::size_t place = 0; place < places_of(node->output()).size(); ++place) lists.push_back(column(node, place));
  }

  ir::Value* column(ir::Node* node, std::size_t place) {
    const ir::TypeRef type = ir::list_of(places_of(node->output())[place]);
    if (const ir::Constant* constant = ir::constant_of(node->output())) {
      ir::ListConstant list{type->elements[0], {}};
      for (const ir::Constant& item : constant->get<ir::ListConstant>()->items)
        list.items.push_back(item.get<ir::TupleConstant>()->items[place]);
      return constant_before(node, {std::move(list)}, type);
    }
    Lists inputs;
    for (ir::Value* input : node->inputs())
      inputs.push_back(node->is("prim::ListConstruct") ? part(node, input, place) : of(input, place));
    return like(node, inputs, type)->output();
  }

  ir::Value* part(ir::Node* place, ir::Value* tuple, std::size_t i) {
    const std::array<ir::Value*, 2> inputs{tuple, constant_before(place, {static_cast<std::int64_t>(i)})};
    return node_before(place, "prim::TupleIndex", inputs, {&tuple->type()->elements[i], 1})->output();
  }

  // The value itself if it is no list of tuples.
  ir::Value* of(ir::Value* value, std::size_t place) const {
    const auto found = columns_.find(value);
    return found == columns_.end() ? value : found->second[place];
  }

  // The same operator on other lists.
  static ir::Node* like(ir::Node* node, const Lists& inputs, const ir::TypeRef& type) {
    ir::Node* made = node_before(node, node->op(), inputs, {&type, 1});
    made->set_schema(node->schema());
    made->set_overload(node->overload());
    return made;
  }

  void read(ir::Node* node) {
    ++changes_;
    const Lists& lists = columns_.at(node->input(0));
    if (node->is("aten::len")) return node->replace_input(0, lists[0]);
    Lists parts;
    for (ir::Value* list : lists) parts.push_back(like(node, {list, node->input(1)}, list->type()->elements[0])->output());
    replace(node->output(), node_before(node, "prim::TupleConstruct", parts, {&node->output()->type(), 1})->output());
    node->erase();
  }

  void divide_branches(ir::Node* node) {
    const std::size_t given = node->outputs().size();
    for (std::size_t i = 0; i < given; ++i) {
      if (!divided_.contains(node->output(i))) continue;
      Lists& lists = columns_[node->output(i)];
      for (std::size_t place = 0; place < places_of(node->output(i)).size(); ++place) {
        for (ir::Block* way : node->blocks()) way->add_output(of(way->outputs()[i], place));
        lists.push_back(node->add_output(ir::list_of(places_of(node->output(i))[place])));
      }
    }
  }

  void divide_loop(ir::Node* node) {
    ir::Block& body = *node->blocks()[0];
    const std::size_t given = node->outputs().size();
    for (std::size_t i = 0; i < given; ++i) {
      if (!divided_.contains(node->output(i))) continue;
      Lists& inside = columns_[body.inputs()[i + 1]];
      for (std::size_t place = 0; place < places_of(node->output(i)).size(); ++place) {
        node->add_input(of(node->input(i + 2), place));
        inside.push_back(body.add_input(ir::list_of(places_of(node->output(i))[place])));
      }
    }
    divide(body);
    for (std::size_t i = 0; i < given; ++i) {
      if (!divided_.contains(node->output(i))) continue;
      Lists& lists = columns_[node->output(i)];
      for (std::size_t place = 0; place < places_of(node->output(i)).size(); ++place) {
        body.add_output(of(body.outputs()[i + 1], place));
        lists.push_back(node->add_output(ir::list_of(places_of(node->output(i))[place])));
      }
    }
  }

  ir::Graph& graph_;
  Nodes nodes_;
  const ir::Watch& watch_;
  std::unordered_set<const ir::Value*> divided_;
  std::unordered_map<const ir::Value*, Lists> columns_;
  std::size_t changes_ = 0;
};

}  // namespace

std::size_t divide_lists_of_tuples(ir::Graph& graph, const ir::Watch& watch) { return Columns(graph, watch).run(); }

}  // namespace compatcheck::passes
