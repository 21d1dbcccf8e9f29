#include "frontend/native/calls.h"

#include <algorithm>

namespace compatcheck::frontend::native {
namespace {

using ir::TypeKind;
using ir::TypeRef;

Typed emitted(GraphBuilder* builder, const char* op, const std::vector<Typed>& inputs, const TypeRef& type) {
  return builder ? builder->add(op, inputs, type) : Typed{nullptr, type};
}

std::vector<Typed> unpacked(const Typed& tuple, GraphBuilder* builder) {
  std::vector<Typed> parts;
  ir::Node* node = builder ? builder->add("prim::TupleUnpack", {tuple}) : nullptr;
  for (const TypeRef& element : tuple.type->elements) parts.push_back({node ? node->add_output(element) : nullptr, element});
  return parts;
}

const char* implicit(TypeKind number) {
  switch (number) {
    case TypeKind::integer: return "aten::IntImplicit";
    case TypeKind::floating: return "aten::FloatImplicit";
    case TypeKind::complex: return "aten::ComplexImplicit";
    case TypeKind::number: return "aten::ScalarImplicit";
    default: return nullptr;
  }
}

const char* cast(TypeKind number) {
  switch (number) {
    case TypeKind::integer: return "aten::Int";
    case TypeKind::floating: return "aten::Float";
    case TypeKind::complex: return "aten::Complex";
    default: return nullptr;
  }
}

// One call by one schema. Tried without a builder first.
class Attempt {
 public:
  Attempt(const schema::Schema& schema, const Arguments& given, bool conversions, GraphBuilder* builder,
          const Interfaces& interfaces)
      : schema_(schema), given_(given), conversions_(conversions), builder_(builder), interfaces_(interfaces) {}

  std::optional<Matched> run() {
    // TorchScript can't tell a dtype from a size.
    if (schema_.name == "aten::view" && schema_.overload == "dtype") return std::nullopt;
    used_keywords_.assign(given_.keywords.size(), false);
    for (std::size_t i = 0; i < schema_.arguments.size(); ++i)
      if (!argument(i)) return std::nullopt;
    if (schema_.variadic_arguments)
      for (; used_ < given_.positional.size(); ++used_) made_.inputs.push_back(given_.positional[used_]);
    if (used_ < given_.positional.size() || std::ranges::find(used_keywords_, false) != used_keywords_.end()) return std::nullopt;
    for (const schema::Argument& result : schema_.returns) {
      made_.results.push_back(with_variables(result.type, variables_));
      if (!made_.results.back()) return std::nullopt;
    }
    made_.schema = &schema_;
    return std::move(made_);
  }

 private:
  bool argument(std::size_t place) {
    const schema::Argument& formal = schema_.arguments[place];
    if (!formal.keyword_only && used_ < given_.positional.size()) {
      if (conversions_ && takes_rest(place) && !is_list(given_.positional[used_].type, formal.type)) return rest(formal);
      return accept(formal, given_.positional[used_++]);
    }
    for (std::size_t i = 0; i < given_.keywords.size(); ++i) {
      const auto& [name, value] = given_.keywords[i];
      const bool renamed = formal.name == "self" && name == "input" && schema_.name.starts_with("aten::");
      if (name != formal.name && !renamed) continue;
      if (used_keywords_[i]) return false;
      used_keywords_[i] = true;
      return accept(formal, value);
    }
    if (!formal.default_value) return false;
    TypeRef type = ir::type_of(*formal.default_value);
    if (const auto* list = formal.default_value->get<ir::ListConstant>(); list && list->items.empty())
      type = ir::without_optional(formal.type);
    return accept(formal, builder_ ? builder_->constant(*formal.default_value, type) : Typed{nullptr, type});
  }

  // zeros(1, 2) means zeros([1, 2]).
  bool takes_rest(std::size_t place) const {
    const schema::Argument& formal = schema_.arguments[place];
    const bool last = place + 1 == schema_.arguments.size() || schema_.arguments[place + 1].keyword_only;
    return last && ir::is(formal.type, TypeKind::list) && !formal.list_size && !ir::is(formal.type->elements[0], TypeKind::var);
  }

  bool is_list(const TypeRef& actual, const TypeRef& formal) const {
    if (ir::is(actual, TypeKind::list)) return true;
    return ir::is(actual, TypeKind::tuple) && std::ranges::all_of(actual->elements, [&](const TypeRef& element) {
             return is_subtype(*element, *formal->elements[0], interfaces_);
           });
  }

  bool rest(const schema::Argument& formal) {
    const TypeRef element = formal.type->elements[0];
    std::vector<Typed> items;
    for (; used_ < given_.positional.size(); ++used_) {
      const auto item = converted(given_.positional[used_], element, conversions_, builder_, interfaces_);
      if (!item) return false;
      items.push_back(*item);
    }
    made_.inputs.push_back(emitted(builder_, "prim::ListConstruct", items, ir::list_of(element)));
    return true;
  }

  bool accept(const schema::Argument& formal, Typed actual) {
    const TypeRef list = ir::without_optional(formal.type);
    const bool number = ir::is(actual.type, TypeKind::integer) || ir::is(actual.type, TypeKind::floating);
    if (number && formal.list_size && ir::is(list, TypeKind::list) && list->elements[0]->kind == actual.type->kind)
      actual = emitted(builder_, "prim::ListConstruct", std::vector<Typed>(*formal.list_size, actual), ir::list_of(actual.type));
    if (!bind_variables(formal.type, actual.type, variables_, interfaces_)) return false;
    const TypeRef concrete = with_variables(formal.type, variables_);
    if (!concrete) return false;
    const auto made = converted(actual, concrete, conversions_, builder_, interfaces_);
    if (made) made_.inputs.push_back(*made);
    return made.has_value();
  }

  const schema::Schema& schema_;
  const Arguments& given_;
  bool conversions_;
  GraphBuilder* builder_;
  const Interfaces& interfaces_;
  Matched made_;
  TypeVariables variables_;
  std::size_t used_ = 0;
  std::vector<bool> used_keywords_;
};

}  // namespace

std::optional<Typed> converted(Typed value, const TypeRef& to, bool allowed, GraphBuilder* builder,
                               const Interfaces& interfaces) {
  if (to->kind == TypeKind::optional && value.type->kind != TypeKind::optional && value.type->kind != TypeKind::none) {
    const auto made = converted(value, to->elements[0], allowed, builder, interfaces);
    if (made && is_subtype(*made->type, *to, interfaces)) return made;
    return std::nullopt;
  }
  if (value.type->kind == TypeKind::tuple) {
    const TypeRef list = ir::without_optional(to);
    const auto fits = [&](const TypeRef& element) { return is_subtype(*element, *list->elements[0], interfaces); };
    if (list->kind == TypeKind::list && std::ranges::all_of(value.type->elements, fits)) {
      value = emitted(builder, "prim::ListConstruct", unpacked(value, builder), ir::list_of(list->elements[0]));
    } else if (to->kind == TypeKind::tuple && !is_subtype(*value.type, *to, interfaces) &&
               to->elements.size() == value.type->elements.size()) {
      std::vector<Typed> parts = unpacked(value, builder);
      std::vector<TypeRef> types;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto part = converted(parts[i], to->elements[i], allowed, builder, interfaces);
        if (!part) return std::nullopt;
        parts[i] = *part;
        types.push_back(part->type);
      }
      value = emitted(builder, "prim::TupleConstruct", parts, ir::tuple_of(types));
    }
  }
  if (allowed) {
    if (value.type->kind == TypeKind::tensor && implicit(to->kind)) value = emitted(builder, implicit(to->kind), {value}, to);
    if (value.type->kind == TypeKind::number && cast(to->kind)) value = emitted(builder, cast(to->kind), {value}, to);
    if (value.type->kind == TypeKind::string && to->kind == TypeKind::device)
      value = emitted(builder, "aten::device", {value}, to);
  }
  if (!is_subtype(*value.type, *to, interfaces)) return std::nullopt;
  return value;
}

std::optional<Matched> match(std::span<const schema::Schema* const> overloads, const Arguments& given, GraphBuilder& builder,
                             const Interfaces& interfaces) {
  for (const bool conversions : {false, true})
    for (const schema::Schema* schema : overloads)
      if (Attempt(*schema, given, conversions, nullptr, interfaces).run())
        return Attempt(*schema, given, conversions, &builder, interfaces).run();
  return std::nullopt;
}

}  // namespace compatcheck::frontend::native
