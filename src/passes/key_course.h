// Whether a key is in a dictionary where the program reads it, whichever branches the program took.
#pragma once

#include <functional>
#include <vector>

#include "ir/graph.h"
#include "ir/order.h"

namespace compatcheck::passes {

class KeyCourse {
 public:
  using IsDictionary = std::function<bool(const ir::Value*)>;

  // `accesses`: all that name a key of it, which is constant. `initial`: the keys with which it begins in `block`.
  KeyCourse(const ir::Graph& graph, IsDictionary is_dictionary, std::vector<ir::Node*> accesses,
            std::vector<ir::Constant> initial, const ir::Block* block);

  static const ir::Constant& key_of(const ir::Node& access) { return *ir::constant_of(access.input(1)); }
  static bool removes(const ir::Node& node) { return node.is("aten::pop") || node.is("aten::Delete"); }
  bool sets(const ir::Node& node) const { return node.is("aten::_set_item") && is_dictionary_(node.input(0)); }

  // Whether the key was set before, in the same run, or is present because the program has tested for it.
  bool is_there(const ir::Node* access) const;
  const ir::Order& order() const { return order_; }

 private:
  bool sets(const ir::Block& block, const ir::Constant& key) const;
  bool sets(const ir::Node& node, const ir::Constant& key) const;
  bool begins_with(const ir::Constant& key) const;
  const ir::Block* block_with(const ir::Node& branch, const ir::Constant& key) const;
  bool implies(const ir::Constant& one, const ir::Constant& other, const ir::Node& place) const;

  IsDictionary is_dictionary_;
  std::vector<ir::Node*> accesses_;
  std::vector<ir::Constant> initial_;
  const ir::Block* block_;
  ir::Order order_;
};

}  // namespace compatcheck::passes
