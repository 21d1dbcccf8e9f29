#include <algorithm>
#include <tuple>

#include "compatcheck/error.h"
#include "ir/graph.h"
#include "ir/text.h"

namespace compatcheck::ir {
namespace {

[[noreturn]] void fail(const std::string& what, const Node* node) {
  throw InternalError("broken graph: " + what + (node ? ", at " + print(*node) : std::string()));
}

std::string spelled(const Value* value) { return '%' + (value->name().empty() ? std::to_string(value->id()) : value->name()); }

// One walk in order: what is defined and still in scope, what each use list must hold.
class Verifier {
 public:
  explicit Verifier(const Graph& graph)
      : graph_(graph), state_(graph.value_limit(), State::unseen), operands_(graph.value_limit()) {}

  void block(const Block& block) {
    if (block.graph() != &graph_) fail("a block belongs to another graph", block.owner());
    std::vector<const Value*> defined;
    define(block.inputs(), &block, nullptr, defined);
    const Node* previous = nullptr;
    for (const Node* node = block.first(); node; node = node->next()) {
      if (node->previous() != previous || node->owner() != &block) fail("the node list is inconsistent", node);
      this->node(*node);
      define(node->outputs(), &block, node, defined);
      previous = node;
    }
    if (block.last() != previous) fail("the node list ends elsewhere", previous);
    operands(*block.return_node());
    for (const Value* value : defined) state_[value->id()] = State::out_of_scope;
    values_.insert(values_.end(), defined.begin(), defined.end());
  }

  // After the walk, so that a use out of scope is called that.
  void uses() const {
    for (const Value* value : values_) uses(*value);
  }

 private:
  enum class State : char { unseen, in_scope, out_of_scope };

  void define(std::span<Value* const> values, const Block* block, const Node* producer, std::vector<const Value*>& defined) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Value* value = values[i];
      if (value->producer() != producer || value->block() != block || value->index() != i)
        fail(spelled(value) + " doesn't know where it is defined", producer);
      if (value->id() >= state_.size() || state_[value->id()] != State::unseen)
        fail(spelled(value) + " shares its number with another value", producer);
      if (!value->type()) fail(spelled(value) + " has no type", producer);
      state_[value->id()] = State::in_scope;
      defined.push_back(value);
    }
  }

  void operands(const Node& node) {
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const Value* input = node.input(i);
      if (input->id() >= state_.size() || state_[input->id()] != State::in_scope)
        fail(spelled(input) + " is used where it isn't defined", &node);
      ++operands_[input->id()];
    }
  }

  // The list is exact when each entry is right, none comes twice, and as many operands were met on the walk.
  void uses(const Value& value) const {
    std::vector<Use> uses(value.uses().begin(), value.uses().end());
    std::sort(uses.begin(), uses.end(),
              [](const Use& a, const Use& b) { return std::tie(a.user, a.operand) < std::tie(b.user, b.operand); });
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const auto& [user, operand] = uses[i];
      if (!user->owner() || operand >= user->inputs().size() || user->input(operand) != &value)
        fail(spelled(&value) + " is used by a node that stands nowhere", user);
      if (i > 0 && uses[i] == uses[i - 1]) fail(spelled(&value) + " lists a use twice", user);
    }
    if (uses.size() != operands_[value.id()])
      fail(spelled(&value) + " lists " + std::to_string(uses.size()) + " uses of " + std::to_string(operands_[value.id()]),
           value.producer());
  }

  void node(const Node& node) {
    if (node.graph() != &graph_) fail("a node belongs to another graph", &node);
    operands(node);
    if (const auto fault = arity_fault(node); !fault.empty()) fail(std::string(fault), &node);
    for (const Block* inner : node.blocks()) {
      if (inner->owner() != &node) fail("a block doesn't know its owner", &node);
      block(*inner);
    }
  }

  const Graph& graph_;
  std::vector<State> state_;
  std::vector<std::size_t> operands_;
  std::vector<const Value*> values_;
};

std::string_view arity_fault_of_if(const Node& node) {
  if (node.inputs().size() != 1 || node.blocks().size() != 2) return "an If needs one condition and two blocks";
  for (const Block* block : node.blocks()) {
    if (!block->inputs().empty()) return "a block of an If has inputs";
    if (block->outputs().size() != node.outputs().size()) return "a block of an If returns another number of values";
  }
  return {};
}

std::string_view arity_fault_of_loop(const Node& node) {
  if (node.inputs().size() < 2 || node.blocks().size() != 1) return "a Loop needs a trip count, a condition and one block";
  const std::size_t carried = node.inputs().size() - 2;
  const Block& body = *node.blocks()[0];
  if (body.inputs().size() != carried + 1 || body.outputs().size() != carried + 1 || node.outputs().size() != carried)
    return "a Loop's inputs, body and outputs disagree on the carried values";
  return {};
}

// Operators of the language itself, which are read by position everywhere: the fewest inputs and outputs that they have.
struct Arity {
  std::string_view op;
  std::size_t inputs, outputs;
};
constexpr Arity arities[] = {{"prim::GetAttr", 1, 1},
                             {"prim::SetAttr", 2, 0},
                             {"prim::CallMethod", 1, 0},
                             {"prim::CallFunction", 1, 0},
                             {"prim::TupleIndex", 2, 1},
                             {"prim::TupleSlice", 1, 1},
                             {"prim::TupleUnpack", 1, 0},
                             {"prim::TupleConstruct", 0, 1},
                             {"prim::ListUnpack", 1, 0},
                             {"prim::ListConstruct", 0, 1},
                             {"prim::DictConstruct", 0, 1},
                             {"prim::ColumnsConstruct", 1, 1},
                             {"prim::OptionalConstruct", 2, 1},
                             {"prim::NumToTensor", 1, 1},
                             {"prim::dtype", 1, 1},
                             {"prim::device", 1, 1},
                             {"prim::layout", 1, 1},
                             {"prim::shape", 1, 1},
                             {"prim::data", 1, 1},
                             {"prim::unchecked_cast", 1, 1},
                             {"prim::annotate", 1, 1},
                             {"prim::unchecked_unwrap_optional", 1, 1},
                             {"prim::isinstance", 1, 1},
                             {"prim::Uninitialized", 0, 1},
                             {"prim::StackAppend", 2, 1},
                             {"prim::CreateObject", 0, 1},
                             {"prim::min", 1, 1},
                             {"prim::max", 1, 1},
                             {"prim::abs", 1, 1},
                             {"prim::tolist", 1, 1},
                             {"prim::type", 1, 1},
                             {"prim::rangelist", 1, 1},
                             {"prim::is_cuda", 1, 1},
                             {"prim::requires_grad", 1, 1},
                             {"prim::itemsize", 1, 1},
                             {"prim::StringIndex", 2, 1},
                             {"prim::ModuleContainerIndex", 2, 1},
                             {"aten::__is__", 2, 1},
                             {"aten::__isnot__", 2, 1},
                             {"aten::Int", 1, 1},
                             {"aten::IntImplicit", 1, 1},
                             {"aten::ScalarImplicit", 1, 1},
                             {"aten::wait", 1, 1},
                             {"aten::__getitem__", 2, 1},
                             {"aten::get", 2, 1},
                             {"aten::__contains__", 2, 1},
                             {"aten::keys", 1, 1},
                             {"aten::values", 1, 1},
                             {"aten::items", 1, 1}};

}  // namespace

std::string_view arity_fault(const Node& node) {
  for (const Arity& arity : arities)
    if (node.is(arity.op) && (node.inputs().size() < arity.inputs || node.outputs().size() < arity.outputs))
      return "too few inputs or outputs for this operator";
  if (node.is("prim::If")) return arity_fault_of_if(node);
  if (node.is("prim::Loop")) return arity_fault_of_loop(node);
  if (node.is("prim::Constant") && (!node.inputs().empty() || node.outputs().size() != 1))
    return "a Constant has no inputs and one output";
  return {};
}

void Graph::verify() const {
  Verifier verifier(*this);
  verifier.block(*top_);
  verifier.uses();
}

}  // namespace compatcheck::ir
