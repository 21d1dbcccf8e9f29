#include "frontend/pt2/graph_reader.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "compatcheck/error.h"
#include "frontend/pt2/autocast.h"
#include "frontend/pt2/batched_call.h"
#include "frontend/pt2/hidden_writes.h"
#include "frontend/pt2/higher_order.h"
#include "frontend/pt2/python_functions.h"
#include "frontend/pt2/tensor_meta.h"
#include "frontend/pt2/union.h"
#include "ir/exported_ops.h"
#include "schema/fit.h"

namespace compatcheck::frontend::pt2 {
namespace {

using ir::TypeKind;

constexpr std::size_t most_nodes = 4'000'000;  // also the most values; every call of a subgraph repeats its nodes
constexpr std::string_view operators = "torch.ops.", higher_order = "torch.ops.higher_order.";

// By libtorch or torchvision: a user's schema of another operator may have other names.
bool is_shipped(const std::string& op) {
  static const schema::Registry shipped;
  return shipped.contains(op);
}

bool is_scalar(const ir::TypeRef& type) { return ir::is_number(type) || ir::is(type, TypeKind::complex); }

}  // namespace

std::optional<OperatorName> operator_name(std::string_view target) {
  if (!target.starts_with(operators)) return std::nullopt;
  target.remove_prefix(operators.size());
  const auto space = target.find('.');
  if (space == target.npos) return std::nullopt;
  const std::string_view name = target.substr(space + 1);
  const auto dot = std::min(name.rfind('.'), name.size());
  const std::string_view overload = name.substr(std::min(dot + 1, name.size()));
  return OperatorName{std::string(target.substr(0, space)).append("::").append(name.substr(0, dot)),
                      overload == "default" ? std::string() : std::string(overload)};
}

GraphReader::GraphReader(Reading& reading, ir::Block& block, const Json& graph)
    : reading_(reading),
      graph_(graph),
      nodes_(reading, block),
      arguments_(nodes_, graph),
      list_(graph.at("nodes").members()),
      regions_(list_) {
  for (const Json& value : graph.at("tensor_values").members()) tensors_.emplace(value.key(), value);
  count_nodes(1 + tensors_.size());
}

void GraphReader::count_nodes(std::size_t more) {
  reading_.watch.step();
  reading_.nodes += more;
  if (reading_.nodes > most_nodes)
    throw ModelError("has more than " + std::to_string(most_nodes) + " nodes and values with its subgraphs in place");
}

std::optional<Json> GraphReader::meta_of(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return std::nullopt;
  const auto wrapped = found->second.find("meta");  // torch 2.1
  return wrapped ? *wrapped : found->second;
}

ir::TypeRef GraphReader::type_of(std::string_view name) const {
  const auto meta = meta_of(name);
  return ir::tensor_type(meta ? value_type(*meta) : ir::TensorType());
}

ir::TypeRef GraphReader::result_type(const Json& result) const {
  const Tagged held = tagged(result);
  if (held.tag == "as_tensor") return type_of(held.value.at("name").text());
  if (held.tag == "as_tensors") return ir::list_of(ir::tensor_type());
  const ir::TypeRef number = number_type(held.tag);
  return number ? number : ir::tensor_type();
}

void GraphReader::read_nodes() {
  read(0, list_.size());
  nodes_.end();
}

void GraphReader::read(std::size_t first, std::size_t end) {
  for (std::size_t i = first; i < end; ++i) {
    const std::size_t region_end = regions_.end_of(i);
    if (region_end) {
      nodes_.begin(list_[i]);
      read_vmap_region(*this, i, region_end);
      i = region_end - 1;
    } else {
      read_one(i);
    }
  }
}

void GraphReader::read_one(std::size_t i) {
  count_nodes(1);
  nodes_.begin(list_[i]);
  read_node(list_[i]);
}

void GraphReader::read_node(const Json& node) {
  const std::string_view target = node.at("target").text();
  const auto inputs = node.at("inputs").members();
  if (target.starts_with(higher_order)) {
    const std::string_view name = target.substr(higher_order.size());
    if (reading_.batches.any_explicit() && !HigherOrder::only_wraps(name))
      throw Unbatchable{std::string(target) + " stands in it"};
    return HigherOrder(*this, node, inputs).read(name);
  }
  if (target.starts_with(operators)) return read_operator(node, target, inputs);
  read_python_function(node, target, inputs);
}

void GraphReader::read_operator(const Json& node, std::string_view target, std::span<const Json> inputs) {
  auto name = operator_name(target);
  if (!name) node.at("target").fail("names no operator");
  auto& [op, overload] = *name;
  if (op.starts_with("aten::")) {
    if (drop_assertion(op, node, inputs)) return;
    if ((op == "aten::item" || op == "aten::_local_scalar_dense") && !inputs.empty())
      return read_item(node, arguments_.value_of(inputs.front().at("arg")));
    if (op == "aten::to") return read_to(overload, node, inputs);
    if (op == "aten::as_strided" && restates_layout(node, inputs))
      return arguments_.bind_result(node.at("outputs").members().front(), arguments_.value_of(inputs.front().at("arg")));
    for (const std::string_view symbolic : {"aten::sym_size", "aten::sym_numel", "aten::sym_stride", "aten::sym_storage_offset"})
      if (op == symbolic) op.erase(op.find("sym_"), 4);
  }
  call(op, overload, node, inputs);
}

bool GraphReader::drop_assertion(std::string_view op, const Json& node, std::span<const Json> inputs) {
  if (op == "aten::_assert_tensor_metadata" || op == "aten::sym_constrain_range" || op == "aten::sym_constrain_range_for_size")
    return true;
  if (op != "aten::_assert_scalar" && op != "aten::_assert_async") return false;
  std::string message = "an assertion without a message";
  for (const Json& input : inputs)
    if (const Tagged held = tagged(input.at("arg")); held.tag == "as_string") message = held.value.text();
  reading_.leave_out(node, std::move(message));
  return true;
}

// Whether x.to(…) makes a tensor of its own; nullopt: the file doesn't tell.
std::optional<bool> GraphReader::copies(const Json& node, std::span<const Json> inputs) const {
  const auto results = node.at("outputs").members();
  if (results.size() != 1 || inputs.empty() || inputs.front().at("name").text() != "self") return std::nullopt;
  const auto given = meta_of(value_name(inputs.front().at("arg"))), result = meta_of(value_name(results.front()));
  if (!given || !result) return std::nullopt;
  const auto is_same = [&](std::string_view key) { return given->at(key).integer() == result->at(key).integer(); };
  if (!is_same("dtype") || !is_same("layout") || device_name(given->at("device")) != device_name(result->at("device")))
    return true;
  for (const Json& input : inputs) {
    const Tagged held = tagged(input.at("arg"));
    if (input.at("name").text() == "copy" && held.tag == "as_bool" && held.value.boolean()) return true;
    if (input.at("name").text() == "memory_format" && held.tag != "as_none") return std::nullopt;
  }
  return false;
}

// Numbers and names of symbolic numbers, as texts.
std::vector<std::string> GraphReader::spelled_sizes(const Json& list) const {
  std::vector<std::string> spelled;
  const Tagged held = tagged(list);
  if (held.tag != "as_ints" && held.tag != "as_sym_ints") return spelled;
  for (const Json& member : held.value.members()) {
    if (held.tag == "as_ints") {
      spelled.push_back(std::to_string(member.integer()));
      continue;
    }
    const Tagged item = tagged(member);
    const auto table = graph_.find("sym_int_values");
    const auto value = table && item.tag == "as_name" ? table->find(item.value.text()) : std::nullopt;
    spelled.push_back(spell_size(value ? *value : member));
  }
  return spelled;
}

// as_strided with the sizes and strides that the tensor has, as decomposed pools of channels-last tensors end.
bool GraphReader::restates_layout(const Json& node, std::span<const Json> inputs) const {
  if (!reading_.contiguous_inputs || node.at("outputs").size() != 1) return false;
  const auto self = find_argument(inputs, "self"), size = find_argument(inputs, "size"), stride = find_argument(inputs, "stride");
  const auto offset = find_argument(inputs, "storage_offset");
  if (!self || !size || !stride || (offset && tagged(*offset).tag != "as_none")) return false;
  const auto meta = meta_of(value_name(*self));
  return meta && has_layout(*meta, spelled_sizes(*size), spelled_sizes(*stride));
}

// A tensor that is as `to` asks for is given back itself: who writes to the result writes to it.
void GraphReader::read_to(const std::string& overload, const Json& node, std::span<const Json> inputs) {
  const auto made_anew = copies(node, inputs);
  if (made_anew == false)
    return arguments_.bind_result(node.at("outputs").members().front(), arguments_.value_of(inputs.front().at("arg")));
  ir::Node* made = call("aten::to", overload, node, inputs);
  if (!made || !made_anew) return;
  const auto copy = reading_.schemas.find("aten::to", overload)->argument_index("copy");
  if (copy) made->replace_input(*copy, nodes_.constant({true}));
}

// The number in a tensor, by the kind that the file states.
void GraphReader::read_item(const Json& node, ir::Value* tensor) {
  expect_unbatched(std::array{tensor}, "aten::item");
  for (const Json& result : node.at("outputs").members()) {
    const std::string_view tag = tagged(result).tag;
    const char* op = tag == "as_sym_float" ? "aten::Float" : tag == "as_sym_bool" ? "aten::Bool" : "aten::Int";
    const ir::TypeRef number = number_type(tag);
    arguments_.bind_result(result, nodes_.add(op, {tensor}, number ? number : ir::simple_type(TypeKind::integer)));
  }
}

void GraphReader::read_python_function(const Json& node, std::string_view target, std::span<const Json> inputs) {
  if (read_vmap_node(*this, node, target)) return;
  Values values;
  for (const Json& input : inputs) values.push_back(arguments_.value_of(input.at("arg")));
  const auto results = node.at("outputs").members();
  if (results.size() == 1)
    if (ir::Value* result = python_function(nodes_, target, values)) return arguments_.bind_result(results.front(), result);
  call_unknown(std::string(ir::exported_ops::python).append(target), node, inputs);
}

ir::Node* GraphReader::call(const std::string& op, const std::string& overload, const Json& node, std::span<const Json> inputs) {
  const schema::Schema* schema = reading_.schemas.find(op, overload);
  Values values;
  if (is_shipped(op)) {
    const auto extra = std::ranges::find_if(
        inputs, [&](const Json& input) { return schema && !schema->argument_index(input.at("name").text()); });
    if (!schema || extra != inputs.end()) {  // of a newer torch: nothing else may be taken for it
      const std::string with = extra == inputs.end() ? "" : "(" + std::string(extra->at("name").text()) + ")";
      call_unknown(op + "." + (overload.empty() ? "default" : overload) + with, node, inputs);
      return nullptr;
    }
    auto in_order = arguments_.in_order(*schema, inputs);
    if (in_order.missing) node.fail("lacks the argument " + in_order.missing->name + " of " + op);
    values = std::move(in_order.values);
  } else if (reading_.schemas.contains(op)) {
    std::tie(schema, values) = place_custom(op, overload, inputs);
  } else {
    ir::Node* made = call_unknown(op, node, inputs);
    made->set_overload(overload);
    reading_.assumed.add(made, inputs);
    return nullptr;
  }
  const auto results = node.at("outputs").members();
  bool open = false;  // a number in a tensor's place: another overload takes it
  for (std::size_t i = 0; i < values.size(); ++i)
    open = open || (ir::is(schema->arguments[i].type, TypeKind::tensor) && is_scalar(values[i]->type()));
  if (const auto made = batched(*schema, open ? "" : overload, values, node)) {
    bind_results(*made, results);
    return nullptr;
  }
  const StatedWrites stated = with_stated_writes(nodes_, op, values);
  if (!stated.results.empty()) {
    for (std::size_t i = 0; i < std::min(stated.results.size(), results.size()); ++i)
      arguments_.bind_result(results[i], stated.results[i]);
    return nullptr;
  }
  ir::Node* made = nodes_.add_node(op, values, {});
  if (stated.any) made->set_attribute(std::string(batch_statistics_mark), {true});
  if (!open) made->set_overload(overload);
  for (std::size_t i = 0; i < schema->returns.size(); ++i)
    made->add_output(i < results.size() && tagged(results[i]).tag == "as_tensor" ? result_type(results[i])
                                                                                 : schema->returns[i].type);
  if (reading_.autocast && !results.empty() && tagged(results.front()).tag == "as_tensor")
    cast_as_autocast(nodes_, *reading_.autocast, *made, result_type(results.front())->tensor.dtype);
  while (made->outputs().size() < results.size()) made->add_output(ir::tensor_type());  // the file lists more than the schema
  bind_results(made->outputs(), results);
  return made;
}

std::optional<Values> GraphReader::batched(const schema::Schema& schema, const std::string& overload, const Values& values,
                                           const Json& node) {
  Batches& batches = reading_.batches;
  if (batches.open.empty()) return std::nullopt;
  HiddenCall call{schema, overload, values, {}};
  if (draws_random_numbers(call)) {
    for (const BatchRegion& region : batches.open)
      if (region.randomness == (region.iteration ? "same" : "different"))
        throw Unbatchable{schema.name + " draws " + region.randomness + " random numbers for the elements of its batch"};
  }
  if (std::ranges::none_of(values, [&](const ir::Value* value) { return batches.is_batched(value); })) return std::nullopt;
  if (reading_.autocast) throw Unbatchable{"torch.autocast stands in it"};
  const auto results = node.at("outputs").members();
  for (std::size_t i = 0; i < schema.returns.size(); ++i)
    call.results.push_back(i < results.size() && tagged(results[i]).tag == "as_tensor" ? result_type(results[i])
                                                                                       : schema.returns[i].type);
  return batched_call(nodes_, batches, call);
}

void GraphReader::expect_unbatched(std::span<ir::Value* const> values, std::string_view op) const {
  for (const ir::Value* value : values)
    if (reading_.batches.is_batched(value)) throw Unbatchable{std::string(op) + " isn't followed with these arguments"};
}

// The stated schema of a call, of its own overload if that fits, and its arguments.
std::pair<const schema::Schema*, Values> GraphReader::place_custom(const std::string& op, const std::string& overload,
                                                                   std::span<const Json> inputs) {
  reading_.stated.insert(op);
  const auto all = reading_.schemas.overloads(op);
  std::vector<const schema::Schema*> candidates(all.begin(), all.end());
  std::ranges::stable_partition(candidates, [&](const schema::Schema* schema) { return schema->overload == overload; });
  std::string stated;
  for (const schema::Schema* schema : candidates) {
    stated += (stated.empty() ? "" : "; ") + schema::to_string(*schema);
    const auto placement = place(*schema, inputs);
    auto values = placement ? placed(*schema, *placement, inputs) : std::nullopt;
    if (!values) continue;
    if (placement->by_position)
      reading_.matched_by_position.emplace(op, "the arguments of the call " + spell_names(op, inputs) +
                                                   " are matched by position with those of " + schema::to_string(*schema));
    return {schema, std::move(*values)};
  }
  throw ModelError("calls " + spell_names(op, inputs) + ", which doesn't fit " + stated +
                   ": state a schema that has the arguments of the call, with these names or in this order");
}

// nullopt: an argument has another type.
std::optional<Values> GraphReader::placed(const schema::Schema& schema, const Placement& placement,
                                          std::span<const Json> inputs) {
  Values values;
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const schema::Argument& formal = schema.arguments[i];
    const auto given = placement.inputs[i];
    values.push_back(given                  ? arguments_.value_of(inputs[*given].at("arg"), &formal)
                     : formal.default_value ? nodes_.constant(*formal.default_value, formal.type)
                                            : nodes_.constant({}));
    if (given && !schema::takes(formal, *values.back()->type(), !placement.by_position)) return std::nullopt;
  }
  return values;
}

ir::Node* GraphReader::call_unknown(const std::string& op, const Json& node, std::span<const Json> inputs) {
  Values values;
  for (const Json& input : inputs) {
    const std::string_view tag = tagged(input.at("arg")).tag;
    if (tag != "as_graph" && tag != "as_operator" && tag != "as_string_to_argument")
      values.push_back(arguments_.value_of(input.at("arg")));
  }
  expect_unbatched(values, op);
  ir::Node* made = nodes_.add_node(op, values, {});
  const auto results = node.at("outputs").members();
  for (const Json& result : results) made->add_output(result_type(result));
  bind_results(made->outputs(), results);
  return made;
}

void GraphReader::bind_results(std::span<ir::Value* const> made, std::span<const Json> results) {
  for (std::size_t i = 0; i < std::min(made.size(), results.size()); ++i) {
    const Tagged held = tagged(results[i]);
    if (held.tag == "as_tensors")
      bind_list(made[i], held.value);
    else
      arguments_.bind_result(results[i], made[i]);
  }
}

void GraphReader::bind_list(ir::Value* list, const Json& names) {
  std::vector<ir::TypeRef> types;
  const auto members = names.members();
  for (const Json& member : members) types.push_back(type_of(member.at("name").text()));
  ir::Node* unpack = nodes_.add_node("prim::ListUnpack", std::array{list}, types);
  const Levels levels = reading_.batches.of(list).levels;
  for (std::size_t i = 0; i < members.size(); ++i) {
    ir::Value* member = unpack->output(i);
    if (!levels.empty() && member->type()->tensor.sizes)
      reading_.batches.set(member, {levels, member->type()->tensor.sizes->size()});
    arguments_.bind_result(members[i], member);
  }
}

}  // namespace compatcheck::frontend::pt2
