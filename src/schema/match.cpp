#include <algorithm>
#include <map>

#include "schema/fit.h"
#include "schema/schema.h"

namespace compatcheck::schema {
namespace {

using ir::Type;
using ir::TypeKind;
using ir::TypeRef;

// The types of type variables in one call.
using Bindings = std::map<std::string, TypeRef, std::less<>>;

// Strict: without a conversion. Lenient: with TorchScript's implicit ones, and what tracing leaves in the types.
enum class Rigour { strict, lenient };

class Fit {
 public:
  explicit Fit(Rigour rigour) : lenient_(rigour == Rigour::lenient) {}

  bool argument(const Type& actual, const Argument& formal) {
    if (fits(actual, *formal.type)) return true;
    // "int[2]" takes an int.
    const Type* type = formal.type.get();
    if (type->kind == TypeKind::optional) type = type->elements[0].get();
    return lenient_ && formal.list_size && type->kind == TypeKind::list && fits(actual, *type->elements[0]);
  }

 private:
  bool fits(const Type& actual, const Type& formal) {
    if (formal.kind == TypeKind::any) return true;
    if (formal.kind == TypeKind::var) return binds(actual, formal.name);
    if (formal.kind == TypeKind::optional) return fits_optional(actual, *formal.elements[0]);
    if (formal.kind == TypeKind::union_of)
      return std::any_of(formal.elements.begin(), formal.elements.end(), [&](const TypeRef& t) { return fits(actual, *t); });
    if (actual.kind == TypeKind::union_of && formal.kind != TypeKind::union_of) return all_fit(actual, formal);
    if (lenient_ && converts(actual, formal)) return true;
    switch (formal.kind) {
      case TypeKind::number:
        return actual.kind == TypeKind::number || actual.kind == TypeKind::integer || actual.kind == TypeKind::floating ||
               actual.kind == TypeKind::complex;
      // Enumerations of libtorch are ints in a graph.
      case TypeKind::scalar_type:
      case TypeKind::layout:
      case TypeKind::memory_format:
      case TypeKind::qscheme: return actual.kind == formal.kind || actual.kind == TypeKind::integer;
      case TypeKind::any_list: return actual.kind == TypeKind::list;
      case TypeKind::any_tuple: return actual.kind == TypeKind::tuple;
      case TypeKind::any_class: return actual.kind == TypeKind::named || actual.kind == TypeKind::module;
      case TypeKind::named: return fits_named(actual, formal);
      default: return actual.kind == formal.kind && fits_elements(actual, formal);
    }
  }

  bool all_fit(const Type& actual, const Type& formal) {
    return std::all_of(actual.elements.begin(), actual.elements.end(), [&](const TypeRef& t) { return fits(*t, formal); });
  }

  bool fits_optional(const Type& actual, const Type& inner) {
    if (actual.kind == TypeKind::none) return true;
    return fits(actual.kind == TypeKind::optional ? *actual.elements[0] : actual, inner);
  }

  static bool fits_named(const Type& actual, const Type& formal) {
    if (actual.kind != TypeKind::named && actual.kind != TypeKind::module) return false;
    return actual.name == formal.name || formal.name == "AnyEnumType";
  }

  // Containers are invariant: List[int] is no List[Optional[int]].
  bool fits_elements(const Type& actual, const Type& formal) {
    if (actual.elements.size() != formal.elements.size()) return false;
    for (std::size_t i = 0; i < actual.elements.size(); ++i)
      if (!element_fits(*actual.elements[i], *formal.elements[i])) return false;
    return true;
  }

  bool element_fits(const Type& actual, const Type& formal) {
    if (!fits(actual, formal)) return false;
    const bool widened = formal.kind == TypeKind::optional && actual.kind != TypeKind::optional;
    const bool generalised = formal.kind == TypeKind::number && actual.kind != TypeKind::number;
    return lenient_ || !(widened || generalised);
  }

  bool binds(const Type& actual, const std::string& name) {
    const auto [bound, fresh] = bindings_.try_emplace(name, std::make_shared<Type>(actual));
    return fresh || same_structure(*bound->second, actual) || (lenient_ && Fit(Rigour::strict).fits(actual, *bound->second));
  }

  bool converts(const Type& actual, const Type& formal) {
    switch (actual.kind) {
      case TypeKind::any: return true;
      case TypeKind::tensor:  // a 0-d tensor where a number is wanted; also in place of a list of them
        return is_number(formal.kind) || (formal.kind == TypeKind::list && is_number(formal.elements[0]->kind));
      case TypeKind::number: return is_number(formal.kind) || formal.kind == TypeKind::tensor;
      case TypeKind::boolean: return formal.kind == TypeKind::number || formal.kind == TypeKind::tensor;
      case TypeKind::integer:
      case TypeKind::floating:
      case TypeKind::complex: return formal.kind == TypeKind::tensor;
      case TypeKind::string: return formal.kind == TypeKind::device;
      case TypeKind::optional: return fits(*actual.elements[0], formal);
      case TypeKind::tuple:
        return formal.kind == TypeKind::list && std::all_of(actual.elements.begin(), actual.elements.end(),
                                                            [&](const TypeRef& t) { return fits(*t, *formal.elements[0]); });
      default: return false;
    }
  }

  static bool is_number(TypeKind kind) {
    return kind == TypeKind::integer || kind == TypeKind::floating || kind == TypeKind::boolean || kind == TypeKind::complex ||
           kind == TypeKind::number;
  }

  bool lenient_;
  Bindings bindings_;
};

// Graphs pass every argument; text written by hand may leave out trailing ones that have defaults.
bool count_fits(const ir::Node& node, const Schema& schema, bool short_too) {
  const std::size_t given = node.inputs().size(), expected = schema.arguments.size();
  if (given >= expected) return given == expected || schema.variadic_arguments;
  return short_too && std::all_of(schema.arguments.begin() + static_cast<std::ptrdiff_t>(given), schema.arguments.end(),
                                  [](const Argument& a) { return a.default_value.has_value(); });
}

bool types_fit(const ir::Node& node, const Schema& schema, Rigour rigour) {
  Fit fit(rigour);
  const std::size_t count = std::min(node.inputs().size(), schema.arguments.size());
  for (std::size_t i = 0; i < count; ++i)
    if (!fit.argument(*node.input(i)->type(), schema.arguments[i])) return false;
  return true;
}

}  // namespace

bool takes(const Argument& formal, const ir::Type& actual, bool converted) {
  return Fit(converted ? Rigour::lenient : Rigour::strict).argument(actual, formal);
}

const Schema* match(const ir::Node& node, const Registry& registry) {
  const auto overloads = registry.overloads(node.op());
  for (const Rigour rigour : {Rigour::strict, Rigour::lenient})
    for (const bool short_too : {false, true})
      for (const Schema* schema : overloads)
        if (count_fits(node, *schema, short_too) && types_fit(node, *schema, rigour)) return schema;
  return nullptr;
}

void resolve(ir::Graph& graph, const Registry& registry) {
  ir::for_each_node(*graph.top(), [&](ir::Node* node) {
    // A front end that knows the overload is believed.
    const Schema* schema = node->overload().empty() ? nullptr : registry.find(node->op(), node->overload());
    if (!schema || !count_fits(*node, *schema, true)) schema = match(*node, registry);
    node->set_schema(schema);
    if (schema) node->set_overload(schema->overload);
  });
}

}  // namespace compatcheck::schema
