#include <unordered_map>

#include "compatcheck/error.h"
#include "ir/graph.h"

namespace compatcheck::ir {

// Copies nodes into one graph and remembers which value stands for which.
class Copier {
 public:
  // Copies parts of graphs.
  explicit Copier(Graph& target) : target_(target) {}
  // Copies a whole graph, whose values keep their ids.
  Copier(Graph& target, std::uint32_t value_limit) : target_(target), by_id_(value_limit) {}

  void map(const Value* from, Value* to) {
    if (by_id_.empty())
      copied_[from] = to;
    else
      by_id_[from->id()] = to;
  }
  const std::unordered_map<const Value*, Value*>& copied() const { return copied_; }

  // A value from outside the copied part stands for itself.
  Value* at(Value* value) const {
    if (!by_id_.empty()) return by_id_[value->id()];
    const auto it = copied_.find(value);
    return it == copied_.end() ? value : it->second;
  }

  Node* copy(const Node& source) {
    Node* node = target_.new_node(source.op_);
    node->overload_ = source.overload_;
    node->module_ = source.module_;
    node->schema_ = source.schema_;
    node->attributes_ = source.attributes_;
    node->location_ = source.location_;
    node->inputs_.reserve(source.inputs_.size());
    node->places_.reserve(source.inputs_.size());
    for (Value* input : source.inputs_) node->add_input(at(input));
    for (const Value* output : source.outputs_) copy_value(*output, node->add_output(output->type_));
    for (const Block* block : source.blocks_) copy_block(*block, node->add_block());
    return node;
  }

  void copy_block(const Block& source, Block* block) {
    for (const Value* input : source.inputs_) copy_value(*input, block->add_input(input->type_));
    for (Node* inner : source) block->append(copy(*inner));
    for (Value* output : source.outputs()) block->add_output(at(output));
  }

 private:
  void copy_value(const Value& source, Value* value) {
    value->name_ = source.name_;
    if (!by_id_.empty()) value->id_ = source.id_;
    map(&source, value);
  }

  Graph& target_;
  std::unordered_map<const Value*, Value*> copied_;
  std::vector<Value*> by_id_;
};

std::vector<Value*> Graph::copy_block_contents(const Block& source, std::span<Value* const> inputs, Block* into, Node* before) {
  if (inputs.size() != source.inputs().size())
    throw InternalError("copying a block of " + std::to_string(source.inputs().size()) + " inputs for " +
                        std::to_string(inputs.size()) + " values");
  Copier copier(*this);
  for (std::size_t i = 0; i < inputs.size(); ++i) copier.map(source.inputs()[i], inputs[i]);
  // The list is taken first: `into` may be the source itself.
  const std::vector<Node*> nodes = [&] {
    std::vector<Node*> all;
    for (Node* node : source) all.push_back(node);
    return all;
  }();
  for (const Node* node : nodes) {
    Node* copy = copier.copy(*node);
    if (before)
      copy->insert_before(before);
    else
      into->append(copy);
  }
  std::vector<Value*> outputs;
  for (Value* output : source.outputs()) outputs.push_back(copier.at(output));
  return outputs;
}

Node* Graph::copy_node(const Node& source) { return Copier(*this).copy(source); }

Node* Graph::copy_node(const Node& source, std::unordered_map<const Value*, Value*>& values) {
  Copier copier(*this);
  for (const auto& [from, to] : values) copier.map(from, to);
  Node* copy = copier.copy(source);
  values = copier.copied();
  return copy;
}

std::size_t footprint(const Node& node) {
  constexpr std::size_t an_input = sizeof(Value*) + sizeof(std::size_t) + sizeof(Use), an_output = sizeof(Value) + sizeof(Value*);
  std::size_t bytes = sizeof(Node) + node.op().size() + node.module().size() + node.inputs().size() * an_input;
  for (const Value* output : node.outputs()) bytes += an_output + output->name().size();
  for (const Attribute& attribute : node.attributes()) bytes += attribute.name.size() + footprint(attribute.value);
  return bytes;
}

Graph Graph::clone() const {
  Graph copy;
  Copier(copy, next_value_).copy_block(*top_, copy.top_);
  copy.next_value_ = next_value_;
  return copy;
}

}  // namespace compatcheck::ir
