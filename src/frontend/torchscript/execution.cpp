#include "frontend/torchscript/execution.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/function.h>

#include <algorithm>
#include <optional>
#include <set>

#include "compatcheck/error.h"
#include "frontend/libtorch_message.h"
#include "frontend/snapshot.h"
#include "frontend/torchscript/execution_compare.h"
#include "frontend/torchscript/execution_inputs.h"
#include "frontend/torchscript/execution_model.h"
#include "frontend/torchscript/interpreter.h"
#include "frontend/torchscript/nudge_weights.h"
#include "frontend/torchscript/op_libraries.h"
#include "frontend/torchscript/results.h"

namespace compatcheck::frontend::torchscript {
namespace {

using c10::IValue;
using ValueList = std::vector<IValue>;

// One thread: sums come out the same, and threads that wait for each other on a busy machine take minutes.
struct PlainExecution {
  explicit PlainExecution(const protocol::Model& model) : gradients(model.gradients) { at::set_num_threads(1); }
  at::AutoGradMode gradients;
};

bool is_object(const ir::TypeRef& type) { return ir::is(type, ir::TypeKind::module) || ir::is(type, ir::TypeKind::named); }

// The graph's inputs, without the module itself.
std::vector<ir::TypeRef> input_types(const ir::Graph& graph) {
  std::vector<ir::TypeRef> types;
  for (const ir::Value* input : graph.inputs()) types.push_back(input->type());
  if (!types.empty() && is_object(types.front())) types.erase(types.begin());
  return types;
}

ValueList copy_of(const ValueList& values) {
  ValueList copies;
  for (const IValue& value : values) copies.push_back(value.deepcopy());
  return copies;
}

// A graph whose tuple inputs were split receives their members.
ValueList as_graph_takes(const ValueList& inputs, std::size_t expected) {
  if (inputs.size() == expected) return inputs;
  ValueList flat;
  for (const Leaf& leaf : leaves(inputs)) flat.push_back(leaf.value);
  return flat;
}

ValueList interpret(const std::string& file, const ir::Graph& graph, ExecutionModel& model, ValueList inputs,
                    Interpreter::Watch watch = {}) {
  ConstantSources sources{
      .file = file,
      .object = [&model](std::uint32_t number) { return model.object(number); },
      .classes = [&model]() -> torch::jit::CompilationUnit& { return model.classes(); },
      .body = [&model](const std::string& name) -> const ir::Graph& { return model.program().functions.at(name).graph; }};
  return Interpreter(graph, std::move(sources), std::move(watch)).run(std::move(inputs));
}

class Session {
 public:
  Session(const protocol::Model& model, const std::vector<std::uint8_t>& graph, std::uint64_t seed)
      : model_(model), graph_(decode_graph(graph)), seed_(seed) {
    load_op_libraries(model.op_libraries);
  }

  // Throws ModelError with the last attempt's reason.
  template <class Run>
  auto first_that_runs(const std::vector<ir::TypeRef>& types, Run&& run) {
    const RandomInputs random(types, seed_);
    std::string reason;
    for (std::size_t attempt = 0; attempt < random.attempts(); ++attempt) {
      const ValueList inputs = random.make(attempt);
      try {
        at::manual_seed(seed_);
        return run(inputs);
      } catch (const std::exception& error) {
        if (reason.empty()) reason = first_sentence(error.what());
      }
    }
    throw ModelError("can't be run on random inputs: " + reason);
  }

  // Returns the types of the method's arguments: those of the graph's inputs where they are the same, or those that the file
  // records or declares.
  std::vector<ir::TypeRef> argument_types(const std::string& method) {
    const auto from_graph = input_types(graph_);
    const auto& parameters = declared(method);
    const auto& recorded = live().program().recorded_inputs;
    std::vector<ir::TypeRef> types;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      types.push_back(most_specific({parameters.size() == from_graph.size() ? from_graph[i] : nullptr,
                                     method == "forward" && i < recorded.size() ? recorded[i].type : nullptr, parameters[i]}));
    return types;
  }

  // Returns the types of the graph's own inputs.
  std::vector<ir::TypeRef> graph_types() {
    std::vector<ir::TypeRef> types = input_types(graph_);
    const auto& recorded = live().program().recorded_inputs;
    const std::size_t whole = declared("forward").size();  // members follow
    for (std::size_t i = 0; i < types.size() && types.size() == whole && i < recorded.size(); ++i)
      types[i] = most_specific({types[i], recorded[i].type});
    return types;
  }

  // `inputs` are written by the run, if by anything.
  ValueList interpret(ValueList& inputs, const Interpreter::Observe& observe = {}) {
    interpreted_.emplace(model_);  // its attributes are written by nobody else
    ValueList all = as_graph_takes(inputs, input_types(graph_).size());
    if (all.size() + 1 == graph_.inputs().size()) all.insert(all.begin(), IValue(interpreted_->module()._ivalue()));
    at::manual_seed(seed_);
    return torchscript::interpret(model_.path, graph_, *interpreted_, std::move(all),
                                  {.defined = observe, .finished = {}, .kept = {}});
  }

  ExecutionModel& live() {
    if (!reference_) reference_.emplace(model_);
    return *reference_;
  }
  const ir::Graph& graph() const { return graph_; }

 private:
  const std::vector<ir::TypeRef>& declared(const std::string& method) {
    const auto& program = live().program();
    const auto& methods = program.classes.at(program.objects.at(program.root).class_name).methods;
    const auto found = methods.find(method);
    if (found == methods.end()) throw ModelError("has no method " + method);
    declared_.clear();
    for (const ir::Parameter& parameter : program.functions.at(found->second).parameters) declared_.push_back(parameter.type);
    if (!declared_.empty()) declared_.erase(declared_.begin());  // self
    return declared_;
  }

  protocol::Model model_;
  ir::Graph graph_;
  std::uint64_t seed_;
  std::vector<ir::TypeRef> declared_;
  std::optional<ExecutionModel> reference_, interpreted_;
};

// deepcopy() makes plain tuples of NamedTuples, which a method doesn't accept.
IValue own(const IValue& value, IValue::HashIdentityIValueMap& copies) {
  if (!value.isTuple()) return value.deepcopy(copies);
  ValueList items;
  for (const IValue& item : value.toTupleRef().elements()) items.push_back(own(item, copies));
  const auto type = value.toTupleRef().type<c10::TupleType>();
  return type->schema() ? c10::ivalue::Tuple::createNamed(std::move(items), type) : c10::ivalue::Tuple::create(std::move(items));
}

ValueList call_arguments(const ir::Constant& call, ExecutionModel& model) {
  const auto* held = call.get<ir::TupleConstant>();
  if (!held) throw InternalError("a request to run holds no arguments");
  ConstantReader reader(
      {.file = {}, .object = {}, .classes = [&]() -> torch::jit::CompilationUnit& { return model.classes(); }, .body = {}});
  ValueList given;
  for (const ir::Constant& argument : held->items) {
    IValue::HashIdentityIValueMap copies;
    given.push_back(own(reader.read(argument), copies));
  }
  return given;
}

// "layers.0.k_cache"
// Returns the value that `path` leads to from `held`: by attributes of objects, places in lists and tuples, and keys of
// dictionaries, which may have dots.
std::optional<IValue> member_at(const IValue& held, const std::string& path) {
  const auto found = [&](const std::string& name, const IValue& member) -> std::optional<IValue> {
    if (path == name) return member;
    if (!path.starts_with(name + ".")) return std::nullopt;
    return member_at(member, path.substr(name.size() + 1));
  };
  if (held.isObject()) {
    const auto object = held.toObject();
    for (std::size_t i = 0; i < object->type()->numAttributes(); ++i)
      if (auto member = found(object->type()->getAttributeName(i), object->getSlot(i))) return member;
  } else if (held.isList()) {
    for (std::size_t i = 0; i < held.toListRef().size(); ++i)
      if (auto member = found(std::to_string(i), held.toListRef()[i])) return member;
  } else if (held.isTuple()) {
    const auto& elements = held.toTupleRef().elements();
    for (std::size_t i = 0; i < elements.size(); ++i)
      if (auto member = found(std::to_string(i), elements[i])) return member;
  } else if (held.isGenericDict()) {
    for (const auto& entry : held.toGenericDict()) {
      const std::string key = entry.key().isString() ? entry.key().toStringRef()
                              : entry.key().isInt()  ? std::to_string(entry.key().toInt())
                                                     : std::string();
      if (auto member = found(key, entry.value())) return member;
    }
  }
  return std::nullopt;
}

IValue attribute(const torch::jit::Module& module, const std::string& path) {
  if (auto held = member_at(module._ivalue(), path)) return *std::move(held);
  throw ModelError("has no attribute " + path);
}

std::uint64_t bytes_of(const IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    return tensor.defined() ? static_cast<std::uint64_t>(tensor.numel() * tensor.element_size()) : 0;
  }
  std::uint64_t bytes = sizeof(std::int64_t);
  if (value.isList())
    for (const IValue& item : value.toListRef()) bytes += bytes_of(item);
  else if (value.isTuple())
    for (const IValue& item : value.toTupleRef().elements()) bytes += bytes_of(item);
  return bytes;
}

// Collects the requested values of a run, execution by execution of their block.
class Collecting {
 public:
  Collecting(const protocol::ValuesRequest& request, const ir::Graph& graph)
      : most_(request.most_bytes), blocks_(blocks_in_order(graph)), values_(values_in_order(graph)) {
    for (std::size_t i = 0; i < values_.size(); ++i) positions_.emplace(values_[i], i);
    for (std::size_t i = 0; i < blocks_.size(); ++i) numbers_.emplace(blocks_[i], i);
    reply_.executions.resize(blocks_.size());
    reply_.bytes.resize(values_.size());
    for (const protocol::BlockValues& block_values : request.blocks) {
      if (block_values.block >= blocks_.size()) throw InternalError("a request for values names a block that isn't there");
      requests_.push_back({&block_values, {}, {}});
      for (const std::uint32_t position : block_values.positions) {
        if (position >= values_.size()) throw InternalError("a request for values names one that isn't there");
        requests_.back().values.push_back(values_[position]);
      }
    }
  }

  Interpreter::Watch watch() {
    Interpreter::Watch watch{
        .defined = [this](const ir::Value& value, const IValue& held) { reply_.bytes[positions_.at(&value)] += bytes_of(held); },
        .finished = [this](const ir::Block& block, const Interpreter::Held& held) { finished(block, held); },
        .kept = {}};
    for (const Request& each : requests_) watch.kept.insert(each.values.begin(), each.values.end());
    return watch;
  }

  protocol::ValuesReply take() {
    ir::ListConstant all;
    for (Request& each : requests_) all.items.push_back({std::move(each.observed)});
    reply_.values = encode(ir::Constant{std::move(all)});
    return std::move(reply_);
  }

 private:
  struct Request {
    const protocol::BlockValues* block_values;
    std::vector<const ir::Value*> values;
    ir::ListConstant observed;
  };

  void finished(const ir::Block& block, const Interpreter::Held& held) {
    const std::size_t number = numbers_.at(&block);
    const std::uint64_t execution = reply_.executions[number]++;
    for (Request& each : requests_) {
      if (number != each.block_values->block || execution < each.block_values->first || execution >= each.block_values->end ||
          reply_.too_many)
        continue;
      for (const ir::Value* value : each.values) observed_bytes_ += bytes_of(held(*value));
      if (observed_bytes_ > most_) return forget();
      ir::TupleConstant made;
      for (const ir::Value* value : each.values)
        made.items.push_back(is_uninitialized(held(*value)) ? ir::Constant{} : result_of(held(*value)));
      each.observed.items.push_back({std::move(made)});
    }
  }

  // On a path that isn't taken; libtorch has no other question for it.
  static bool is_uninitialized(const IValue& value) { return value.tagKind() == "Uninitialized"; }

  void forget() {
    reply_.too_many = true;
    for (Request& each : requests_) each.observed.items.clear();
  }

  std::uint64_t most_, observed_bytes_ = 0;
  std::vector<ir::Block*> blocks_;
  std::vector<ir::Value*> values_;
  std::unordered_map<const ir::Value*, std::size_t> positions_;
  std::unordered_map<const ir::Block*, std::size_t> numbers_;
  std::vector<Request> requests_;
  protocol::ValuesReply reply_;
};

}  // namespace

protocol::ExecutionReply compare_execution(const protocol::ExecutionRequest& request) {
  const PlainExecution plain(request.model);
  Session session(request.model, request.graph, request.seed);
  struct Ran {
    ValueList given, after, outputs;
  };
  const Ran expected = session.first_that_runs(session.argument_types(request.method), [&](const ValueList& inputs) {
    Ran ran{copy_of(inputs), inputs, {}};
    ran.outputs = {session.live().module().get_method(request.method)(ran.after)};
    return ran;
  });
  ValueList inputs = expected.given;
  ValueList outputs;
  try {
    outputs = session.interpret(inputs);
  } catch (const std::exception& error) {
    return {false, "the graph doesn't run: " + first_sentence(error.what())};
  }
  std::string unequal =
      difference("output", expected.outputs, outputs.size() == 1 ? outputs : ValueList{c10::ivalue::Tuple::create(outputs)});
  if (unequal.empty() && request.inputs_after) unequal = difference("input after the call", expected.after, inputs);
  return {unequal.empty(), unequal};
}

protocol::ObserveReply observe(const protocol::ObserveRequest& request) {
  const PlainExecution plain(request.model);
  Session session(request.model, request.graph, request.seed);
  std::vector<std::uint32_t> positions(session.graph().value_limit());
  const auto values = values_in_order(session.graph());
  for (std::size_t i = 0; i < values.size(); ++i) positions[values[i]->id()] = static_cast<std::uint32_t>(i);
  return session.first_that_runs(session.graph_types(), [&](const ValueList& inputs) {
    protocol::ObserveReply reply;
    std::set<std::tuple<std::uint32_t, std::int8_t, std::vector<std::int64_t>>> seen;
    ValueList given = copy_of(inputs);
    session.interpret(given, [&](const ir::Value& value, const IValue& held) {
      if (!held.isTensor() || !held.toTensor().defined()) return;
      const at::Tensor& tensor = held.toTensor();
      const auto dtype = ir::dtype_from_number(static_cast<std::int64_t>(tensor.scalar_type()));
      const std::uint32_t position = positions[value.id()];
      if (dtype && seen.emplace(position, static_cast<std::int8_t>(*dtype), tensor.sizes().vec()).second)
        reply.tensors.push_back({position, *dtype, tensor.sizes().vec()});
    });
    return reply;
  });
}

protocol::RunReply run(const protocol::RunRequest& request) {
  const PlainExecution plain(request.model);
  load_op_libraries(request.model.op_libraries);
  const ir::Constant arguments = decode_constant(request.arguments);
  const auto* calls = arguments.get<ir::ListConstant>();
  if (!calls) throw InternalError("a request to run holds no calls");
  ExecutionModel model(request.model);
  if (request.nudge) nudge_weights(model.module(), request.method, request.nudge);
  ir::ListConstant results, states;
  const auto note_state = [&] {
    ir::TupleConstant values;
    for (const std::string& path : request.state) values.items.push_back(result_of(attribute(model.module(), path)));
    states.items.push_back({std::move(values)});
  };
  note_state();
  for (const ir::Constant& call : calls->items) {
    try {
      ValueList given = call_arguments(call, model);
      at::manual_seed(request.seed + results.items.size());
      const IValue result = model.module().get_method(request.method)(std::move(given));
      results.items.push_back({ir::TupleConstant{nullptr, {result_of(result)}}});
    } catch (const std::exception& error) {
      results.items.push_back({first_sentence(error.what())});
    }
    note_state();
  }
  return {encode(ir::Constant{std::move(results)}), encode(ir::Constant{std::move(states)})};
}

protocol::ValuesReply values(const protocol::ValuesRequest& request) {
  const PlainExecution plain(request.model);
  load_op_libraries(request.model.op_libraries);
  const ir::Graph graph = decode_graph(request.graph);
  ExecutionModel model(request.model);
  ValueList given = call_arguments(decode_constant(request.arguments), model);
  Collecting collecting(request, graph);
  at::manual_seed(request.seed);
  try {
    interpret(request.model.path, graph, model, std::move(given), collecting.watch());
  } catch (const std::exception& error) {
    throw ModelError("the graph doesn't run: " + first_sentence(error.what()));
  }
  return collecting.take();
}

}  // namespace compatcheck::frontend::torchscript
