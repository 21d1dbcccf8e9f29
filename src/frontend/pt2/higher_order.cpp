#include "frontend/pt2/higher_order.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "frontend/pt2/enums.h"
#include "frontend/pt2/union.h"
#include "ir/exported_ops.h"
#include "process/spell_count.h"

namespace compatcheck::frontend::pt2 {
namespace {

ir::TypeRef integer_type() { return ir::simple_type(ir::TypeKind::integer); }
ir::TypeRef boolean_type() { return ir::simple_type(ir::TypeKind::boolean); }
ir::TypeRef tensors_type() { return ir::list_of(ir::tensor_type()); }

Values joined(Values first, std::span<ir::Value* const> second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::vector<ir::TypeRef> types_of(const Values& values) {
  std::vector<ir::TypeRef> types;
  for (const ir::Value* value : values) types.push_back(value->type());
  return types;
}

ir::Value* whole(NodeWriter& nodes, std::int64_t number) { return nodes.constant({number}); }

// Returns the bool of a tensor with one element.
ir::Value* truth(NodeWriter& nodes, ir::Value* condition) {
  return ir::is(condition->type(), ir::TypeKind::boolean) ? condition : nodes.add("aten::Bool", {condition}, boolean_type());
}

ir::Value* length(NodeWriter& nodes, ir::Value* tensor) {
  return nodes.add("aten::size", {tensor, whole(nodes, 0)}, integer_type());
}

// Returns the part of each tensor at `index` of the first dimension.
Values parts(NodeWriter& nodes, const Values& tensors, ir::Value* index) {
  Values parts;
  for (ir::Value* tensor : tensors) {
    ir::TensorType type = tensor->type()->tensor;
    if (type.sizes && !type.sizes->empty()) type.sizes->erase(type.sizes->begin());
    type.strides.reset();
    parts.push_back(nodes.add("aten::select", {tensor, whole(nodes, 0), index}, ir::tensor_type(type)));
  }
  return parts;
}

}  // namespace

HigherOrder::HigherOrder(GraphReader& reader, const Json& node, std::span<const Json> inputs)
    : reader_(reader), nodes_(reader.nodes()), arguments_(reader.arguments()), node_(node), inputs_(inputs) {}

void HigherOrder::read(std::string_view name) {
  if (name == "cond") return cond();
  if (name == "while_loop") return while_loop();
  if (name == "scan") return scan(true);
  if (name == "map_impl" || name == "map") return scan(false);
  if (name == "associative_scan") return associative_scan();
  if (name == "wrap_with_set_grad_enabled") return inlined(1, 2);
  if (name == "wrap_with_autocast") return autocast();
  if (name == "invoke_subgraph") return inlined(0, 2);
  if (only_wraps(name)) return inlined(0, 1);
  if (name == "with_effects") return with_effects();
  if (name == "out_dtype") return out_dtype();
  if (name == "auto_functionalized") return functionalized_v1();
  if (name == "auto_functionalized_v2") return functionalized_v2();
  if (name == "print") {
    reader_.reading().notes.emplace("print", "dropped what the model prints");
    return;
  }
  unknown(name);
}

bool HigherOrder::only_wraps(std::string_view name) {
  constexpr auto all = std::to_array<std::string_view>({"strict_mode", "wrap", "tag_activation_checkpoint",
                                                        "wrap_activation_checkpoint", "run_const_graph", "hints_wrapper",
                                                        "wrap_with_set_grad_enabled", "wrap_with_autocast", "invoke_subgraph"});
  return std::ranges::find(all, name) != all.end();
}

Json HigherOrder::argument(std::size_t i) const {
  if (i >= inputs_.size()) node_.fail("has too few arguments for " + std::string(node_.at("target").text()));
  return inputs_[i].at("arg");
}

Values HigherOrder::items(std::size_t i) const { return arguments_.items_of(argument(i)); }

Values HigherOrder::items_if_any(std::size_t i) const { return i < inputs_.size() ? items(i) : Values(); }

// Operands are given one by one, or as a list.
Values HigherOrder::rest(std::size_t first) const {
  Values operands;
  for (std::size_t i = first; i < inputs_.size(); ++i) {
    const std::string_view tag = tagged(argument(i)).tag;
    if (!inputs_[i].at("name").text().empty() || tag == "as_string_to_argument") continue;
    if (tag == "as_tensors")
      operands = joined(std::move(operands), items(i));
    else
      operands.push_back(arguments_.value_of(argument(i)));
  }
  return operands;
}

Values HigherOrder::run(const Json& graph_argument, ir::Block& block, const Values& operands) const {
  const Tagged held = tagged(graph_argument);
  if (held.tag != "as_graph") graph_argument.fail("is not a subgraph");
  const Json graph = held.value.at("graph");
  GraphReader inner(reader_.reading(), block, graph);
  const auto inputs = graph.at("inputs").members();
  if (inputs.size() != operands.size())
    graph.fail("has " + spell_count(inputs.size(), "input") + " for " + spell_count(operands.size(), "operand"));
  for (std::size_t i = 0; i < inputs.size(); ++i) inner.arguments().bind_result(inputs[i], operands[i]);
  inner.read_nodes();
  Values results;
  for (const Json& output : graph.at("outputs").members()) results.push_back(inner.arguments().value_of(output));
  return results;
}

// The results by their names. Before torch 2.7 one argument lists all of them.
void HigherOrder::bind(const Values& results) const {
  auto outputs = node_.at("outputs").members();
  if (outputs.size() == 1)
    if (const Tagged held = tagged(outputs.front()); held.tag == "as_tensors") outputs = held.value.members();
  if (outputs.size() > results.size()) node_.fail("has more results than its subgraph");
  for (std::size_t i = 0; i < outputs.size(); ++i) arguments_.bind_result(outputs[i], results[i]);
}

HigherOrder::Loop HigherOrder::loop(ir::Value* trip_count, ir::Value* start, const Values& carried) const {
  ir::Node* node = nodes_.add_node("prim::Loop", joined({trip_count, start}, carried), types_of(carried));
  ir::Block* body = node->add_block();
  Loop made{node, nodes_.in(*body), body->add_input(integer_type()), {}};
  for (const ir::Value* value : carried) made.carried.push_back(body->add_input(value->type()));
  return made;
}

void HigherOrder::Loop::repeat(ir::Value* again, std::span<ir::Value* const> next) {
  body.block().add_output(again);
  for (ir::Value* value : next) body.block().add_output(value);
}

Values HigherOrder::stacked(const Values& lists) const {
  Values stacks;
  for (ir::Value* list : lists) stacks.push_back(nodes_.add("aten::stack", {list, whole(nodes_, 0)}, ir::tensor_type()));
  return stacks;
}

void HigherOrder::cond() {
  ir::Value* condition = truth(nodes_, arguments_.value_of(argument(0)));
  const Values operands = items_if_any(3);
  ir::Node* branch = nodes_.add_node("prim::If", std::array{condition}, {});
  Values results;
  for (const std::size_t side : {1, 2}) {
    ir::Block* block = branch->add_block();
    Values given = run(argument(side), *block, operands);
    if (side == 2 && given.size() != results.size()) node_.fail("has branches that give different numbers of values");
    results = std::move(given);
    for (ir::Value* result : results) block->add_output(result);
  }
  for (const ir::TypeRef& type : types_of(results)) branch->add_output(type);
  bind({branch->outputs().begin(), branch->outputs().end()});
}

// A Loop asks its condition before the first iteration and at the end of each.
void HigherOrder::while_loop() {
  const Values carried = items(2), around = items_if_any(3);
  const auto condition = [&](NodeWriter& nodes, const Values& now) {
    const Values outcome = run(argument(0), nodes.block(), joined(now, around));
    if (outcome.size() != 1) node_.fail("has a condition that gives no single value");
    return truth(nodes, outcome.front());
  };
  ir::Value* start = condition(nodes_, carried);
  Loop made = loop(whole(nodes_, std::numeric_limits<std::int64_t>::max()), start, carried);
  const Values next = run(argument(1), made.body.block(), joined(made.carried, around));
  if (next.size() != carried.size()) node_.fail("has a body that gives another number of values than it is given");
  made.repeat(condition(made.body, next), next);
  bind(made.results());
}

// scan(combine, init, xs, additional) and map(body, xs, additional): along the first dimension, what each iteration gives is
// stacked.
void HigherOrder::scan(bool with_state) {
  const std::size_t first = with_state ? 2 : 1;
  const Values carried = with_state ? items(1) : Values();
  // torch 2.6 and before: (combine, init, xs, dim, reverse, additional)
  std::size_t behind = first + 1;
  if (with_state && behind < inputs_.size() && tagged(argument(behind)).tag == "as_int") {
    const bool forward = tagged(argument(behind)).value.integer() == 0 && behind + 1 < inputs_.size() &&
                         tagged(argument(behind + 1)).tag == "as_bool" && !tagged(argument(behind + 1)).value.boolean();
    if (!forward) return unknown("scan");
    behind += 2;
  }
  const Values xs = items(first), around = items_if_any(behind);
  if (xs.empty()) return unknown(with_state ? "scan" : "map");
  const std::size_t results = tagged(argument(0)).value.at("graph").at("outputs").size();
  if (results < carried.size()) node_.fail("has a subgraph that gives fewer values than it is given");
  Values lists;
  for (std::size_t i = carried.size(); i < results; ++i) lists.push_back(nodes_.list({}, ir::tensor_type()));
  Loop made = loop(length(nodes_, xs.front()), nodes_.constant({true}), carried);
  const Values now = joined(made.carried, parts(made.body, xs, made.iteration));
  const Values given = run(argument(0), made.body.block(), joined(now, around));
  for (std::size_t i = 0; i < lists.size(); ++i)
    made.body.add("aten::append", {lists[i], given[carried.size() + i]}, tensors_type());
  made.repeat(nodes_.constant({true}), std::span(given).first(carried.size()));
  bind(joined(made.results(), stacked(lists)));
}

// associative_scan(combine, xs, additional): the first part of each tensor is the first result.
void HigherOrder::associative_scan() {
  const Values xs = items(1), around = items_if_any(2);
  if (xs.empty()) return unknown("associative_scan");
  const Values first = parts(nodes_, xs, whole(nodes_, 0));
  Values lists;
  for (ir::Value* part : first) lists.push_back(nodes_.list({part}, ir::tensor_type()));
  ir::Value* trip_count = nodes_.add("aten::sub", {length(nodes_, xs.front()), whole(nodes_, 1)}, integer_type());
  Loop made = loop(trip_count, nodes_.constant({true}), first);
  ir::Value* place = made.body.add("aten::add", {made.iteration, whole(nodes_, 1)}, integer_type());
  const Values now = joined(made.carried, parts(made.body, xs, place));
  const Values given = run(argument(0), made.body.block(), joined(now, around));
  if (given.size() != xs.size()) node_.fail("has a subgraph that gives another number of values than it is given");
  for (std::size_t i = 0; i < given.size(); ++i) made.body.add("aten::append", {lists[i], given[i]}, tensors_type());
  made.repeat(nodes_.constant({true}), given);
  bind(stacked(lists));
}

void HigherOrder::inlined(std::size_t graph, std::size_t first_operand) {
  bind(run(argument(graph), nodes_.block(), rest(first_operand)));
}

// (device, dtype, enabled, cache, graph, operands…). torch.autocast has four arguments. Code that was run states all of them;
// code that was parsed (strict=True) only those that are written.
void HigherOrder::autocast() {
  const Tagged dtype = tagged(argument(1)), enabled = tagged(argument(2));
  std::optional<ir::DType> lower;
  if (enabled.tag == "as_bool" && enabled.value.boolean()) {
    const bool cpu = tagged(argument(0)).value.text() == "cpu";
    lower =
        dtype.tag == "as_scalar_type" ? dtype_of(dtype.value.integer()) : std::optional(cpu ? ir::DType::bf16 : ir::DType::f16);
  }
  const bool is_strict = tagged(argument(3)).tag == "as_none";
  auto& current = reader_.reading().autocast;
  const auto before = std::exchange(current, lower ? std::optional(Autocast{*lower, is_strict}) : std::nullopt);
  inlined(4, 5);
  current = before;
}

// (token, operator, arguments…): the operator. Its results stand behind the token's.
void HigherOrder::with_effects() {
  const std::string target = wrapped_target(1), name = "with_effects(" + target + ")";
  const schema::Schema* schema = wrapped_schema(1);
  Values results{nodes_.constant({})};
  if (target == "torch.ops.higher_order.print" || target.starts_with("torch.ops.aten._print")) {
    reader_.reading().notes.emplace("print", "dropped what the model prints");
  } else if (!schema) {
    return unknown(name);
  } else if (schema->name == "aten::_linalg_check_errors" || schema->name.starts_with("aten::_assert")) {
    reader_.reading().leave_out(node_, schema->name);
  } else {
    const auto [given, missing] = arguments_.in_order(*schema, inputs_.subspan(2));
    if (missing) return unknown(name);
    results = joined(std::move(results), call(*schema, given));
  }
  results.resize(std::max(results.size(), node_.at("outputs").size()), nodes_.constant({}));
  bind(results);
}

std::string HigherOrder::wrapped_target(std::size_t i) const {
  const Tagged wrapped = tagged(argument(i));
  return wrapped.tag == "as_operator" ? std::string(wrapped.value.text()) : std::string();
}

const schema::Schema* HigherOrder::wrapped_schema(std::size_t i) const {
  const auto name = operator_name(wrapped_target(i));
  return name ? reader_.reading().schemas.find(name->op, name->overload) : nullptr;
}

Values HigherOrder::call(const schema::Schema& schema, const Values& arguments) const {
  std::vector<ir::TypeRef> types;
  for (const schema::Argument& result : schema.returns) types.push_back(result.type);
  ir::Node* made = nodes_.add_node(schema.name, arguments, types);
  made->set_overload(schema.overload);
  if (types.empty()) return {nodes_.constant({})};
  return {made->outputs().begin(), made->outputs().end()};
}

// (operator, dtype, arguments…): the operator, computed in the dtype.
void HigherOrder::out_dtype() {
  const schema::Schema* schema = wrapped_schema(0);
  if (!schema || inputs_.size() != schema->arguments.size() + 2) return unknown("out_dtype");
  ir::Value* const dtype = arguments_.value_of(argument(1));
  auto [given, missing] = arguments_.in_order(*schema, inputs_.subspan(2));
  if (missing) return unknown("out_dtype");
  for (ir::Value*& value : given)
    if (ir::is(value->type(), ir::TypeKind::tensor)) value = nodes_.cast(value, dtype);
  bind(call(*schema, given));
}

ir::Value* HigherOrder::copy_of(ir::Value* tensor) const {
  return nodes_.add("aten::clone", {tensor, nodes_.constant({})}, tensor->type());
}

// (operator, its arguments by name): copies of what it writes are written; its results, then these copies.
void HigherOrder::functionalized_v1() {
  const schema::Schema* schema = wrapped_schema(0);
  const std::string name = "auto_functionalized(" + wrapped_target(0) + ")";
  if (!schema) return unknown(name);
  auto [given, missing] = arguments_.in_order(*schema, inputs_.subspan(1));
  if (missing) return unknown(name);
  Values written;
  for (std::size_t i = 0; i < given.size(); ++i)
    if (schema->arguments[i].written && ir::is(given[i]->type(), ir::TypeKind::tensor))
      written.push_back(given[i] = copy_of(given[i]));
  bind(joined(call(*schema, given), written));
}

// As before, but what is written are parts of bases, of which _all_bases lists the originals.
void HigherOrder::functionalized_v2() {
  const schema::Schema* schema = wrapped_schema(0);
  const std::string name = "auto_functionalized_v2(" + wrapped_target(0) + ")";
  if (!schema) return unknown(name);
  Values bases;
  if (const auto all = find_argument(inputs_, "_all_bases"))
    for (ir::Value* base : arguments_.items_of(*all)) bases.push_back(copy_of(base));
  const auto [given, missing] = arguments_.in_order(*schema, inputs_.subspan(1), [&](const schema::Argument& formal) {
    return formal.written ? part_of_base(formal.name, bases) : nullptr;
  });
  if (missing) return unknown(name);
  bind(joined(call(*schema, given), bases));
}

ir::Value* HigherOrder::part_of_base(const std::string& name, const Values& bases) const {
  const auto given = [&](const char* part) { return find_argument(inputs_, "_" + name + part); };
  const auto value = [&](const char* part) {
    const auto found = given(part);
    if (!found) node_.fail("lacks _" + name + part);
    return arguments_.value_of(*found);
  };
  const auto index = given("_base_index");
  if (!index) return nullptr;
  const Tagged number = tagged(*index);
  if (number.tag == "as_none") return nodes_.constant({});
  const auto at = static_cast<std::size_t>(number.value.integer());
  if (at >= bases.size()) node_.fail("names a base that isn't there");
  if (given("_slice_dim"))
    return nodes_.add("aten::slice",
                      {bases[at], value("_slice_dim"), value("_slice_start"), value("_slice_end"), whole(nodes_, 1)},
                      ir::tensor_type());
  if (given("_size"))
    return nodes_.add("aten::as_strided", {bases[at], value("_size"), value("_stride"), value("_storage_offset")},
                      ir::tensor_type());
  return bases[at];
}

void HigherOrder::unknown(std::string_view name) {
  reader_.call_unknown(std::string(ir::exported_ops::higher_order).append(name), node_, inputs_);
}

}  // namespace compatcheck::frontend::pt2
