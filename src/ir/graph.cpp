#include "ir/graph.h"

#include <algorithm>

#include "compatcheck/error.h"

namespace compatcheck::ir {
namespace {

void require(bool condition, const char* message, const std::string& op) {
  if (!condition) throw InternalError(std::string(message) + ": " + op);
}

}  // namespace

// ---- Value

void Value::set_type(TypeRef type) {
  if (block_) block_->graph_->changed();
  type_ = std::move(type);
}

void Value::replace_all_uses_with(Value* other) {
  if (other == this || uses_.empty()) return;
  uses_.front().user->graph_->changed();
  for (const Use& use : uses_) {
    use.user->inputs_[use.operand] = other;
    use.user->places_[use.operand] = other->uses_.size();
    other->uses_.push_back(use);
  }
  uses_.clear();
}

// ---- Node: inputs

const std::string Node::no_text;

Node::Node(std::pmr::memory_resource* memory, SharedText op)
    : blocks_(memory), op_(std::move(op)), inputs_(memory), outputs_(memory), places_(memory) {}

void Node::drop_use(std::size_t operand) {
  graph_->changed();
  // The last use takes the place: a value may have very many.
  auto& uses = inputs_[operand]->uses_;
  const Use last = uses.back();
  uses[places_[operand]] = last;
  last.user->places_[last.operand] = places_[operand];
  uses.pop_back();
}

void Node::set_op(std::string op) {
  graph_->changed();
  op_ = std::make_shared<const std::string>(std::move(op));
  schema_ = nullptr;
}

void Node::set_schema(const schema::Schema* schema) {
  if (schema != schema_) graph_->changed();
  schema_ = schema;
}

void Node::add_input(Value* value) {
  graph_->changed();
  places_.push_back(value->uses_.size());
  if (value->uses_.empty()) value->uses_.reserve(2);
  value->uses_.push_back({this, inputs_.size()});
  inputs_.push_back(value);
}

void Node::replace_input(std::size_t i, Value* value) {
  if (inputs_[i] == value) return;
  drop_use(i);
  inputs_[i] = value;
  places_[i] = value->uses_.size();
  value->uses_.push_back({this, i});
}

void Node::erase_input(std::size_t i) {
  drop_use(i);
  const auto at = static_cast<std::ptrdiff_t>(i);
  inputs_.erase(inputs_.begin() + at);
  places_.erase(places_.begin() + at);
  for (; i < inputs_.size(); ++i) inputs_[i]->uses_[places_[i]].operand = i;
}

void Node::erase_all_inputs() {
  while (!inputs_.empty()) {
    drop_use(inputs_.size() - 1);
    inputs_.pop_back();
    places_.pop_back();
  }
}

void Node::drop_inputs() {
  erase_all_inputs();
  for (Block* block : blocks_) {
    block->return_->drop_inputs();
    for (Node* node : *block) node->drop_inputs();
  }
}

// ---- Node: outputs, blocks, attributes

Value* Node::add_output(TypeRef type) {
  Value* value = graph_->new_value(std::move(type));
  value->producer_ = this;
  value->block_ = owner_;
  value->index_ = outputs_.size();
  outputs_.push_back(value);
  return value;
}

void Node::erase_output(std::size_t i) {
  require(outputs_[i]->unused(), "erasing an output that is in use", op());
  graph_->changed();
  outputs_[i]->producer_ = nullptr;
  outputs_[i]->block_ = nullptr;
  outputs_.erase(outputs_.begin() + static_cast<std::ptrdiff_t>(i));
  for (; i < outputs_.size(); ++i) outputs_[i]->index_ = i;
}

namespace {

void permute(List<Value*>& values, std::size_t first, std::span<const std::size_t> order) {
  const std::vector<Value*> before(values.begin() + static_cast<std::ptrdiff_t>(first), values.end());
  for (std::size_t i = 0; i < order.size(); ++i) values[first + i] = before[order[i]];
}

}  // namespace

void Node::permute_inputs(std::size_t first, std::span<const std::size_t> order) {
  graph_->changed();
  const std::vector<std::size_t> places(places_.begin(), places_.end());
  permute(inputs_, first, order);
  for (std::size_t i = 0; i < order.size(); ++i) {
    places_[first + i] = places[first + order[i]];
    inputs_[first + i]->uses_[places_[first + i]].operand = first + i;
  }
}

void Node::permute_outputs(std::size_t first, std::span<const std::size_t> order) {
  graph_->changed();
  permute(outputs_, first, order);
  for (std::size_t i = first; i < outputs_.size(); ++i) outputs_[i]->index_ = i;
}

Block* Node::add_block() {
  blocks_.push_back(graph_->new_block(this));
  return blocks_.back();
}

const Constant* Node::attribute(std::string_view name) const {
  for (const Attribute& attribute : attributes())
    if (attribute.name == name) return &attribute.value;
  return nullptr;
}

void Node::set_attribute(std::string name, Constant value) {
  graph_->changed();
  if (!attributes_)
    attributes_ = std::make_shared<std::vector<Attribute>>();
  else if (attributes_.use_count() > 1)
    attributes_ = std::make_shared<std::vector<Attribute>>(*attributes_);
  const auto at = std::ranges::find(*attributes_, name, &Attribute::name);
  if (at != attributes_->end())
    at->value = std::move(value);
  else
    attributes_->push_back({std::move(name), std::move(value)});
}

// ---- Node: its place

void Node::link(Block* block, Node* before) {
  require(!owner_, "inserting a node that stands in a block already", op());
  graph_->changed();
  owner_ = block;
  next_ = before;
  previous_ = before ? before->previous_ : block->last_;
  (previous_ ? previous_->next_ : block->first_) = this;
  (next_ ? next_->previous_ : block->last_) = this;
  for (Value* output : outputs_) output->block_ = block;
}

void Node::unlink() {
  if (!owner_) return;
  graph_->changed();
  (previous_ ? previous_->next_ : owner_->first_) = next_;
  (next_ ? next_->previous_ : owner_->last_) = previous_;
  owner_ = nullptr;
  for (Value* output : outputs_) output->block_ = nullptr;
}

void Node::insert_before(Node* other) { link(other->owner_, other->is_return_ ? nullptr : other); }
void Node::insert_after(Node* other) { link(other->owner_, other->next_); }

void Node::move_before(Node* other) {
  if (other == this) return;
  unlink();
  insert_before(other);
}

void Node::erase() {
  require(!is_return_, "erasing a return node", op());
  for (Value* output : outputs_) require(output->unused(), "erasing a node whose output is in use", op());
  drop_inputs();
  unlink();
}

// ---- Block

Value* Block::add_input(TypeRef type, std::string name) {
  Value* value = graph_->new_value(std::move(type));
  value->block_ = this;
  value->index_ = inputs_.size();
  value->name_ = std::move(name);
  inputs_.push_back(value);
  return value;
}

void Block::erase_input(std::size_t i) {
  require(inputs_[i]->unused(), "erasing a block input that is in use", inputs_[i]->name_);
  graph_->changed();
  inputs_[i]->block_ = nullptr;
  inputs_.erase(inputs_.begin() + static_cast<std::ptrdiff_t>(i));
  for (; i < inputs_.size(); ++i) inputs_[i]->index_ = i;
}

void Block::permute_inputs(std::size_t first, std::span<const std::size_t> order) {
  graph_->changed();
  permute(inputs_, first, order);
  for (std::size_t i = first; i < inputs_.size(); ++i) inputs_[i]->index_ = i;
}

void Block::append(Node* node) { node->link(this, nullptr); }
void Block::prepend(Node* node) { node->link(this, first_); }

// ---- Graph

Graph::Graph() : memory_(std::make_unique<std::pmr::monotonic_buffer_resource>()) { top_ = new_block(nullptr); }
Graph::~Graph() = default;

Graph::Graph(Graph&& other) noexcept
    : memory_(std::move(other.memory_)),
      nodes_(std::move(other.nodes_)),
      values_(std::move(other.values_)),
      blocks_(std::move(other.blocks_)),
      top_(std::exchange(other.top_, nullptr)),
      next_value_(other.next_value_),
      analysis_(std::move(other.analysis_)) {
  retarget();
}

Graph& Graph::operator=(Graph&& other) noexcept {
  if (this == &other) return *this;
  // The old contents and their memory are dropped with `other`.
  std::swap(memory_, other.memory_);
  nodes_ = std::move(other.nodes_);
  values_ = std::move(other.values_);
  blocks_ = std::move(other.blocks_);
  top_ = std::exchange(other.top_, nullptr);
  next_value_ = other.next_value_;
  analysis_ = std::move(other.analysis_);
  retarget();
  return *this;
}

void Graph::retarget() {
  nodes_.for_each([this](Node& node) { node.graph_ = this; });
  blocks_.for_each([this](Block& block) { block.graph_ = this; });
}

Value* Graph::new_value(TypeRef type) {
  changed();
  Value* value = &values_.add(*memory_, memory_.get());
  value->id_ = next_value_++;
  value->type_ = std::move(type);
  return value;
}

Node* Graph::new_node(SharedText op) {
  Node* node = &nodes_.add(*memory_, memory_.get(), std::move(op));
  node->graph_ = this;
  return node;
}

Block* Graph::new_block(Node* owner) {
  static const auto return_op = std::make_shared<const std::string>("prim::Return");
  Block* block = &blocks_.add(*memory_, memory_.get());
  block->graph_ = this;
  block->owner_ = owner;
  block->return_ = new_node(return_op);
  block->return_->is_return_ = true;
  block->return_->owner_ = block;
  return block;
}

Node* Graph::create(std::string op, std::span<Value* const> inputs, std::size_t outputs) {
  Node* node = new_node(std::make_shared<const std::string>(std::move(op)));
  node->inputs_.reserve(inputs.size());
  node->places_.reserve(inputs.size());
  for (Value* input : inputs) node->add_input(input);
  for (std::size_t i = 0; i < outputs; ++i) node->add_output(tensor_type());
  return node;
}

Node* Graph::create_constant(Constant value) {
  static const auto constant_op = std::make_shared<const std::string>("prim::Constant");
  Node* node = new_node(constant_op);
  node->add_output(type_of(value));
  node->set_attribute("value", std::move(value));
  return node;
}

const Constant* constant_of(const Value* value) {
  static const Constant none;
  const Node* node = value->producer();
  if (!node || !node->is("prim::Constant")) return nullptr;
  const Constant* constant = node->attribute("value");
  return constant ? constant : &none;
}

}  // namespace compatcheck::ir
