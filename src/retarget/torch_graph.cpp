#include "retarget/torch_graph.h"

#include <algorithm>
#include <functional>
#include <set>

#include "compatcheck/error.h"
#include "conversion/assess.h"
#include "conversion/facts.h"
#include "conversion/lower.h"
#include "onnx/cleanup.h"
#include "onnx/proto.h"

namespace compatcheck::retarget {
namespace {

using onnx::Refusal;

std::optional<ir::TensorView> view_of(const ::onnx::TensorProto& tensor) {
  const auto dtype = onnx::dtype_from_data_type(tensor.data_type());
  if (!dtype) return std::nullopt;
  onnx::TensorData data;
  if (tensor.has_raw_data())
    data.bytes.assign(tensor.raw_data().begin(), tensor.raw_data().end());
  else if (const auto ints = ints_of(tensor))
    data = onnx::make_tensor(*dtype, {}, *ints);
  else if (const auto floats = floats_of(tensor))
    data = onnx::make_tensor(*dtype, {}, *floats);
  else
    return std::nullopt;
  if (data.bytes.size() != static_cast<std::size_t>(elements_of(tensor)) * ir::element_bytes(*dtype)) return std::nullopt;
  // One without elements may state any other sizes.
  if (std::ranges::any_of(tensor.dims(), [](std::int64_t size) { return size > most_elements; })) return std::nullopt;
  ir::TensorView view;
  view.dtype = *dtype;
  view.sizes.assign(tensor.dims().begin(), tensor.dims().end());
  view.strides.assign(view.sizes.size(), 1);
  for (std::size_t i = view.sizes.size(); i-- > 1;)
    view.strides[i - 1] = view.strides[i] * std::max<std::int64_t>(view.sizes[i], 1);
  auto storage = std::make_shared<ir::Storage>();
  storage->bytes = data.bytes.size();
  storage->data = std::move(data.bytes);
  view.storage = std::move(storage);
  return view;
}

symbolic::Fact fact_of(const ::onnx::TypeProto& type, const std::string& name) {
  symbolic::TensorFact fact;
  fact.dtype = onnx::dtype_from_data_type(type.tensor_type().elem_type());
  if (!fact.dtype) throw Refusal{"the dtype of '" + name + "' is none that PyTorch has"};
  if (type.tensor_type().has_shape()) {
    symbolic::Shape shape;
    int place = 0;
    for (const auto& dim : type.tensor_type().shape().dim()) {
      const std::string own = name + "." + std::to_string(place++);
      shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0
                          ? symbolic::Dim(dim.dim_value())
                          : symbolic::Dim::symbol(dim.has_dim_param() && !dim.dim_param().empty() ? dim.dim_param() : own));
    }
    fact.shape = std::move(shape);
  }
  return {.value = std::move(fact)};
}

void clean_up(onnx::Model& model) {
  onnx::remove_identities(model);
  onnx::merge_equal(model);
  onnx::fold_constants(model, {});
  onnx::remove_dead(model);
  onnx::guard_padding(model);
  onnx::guard_fusions(model);
  onnx::guard_slices(model);
  onnx::name_all(model);
}

}  // namespace

ir::Value* TorchGraph::constant(ir::Constant value) {
  ir::Node* made = graph_.create_constant(std::move(value));
  graph_.top()->append(made);
  return made->output();
}

ir::Value* TorchGraph::input(int index) {
  const std::string& name = input_of(node, index);
  if (const auto found = inputs_.find(name); found != inputs_.end()) return found->second;
  if (const auto* tensor = scope.constant(name))
    if (auto view = view_of(*tensor)) return inputs_[name] = constant({std::move(*view)});
  const auto* type = scope.type(name);
  if (!type || !type->has_tensor_type()) throw Refusal{"the type of '" + name + "' isn't known"};
  facts_.push_back(fact_of(*type, name));
  ir::TensorType stated;
  stated.dtype = facts_.back().tensor()->dtype;
  ir::Value* made = graph_.top()->add_input(ir::tensor_type(std::move(stated)), "input_" + std::to_string(read_.size()));
  read_.push_back(name);
  return inputs_[name] = made;
}

TorchGraph::Argument TorchGraph::optional(int index) {
  if (has(index)) return input(index);
  return None{};
}

ir::Value* TorchGraph::argument(const Argument& argument) {
  return std::visit(
      [&](const auto& value) -> ir::Value* {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, None>) {
          return constant({});
        } else if constexpr (std::is_same_v<T, ir::Value*>) {
          return value;
        } else if constexpr (std::is_same_v<T, Ints>) {
          ir::ListConstant list{.element = ir::simple_type(ir::TypeKind::integer), .items = {}};
          for (const std::int64_t item : value) list.items.push_back({item});
          return constant({std::move(list)});
        } else if constexpr (std::is_same_v<T, std::vector<ir::Value*>>) {
          ir::Node* made = graph_.create("prim::ListConstruct", value, 1);
          bool optional = false;
          for (const ir::Value* item : value) optional = optional || ir::is(item->type(), ir::TypeKind::none);
          made->output()->set_type(ir::list_of(optional ? ir::optional_of(ir::tensor_type()) : ir::tensor_type()));
          graph_.top()->append(made);
          return made->output();
        } else {
          return constant({value});
        }
      },
      argument);
}

std::vector<ir::Value*> TorchGraph::calls(const std::string& op, std::initializer_list<Argument> arguments, std::size_t results) {
  std::vector<ir::Value*> inputs;
  for (const Argument& one : arguments) inputs.push_back(argument(one));
  ir::Node* made = graph_.create(op, inputs, results);
  for (ir::Value* output : made->outputs()) output->set_type(ir::tensor_type());
  graph_.top()->append(made);
  return {made->outputs().begin(), made->outputs().end()};
}

ir::Value* TorchGraph::call(const std::string& op, std::initializer_list<Argument> arguments) {
  return calls(op, arguments, 1).front();
}

std::int64_t TorchGraph::rank(int input) const {
  const auto known = scope.rank(input_of(node, input));
  if (!known) throw Refusal{"the rank of '" + input_of(node, input) + "' isn't known"};
  return *known;
}

std::vector<std::int64_t> TorchGraph::sizes(int input) const {
  const auto known = scope.sizes(input_of(node, input));
  std::vector<std::int64_t> all;
  for (const auto& size : known.value_or(std::vector<std::optional<std::int64_t>>{std::nullopt})) {
    if (!size) throw Refusal{"the sizes of '" + input_of(node, input) + "' aren't known"};
    all.push_back(*size);
  }
  return all;
}

ir::DType TorchGraph::dtype(int input) const {
  const auto known = scope.dtype(input_of(node, input));
  if (!known) throw Refusal{"the dtype of '" + input_of(node, input) + "' isn't known"};
  return *known;
}

std::vector<std::int64_t> TorchGraph::ints(int input, const std::string& what) const {
  auto known = scope.ints(input_of(node, input));
  if (!known) throw Refusal{"its " + what + " are known only when the model runs"};
  return std::move(*known);
}

std::int64_t TorchGraph::number(int input, const std::string& what) const {
  const auto known = scope.ints(input_of(node, input));
  if (!known || known->size() != 1) throw Refusal{"its " + what + " is known only when the model runs"};
  return known->front();
}

Piece TorchGraph::lower(const std::vector<ir::Value*>& outputs, Names& names) {
  for (ir::Value* output : outputs) graph_.top()->add_output(output);
  schema::resolve(graph_, setting_.tables.schemas);
  std::vector<conversion::InputFact> given;
  for (std::size_t i = 0; i < facts_.size(); ++i) given.push_back({"input_" + std::to_string(i), facts_[i]});
  const symbolic::FactTable facts = conversion::state_facts(graph_, given, setting_.tables.table, setting_.tables.schemas,
                                                            setting_.tables.registry, nullptr, setting_.watch);
  const std::unordered_map<const ir::Node*, std::string> no_writes;
  std::vector<const ir::Node*> calls;
  for (const ir::Node* call : *graph_.top())
    if (!setting_.tables.table.find_structural(call->op())) calls.push_back(call);
  conversion::FormTable forms;
  if (setting_.form)
    for (const ir::Node* call : calls) forms.at[setting_.to][call] = *setting_.form;
  const conversion::Context context{.table = setting_.tables.table,
                                    .schemas = setting_.tables.schemas,
                                    .registry = setting_.tables.registry,
                                    .handlers = setting_.tables.handlers,
                                    .moved = setting_.moved,
                                    .facts = facts,
                                    .unresolved_writes = no_writes,
                                    .watch = setting_.watch,
                                    .forms = &forms};
  conversion::Assessor assessor(graph_, context);
  if (older_) {
    std::set<int, std::greater<>> opsets;
    for (const ir::Node* call : calls)
      for (const int opset : assessor.older_forms(*call, setting_.to)) opsets.insert(opset);
    older_->assign(opsets.begin(), opsets.end());
  }
  for (const auto& outcome : assessor.assess(setting_.to).outcomes)
    if (outcome.status != conversion::Status::ok) throw Refusal{outcome.reason, outcome.hint};
  conversion::LowerOptions options{.opset = setting_.to, .input_names = {}, .output_names = {}};
  for (std::size_t i = 0; i < read_.size(); ++i) options.input_names.push_back("input_" + std::to_string(i));
  for (std::size_t i = 0; i < outputs.size(); ++i) options.output_names.push_back("result_" + std::to_string(i));
  try {
    onnx::Model model = conversion::lower(graph_, context, options);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto place = static_cast<int>(i);
      const auto* type = place < node.output_size() ? scope.type(node.output(place)) : nullptr;
      if (type && type->has_tensor_type() &&
          type->tensor_type().elem_type() != onnx::data_type(model.values[model.graph.outputs[i]].dtype))
        throw Refusal{"PyTorch's call gives another dtype"};
    }
    clean_up(model);
    return splice(std::move(*onnx::to_proto(model).mutable_graph()), node, read_, names);
  } catch (const ModelError& error) {
    throw Refusal{error.what()};
  }
}

}  // namespace compatcheck::retarget
