#include "frontend/torchscript/interpreter.h"

#include <ATen/ATen.h>
#include <ATen/core/function.h>

#include <algorithm>

#include "compatcheck/error.h"
#include "frontend/libtorch_message.h"
#include "ir/control_flow.h"
#include "process/spell_count.h"

namespace compatcheck::frontend::torchscript {
namespace {

using c10::IValue;

// A failure that already says where.
struct Located : ModelError {
  using ModelError::ModelError;
};

std::string describe(const ir::Node& node) {
  std::string text;
  for (const ir::Value* output : node.outputs()) text += (text.empty() ? "%" : ", %") + output->name();
  if (!text.empty()) text += " = ";
  text += node.op();
  if (const auto& at = node.location(); at && !at->file.empty()) text += " at " + at->file + ":" + std::to_string(at->line);
  return text;
}

std::string text_attribute(const ir::Node& node, std::string_view name) {
  const ir::Constant* attribute = node.attribute(name);
  const auto* text = attribute ? attribute->get<std::string>() : nullptr;
  if (!text) throw ModelError(node.op() + " has no " + std::string(name));
  return *text;
}

// passes: the functional form of an in-place operator that may promote; memory keeps its dtype.
IValue as_written(const ir::Node& node, const IValue& result, const IValue& first) {
  if (!node.attribute("inplace") || !result.isTensor() || !first.isTensor()) return result;
  return result.toTensor().to(first.toTensor().scalar_type());
}

// As libtorch's executor (CanonicalizeOps): of these operators a constant without dimensions promotes as a number. Not what
// passes made of an attribute, whose path it tells.
bool takes_number(const ir::Node& node) {
  const bool adds = node.is("aten::add") || node.is("aten::sub"), multiplies = node.is("aten::mul") || node.is("aten::div");
  if (!(adds && node.inputs().size() == 3) && !(multiplies && node.inputs().size() == 2)) return false;
  const ir::Constant* other = ir::constant_of(node.input(1));
  const auto* tensor = other ? other->get<ir::TensorView>() : nullptr;
  return tensor && tensor->sizes.empty() && !node.input(1)->producer()->attribute("path");
}

// Source: torch/csrc/jit/runtime/register_prim_ops.cpp, prim::tolist: the element type's number.
IValue numbers_of(const at::Tensor& tensor, std::int64_t element) {
  if (tensor.dim() > 0) {
    std::vector<IValue> items;
    for (std::int64_t i = 0; i < tensor.size(0); ++i) items.push_back(numbers_of(tensor[i], element));
    c10::TypePtr type = element == 0   ? c10::TypePtr(c10::IntType::get())
                        : element == 1 ? c10::TypePtr(c10::FloatType::get())
                                       : c10::TypePtr(c10::BoolType::get());
    for (std::int64_t depth = 1; depth < tensor.dim(); ++depth) type = c10::ListType::create(type);
    return make_list(type, items);
  }
  if (element == 0) return tensor.item<std::int64_t>();
  if (element == 1) return tensor.item<double>();
  if (element == 2) return tensor.item<bool>();
  throw ModelError("lists of complex numbers are not run");
}

// The node of `block` that `node` is or is inside of.
const ir::Node* in_block(const ir::Node* node, const ir::Block* block) {
  while (node->owner() != block) node = node->owner()->owner();
  return node;
}

// The stack is no tensor before the first.
IValue one_row_more(const IValue& stack, const at::Tensor& row) {
  return stack.isTensor() ? at::cat({stack.toTensor(), row.unsqueeze(0)}) : row.unsqueeze(0);
}

}  // namespace

Interpreter::Interpreter(const ir::Graph& graph, ConstantSources sources, Watch watch)
    : graph_(graph), constants_(std::move(sources)), watch_(std::move(watch)) {
  find_last_uses();
}

void Interpreter::find_last_uses() {
  std::unordered_map<const ir::Node*, std::size_t> order;
  ir::for_each_node(*graph_.top(), [&](const ir::Node* node) { order.emplace(node, order.size()); });
  const auto look_at = [&](const ir::Value* value) {
    if (watch_.kept.contains(value)) return;
    const ir::Node* last = value->producer();
    for (const ir::Use& use : value->uses()) {
      const ir::Node* user = in_block(use.user, value->block());
      if (user == value->block()->return_node()) return;  // read when the block has run
      if (!last || order.at(user) > order.at(last)) last = user;
    }
    if (last) last_used_[last].push_back(value);
  };
  for (const ir::Value* input : graph_.inputs()) look_at(input);
  ir::for_each_node(*graph_.top(), [&](const ir::Node* node) {
    for (const ir::Value* output : node->outputs()) look_at(output);
    for (const ir::Block* inner : node->blocks())
      for (const ir::Value* input : inner->inputs()) look_at(input);
  });
}

void Interpreter::define(const ir::Value& value, IValue held) {
  if (watch_.defined) watch_.defined(value, held);
  values_[value.id()] = std::move(held);
}

void Interpreter::define_outputs(const ir::Node& node, Values held) {
  if (held.size() != node.outputs().size())
    throw ModelError("gives " + spell_count(held.size(), "value") + ", the graph takes " + std::to_string(node.outputs().size()));
  for (std::size_t i = 0; i < held.size(); ++i) define(*node.output(i), std::move(held[i]));
}

Interpreter::Values Interpreter::inputs_of(const ir::Node& node) const {
  Values values;
  values.reserve(node.inputs().size());
  for (const ir::Value* input : node.inputs()) values.push_back(get(input));
  return values;
}

void Interpreter::bind(const ir::Block& block, const Values& inputs) {
  if (block.inputs().size() != inputs.size())
    throw ModelError("the graph takes " + spell_count(block.inputs().size(), "input") + ", not " + std::to_string(inputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) define(*block.inputs()[i], inputs[i]);
}

std::vector<IValue> Interpreter::run(const Values& inputs) {
  values_.assign(graph_.value_limit(), IValue());
  bind(*graph_.top(), inputs);
  return run_block(*graph_.top());
}

Interpreter::Values Interpreter::run_block(const ir::Block& block) {
  for (const ir::Node* node : block) {
    try {
      run_node(*node);
      if (const auto done = last_used_.find(node); done != last_used_.end())
        for (const ir::Value* value : done->second) values_[value->id()] = IValue();
    } catch (const Located&) {
      throw;
    } catch (const std::exception& error) {
      throw Located(describe(*node) + ": " + first_sentence(error.what()));
    }
  }
  Values outputs;
  for (const ir::Value* output : block.outputs()) outputs.push_back(get(output));
  if (watch_.finished) watch_.finished(block, [this](const ir::Value& value) -> const IValue& { return get(&value); });
  return outputs;
}

void Interpreter::run_node(const ir::Node& node) {
  if (node.is("prim::If")) return run_if(node);
  if (node.is("prim::Loop")) return run_loop(node);
  if (node.op().starts_with("prim::") && (run_structural(node) || run_container(node) || run_object(node))) return;
  run_operator(node);
}

void Interpreter::run_if(const ir::Node& node) {
  const IValue& condition = get(ir::IfView(node).condition());
  const bool taken = condition.isTensor() ? condition.toTensor().item<bool>() : condition.toBool();
  define_outputs(node, run_block(ir::IfView(node).block_if(taken)));
}

void Interpreter::run_loop(const ir::Node& node) {
  const ir::LoopView loop(node);
  const ir::Block& body = loop.body();
  Values carried = inputs_of(node);
  const std::int64_t most = get(loop.trip_count()).toInt();
  bool go_on = get(loop.condition()).toBool();
  carried.erase(carried.begin(), carried.begin() + ir::LoopView::first_initial_value);
  for (std::int64_t turn = 0; go_on && turn < most; ++turn) {
    carried.insert(carried.begin(), turn);
    bind(body, carried);
    carried = run_block(body);
    go_on = carried[0].toBool();
    carried.erase(carried.begin());
  }
  define_outputs(node, std::move(carried));
}

const IValue& Interpreter::constant(const ir::Node& node) {
  const auto [place, added] = constants_read_.try_emplace(&node);
  const ir::Constant* held = node.attribute("value");
  if (added && held) place->second = constants_.read(*held);
  return place->second;
}

bool Interpreter::run_structural(const ir::Node& node) {
  if (node.is("prim::Constant"))
    define(*node.output(), constant(node));
  else if (node.is("prim::unchecked_cast") || node.is("prim::unchecked_unwrap_optional"))
    define(*node.output(), get(node.input(0)));
  else if (node.is("prim::Uninitialized"))
    define(*node.output(), IValue::uninitialized());
  else if (node.is("prim::StackAppend"))
    define(*node.output(), one_row_more(get(node.input(0)), get(node.input(1)).toTensor()));
  else if (node.is("prim::isinstance"))
    define(*node.output(), is_instance(node));
  else if (node.is("prim::Print"))
    return true;
  else if (node.is("prim::RaiseException"))
    throw ModelError("the model raises " +
                     (get(node.input(0)).isString() ? get(node.input(0)).toStringRef() : std::string("an exception")));
  else
    return false;
  return true;
}

bool Interpreter::run_container(const ir::Node& node) {
  if (node.is("prim::ListConstruct")) {
    const ir::TypeRef& type = node.output()->type();
    const bool known = ir::is(type, ir::TypeKind::list) && !type->elements.empty();
    Values items = inputs_of(node);
    const c10::TypePtr element = known           ? constants_.type(*type->elements[0])
                                 : items.empty() ? c10::TypePtr(c10::TensorType::get())
                                                 : items[0].type();
    define(*node.output(), make_list(element, items));
  } else if (node.is("prim::tolist")) {
    define(*node.output(), numbers_of(get(node.input(0)).toTensor(), get(node.input(2)).toInt()));
  } else if (node.is("prim::TupleConstruct")) {
    define(*node.output(), c10::ivalue::Tuple::create(inputs_of(node)));
  } else if (node.is("prim::OptionalConstruct")) {
    define(*node.output(), get(node.input(0)).toBool() ? get(node.input(1)) : IValue());
  } else if (node.is("prim::DictConstruct")) {
    const auto type = constants_.type(*node.output()->type())->cast<c10::DictType>();
    if (!type) throw ModelError("a dict of unknown type");
    c10::impl::GenericDict dict(type->getKeyType(), type->getValueType());
    for (std::size_t i = 0; i + 1 < node.inputs().size(); i += 2)
      dict.insert_or_assign(get(node.input(i)), get(node.input(i + 1)));
    define(*node.output(), dict);
  } else if (node.is("prim::ListUnpack")) {
    const auto items = get(node.input(0)).toListRef();
    define_outputs(node, Values(items.begin(), items.end()));
  } else if (node.is("prim::TupleUnpack")) {
    const auto& items = get(node.input(0)).toTupleRef().elements();
    define_outputs(node, Values(items.begin(), items.end()));
  } else if (node.is("prim::TupleIndex")) {
    const auto& items = get(node.input(0)).toTupleRef().elements();
    const std::int64_t index = get(node.input(1)).toInt(), size = static_cast<std::int64_t>(items.size());
    define(*node.output(), items.at(static_cast<std::size_t>(index < 0 ? index + size : index)));
  } else if (node.is("prim::TupleSlice")) {
    const auto& items = get(node.input(0)).toTupleRef().elements();
    const auto *begin = node.attribute("beg"), *end = node.attribute("end");
    if (!begin || !end) throw ModelError("a slice without bounds");
    define(*node.output(), c10::ivalue::Tuple::create(
                               Values(items.begin() + *begin->get<std::int64_t>(), items.begin() + *end->get<std::int64_t>())));
  } else {
    return false;
  }
  return true;
}

bool Interpreter::run_object(const ir::Node& node) {
  if (node.is("prim::GetAttr")) {
    define(*node.output(), get(node.input(0)).toObjectRef().getAttr(text_attribute(node, "name")));
  } else if (node.is("prim::SetAttr")) {
    get(node.input(0)).toObject()->setAttr(text_attribute(node, "name"), get(node.input(1)));
  } else if (node.is("prim::CallMethod")) {
    call_function(node, get(node.input(0)).toObjectRef().type()->getMethod(text_attribute(node, "name")), inputs_of(node));
  } else if (node.is("prim::CallFunction")) {
    const ir::Constant* named = ir::constant_of(node.input(0));
    const auto* function = named ? named->get<ir::FunctionConstant>() : nullptr;
    if (!function) throw ModelError("a call of what isn't a function");
    Values arguments = inputs_of(node);
    arguments.erase(arguments.begin());
    call_function(node, constants_.function(function->name), std::move(arguments));
  } else if (node.is("prim::CreateObject")) {
    const auto type = constants_.type(*node.output()->type())->cast<c10::ClassType>();
    if (!type) throw ModelError("the class " + ir::to_string(*node.output()->type()) + " is not in the file");
    define(*node.output(), c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), type->numAttributes()));
  } else if (node.is("prim::fork")) {
    run_fork(node);
  } else {
    return false;
  }
  return true;
}

// At once, and the result stands for its future.
void Interpreter::run_fork(const ir::Node& node) {
  const ir::Constant* body = node.attribute("Subgraph");
  const auto* named = body ? body->get<ir::FunctionConstant>() : nullptr;
  if (!named) throw ModelError("prim::fork has no body");
  define_outputs(node, Interpreter(constants_.sources().body(named->name), constants_.sources()).run(inputs_of(node)));
}

void Interpreter::call_function(const ir::Node& node, torch::jit::Function& function, Values arguments) {
  function.run(arguments);
  define_outputs(node, std::move(arguments));
}

// The attribute `types` spells them as annotations do.
bool Interpreter::is_instance(const ir::Node& node) const {
  const ir::Constant* types = node.attribute("types");
  const auto* list = types ? types->get<ir::ListConstant>() : nullptr;
  if (!list) throw ModelError("prim::isinstance has no types");
  const IValue& value = get(node.input(0));
  const std::string own = value.type()->annotation_str();
  return std::any_of(list->items.begin(), list->items.end(), [&](const ir::Constant& item) {
    const auto* type_name = item.get<std::string>();
    if (!type_name) return false;
    return *type_name == own || (*type_name == "list" && value.isList()) || (*type_name == "tuple" && value.isTuple());
  });
}

void Interpreter::run_operator(const ir::Node& node) {
  if (node.is("aten::wait")) return define(*node.output(), get(node.input(0)));
  Values arguments = inputs_of(node);
  if (takes_number(node)) {
    at::Tensor number = arguments[1].toTensor().clone();
    number.unsafeGetTensorImpl()->set_wrapped_number(true);
    arguments[1] = std::move(number);
  }
  const IValue first = arguments.empty() ? IValue() : arguments[0];
  Values results = operators_.call(node.op(), node.overload(), std::move(arguments));
  if (results.size() == 1 && node.outputs().size() == 1) results[0] = as_written(node, results[0], first);
  define_outputs(node, std::move(results));
}

}  // namespace compatcheck::frontend::torchscript
