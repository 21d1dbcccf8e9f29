#include <algorithm>

#include "ir/slice_places.h"
#include "passes/budget.h"
#include "passes/evaluate.h"

namespace compatcheck::passes {
namespace {

using ir::Constant;
using ir::Constants;
using ir::ListConstant;

const ListConstant* as_list(const Constant& c) { return c.get<ListConstant>(); }

std::optional<double> number_of(const Constant& c) {
  if (const auto* value = c.get<double>()) return *value;
  if (const auto* value = c.get<std::int64_t>()) return static_cast<double>(*value);
  if (const auto* value = c.get<bool>()) return *value ? 1.0 : 0.0;
  return std::nullopt;
}

Evaluated length(const ir::Node&, Arguments in) {
  if (in.size() != 1) return std::nullopt;
  if (const auto* list = as_list(*in[0])) return Constant{static_cast<std::int64_t>(list->items.size())};
  if (const auto* dict = in[0]->get<ir::DictConstant>()) return Constant{static_cast<std::int64_t>(dict->items.size())};
  return std::nullopt;
}

Evaluated list_item(const ListConstant& list, std::int64_t index) {
  const auto size = static_cast<std::int64_t>(list.items.size());
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::nullopt;
  return list.items[static_cast<std::size_t>(index)];
}

Evaluated find_key(const ir::DictConstant& dict, const Constant& key) {
  for (const auto& [known, value] : dict.items)
    if (values_equal(known, key) == true) return value;
  return std::nullopt;
}

Evaluated item(const ir::Node&, Arguments in) {
  if (in.size() != 2) return std::nullopt;
  if (const auto* dict = in[0]->get<ir::DictConstant>()) return find_key(*dict, *in[1]);
  return as_list(*in[0]) && as_int(*in[1]) ? list_item(*as_list(*in[0]), *as_int(*in[1])) : std::nullopt;
}

// dict.get(key, default=None)
Evaluated get(const ir::Node&, Arguments in) {
  const auto* dict = in.size() == 2 || in.size() == 3 ? in[0]->get<ir::DictConstant>() : nullptr;
  if (!dict) return std::nullopt;
  if (Evaluated found = find_key(*dict, *in[1])) return found;
  return in.size() == 3 ? *in[2] : Constant{};
}

// The sizes of what two tensors broadcast to.
Evaluated broadcast_sizes(const ir::Node&, Arguments in) {
  const auto *a = in.size() == 2 ? as_list(*in[0]) : nullptr, *b = a ? as_list(*in[1]) : nullptr;
  if (!b) return std::nullopt;
  ListConstant made = a->items.size() >= b->items.size() ? *a : *b;
  const Constants& shorter = a->items.size() >= b->items.size() ? b->items : a->items;
  for (std::size_t i = 1; i <= made.items.size(); ++i) {
    const std::int64_t* size = as_int(made.items[made.items.size() - i]);
    const std::int64_t* other = i <= shorter.size() ? as_int(shorter[shorter.size() - i]) : size;
    if (!size || !other || (*size != *other && *size != 1 && *other != 1)) return std::nullopt;
    if (*size == 1) made.items[made.items.size() - i] = Constant{*other};
  }
  return Constant{std::move(made)};
}

Evaluated slice(const ir::Node&, Arguments in) {
  const auto* list = in.size() == 4 ? as_list(*in[0]) : nullptr;
  const auto is_bound = [](const Constant& at) { return at.is_none() || as_int(at); };
  if (!list || !as_int(*in[3]) || *as_int(*in[3]) == 0 || !is_bound(*in[1]) || !is_bound(*in[2])) return std::nullopt;
  const auto bound = [](const Constant& at) { return at.is_none() ? std::nullopt : std::optional(*as_int(at)); };
  ListConstant part{list->element, {}};
  for (const std::int64_t i :
       ir::slice_places(static_cast<std::int64_t>(list->items.size()), bound(*in[1]), bound(*in[2]), *as_int(*in[3])))
    part.items.push_back(list->items[static_cast<std::size_t>(i)]);
  return Constant{std::move(part)};
}

Evaluated concatenate(const ir::Node&, Arguments in) {
  if (in.size() != 2 || !as_list(*in[0]) || !as_list(*in[1]) ||
      as_list(*in[0])->items.size() + as_list(*in[1])->items.size() > most_items)
    return std::nullopt;
  ListConstant both = *as_list(*in[0]);
  both.items.insert(both.items.end(), as_list(*in[1])->items.begin(), as_list(*in[1])->items.end());
  return Constant{std::move(both)};
}

Evaluated repeat(const ir::Node&, Arguments in) {
  if (in.size() != 2) return std::nullopt;
  const auto* list = as_list(as_list(*in[0]) ? *in[0] : *in[1]);
  const auto* times = as_int(as_list(*in[0]) ? *in[1] : *in[0]);
  if (!list || !times) return std::nullopt;
  ListConstant all{list->element, {}};
  if (list->items.empty() || *times <= 0) return Constant{std::move(all)};
  if (static_cast<std::uint64_t>(*times) > most_items / list->items.size()) return std::nullopt;
  for (std::int64_t i = 0; i < *times; ++i) all.items.insert(all.items.end(), list->items.begin(), list->items.end());
  return Constant{std::move(all)};
}

Evaluated contains(const ir::Node&, Arguments in) {
  if (in.size() != 2) return std::nullopt;
  auto holds = [&](const auto& items, auto&& key_of) -> Evaluated {
    for (const auto& entry : items) {
      const auto same = values_equal(key_of(entry), *in[1]);
      if (!same) return std::nullopt;
      if (*same) return Constant{true};
    }
    return Constant{false};
  };
  if (const auto* list = as_list(*in[0])) return holds(list->items, [](const Constant& c) -> const Constant& { return c; });
  if (const auto* dict = in[0]->get<ir::DictConstant>())
    return holds(dict->items, [](const auto& entry) -> const Constant& { return entry.first; });
  return std::nullopt;
}

Evaluated equal_values(const ir::Node&, Arguments in) {
  const auto same = in.size() == 2 ? values_equal(*in[0], *in[1]) : std::nullopt;
  return same ? Evaluated(Constant{*same}) : std::nullopt;
}

Evaluated different_values(const ir::Node&, Arguments in) {
  const auto same = in.size() == 2 ? values_equal(*in[0], *in[1]) : std::nullopt;
  return same ? Evaluated(Constant{!*same}) : std::nullopt;
}

// min, max of one list of numbers.
template <bool smallest>
Evaluated extreme(const ir::Node&, Arguments in) {
  const auto* list = in.size() == 1 ? as_list(*in[0]) : nullptr;
  if (!list || list->items.empty()) return std::nullopt;
  const Constant* best = nullptr;
  for (const Constant& entry : list->items) {
    if (!number_of(entry)) return std::nullopt;
    if (!best || (smallest ? *number_of(entry) < *number_of(*best) : *number_of(entry) > *number_of(*best))) best = &entry;
  }
  return *best;
}

Evaluated sum(const ir::Node&, Arguments in) {
  const auto* list = in.size() == 1 ? as_list(*in[0]) : nullptr;
  if (!list) return std::nullopt;
  std::uint64_t total = 0;
  for (const Constant& entry : list->items) {
    if (!as_int(entry)) return std::nullopt;
    total += static_cast<std::uint64_t>(*as_int(entry));
  }
  return Constant{static_cast<std::int64_t>(total)};
}

template <bool any>
Evaluated any_or_all(const ir::Node&, Arguments in) {
  const auto* list = in.size() == 1 ? as_list(*in[0]) : nullptr;
  if (!list) return std::nullopt;
  for (const Constant& entry : list->items) {
    if (!number_of(entry)) return std::nullopt;
    if ((*number_of(entry) != 0) == any) return Constant{any};
  }
  return Constant{!any};
}

Evaluated index_of(const ir::Node&, Arguments in) {
  const auto* list = in.size() == 2 ? as_list(*in[0]) : nullptr;
  if (!list) return std::nullopt;
  for (std::size_t i = 0; i < list->items.size(); ++i)
    if (values_equal(list->items[i], *in[1]) == true) return Constant{static_cast<std::int64_t>(i)};
  return std::nullopt;
}

Evaluated copy(const ir::Node&, Arguments in) { return in.size() == 1 && as_list(*in[0]) ? Evaluated(*in[0]) : std::nullopt; }

template <bool keys>
Evaluated dict_side(const ir::Node& node, Arguments in) {
  const auto* dict = in.size() == 1 ? in[0]->get<ir::DictConstant>() : nullptr;
  if (!dict || !ir::is(node.output()->type(), ir::TypeKind::list)) return std::nullopt;
  ListConstant list{node.output()->type()->elements[0], {}};
  for (const auto& [key, value] : dict->items) list.items.push_back(keys ? key : value);
  return Constant{std::move(list)};
}

// A list of constants made here. Tensors stay operands, so that each keeps its own node.
Evaluated construct(const ir::Node& node, Arguments in) {
  if (!ir::is(node.output()->type(), ir::TypeKind::list)) return std::nullopt;
  ListConstant list{node.output()->type()->elements[0], {}};
  for (const Constant* entry : in) {
    if (entry->get<ir::TensorView>() || entry->get<ir::ObjectConstant>() || entry->get<ir::OpaqueConstant>() ||
        entry->get<ir::DictConstant>() || entry->get<ir::TupleConstant>() || entry->get<ListConstant>())
      return std::nullopt;
    list.items.push_back(*entry);
  }
  using Kind = ir::TypeKind;
  const Kind kind = list.element->kind;
  const bool plain =
      kind == Kind::integer || kind == Kind::floating || kind == Kind::boolean || kind == Kind::string || kind == Kind::number;
  return plain ? Evaluated(Constant{std::move(list)}) : std::nullopt;
}

}  // namespace

std::optional<bool> values_equal(const Constant& a, const Constant& b) {
  if (const auto x = number_of(a), y = number_of(b); x && y) {
    if (as_int(a) && as_int(b)) return *as_int(a) == *as_int(b);
    return *x == *y;
  }
  if (a.value.index() != b.value.index()) return std::nullopt;
  if (const auto* text = a.get<std::string>()) return *text == *b.get<std::string>();
  if (const auto* device = a.get<ir::DeviceConstant>()) return device->device == b.get<ir::DeviceConstant>()->device;
  if (const auto* entry = a.get<ir::EnumConstant>())
    return entry->class_name == b.get<ir::EnumConstant>()->class_name && entry->name == b.get<ir::EnumConstant>()->name;
  if (const auto* list = as_list(a)) {
    const Constants& other = as_list(b)->items;
    if (list->items.size() != other.size()) return false;
    for (std::size_t i = 0; i < other.size(); ++i) {
      const auto same = values_equal(list->items[i], other[i]);
      if (same != true) return same;
    }
    return true;
  }
  return std::nullopt;
}

const Evaluators& list_evaluators() {
  static const Evaluators table = {{"prim::ListConstruct", construct},
                                   {"aten::len", length},
                                   {"aten::__getitem__", item},
                                   {"aten::get", get},
                                   {"aten::slice", slice},
                                   {"aten::add", concatenate},
                                   {"aten::mul", repeat},
                                   {"aten::__contains__", contains},
                                   {"aten::eq", equal_values},
                                   {"aten::ne", different_values},
                                   {"prim::min", extreme<true>},
                                   {"prim::max", extreme<false>},
                                   {"aten::sum", sum},
                                   {"aten::any", any_or_all<true>},
                                   {"aten::all", any_or_all<false>},
                                   {"aten::index", index_of},
                                   {"aten::list", copy},
                                   {"aten::copy", copy},
                                   {"aten::keys", dict_side<true>},
                                   {"aten::values", dict_side<false>},
                                   {"aten::broadcast_shapes", broadcast_sizes},
                                   {"aten::_infer_size", broadcast_sizes}};
  return table;
}

}  // namespace compatcheck::passes
