// Properties of types, nodes and values that the walk over containers reads.
#pragma once

#include <cstddef>
#include <optional>

#include "ir/graph.h"
#include "passes/heap.h"

namespace compatcheck::passes {

inline constexpr std::size_t most_ways = 16;  // most ways that one access may go

std::optional<std::size_t> position(const ir::Value* index, std::size_t size);  // counted from the front; none if out of range
// Whether a lookup of the constant can decide that a key is missing: it equals itself, unlike a tensor or NaN.
bool is_key(const ir::Constant& constant);
inline ir::Node* node_behind(ir::Node* node) { return node->next() ? node->next() : node->owner()->return_node(); }

inline const ir::TypeRef& element_of(const ir::TypeRef& list) { return list->elements[0]; }
inline bool is_kind(const ir::Value* value, ir::TypeKind kind) { return ir::is(ir::without_optional(value->type()), kind); }
bool is_container_type(const ir::TypeRef& type);  // a list or a dictionary, or an Optional of one
bool is_container_or_tuple(const ir::TypeRef& type);
// Whether a list of such elements is a value of its own: nothing in it can be changed, but tensors.
bool is_plain_element(const ir::TypeRef& type);
// Whether an item at a place that isn't known can be read from the list as one value, and written to it.
bool has_whole_items(const ir::TypeRef& list);
ir::TypeRef join_types(const ir::TypeRef& a, const ir::TypeRef& b);  // the type of a value that is `a` or `b`

bool has_cells(const Abstract& abstract);
// Whether the value is the cell, or a tuple or Optional with a part that is.
bool leads_to(const Abstract& abstract, CellId cell);
bool is_settled(const Abstract& abstract);        // None, or known not to be
bool is_unknown_tuple(const Abstract& abstract);  // one that isn't followed, of known length
bool has_usual_form(const ir::Node& node);

// Objects may hold themselves.
class Nesting {
 public:
  explicit Nesting(std::size_t& depth) : depth_(depth) { ++depth_; }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  bool is_deep() const { return depth_ > 64; }

 private:
  std::size_t& depth_;
};

}  // namespace compatcheck::passes
