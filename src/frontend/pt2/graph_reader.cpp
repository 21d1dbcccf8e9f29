#include "frontend/pt2/graph_reader.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "compatcheck/error.h"
#include "frontend/pt2/enums.h"
#include "frontend/pt2/hidden_writes.h"
#include "frontend/pt2/higher_order.h"
#include "frontend/pt2/python_functions.h"
#include "frontend/pt2/signature.h"
#include "frontend/pt2/tensor_meta.h"

namespace compatcheck::frontend::pt2 {
namespace {

using ir::TypeKind;

constexpr std::size_t most_nodes = 4'000'000;  // and values; subgraphs are repeated by every call of them
constexpr std::string_view operators = "torch.ops.", higher_order = "torch.ops.higher_order.";

ir::TypeRef type(TypeKind kind) { return ir::simple_type(kind); }

bool is_number(const ir::TypeRef& held) {
  return ir::is(held, TypeKind::integer) || ir::is(held, TypeKind::floating) || ir::is(held, TypeKind::boolean) ||
         ir::is(held, TypeKind::complex);
}

const ir::TypeRef& element_of(const ir::TypeRef& list) { return ir::without_optional(list)->elements.front(); }

bool is_list(const ir::TypeRef& held) { return held && ir::is(ir::without_optional(held), TypeKind::list); }

// "mul.Tensor" → "mul", "Tensor"; "default" is the overload without a name.
std::pair<std::string, std::string> split_overload(std::string_view name) {
  const auto dot = name.rfind('.');
  if (dot == name.npos) return {std::string(name), ""};
  const std::string_view overload = name.substr(dot + 1);
  return {std::string(name.substr(0, dot)), overload == "default" ? "" : std::string(overload)};
}

std::string device(const Json& given) {
  std::string name(given.at("type").text());
  if (const auto index = given.find("index"); index && !index->is_null() && name != "cpu")
    name += ":" + std::to_string(index->integer());
  return name;
}

// Where two constants of one type and value are one. Empty: it isn't kept.
std::string key_of(const ir::Constant& value, const ir::TypeRef& held) {
  std::string key = held ? ir::to_string(*held) + " " : std::string();
  if (value.is_none()) return key + "None";
  if (const auto* whole = value.get<std::int64_t>()) return key + std::to_string(*whole);
  if (const auto* flag = value.get<bool>()) return key + (*flag ? "True" : "False");
  if (const auto* list = value.get<ir::ListConstant>(); list && list->items.size() <= 8) {
    for (const ir::Constant& item : list->items) {
      if (!item.get<std::int64_t>()) return {};
      key += std::to_string(*item.get<std::int64_t>()) + ",";
    }
    return key;
  }
  return {};
}

}  // namespace

GraphReader::GraphReader(Reading& reading, ir::Block& block, const Json& graph)
    : reading_(reading), block_(block), graph_(graph) {
  for (const Json& value : graph.at("tensor_values").members()) tensors_.emplace(value.key(), value);
  count_nodes(1 + tensors_.size());
}

void GraphReader::count_nodes(std::size_t more) {
  reading_.watch.step();
  reading_.nodes += more;
  if (reading_.nodes > most_nodes)
    throw ModelError("has more than " + std::to_string(most_nodes) + " nodes and values with its subgraphs in place");
}

void GraphReader::bind(const std::string& name, ir::Value* value) {
  if (!values_.emplace(name, value).second) graph_.fail("defines the value " + name + " twice");
}

std::optional<Json> GraphReader::meta_of(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return std::nullopt;
  const auto wrapped = found->second.find("meta");  // torch 2.1
  return wrapped ? *wrapped : found->second;
}

ir::TypeRef GraphReader::type_of(const std::string& name) const {
  const auto meta = meta_of(name);
  return ir::tensor_type(meta ? value_type(*meta) : ir::TensorType());
}

void GraphReader::read_nodes() {
  for (const Json& node : graph_.at("nodes").members()) {
    count_nodes(1);
    node_ = &node;
    read_node(node);
    node_ = nullptr;
  }
}

void GraphReader::read_node(const Json& node) {
  const std::string_view target = node.at("target").text();
  const auto inputs = node.at("inputs").members();
  if (target.starts_with(higher_order)) return HigherOrder(*this, node, inputs).read(target.substr(higher_order.size()));
  if (target.starts_with(operators)) return read_operator(node, target.substr(operators.size()), inputs);
  read_python_function(node, target, inputs);
}

void GraphReader::read_operator(const Json& node, std::string_view target, std::span<const Json> inputs) {
  const auto dot = target.find('.');
  if (dot == target.npos) node.at("target").fail("names no operator");
  const auto [name, overload] = split_overload(target.substr(dot + 1));
  const std::string space(target.substr(0, dot));
  if (space == "aten") {
    if (drop_assertion(name, inputs)) return;
    if (name == "item" || name == "_local_scalar_dense")
      if (!inputs.empty()) return read_item(node, value_of(inputs.front().at("arg")));
    if (name == "to") return read_to(overload, node, inputs);
    constexpr auto symbolic_names = std::to_array<std::pair<std::string_view, std::string_view>>(
        {{"sym_size", "size"}, {"sym_numel", "numel"}, {"sym_stride", "stride"}, {"sym_storage_offset", "storage_offset"}});
    const auto found = std::ranges::find(symbolic_names, name, [](const auto& pair) { return pair.first; });
    if (found != symbolic_names.end()) {
      call("aten::" + std::string(found->second), overload, node, inputs);
      return;
    }
  }
  call(space + "::" + name, overload, node, inputs);
}

bool GraphReader::drop_assertion(std::string_view name, std::span<const Json> inputs) {
  if (name == "_assert_tensor_metadata" || name == "sym_constrain_range" || name == "sym_constrain_range_for_size") return true;
  if (name != "_assert_scalar" && name != "_assert_async" && name != "_assert_async_msg") return false;
  std::string message = "an assertion without a message";
  for (const Json& input : inputs)
    if (const Tagged held = tagged(input.at("arg")); held.tag == "as_string") message = held.value.text();
  ++reading_.assertions[message];
  return true;
}

// Whether x.to(…) makes a tensor of its own; nullopt: the file doesn't tell.
std::optional<bool> GraphReader::copies(const Json& node, std::span<const Json> inputs) const {
  const auto meta = [&](const Json& argument) -> std::optional<Json> {
    const Tagged held = tagged(argument);
    return held.tag == "as_tensor" ? meta_of(std::string(held.value.at("name").text())) : std::nullopt;
  };
  const auto results = node.at("outputs").members();
  if (results.size() != 1 || inputs.empty() || inputs.front().at("name").text() != "self") return std::nullopt;
  const auto given = meta(inputs.front().at("arg")), result = meta(results.front());
  if (!given || !result) return std::nullopt;
  const auto is_same = [&](std::string_view key) { return given->at(key).integer() == result->at(key).integer(); };
  if (!is_same("dtype") || !is_same("layout") || device(given->at("device")) != device(result->at("device"))) return true;
  for (const Json& input : inputs) {
    const Tagged held = tagged(input.at("arg"));
    if (input.at("name").text() == "copy" && held.tag == "as_bool" && held.value.boolean()) return true;
    if (input.at("name").text() == "memory_format" && held.tag != "as_none") return std::nullopt;
  }
  return false;
}

// A tensor that is as `to` asks for is given back itself: who writes to the result writes to it.
void GraphReader::read_to(const std::string& overload, const Json& node, std::span<const Json> inputs) {
  const auto made_anew = copies(node, inputs);
  if (made_anew == false) {
    bind(std::string(tagged(node.at("outputs").members().front()).value.at("name").text()), value_of(inputs.front().at("arg")));
    return;
  }
  ir::Node* made = call("aten::to", overload, node, inputs);
  const schema::Schema* schema = reading_.schemas.find("aten::to", overload);
  const auto copy = schema && made_anew ? schema->argument_index("copy") : std::nullopt;
  if (copy && *copy < made->inputs().size()) made->replace_input(*copy, constant({true}));
}

// The number in a tensor, by the kind that the file states.
void GraphReader::read_item(const Json& node, ir::Value* tensor) {
  for (const Json& result : node.at("outputs").members()) {
    const Tagged held = tagged(result);
    const auto [op, kind] = held.tag == "as_sym_float"  ? std::pair("aten::Float", TypeKind::floating)
                            : held.tag == "as_sym_bool" ? std::pair("aten::Bool", TypeKind::boolean)
                                                        : std::pair("aten::Int", TypeKind::integer);
    bind(std::string(held.value.at("as_name").text()), add(op, {tensor}, type(kind)));
  }
}

void GraphReader::read_python_function(const Json& node, std::string_view target, std::span<const Json> inputs) {
  std::vector<ir::Value*> values;
  for (const Json& input : inputs) values.push_back(value_of(input.at("arg")));
  const auto results = node.at("outputs").members();
  if (results.size() == 1)
    if (ir::Value* result = python_function(*this, target, values)) {
      const Tagged held = tagged(results.front());
      bind(std::string(held.value.at("as_name").text()), result);
      return;
    }
  if (target.starts_with("torch._functorch.predispatch."))
    reading_.notes.emplace(
        "vmap",
        "holds a region of torch.vmap, which isn't supported: export the model, then call run_decompositions() "
        "before saving it");
  call_unknown("python::" + std::string(target), node, inputs);
}

ir::Node* GraphReader::call(const std::string& op, const std::string& overload, const Json& node, std::span<const Json> inputs) {
  const schema::Schema* schema = reading_.schemas.find(op, overload);
  std::unordered_map<std::string_view, Json> given;
  for (const Json& input : inputs) given.emplace(input.at("name").text(), input.at("arg"));
  const auto extra = std::ranges::find_if(given, [&](const auto& each) { return schema && !schema->argument_index(each.first); });
  if (!schema || extra != given.end()) {
    // Of a known operator, an overload or argument that isn't known: nothing else may be taken for it.
    if (reading_.schemas.contains(op))
      return call_unknown(op + "." + (overload.empty() ? "default" : overload) +
                              (extra == given.end() ? std::string() : "(" + std::string(extra->first) + ")"),
                          node, inputs);
    assume_schema(op, node, inputs);
    return call_unknown(op, node, inputs);
  }
  std::vector<ir::Value*> values;
  bool open = false;  // a number in a tensor's place: another overload takes it
  for (const schema::Argument& formal : schema->arguments) {
    const auto found = given.find(formal.name);
    if (found == given.end()) {
      if (!formal.default_value) node.fail("lacks the argument " + formal.name + " of " + op);
      values.push_back(constant(*formal.default_value, formal.type));
      continue;
    }
    values.push_back(value_of(found->second, &formal));
    open = open || (ir::is(formal.type, TypeKind::tensor) && is_number(values.back()->type()));
  }
  const auto results = node.at("outputs").members();
  if (const auto made = with_stated_writes(*this, op, values); !made.empty()) {
    for (std::size_t i = 0; i < std::min(made.size(), results.size()); ++i)
      if (const Tagged held = tagged(results[i]); held.tag == "as_tensor")
        bind(std::string(held.value.at("name").text()), made[i]);
    return made.front()->producer();
  }
  ir::Node* made = add_node(op, values, {});
  if (!open) made->set_overload(schema->overload);
  if (reading_.autocast) cast_automatically(*made, results);
  for (std::size_t i = 0; i < schema->returns.size(); ++i) {
    ir::TypeRef result = schema->returns[i].type;
    if (i < results.size())
      if (const Tagged held = tagged(results[i]); held.tag == "as_tensor")
        result = type_of(std::string(held.value.at("name").text()));
    made->add_output(result);
  }
  bind_results(*made, results);
  return made;
}

ir::Node* GraphReader::call_unknown(const std::string& op, const Json& node, std::span<const Json> inputs) {
  std::vector<ir::Value*> values;
  for (const Json& input : inputs) {
    const std::string_view tag = tagged(input.at("arg")).tag;
    if (tag != "as_graph" && tag != "as_operator" && tag != "as_string_to_argument") values.push_back(value_of(input.at("arg")));
  }
  ir::Node* made = add_node(op, values, {});
  const auto results = node.at("outputs").members();
  for (const Json& result : results) {
    const Tagged held = tagged(result);
    made->add_output(held.tag == "as_tensor"      ? type_of(std::string(held.value.at("name").text()))
                     : held.tag == "as_tensors"   ? ir::list_of(ir::tensor_type())
                     : held.tag == "as_sym_int"   ? type(TypeKind::integer)
                     : held.tag == "as_sym_float" ? type(TypeKind::floating)
                     : held.tag == "as_sym_bool"  ? type(TypeKind::boolean)
                                                  : ir::tensor_type());
  }
  bind_results(*made, results);
  return made;
}

// Of an operator that nobody ships: its arguments have names and kinds in the file.
void GraphReader::assume_schema(const std::string& op, const Json& node, std::span<const Json> inputs) {
  const auto is_name = [](std::string_view name, bool empty_too) {
    return (empty_too || !name.empty()) &&
           std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == ':'; });
  };
  if (!is_name(op, false)) return;
  for (const Json& input : inputs)
    if (!is_name(input.at("name").text(), true)) return;
  std::string text = op + "(";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::Value* value = value_of(inputs[i].at("arg"));
    std::string name(inputs[i].at("name").text());
    if (name.empty()) name = "arg" + std::to_string(i);
    const ir::TypeRef& held = value->type();
    const std::string kind = ir::is(held, TypeKind::tensor) ? "Tensor"
                             : ir::is(held, TypeKind::none) ? "Tensor?"
                                                            : ir::to_string(*held);
    text += (i ? ", " : "") + kind + " " + name;
  }
  text += ") -> (";
  const auto results = node.at("outputs").members();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string_view tag = tagged(results[i]).tag;
    text += i ? ", " : "";
    text += tag == "as_tensors"     ? "Tensor[]"
            : tag == "as_sym_int"   ? "int"
            : tag == "as_sym_float" ? "float"
            : tag == "as_sym_bool"  ? "bool"
                                    : "Tensor";
  }
  reading_.assumed_schemas.insert(text + ")");
}

// Inside of torch.autocast the exporter writes no casts, but each result's dtype: operators of lower precision get halves, others
// that give single precision get it. With strict=True it writes the dtypes that there would be without autocast.
void GraphReader::cast_automatically(ir::Node& made, std::span<const Json> results) {
  constexpr auto lower = std::to_array<std::string_view>({"aten::_convolution",
                                                          "aten::addbmm",
                                                          "aten::addmm",
                                                          "aten::addmv",
                                                          "aten::baddbmm",
                                                          "aten::bmm",
                                                          "aten::chain_matmul",
                                                          "aten::conv1d",
                                                          "aten::conv2d",
                                                          "aten::conv3d",
                                                          "aten::conv_tbc",
                                                          "aten::conv_transpose1d",
                                                          "aten::conv_transpose2d",
                                                          "aten::conv_transpose3d",
                                                          "aten::convolution",
                                                          "aten::einsum",
                                                          "aten::gru",
                                                          "aten::linalg_multi_dot",
                                                          "aten::linalg_vecdot",
                                                          "aten::linear",
                                                          "aten::lstm",
                                                          "aten::matmul",
                                                          "aten::mm",
                                                          "aten::mv",
                                                          "aten::prelu",
                                                          "aten::scaled_dot_product_attention"});
  // These compute by operators of the list.
  constexpr auto by_lower =
      std::to_array<std::string_view>({"aten::bilinear", "aten::cdist", "aten::gru_cell", "aten::inner", "aten::linalg_matmul",
                                       "aten::linalg_matrix_power", "aten::lstm_cell", "aten::matrix_power", "aten::rnn_relu",
                                       "aten::rnn_relu_cell", "aten::rnn_tanh", "aten::rnn_tanh_cell", "aten::tensordot"});
  constexpr auto conversions = std::to_array<std::string_view>(
      {"aten::to", "aten::_to_copy", "aten::type_as", "aten::float", "aten::copy_", "aten::where", "aten::view"});
  if (results.empty() || std::ranges::find(conversions, made.op()) != conversions.end()) return;
  const Tagged held = tagged(results.front());
  if (held.tag != "as_tensor") return;
  const auto result = type_of(std::string(held.value.at("name").text()))->tensor.dtype;
  const bool is_listed = std::ranges::find(lower, made.op()) != lower.end(), lowers = is_listed && result == reading_.autocast;
  const auto takes = [&](auto&& wanted) {
    return std::ranges::any_of(made.inputs(), [&](const ir::Value* operand) {
      const ir::Value* first =
          ir::is_tensor_list(operand->type()) && operand->producer() && !operand->producer()->inputs().empty()
              ? operand->producer()->input(0)
              : operand;
      return ir::is(first->type(), TypeKind::tensor) && wanted(first->type()->tensor.dtype);
    });
  };
  const bool of_singles = takes([](const auto& dtype) { return dtype == ir::DType::f32; });
  const bool of_halves = takes([](const auto& dtype) { return dtype == ir::DType::f16 || dtype == ir::DType::bf16; });
  const bool is_unlisted = !lowers && result == reading_.autocast && of_singles;  // it lowers the precision
  const bool may_lower = is_listed || std::ranges::find(by_lower, made.op()) != by_lower.end();
  if (is_unlisted || (reading_.autocast_is_strict && (of_halves || (of_singles && may_lower)))) {
    made.set_op("autocast::" + made.op());
    made.set_overload("");
    return;
  }
  if (!lowers && result != ir::DType::f32) return;
  for (std::size_t i = 0; i < made.inputs().size(); ++i) cast_operand(made, i, lowers);
}

// The operand, or what the list holds that was made for it.
void GraphReader::cast_operand(ir::Node& user, std::size_t i, bool lowers) {
  ir::Value* operand = user.input(i);
  if (ir::is_tensor_list(operand->type()) && operand->producer() && operand->producer()->is("prim::ListConstruct")) {
    for (std::size_t item = 0; item < operand->producer()->inputs().size(); ++item)
      cast_operand(*operand->producer(), item, lowers);
    return;
  }
  if (!ir::is(operand->type(), TypeKind::tensor)) return;
  const auto to = lowers ? *reading_.autocast : ir::DType::f32;
  const auto from = operand->type()->tensor.dtype;
  const bool is_half = from == ir::DType::f16 || from == ir::DType::bf16;
  if (!from || *from == to || (lowers ? *from != ir::DType::f32 && !is_half : !is_half)) return;
  ir::TensorType cast = operand->type()->tensor;
  cast.dtype = to;
  ir::Value* const no = constant({false});
  ir::Node* conversion =
      add_node("aten::to", std::array{operand, constant({static_cast<std::int64_t>(to)}), no, no, constant({})},
               std::array{ir::tensor_type(cast)});
  conversion->set_overload("dtype");
  conversion->move_before(&user);
  user.replace_input(i, conversion->output());
}

void GraphReader::bind_list(ir::Value* list, const Json& names) {
  std::vector<ir::TypeRef> types;
  const auto members = names.members();
  for (const Json& member : members) types.push_back(type_of(std::string(member.at("name").text())));
  ir::Node* unpack = add_node("prim::ListUnpack", std::array{list}, types);
  for (std::size_t i = 0; i < members.size(); ++i) bind(std::string(members[i].at("name").text()), unpack->output(i));
}

void GraphReader::bind_results(ir::Node& made, std::span<const Json> results) {
  if (results.size() > made.outputs().size()) {
    // The file lists more results than the schema.
    for (std::size_t i = made.outputs().size(); i < results.size(); ++i) made.add_output(ir::tensor_type());
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Tagged held = tagged(results[i]);
    if (held.tag == "as_none") continue;
    if (held.tag == "as_tensors")
      bind_list(made.output(i), held.value);
    else if (held.tag == "as_tensor")
      bind(std::string(held.value.at("name").text()), made.output(i));
    else if (const auto name = held.value.is(Json::Kind::object) ? held.value.find("as_name") : std::nullopt;
             name && !name->is_null())
      bind(std::string(name->text()), made.output(i));
  }
}

ir::Node* GraphReader::add_node(const std::string& op, std::span<ir::Value* const> inputs, std::span<const ir::TypeRef> outputs) {
  ir::Node* node = reading_.graph.create(op, inputs);
  for (const ir::TypeRef& output : outputs) node->add_output(output);
  block_.append(node);
  if (node_) reading_.origins.set(*node, *node_);
  return node;
}

ir::Value* GraphReader::add(const std::string& op, std::vector<ir::Value*> inputs, const ir::TypeRef& result) {
  return add_node(op, inputs, std::array{result})->output();
}

// At the top, where every block sees it.
ir::Value* GraphReader::constant(ir::Constant value, const ir::TypeRef& wanted) {
  const ir::TypeRef held = is_list(wanted) && !value.is_none() ? ir::without_optional(wanted) : nullptr;
  const std::string key = key_of(value, held);
  ir::Value* known = nullptr;
  ir::Value*& place = key.empty() ? known : reading_.constants[key];
  if (place) return place;
  ir::Node* node = reading_.graph.create_constant(std::move(value));
  if (held && ir::constant_of(node->output())->get<ir::ListConstant>()) node->output()->set_type(held);
  reading_.graph.top()->prepend(node);
  return place = node->output();
}

ir::Value* GraphReader::value_named(const Json& named) {
  const std::string name(named.text());
  const auto found = values_.find(name);
  if (found == values_.end()) named.fail("reads the value " + name + " before it is defined");
  return found->second;
}

ir::Value* GraphReader::symbolic(const Json& value) {
  const Tagged held = tagged(value);
  if (held.tag == "as_name") return value_named(held.value);
  if (held.tag == "as_int") return constant({held.value.integer()});
  if (held.tag == "as_float") return constant({held.value.real()});
  if (held.tag == "as_bool") return constant({held.value.boolean()});
  value.fail("is of the unknown kind \"" + std::string(held.tag) + "\"");
}

ir::Value* GraphReader::list(std::vector<ir::Value*> items, const ir::TypeRef& element) {
  return add("prim::ListConstruct", std::move(items), ir::list_of(element));
}

ir::Value* GraphReader::tensors(const Json& given, const schema::Argument* formal) {
  std::vector<ir::Value*> items;
  for (const Json& member : given.members()) {
    if (member.find("name")) {
      items.push_back(value_named(member.at("name")));
      continue;
    }
    const Tagged held = tagged(member);
    if (held.tag == "as_none")
      items.push_back(constant({}));
    else
      items.push_back(value_named(held.value.is(Json::Kind::text) ? held.value : held.value.at("name")));
  }
  return list(std::move(items), formal && is_list(formal->type) ? element_of(formal->type) : ir::tensor_type());
}

namespace {

template <class Read>
ir::Constant list_constant(const Json& given, TypeKind kind, Read&& read) {
  ir::ListConstant list{ir::simple_type(kind), {}};
  for (const Json& member : given.members()) list.items.push_back({read(member)});
  return {std::move(list)};
}

std::int64_t code(const Json& given, std::optional<std::int64_t> known, std::string_view what) {
  if (!known) given.fail("is " + std::to_string(given.integer()) + ", a " + std::string(what) + " that isn't known");
  return *known;
}

}  // namespace

ir::Value* GraphReader::value_of(const Json& argument, const schema::Argument* formal) {
  const Tagged held = tagged(argument);
  const std::string_view tag = held.tag;
  const Json& given = held.value;
  const ir::TypeRef wanted = formal ? ir::without_optional(formal->type) : nullptr;
  const ir::TypeRef list_type = is_list(wanted) ? wanted : nullptr;
  const bool wants_float = ir::is(wanted, TypeKind::floating);
  const bool wants_floats = list_type && ir::is(element_of(list_type), TypeKind::floating);
  const auto whole = [](const Json& member) { return member.integer(); };
  const auto real = [](const Json& member) { return member.real(); };
  if (tag == "as_tensor" || tag == "as_custom_obj") return value_named(given.at("name"));
  if (tag == "as_tensors" || tag == "as_optional_tensors") return tensors(given, formal);
  if (tag == "as_nested_tensors") {
    std::vector<ir::Value*> lists;
    for (const Json& member : given.members()) lists.push_back(tensors(member, nullptr));
    return list(std::move(lists), ir::list_of(ir::tensor_type()));
  }
  if (tag == "as_none") return constant({});
  if (tag == "as_int" && given.is(Json::Kind::boolean)) return constant({given.boolean()});  // torch 2.4 and 2.5
  if (tag == "as_int") return wants_float ? constant({static_cast<double>(given.integer())}) : constant({given.integer()});
  if (tag == "as_float") return constant({given.real()});
  if (tag == "as_bool") return constant({given.boolean()});
  if (tag == "as_string") return constant({std::string(given.text())});
  if (tag == "as_complex") return constant({std::complex<double>(given.at("real").real(), given.at("imag").real())});
  if (tag == "as_ints")
    return wants_floats ? constant(list_constant(given, TypeKind::floating, real), list_type)
                        : constant(list_constant(given, TypeKind::integer, whole), list_type);
  if (tag == "as_floats") return constant(list_constant(given, TypeKind::floating, real), list_type);
  if (tag == "as_bools")
    return constant(list_constant(given, TypeKind::boolean, [](const Json& m) { return m.boolean(); }), list_type);
  if (tag == "as_strings")
    return constant(list_constant(given, TypeKind::string, [](const Json& m) { return std::string(m.text()); }), list_type);
  if (tag == "as_int_lists" || tag == "as_float_lists") {
    const bool floats = tag == "as_float_lists";
    std::vector<ir::Value*> lists;
    for (const Json& member : given.members())
      lists.push_back(floats ? constant(list_constant(member, TypeKind::floating, real))
                             : constant(list_constant(member, TypeKind::integer, whole)));
    return list(std::move(lists), ir::list_of(type(floats ? TypeKind::floating : TypeKind::integer)));
  }
  if (tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool") return symbolic(given);
  if (tag == "as_sym_ints" || tag == "as_sym_floats" || tag == "as_sym_bools") {
    std::vector<ir::Value*> items;
    for (const Json& member : given.members()) items.push_back(symbolic(member));
    return list(std::move(items), type(tag == "as_sym_ints"     ? TypeKind::integer
                                       : tag == "as_sym_floats" ? TypeKind::floating
                                                                : TypeKind::boolean));
  }
  if (tag == "as_scalar_type") {
    const auto dtype = dtype_of(given.integer());
    return constant({code(given, dtype ? std::optional(static_cast<std::int64_t>(*dtype)) : std::nullopt, "dtype")});
  }
  if (tag == "as_layout") return constant({code(given, layout_of(given.integer()), "layout")});
  if (tag == "as_memory_format") return constant({code(given, memory_format_of(given.integer()), "memory format")});
  if (tag == "as_device") return constant({ir::DeviceConstant{device(given)}});
  argument.fail("is an argument of the unknown kind \"" + std::string(tag) + "\": a newer torch may have written it");
}

}  // namespace compatcheck::frontend::pt2
