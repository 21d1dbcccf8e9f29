// Small steps that many passes take.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/watch.h"

namespace compatcheck::schema {
class Registry;
}

namespace compatcheck::passes {

// Nodes to walk, one step of the watch each; the list stays valid while nodes are erased or inserted.
class Nodes {
 public:
  Nodes(std::vector<ir::Node*> nodes, ir::Watch watch) : nodes_(std::move(nodes)), watch_(std::move(watch)) {}

  class Iterator {
   public:
    Iterator(ir::Node* const* at, const ir::Watch* watch) : at_(at), watch_(watch) {}
    ir::Node* operator*() const {
      watch_->step();
      return *at_;
    }
    Iterator& operator++() { return ++at_, *this; }
    bool operator==(const Iterator&) const = default;

   private:
    ir::Node* const* at_;
    const ir::Watch* watch_;
  };
  Iterator begin() const { return {nodes_.data(), &watch_}; }
  Iterator end() const { return {nodes_.data() + nodes_.size(), &watch_}; }

 private:
  std::vector<ir::Node*> nodes_;
  ir::Watch watch_;
};

// All nodes of the graph, nested ones too, in order.
Nodes all_nodes(const ir::Graph& graph, const ir::Watch& watch);
// The last one first: inner blocks before what holds them.
Nodes all_nodes_backwards(const ir::Graph& graph, const ir::Watch& watch);

// A new prim::Constant before `place`, with the place's origin.
ir::Value* constant_before(ir::Node* place, ir::Constant value);
ir::Value* constant_before(ir::Node* place, ir::Constant value, const ir::TypeRef& type);

// A new node before `place`, with the place's origin and outputs of these types.
ir::Node* node_before(ir::Node* place, std::string op, std::span<ir::Value* const> inputs, std::span<const ir::TypeRef> types);

// Constants for the arguments that the call leaves out at its end, of its schema's defaults.
void add_defaults(ir::Node* node);
// Gives a new call the schema that fits its inputs, and its defaults. False if none fits.
bool complete_call(ir::Node* node, const schema::Registry& registry);

std::vector<ir::TypeRef> output_types(const ir::Node& node);

// An exception before `place`, as the operator `exception` raises it: its text, and None or the name of its class.
void raise_before(ir::Node* place, std::string exception, std::string text, ir::Constant type, const ir::Node& origin);

// Uses of `from` become uses of `to`, which takes over the name if it has none; then `from` is unused.
void replace(ir::Value* from, ir::Value* to);

// The name of an attribute: of prim::GetAttr, prim::SetAttr, prim::CallMethod.
std::string_view attribute_name(const ir::Node& node);

// An object of the module and the name of one of its attributes.
using ObjectAttribute = std::pair<std::uint32_t, std::string_view>;

inline bool compares_identity(const ir::Node& node) { return node.is("aten::__is__") || node.is("aten::__isnot__"); }

inline bool is_attribute_access(const ir::Node& node) { return node.is("prim::GetAttr") || node.is("prim::SetAttr"); }

inline bool is_tensor(const ir::Value* value) { return ir::is(value->type(), ir::TypeKind::tensor); }

// The integer, bool or string that the value is known to be; null if it isn't known.
template <class T>
const T* known(const ir::Value* value) {
  const ir::Constant* constant = ir::constant_of(value);
  return constant ? constant->get<T>() : nullptr;
}

// Whether the value comes from a path of the program that raises: it is never read.
bool is_undefined(const ir::Value* value);

// Made without items.
bool is_empty_list(const ir::Value* value);

// Erases the node if nothing uses its outputs.
bool erase_if_unused(ir::Node* node);

// The nodes and results of `block` take the place of the If that holds it.
void take_block(ir::Node* branch, ir::Block& block);

// The node of `block` in which `node` stands, be it nested.
ir::Node* node_in(const ir::Block* block, ir::Node* node);

// Whether `value` may be used at `place`: it is defined in this block or one around it, before.
bool available_in(const ir::Value* value, const ir::Block* block);

}  // namespace compatcheck::passes
