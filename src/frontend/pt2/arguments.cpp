#include "frontend/pt2/arguments.h"

#include <algorithm>
#include <array>
#include <complex>

#include "frontend/pt2/enums.h"
#include "frontend/pt2/union.h"

namespace compatcheck::frontend::pt2 {
namespace {

using ir::TypeKind;

// An argument as its reader gets it.
struct CallArgument {
  Arguments& arguments;
  NodeWriter& nodes;
  std::string_view tag;
  const Json& given;
  const schema::Argument* formal;

  ir::TypeRef type() const { return formal ? ir::without_optional(formal->type) : nullptr; }
  ir::TypeRef list_type() const { return ir::is(type(), TypeKind::list) ? type() : nullptr; }
  ir::TypeRef element() const { return list_type() ? list_type()->elements.front() : nullptr; }
};

ir::Constant integer_argument(const Json& given) { return {given.integer()}; }
ir::Constant real(const Json& given) { return {given.real()}; }
ir::Constant boolean_argument(const Json& given) { return {given.boolean()}; }
ir::Constant text(const Json& given) { return {std::string(given.text())}; }

using ReadItem = ir::Constant (*)(const Json&);

ir::Constant constant_list(const Json& given, TypeKind kind, ReadItem read) {
  ir::ListConstant list{ir::simple_type(kind), {}};
  for (const Json& member : given.members()) list.items.push_back(read(member));
  return {std::move(list)};
}

ir::Value* none(const CallArgument& a) { return a.nodes.constant({}); }
ir::Value* named(const CallArgument& a) { return a.arguments.named(a.given); }
ir::Value* symbolic(const CallArgument& a) { return a.arguments.symbolic(a.given); }
ir::Value* tensors_argument(const CallArgument& a) { return a.arguments.tensors(a.given, a.formal); }
ir::Value* text(const CallArgument& a) { return a.nodes.constant(text(a.given)); }
ir::Value* boolean_argument(const CallArgument& a) { return a.nodes.constant(boolean_argument(a.given)); }
ir::Value* real(const CallArgument& a) { return a.nodes.constant(real(a.given)); }

ir::Value* integer_argument(const CallArgument& a) {
  if (a.given.is(Json::Kind::boolean)) return boolean_argument(a);  // torch 2.4 and 2.5
  return ir::is(a.type(), TypeKind::floating) ? a.nodes.constant({static_cast<double>(a.given.integer())})
                                              : a.nodes.constant(integer_argument(a.given));
}

ir::Value* complex(const CallArgument& a) {
  return a.nodes.constant({std::complex<double>(a.given.at("real").real(), a.given.at("imag").real())});
}

template <TypeKind kind, ReadItem read>
ir::Value* list(const CallArgument& a) {
  return a.nodes.constant(constant_list(a.given, kind, read), a.list_type());
}

ir::Value* integers(const CallArgument& a) {
  return ir::is(a.element(), TypeKind::floating) ? list<TypeKind::floating, real>(a)
                                                 : list<TypeKind::integer, integer_argument>(a);
}

template <TypeKind kind, ReadItem read>
ir::Value* lists(const CallArgument& a) {
  Values lists;
  for (const Json& member : a.given.members()) lists.push_back(a.nodes.constant(constant_list(member, kind, read)));
  return a.nodes.list(lists, ir::list_of(ir::simple_type(kind)));
}

ir::Value* lists_of_tensors(const CallArgument& a) {
  Values lists;
  for (const Json& member : a.given.members()) lists.push_back(a.arguments.tensors(member, nullptr));
  return a.nodes.list(lists, ir::list_of(ir::tensor_type()));
}

ir::Value* symbolic_list(const CallArgument& a) {
  Values items;
  for (const Json& member : a.given.members()) items.push_back(a.arguments.symbolic(member));
  return a.nodes.list(items, number_type(a.tag));
}

ir::Value* code(const CallArgument& a, std::optional<std::int64_t> known, std::string_view what) {
  if (!known) a.given.fail("is " + std::to_string(a.given.integer()) + ", a " + std::string(what) + " that isn't known");
  return a.nodes.constant({*known});
}

ir::Value* dtype_argument(const CallArgument& a) {
  const auto known = dtype_of(a.given.integer());
  return code(a, known ? std::optional(static_cast<std::int64_t>(*known)) : std::nullopt, "dtype");
}
ir::Value* layout(const CallArgument& a) { return code(a, layout_of(a.given.integer()), "layout"); }
ir::Value* memory_format(const CallArgument& a) { return code(a, memory_format_of(a.given.integer()), "memory format"); }
ir::Value* device(const CallArgument& a) { return a.nodes.constant({ir::DeviceConstant{device_name(a.given)}}); }

using Read = ir::Value* (*)(const CallArgument&);

// Source: Argument of torch/_export/serde/schema.py (torch 2.13). Frequent ones first.
constexpr auto kinds = std::to_array<std::pair<std::string_view, Read>>({
    {"as_tensor", named},
    {"as_int", integer_argument},
    {"as_ints", integers},
    {"as_none", none},
    {"as_bool", boolean_argument},
    {"as_float", real},
    {"as_sym_int", symbolic},
    {"as_sym_ints", symbolic_list},
    {"as_tensors", tensors_argument},
    {"as_optional_tensors", tensors_argument},
    {"as_nested_tensors", lists_of_tensors},
    {"as_scalar_type", dtype_argument},
    {"as_layout", layout},
    {"as_memory_format", memory_format},
    {"as_device", device},
    {"as_string", text},
    {"as_complex", complex},
    {"as_floats", list<TypeKind::floating, real>},
    {"as_bools", list<TypeKind::boolean, boolean_argument>},
    {"as_strings", list<TypeKind::string, text>},
    {"as_int_lists", lists<TypeKind::integer, integer_argument>},
    {"as_float_lists", lists<TypeKind::floating, real>},
    {"as_sym_float", symbolic},
    {"as_sym_bool", symbolic},
    {"as_sym_floats", symbolic_list},
    {"as_sym_bools", symbolic_list},
    {"as_custom_obj", named},
});

}  // namespace

void Arguments::bind(std::string_view name, ir::Value* value) {
  if (!values_.emplace(name, value).second) graph_.fail("defines the value " + std::string(name) + " twice");
  bound_.push_back(name);
}

void Arguments::unbind_from(std::size_t first) {
  for (std::size_t i = first; i < bound_.size(); ++i) values_.erase(bound_[i]);
  bound_.resize(first);
}

void Arguments::bind_result(const Json& result, ir::Value* value) {
  if (const std::string_view name = value_name(result); !name.empty()) bind(name, value);
}

ir::Value* Arguments::value_of(const Json& argument, const schema::Argument* formal) {
  const Tagged held = tagged(argument);
  const auto kind = std::ranges::find(kinds, held.tag, &std::pair<std::string_view, Read>::first);
  if (kind == kinds.end())
    argument.fail("is an argument of the unknown kind \"" + std::string(held.tag) + "\": a newer torch may have written it");
  return kind->second({*this, nodes_, held.tag, held.value, formal});
}

Values Arguments::items_of(const Json& argument) {
  const Tagged held = tagged(argument);
  if (held.tag == "as_tensor") return {value_of(argument)};
  if (held.tag != "as_tensors" && held.tag != "as_sym_ints" && held.tag != "as_ints") argument.fail("is not a list of tensors");
  Values items;
  for (const Json& member : held.value.members())
    items.push_back(held.tag == "as_tensors" ? named(member)
                    : held.tag == "as_ints"  ? nodes_.constant({member.integer()})
                                             : symbolic(member));
  return items;
}

ir::Value* Arguments::tensors(const Json& list, const schema::Argument* formal) {
  const ir::TypeRef type = formal ? ir::without_optional(formal->type) : nullptr;
  Values items;
  for (const Json& member : list.members()) {
    const bool is_none = !member.find("name") && tagged(member).tag == "as_none";
    items.push_back(is_none ? nodes_.constant({}) : named(member));
  }
  return nodes_.list(items, ir::is(type, TypeKind::list) ? type->elements.front() : ir::tensor_type());
}

ir::Value* Arguments::find(std::string_view name, const Json& reader) const {
  const auto found = values_.find(name);
  if (found == values_.end()) reader.fail("reads the value " + std::string(name) + " before it is defined");
  return found->second;
}

ir::Value* Arguments::named(const Json& argument) const { return find(value_name(argument), argument); }

ir::Value* Arguments::symbolic(const Json& argument) {
  const Tagged held = tagged(argument);
  if (held.tag == "as_name") return find(held.value.text(), held.value);
  if (held.tag == "as_int") return nodes_.constant(integer_argument(held.value));
  if (held.tag == "as_float") return nodes_.constant(real(held.value));
  if (held.tag == "as_bool") return nodes_.constant(boolean_argument(held.value));
  argument.fail("is of the unknown kind \"" + std::string(held.tag) + "\"");
}

Arguments::InOrder Arguments::in_order(const schema::Schema& schema, std::span<const Json> inputs, const Instead& instead) {
  InOrder made;
  made.values.reserve(schema.arguments.size());
  std::size_t place = 0;
  for (const schema::Argument& formal : schema.arguments) {
    ir::Value* value = instead ? instead(formal) : nullptr;
    if (!value) {
      if (const auto given = find_argument(inputs, formal.name))
        value = value_of(*given, &formal);
      else if (place < inputs.size() && inputs[place].at("name").text().empty())
        value = value_of(inputs[place++].at("arg"), &formal);
      else if (formal.default_value)
        value = nodes_.constant(*formal.default_value, formal.type);
      else
        return {{}, &formal};
    }
    made.values.push_back(value);
  }
  return made;
}

std::optional<Json> find_argument(std::span<const Json> inputs, std::string_view name) {
  for (const Json& input : inputs)
    if (input.at("name").text() == name) return input.at("arg");
  return std::nullopt;
}

std::string device_name(const Json& device) {
  std::string name(device.at("type").text());
  if (const auto index = device.find("index"); index && !index->is_null() && name != "cpu")
    name += ":" + std::to_string(index->integer());
  return name;
}

}  // namespace compatcheck::frontend::pt2
