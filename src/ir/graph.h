// Graph, block, node, value: TorchScript's SSA form. A Graph owns everything in it; nodes and values are
// handled by pointer and stay where they are until they are erased.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/constant.h"
#include "ir/location.h"
#include "ir/pool.h"
#include "ir/type.h"

namespace compatcheck::schema {
struct Schema;
}

namespace compatcheck::ir {

class Graph;
class Block;
class Node;
class Value;
class Copier;

struct Use {
  Node* user = nullptr;
  std::size_t operand = 0;

  bool operator==(const Use&) const = default;
};

// The lists of values, nodes and blocks stand in their graph's memory, which is freed with the graph: copying and dropping
// graphs is most of what passes do.
template <class T>
using List = std::pmr::vector<T>;

// A text that copies share; null stands for an empty one.
using SharedText = std::shared_ptr<const std::string>;

// A block's inputs have no producer; neither have the graph's.
class Value {
 public:
  explicit Value(std::pmr::memory_resource* memory) : uses_(memory) {}

  Node* producer() const { return producer_; }
  Block* block() const { return block_; }       // the block that defines it
  std::size_t index() const { return index_; }  // among its producer's outputs, or its block's inputs
  std::uint32_t id() const { return id_; }      // unique in the graph, below Graph::value_limit(); never reused

  const TypeRef& type() const { return type_; }
  void set_type(TypeRef type);
  const std::string& name() const { return name_; }  // the name in the notation, without '%'; may be empty
  void set_name(std::string name) { name_ = std::move(name); }

  std::span<const Use> uses() const { return uses_; }  // in no particular order
  bool unused() const { return uses_.empty(); }
  void replace_all_uses_with(Value* other);

 private:
  friend class Graph;
  friend class Node;
  friend class Block;
  friend class Copier;
  Node* producer_ = nullptr;
  Block* block_ = nullptr;
  std::size_t index_ = 0;
  std::uint32_t id_ = 0;
  TypeRef type_;
  std::string name_;
  List<Use> uses_;
};

// The result of analysing a graph, kept for the next pass that needs it.
struct Analysis {
  virtual ~Analysis() = default;
};

struct Attribute {
  std::string name;  // "value" of prim::Constant, "name" of prim::GetAttr, "pyname" of prim::PythonOp …
  Constant value;
};

class Node {
 public:
  Node(std::pmr::memory_resource* memory, SharedText op);

  // "aten::add", without overload. Block returns are not nodes; see Block::outputs.
  const std::string& op() const { return *op_; }
  void set_op(std::string op);
  bool is(std::string_view op) const { return *op_ == op; }
  // "Tensor", "" for the default overload; meaningful once schema() is set.
  const std::string& overload() const { return overload_ ? *overload_ : no_text; }
  void set_overload(std::string overload) { overload_ = shared(std::move(overload)); }
  // Set by schema::resolve; null while unresolved, for prim operators and for unknown ones.
  const schema::Schema* schema() const { return schema_; }
  void set_schema(const schema::Schema* schema);

  std::span<Value* const> inputs() const { return inputs_; }
  Value* input(std::size_t i) const { return inputs_[i]; }
  std::span<Value* const> outputs() const { return outputs_; }
  Value* output(std::size_t i = 0) const { return outputs_[i]; }
  std::span<Block* const> blocks() const { return blocks_; }

  void add_input(Value* value);
  void replace_input(std::size_t i, Value* value);
  void erase_input(std::size_t i);
  void erase_all_inputs();
  Value* add_output(TypeRef type);
  void erase_output(std::size_t i);  // must be unused
  // From `first` on in another order: order[i] is where the new i-th stood, counted from `first`.
  void permute_inputs(std::size_t first, std::span<const std::size_t> order);
  void permute_outputs(std::size_t first, std::span<const std::size_t> order);
  Block* add_block();

  std::span<const Attribute> attributes() const { return attributes_ ? *attributes_ : std::span<const Attribute>(); }
  const Constant* attribute(std::string_view name) const;  // null if absent
  void set_attribute(std::string name, Constant value);

  Block* owner() const { return owner_; }  // the block it stands in; null while not inserted
  Node* next() const { return next_; }     // null at the end of the block
  Node* previous() const { return previous_; }
  Graph* graph() const { return graph_; }
  void insert_before(Node* other);  // a return node stands for the end of its block
  void insert_after(Node* other);
  void move_before(Node* other);
  void erase();  // erases its blocks, too; the outputs must be unused

  const LocationRef& location() const { return location_; }
  void set_location(LocationRef location) { location_ = std::move(location); }
  // "encoder.layer.0.attention"; empty at the root
  const std::string& module() const { return module_ ? *module_ : no_text; }
  void set_module(std::string module) { module_ = shared(std::move(module)); }
  void copy_origin(const Node& other) {
    location_ = other.location_;
    module_ = other.module_;
  }

 private:
  friend class Graph;
  friend class Block;
  friend class Value;
  friend class Copier;
  void unlink();
  void link(Block* block, Node* before);
  void drop_inputs();
  void drop_use(std::size_t operand);
  static SharedText shared(std::string text) {
    return text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text));
  }
  static const std::string no_text;
  // First what every walk over a graph reads.
  Node* next_ = nullptr;
  Node* previous_ = nullptr;
  Block* owner_ = nullptr;
  List<Block*> blocks_;
  SharedText op_;
  const schema::Schema* schema_ = nullptr;
  List<Value*> inputs_, outputs_;
  List<std::size_t> places_;                            // for each input, the index of this use in the value's uses
  std::shared_ptr<std::vector<Attribute>> attributes_;  // copies share them until one sets another; null stands for none
  SharedText overload_, module_;
  LocationRef location_;
  Graph* graph_ = nullptr;
  bool is_return_ = false;  // the hidden node whose inputs are a block's outputs
};

class Block {
 public:
  explicit Block(std::pmr::memory_resource* memory) : inputs_(memory) {}

  Node* owner() const { return owner_; }  // the If or Loop; null for a graph's top block
  Graph* graph() const { return graph_; }
  Block* parent() const { return owner_ ? owner_->owner() : nullptr; }

  std::span<Value* const> inputs() const { return inputs_; }
  Value* add_input(TypeRef type, std::string name = {});
  void erase_input(std::size_t i);  // must be unused
  void permute_inputs(std::size_t first, std::span<const std::size_t> order);
  std::span<Value* const> outputs() const { return return_->inputs(); }
  void add_output(Value* value) { return_->add_input(value); }
  void erase_output(std::size_t i) { return_->erase_input(i); }
  // The user recorded in Value::uses() for block outputs; never in the node list.
  Node* return_node() const { return return_; }

  Node* first() const { return first_; }
  Node* last() const { return last_; }
  void append(Node* node);
  void prepend(Node* node);

  // The current node may be erased or moved while iterating, the ones after it erased. Nodes inserted right after
  // the current one are not visited.
  class Iterator {
   public:
    explicit Iterator(Node* node) : node_(node), next_(node ? node->next() : nullptr) {}
    Node* operator*() const { return node_; }
    Iterator& operator++() {
      while (next_ && !next_->owner()) next_ = next_->next();  // an erased node still knows what came after it
      node_ = next_;
      next_ = node_ ? node_->next() : nullptr;
      return *this;
    }
    bool operator==(const Iterator& other) const { return node_ == other.node_; }

   private:
    Node* node_;
    Node* next_;
  };
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(nullptr); }

 private:
  friend class Graph;
  friend class Node;
  friend class Value;
  friend class Copier;
  Graph* graph_ = nullptr;
  Node* owner_ = nullptr;
  Node* return_ = nullptr;
  Node* first_ = nullptr;
  Node* last_ = nullptr;
  List<Value*> inputs_;
};

class Graph {
 public:
  Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  Block* top() { return top_; }
  const Block* top() const { return top_; }
  std::span<Value* const> inputs() const { return top_->inputs(); }
  std::span<Value* const> outputs() const { return top_->outputs(); }

  // A node that stands nowhere yet; insert it with Block::append, Node::insert_before …
  Node* create(std::string op, std::span<Value* const> inputs = {}, std::size_t outputs = 0);
  Node* create_constant(Constant value);  // prim::Constant with type and one output; not inserted

  // Copies the nodes of `source` (a block of this or another graph) before `before`, or at the end of `into` if
  // null. `inputs` stand for the source block's inputs; other values from outside it must belong to this graph.
  // Returns the values that stand for the source block's outputs.
  std::vector<Value*> copy_block_contents(const Block& source, std::span<Value* const> inputs, Block* into, Node* before);
  Node* copy_node(const Node& source);  // copies a node of this graph with its blocks; not inserted
  // Copies a node of any graph: `values` maps its inputs, and gets its outputs. The copy isn't inserted.
  Node* copy_node(const Node& source, std::unordered_map<const Value*, Value*>& values);
  Graph clone() const;  // value ids and names are kept

  std::uint32_t value_limit() const { return next_value_; }

  // Kept until the graph changes; null if there is none.
  const std::shared_ptr<const Analysis>& analysis() const { return analysis_; }
  void keep(std::shared_ptr<const Analysis> analysis) { analysis_ = std::move(analysis); }

  // Throws InternalError naming what is broken: uses, order, dominance, block arity.
  void verify() const;

 private:
  friend class Node;
  friend class Block;
  friend class Value;
  friend class Copier;
  Value* new_value(TypeRef type);
  Node* new_node(SharedText op);
  Block* new_block(Node* owner);
  void changed() { analysis_.reset(); }
  void retarget();                                               // after a move, makes nodes and blocks point at this graph
  std::unique_ptr<std::pmr::monotonic_buffer_resource> memory_;  // for all members below
  Pool<Node> nodes_;                                             // erased ones are freed with the graph
  Pool<Value> values_;
  Pool<Block> blocks_;
  Block* top_ = nullptr;
  std::uint32_t next_value_ = 0;
  std::shared_ptr<const Analysis> analysis_;
};

// Roughly the memory that a copy of the node takes without its blocks, in bytes.
std::size_t footprint(const Node& node);

// Describes a wrong number of inputs, outputs or blocks of an If, Loop or Constant; empty if there is none.
std::string_view arity_fault(const Node& node);

// Visits every node, those in nested blocks too, in order.
template <class Visit>
void for_each_node(const Block& block, Visit&& visit) {
  for (Node* node : block) {
    visit(node);
    for (Block* inner : node->blocks()) for_each_node(*inner, visit);
  }
}

// The value of a prim::Constant's output; null if `value` isn't one.
const Constant* constant_of(const Value* value);

}  // namespace compatcheck::ir
