#include "frontend/pt2/higher_order.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "frontend/pt2/enums.h"
#include "frontend/pt2/signature.h"

namespace compatcheck::frontend::pt2 {
namespace {

ir::TypeRef integer() { return ir::simple_type(ir::TypeKind::integer); }
ir::TypeRef boolean() { return ir::simple_type(ir::TypeKind::boolean); }

std::vector<ir::Value*> joined(std::vector<ir::Value*> first, const std::vector<ir::Value*>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

HigherOrder::HigherOrder(GraphReader& reader, const Json& node, std::span<const Json> inputs)
    : reader_(reader), node_(node), inputs_(inputs) {}

void HigherOrder::read(std::string_view name) {
  if (name == "cond") return cond();
  if (name == "while_loop") return while_loop();
  if (name == "scan") return scan(true);
  if (name == "map_impl" || name == "map") return scan(false);
  if (name == "associative_scan") return associative_scan();
  if (name == "wrap_with_set_grad_enabled") return inlined(1, 2);
  if (name == "wrap_with_autocast") return autocast();
  if (name == "invoke_subgraph") return inlined(0, 2);
  if (name == "strict_mode" || name == "wrap" || name == "tag_activation_checkpoint" || name == "wrap_activation_checkpoint" ||
      name == "run_const_graph" || name == "hints_wrapper")
    return inlined(0, 1);
  if (name == "with_effects") return with_effects();
  if (name == "out_dtype") return out_dtype();
  if (name == "auto_functionalized") return functionalized_v1();
  if (name == "auto_functionalized_v2") return functionalized_v2();
  if (name == "print") {
    reader_.reading_.notes.emplace("print", "dropped what the model prints");
    return;
  }
  unknown(name);
}

Json HigherOrder::argument(std::size_t i) const {
  if (i >= inputs_.size()) node_.fail("has too few arguments for " + std::string(node_.at("target").text()));
  return inputs_[i].at("arg");
}

HigherOrder::Values HigherOrder::values(std::size_t i) const {
  Values list;
  const Tagged held = tagged(argument(i));
  if (held.tag != "as_tensors" && held.tag != "as_sym_ints" && held.tag != "as_ints") {
    if (held.tag != "as_tensor") argument(i).fail("is no list of tensors");
    return {reader_.value_of(argument(i))};
  }
  for (const Json& member : held.value.members())
    list.push_back(held.tag == "as_tensors" ? reader_.value_named(member.at("name"))
                   : held.tag == "as_ints"  ? reader_.constant({member.integer()})
                                            : reader_.symbolic(member));
  return list;
}

// Operands are given one by one, or as a list.
HigherOrder::Values HigherOrder::rest(std::size_t first) const {
  Values operands;
  for (std::size_t i = first; i < inputs_.size(); ++i) {
    const std::string_view tag = tagged(argument(i)).tag;
    if (!inputs_[i].at("name").text().empty() || tag == "as_string_to_argument") continue;
    if (tag == "as_tensors")
      operands = joined(std::move(operands), values(i));
    else
      operands.push_back(reader_.value_of(argument(i)));
  }
  return operands;
}

HigherOrder::Values HigherOrder::run(const Json& graph_argument, ir::Block& block, const Values& operands) const {
  const Tagged held = tagged(graph_argument);
  if (held.tag != "as_graph") graph_argument.fail("is no subgraph");
  const Json graph = held.value.at("graph");
  GraphReader inner(reader_.reading_, block, graph);
  const auto inputs = graph.at("inputs").members();
  if (inputs.size() != operands.size())
    graph.fail("has " + std::to_string(inputs.size()) + " inputs for " + std::to_string(operands.size()) + " operands");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tagged input = tagged(inputs[i]);
    if (!input.value.is(Json::Kind::object)) continue;  // a constant
    if (const auto name = input.value.find("name"))
      inner.bind(std::string(name->text()), operands[i]);
    else if (const auto symbol = input.value.find("as_name"); symbol && !symbol->is_null())
      inner.bind(std::string(symbol->text()), operands[i]);
  }
  inner.read_nodes();
  Values results;
  for (const Json& output : graph.at("outputs").members()) results.push_back(inner.value_of(output));
  return results;
}

// The results by their names. Before torch 2.7 one argument lists all of them.
void HigherOrder::bind(const Values& results) const {
  std::vector<std::string> names;
  const auto outputs = node_.at("outputs").members();
  for (const Json& output : outputs) {
    const Tagged held = tagged(output);
    if (held.tag == "as_tensors" && outputs.size() == 1)
      for (const Json& member : held.value.members()) names.emplace_back(member.at("name").text());
    else if (!held.value.is(Json::Kind::object))
      names.emplace_back();
    else if (const auto name = held.value.find("name"))
      names.emplace_back(name->text());
    else
      names.emplace_back(held.value.at("as_name").text());
  }
  if (names.size() > results.size()) node_.fail("has more results than its subgraph");
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!names[i].empty()) reader_.bind(names[i], results[i]);
}

std::vector<ir::TypeRef> HigherOrder::types_of(const Values& values) const {
  std::vector<ir::TypeRef> types;
  for (const ir::Value* value : values) types.push_back(value->type());
  return types;
}

ir::Value* HigherOrder::truth(ir::Value* condition) const {
  if (ir::is(condition->type(), ir::TypeKind::boolean)) return condition;
  return reader_.add("aten::Bool", {condition}, boolean());
}

ir::Value* HigherOrder::length(ir::Value* tensor) const {
  return reader_.add("aten::size", {tensor, reader_.constant({std::int64_t{0}})}, integer());
}

HigherOrder::Values HigherOrder::at(GraphReader& in, const Values& tensors, ir::Value* index) {
  Values parts;
  for (ir::Value* tensor : tensors) {
    ir::TensorType type = tensor->type()->tensor;
    if (type.sizes && !type.sizes->empty()) type.sizes->erase(type.sizes->begin());
    type.strides.reset();
    parts.push_back(in.add("aten::select", {tensor, in.constant({std::int64_t{0}}), index}, ir::tensor_type(type)));
  }
  return parts;
}

void HigherOrder::cond() {
  ir::Value* condition = truth(reader_.value_of(argument(0)));
  const Values operands = inputs_.size() > 3 ? values(3) : Values();
  ir::Node* branch = reader_.add_node("prim::If", std::array{condition}, {});
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

// A Loop asks its condition before the first trip and at the end of each.
void HigherOrder::while_loop() {
  Values carried = values(2);
  const Values around = inputs_.size() > 3 ? values(3) : Values();
  const auto condition = [&](ir::Block& block, const Values& now) {
    const Values asked = run(argument(0), block, joined(now, around));
    if (asked.size() != 1) node_.fail("has a condition that gives no single value");
    return asked.front();
  };
  ir::Value* start = truth(condition(reader_.block(), carried));
  const Values inputs = joined({reader_.constant({std::numeric_limits<std::int64_t>::max()}), start}, carried);
  ir::Node* loop = reader_.add_node("prim::Loop", inputs, types_of(carried));
  ir::Block* body = loop->add_block();
  body->add_input(integer());
  Values now;
  for (const ir::TypeRef& type : types_of(carried)) now.push_back(body->add_input(type));
  const Values next = run(argument(1), *body, joined(now, around));
  if (next.size() != carried.size()) node_.fail("has a body that gives another number of values than it is given");
  ir::Value* again = condition(*body, next);
  if (!ir::is(again->type(), ir::TypeKind::boolean)) {
    ir::Node* whether = reader_.reading_.graph.create("aten::Bool", std::array{again});
    again = whether->add_output(boolean());
    body->append(whether);
  }
  body->add_output(again);
  for (ir::Value* value : next) body->add_output(value);
  bind({loop->outputs().begin(), loop->outputs().end()});
}

// scan(combine, init, xs, additional) and map(body, xs, additional): along the first dimension, what each trip gives is stacked.
void HigherOrder::scan(bool with_state) {
  const std::size_t first = with_state ? 2 : 1;
  const Values carried = with_state ? values(1) : Values();
  // torch 2.6 and before: (combine, init, xs, dim, reverse, additional)
  std::size_t behind = first + 1;
  if (with_state && behind < inputs_.size() && tagged(argument(behind)).tag == "as_int") {
    const bool forward = tagged(argument(behind)).value.integer() == 0 && behind + 1 < inputs_.size() &&
                         tagged(argument(behind + 1)).tag == "as_bool" && !tagged(argument(behind + 1)).value.boolean();
    if (!forward) return unknown("scan");
    behind += 2;
  }
  const Values xs = values(first), around = inputs_.size() > behind ? values(behind) : Values();
  if (xs.empty()) return unknown(with_state ? "scan" : "map");
  const ir::TypeRef tensors = ir::list_of(ir::tensor_type());
  const std::size_t results = tagged(argument(0)).value.at("graph").at("outputs").size();
  if (results < carried.size()) node_.fail("has a subgraph that gives fewer values than it is given");
  Values lists;
  for (std::size_t i = carried.size(); i < results; ++i) lists.push_back(reader_.add("prim::ListConstruct", {}, tensors));
  const Values inputs = joined({length(xs.front()), reader_.constant({true})}, carried);
  ir::Node* loop = reader_.add_node("prim::Loop", inputs, types_of(carried));
  ir::Block* body = loop->add_block();
  ir::Value* index = body->add_input(integer());
  Values now;
  for (const ir::TypeRef& type : types_of(carried)) now.push_back(body->add_input(type));
  GraphReader inside(reader_.reading_, *body, tagged(argument(0)).value.at("graph"));
  inside.node_ = &node_;
  const Values operands = joined(joined(now, at(inside, xs, index)), around);
  const Values given = run(argument(0), *body, operands);
  body->add_output(reader_.constant({true}));
  for (std::size_t i = 0; i < carried.size(); ++i) body->add_output(given[i]);
  for (std::size_t i = 0; i < lists.size(); ++i) inside.add("aten::append", {lists[i], given[carried.size() + i]}, tensors);
  Values all(loop->outputs().begin(), loop->outputs().end());
  for (ir::Value* list : lists)
    all.push_back(reader_.add("aten::stack", {list, reader_.constant({std::int64_t{0}})}, ir::tensor_type()));
  bind(all);
}

// associative_scan(combine, xs, additional): the first part of each tensor is the first result.
void HigherOrder::associative_scan() {
  const Values xs = values(1), around = inputs_.size() > 2 ? values(2) : Values();
  if (xs.empty()) return unknown("associative_scan");
  const ir::TypeRef tensors = ir::list_of(ir::tensor_type());
  ir::Value* const zero = reader_.constant({std::int64_t{0}});
  ir::Value* const one = reader_.constant({std::int64_t{1}});
  const Values first = at(reader_, xs, zero);
  Values lists;
  for (ir::Value* part : first) lists.push_back(reader_.add("prim::ListConstruct", {part}, tensors));
  ir::Value* trips = reader_.add("aten::sub", {length(xs.front()), one}, integer());
  ir::Node* loop = reader_.add_node("prim::Loop", joined({trips, reader_.constant({true})}, first), types_of(first));
  ir::Block* body = loop->add_block();
  GraphReader inside(reader_.reading_, *body, tagged(argument(0)).value.at("graph"));
  inside.node_ = &node_;
  ir::Value* trip = body->add_input(integer());
  Values now;
  for (const ir::TypeRef& type : types_of(first)) now.push_back(body->add_input(type));
  ir::Value* place = inside.add("aten::add", {trip, one}, integer());
  const Values given = run(argument(0), *body, joined(joined(now, at(inside, xs, place)), around));
  if (given.size() != xs.size()) node_.fail("has a subgraph that gives another number of values than it is given");
  body->add_output(reader_.constant({true}));
  for (std::size_t i = 0; i < given.size(); ++i) {
    body->add_output(given[i]);
    inside.add("aten::append", {lists[i], given[i]}, tensors);
  }
  Values all;
  for (ir::Value* list : lists) all.push_back(reader_.add("aten::stack", {list, zero}, ir::tensor_type()));
  bind(all);
}

void HigherOrder::inlined(std::size_t graph, std::size_t first_operand) {
  bind(run(argument(graph), reader_.block(), rest(first_operand)));
}

// (device, dtype, enabled, cache, graph, operands…)
void HigherOrder::autocast() {
  const Tagged dtype = tagged(argument(1)), enabled = tagged(argument(2));
  const bool on = enabled.tag == "as_bool" && enabled.value.boolean();
  const auto before = std::exchange(reader_.reading_.autocast, std::nullopt);
  if (on) {
    const bool cpu = tagged(argument(0)).value.text() == "cpu";
    reader_.reading_.autocast =
        dtype.tag == "as_scalar_type" ? dtype_of(dtype.value.integer()) : std::optional(cpu ? ir::DType::bf16 : ir::DType::f16);
  }
  // Of the four arguments of torch.autocast the code that is run has all, the code that is parsed those that are written.
  const bool strict = std::exchange(reader_.reading_.autocast_is_strict, tagged(argument(3)).tag == "as_none");
  inlined(4, 5);
  reader_.reading_.autocast = before;
  reader_.reading_.autocast_is_strict = strict;
}

// (token, operator, arguments…): the operator. Its results stand behind the token's.
void HigherOrder::with_effects() {
  const std::string target = wrapped_target(1);
  const schema::Schema* schema = wrapped_schema(1);
  const auto outputs = node_.at("outputs").members();
  const bool prints = target == "torch.ops.higher_order.print" || target.starts_with("torch.ops.aten._print");
  const bool checks = schema && (schema->name == "aten::_linalg_check_errors" || schema->name.starts_with("aten::_assert"));
  if (!prints && !schema) return unknown("with_effects(" + target + ")");
  Values results{reader_.constant({})};
  if (prints) reader_.reading_.notes.emplace("print", "dropped what the model prints");
  if (checks) ++reader_.reading_.assertions[schema->name];
  if (!prints && !checks) {
    Values arguments;
    std::size_t positional = 2;
    for (const schema::Argument& formal : schema->arguments) {
      const auto given = named(formal.name);
      const bool by_place = !given && positional < inputs_.size() && inputs_[positional].at("name").text().empty();
      if (!given && !by_place && !formal.default_value) return unknown("with_effects(" + target + ")");
      arguments.push_back(given      ? reader_.value_of(*given, &formal)
                          : by_place ? reader_.value_of(argument(positional++), &formal)
                                     : reader_.constant(*formal.default_value, formal.type));
    }
    results = joined(std::move(results), call(*schema, arguments));
  }
  while (results.size() < outputs.size()) results.push_back(reader_.constant({}));
  bind(results);
}

std::string HigherOrder::wrapped_target(std::size_t i) const {
  const Tagged wrapped = tagged(argument(i));
  return wrapped.tag == "as_operator" ? std::string(wrapped.value.text()) : std::string();
}

const schema::Schema* HigherOrder::wrapped_schema(std::size_t i) const {
  constexpr std::string_view prefix = "torch.ops.";
  const std::string whole = wrapped_target(i);
  if (!whole.starts_with(prefix)) return nullptr;
  const std::string_view target = std::string_view(whole).substr(prefix.size());
  const auto dot = target.find('.'), last = target.rfind('.');
  if (dot == target.npos || last <= dot) return nullptr;
  const std::string op = std::string(target.substr(0, dot)) + "::" + std::string(target.substr(dot + 1, last - dot - 1));
  const std::string_view overload = target.substr(last + 1);
  return reader_.reading_.schemas.find(op, overload == "default" ? std::string_view() : overload);
}

HigherOrder::Values HigherOrder::call(const schema::Schema& schema, const Values& arguments) const {
  std::vector<ir::TypeRef> types;
  for (const schema::Argument& result : schema.returns) types.push_back(result.type);
  ir::Node* made = reader_.add_node(schema.name, arguments, types);
  made->set_overload(schema.overload);
  if (types.empty()) return {reader_.constant({})};
  return {made->outputs().begin(), made->outputs().end()};
}

std::optional<Json> HigherOrder::named(std::string_view name) const {
  for (const Json& input : inputs_)
    if (input.at("name").text() == name) return input.at("arg");
  return std::nullopt;
}

// (operator, dtype, arguments…): the operator, computed in the dtype.
void HigherOrder::out_dtype() {
  const schema::Schema* schema = wrapped_schema(0);
  if (!schema || inputs_.size() != schema->arguments.size() + 2) return unknown("out_dtype");
  ir::Value* const dtype = reader_.value_of(argument(1));
  ir::Value* const no = reader_.constant({false});
  Values arguments;
  for (std::size_t i = 0; i < schema->arguments.size(); ++i) {
    ir::Value* value = reader_.value_of(argument(i + 2), &schema->arguments[i]);
    if (ir::is(value->type(), ir::TypeKind::tensor)) {
      ir::Node* cast =
          reader_.add_node("aten::to", std::array{value, dtype, no, no, reader_.constant({})}, std::array{ir::tensor_type()});
      cast->set_overload("dtype");
      value = cast->output();
    }
    arguments.push_back(value);
  }
  bind(call(*schema, arguments));
}

// (operator, its arguments by name): copies of what it writes are written; its results, then these copies.
void HigherOrder::functionalized_v1() {
  const schema::Schema* schema = wrapped_schema(0);
  const std::string name = "auto_functionalized(" + wrapped_target(0) + ")";
  if (!schema) return unknown(name);
  Values arguments, written;
  for (const schema::Argument& formal : schema->arguments) {
    const auto given = named(formal.name);
    if (!given && !formal.default_value) return unknown(name);
    ir::Value* value = given ? reader_.value_of(*given, &formal) : reader_.constant(*formal.default_value, formal.type);
    if (formal.written && ir::is(value->type(), ir::TypeKind::tensor)) {
      value = reader_.add("aten::clone", {value, reader_.constant({})}, value->type());
      written.push_back(value);
    }
    arguments.push_back(value);
  }
  bind(joined(call(*schema, arguments), written));
}

// As before, but what is written are views of bases: _all_bases, of each written argument NAME the base's index and how the view
// lies on it.
void HigherOrder::functionalized_v2() {
  const schema::Schema* schema = wrapped_schema(0);
  const std::string name = "auto_functionalized_v2(" + wrapped_target(0) + ")";
  if (!schema) return unknown(name);
  Values bases;
  if (const auto all = named("_all_bases"))
    for (const Json& base : tagged(*all).value.members()) {
      ir::Value* value = reader_.value_named(base.at("name"));
      bases.push_back(reader_.add("aten::clone", {value, reader_.constant({})}, value->type()));
    }
  const auto view_of = [&](const std::string& written) -> ir::Value* {
    const auto index = named("_" + written + "_base_index");
    if (!index) return nullptr;
    const Tagged number = tagged(*index);
    if (number.tag == "as_none") return reader_.constant({});
    const auto at = static_cast<std::size_t>(number.value.integer());
    if (at >= bases.size()) node_.fail("names a base that isn't there");
    const auto whole = [&](const std::string& part) {
      const auto found = named("_" + written + part);
      if (!found) node_.fail("lacks _" + written + part);
      return reader_.value_of(*found);
    };
    if (named("_" + written + "_slice_dim"))
      return reader_.add(
          "aten::slice",
          {bases[at], whole("_slice_dim"), whole("_slice_start"), whole("_slice_end"), reader_.constant({std::int64_t{1}})},
          ir::tensor_type());
    if (named("_" + written + "_size"))
      return reader_.add("aten::as_strided", {bases[at], whole("_size"), whole("_stride"), whole("_storage_offset")},
                         ir::tensor_type());
    return bases[at];
  };
  Values arguments;
  for (const schema::Argument& formal : schema->arguments) {
    ir::Value* value = formal.written ? view_of(formal.name) : nullptr;
    if (!value)
      if (const auto given = named(formal.name)) value = reader_.value_of(*given, &formal);
    if (!value && formal.default_value) value = reader_.constant(*formal.default_value, formal.type);
    if (!value) return unknown(name);
    arguments.push_back(value);
  }
  bind(joined(call(*schema, arguments), bases));
}

void HigherOrder::unknown(std::string_view name) { reader_.call_unknown("higher_order::" + std::string(name), node_, inputs_); }

}  // namespace compatcheck::frontend::pt2
