#include "verification/members.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "ir/value_name.h"
#include "symbolic/promotion.h"
#include "verification/match.h"

namespace compatcheck::verification {
namespace {

constexpr int any_opset = 17;  // operators that are random at one opset are random at every opset

}  // namespace

const ir::Constant* member(const ir::Constant& whole, const std::vector<std::size_t>& path) {
  const ir::Constant* at = &whole;
  for (const std::size_t place : path) {
    const ir::Constants* items = nullptr;
    if (const auto* list = at->get<ir::ListConstant>())
      items = &list->items;
    else if (const auto* tuple = at->get<ir::TupleConstant>())
      items = &tuple->items;
    if (const auto* dict = at->get<ir::DictConstant>(); dict && place < dict->items.size())
      at = &dict->items[place].second;
    else if (items && place < items->size())
      at = &(*items)[place];
    else
      return nullptr;
  }
  return at;
}

namespace {

ir::TensorView part_of(const ir::TensorView& view, std::size_t part) {
  const std::size_t width = ir::element_bytes(view.dtype) / 2;
  auto storage = std::make_shared<ir::Storage>();
  storage->bytes = view.storage->data.size() / 2;
  storage->data.reserve(storage->bytes);
  for (std::size_t at = part * width; at + width <= view.storage->data.size(); at += 2 * width)
    storage->data.insert(storage->data.end(), view.storage->data.begin() + static_cast<std::ptrdiff_t>(at),
                         view.storage->data.begin() + static_cast<std::ptrdiff_t>(at + width));
  ir::TensorView made = view;
  made.dtype = symbolic::real_part(view.dtype);
  made.storage = std::move(storage);
  return made;
}

}  // namespace

ir::Constant in_parts(ir::Constant value) {
  if (auto* list = std::get_if<ir::ListConstant>(&value.value)) {
    for (ir::Constant& item : list->items) item = in_parts(std::move(item));
  } else if (auto* tuple = std::get_if<ir::TupleConstant>(&value.value)) {
    for (ir::Constant& item : tuple->items) item = in_parts(std::move(item));
  } else if (const auto* view = value.get<ir::TensorView>(); view && ir::is_complex(view->dtype)) {
    return {ir::ListConstant{ir::simple_type(ir::TypeKind::tensor), {{part_of(*view, 0)}, {part_of(*view, 1)}}}};
  }
  return value;
}

ir::TensorView in_pairs(ir::TensorView view) {
  if (!ir::is_complex(view.dtype)) return view;
  view.dtype = symbolic::real_part(view.dtype);
  for (std::int64_t& stride : view.strides) stride *= 2;
  view.offset *= 2;
  view.sizes.push_back(2);
  view.strides.push_back(1);
  return view;
}

ir::Constant in_pairs(ir::Constant value) {
  if (auto* list = value.get<ir::ListConstant>()) {
    for (ir::Constant& item : list->items) item = in_pairs(std::move(item));
  } else if (auto* tuple = value.get<ir::TupleConstant>()) {
    for (ir::Constant& item : tuple->items) item = in_pairs(std::move(item));
  } else if (auto* dict = value.get<ir::DictConstant>()) {
    for (auto& item : dict->items) item.second = in_pairs(std::move(item.second));
  } else if (auto* view = value.get<ir::TensorView>()) {
    *view = in_pairs(std::move(*view));
  }
  return value;
}

namespace {

// Part `place` of a tuple, or the member of a dictionary that the field of that place names.
ir::Constant part_of(const ir::Constant& item, std::size_t place, const ir::Type& structure) {
  if (const auto* tuple = item.get<ir::TupleConstant>(); tuple && place < tuple->items.size()) return tuple->items[place];
  if (const auto* dict = item.get<ir::DictConstant>(); dict && place < structure.field_names.size())
    for (const auto& [key, value] : dict->items)
      if (ir::key_text(key) == structure.field_names[place]) return value;
  return {};
}

// Items of a list as lists of their parts; a list of numbers within an item is a vector.
ir::Constant columns_of(const ir::Constants& items, const ir::Value* structure) {
  const ir::Node* maker = structure->producer();
  if (!maker || !maker->is("prim::TupleConstruct")) {
    ir::ListConstant column{structure->type()->elements.empty() ? nullptr : structure->type()->elements[0], items};
    for (ir::Constant& item : column.items)
      if (auto vector = item.get<ir::ListConstant>() ? as_tensor(item, {}) : std::nullopt)
        item = ir::Constant{*std::move(vector)};
    return {std::move(column)};
  }
  ir::TupleConstant columns;
  for (std::size_t place = 0; place < maker->inputs().size(); ++place) {
    ir::Constants parts;
    for (const ir::Constant& item : items) parts.push_back(part_of(item, place, *structure->type()));
    columns.items.push_back(columns_of(parts, maker->input(place)));
  }
  return {std::move(columns)};
}

// Returns the attributes of an object in the order of its outputs.
ir::Constant attributes_of(const ir::DictConstant& object, const ir::Node& maker) {
  ir::TupleConstant attributes;
  for (std::size_t place = 0; place < maker.inputs().size(); ++place)
    attributes.items.push_back(in_columns(part_of({object}, place, *maker.output()->type()), maker.input(place)));
  return {std::move(attributes)};
}

// Returns the keys and the values of a dictionary with computed keys.
ir::Constant lists_of(const ir::DictConstant& dict, const ir::Value* structure) {
  ir::ListConstant keys{dict.key, {}}, values{dict.value, {}};
  for (const auto& [key, item] : dict.items) {
    keys.items.push_back(key);
    values.items.push_back(item);
  }
  ir::TupleConstant columns;
  columns.items = {ir::Constant{std::move(keys)}, ir::Constant{std::move(values)}};
  const ir::Node* maker = structure->producer();
  if (maker && maker->is("prim::TupleConstruct") && maker->inputs().size() == 2)
    columns.items[1] = in_columns(std::move(columns.items[1]), maker->input(1));
  return {std::move(columns)};
}

}  // namespace

ir::Constant in_columns(ir::Constant value, const ir::Value* output) {
  const ir::Node* maker = output->producer();
  if (!maker) return value;
  auto* list = value.get<ir::ListConstant>();
  auto* dict = value.get<ir::DictConstant>();
  if (maker->is("prim::OptionalConstruct")) return value.is_none() ? value : in_columns(std::move(value), maker->input(1));
  if (maker->is("prim::ColumnsConstruct") && dict) return lists_of(*dict, maker->input(0));
  if (maker->is("prim::ColumnsConstruct")) return list ? columns_of(list->items, maker->input(0)) : value;
  if (maker->is("prim::TupleConstruct") && dict) return attributes_of(*dict, *maker);
  auto* tuple = value.get<ir::TupleConstant>();
  auto* items = list ? &list->items : tuple ? &tuple->items : nullptr;
  if (items && (maker->is("prim::ListConstruct") || maker->is("prim::TupleConstruct")) && items->size() == maker->inputs().size())
    for (std::size_t i = 0; i < items->size(); ++i) (*items)[i] = in_columns(std::move((*items)[i]), maker->input(i));
  if (dict && maker->is("prim::DictConstruct") && 2 * dict->items.size() == maker->inputs().size())
    for (std::size_t i = 0; i < dict->items.size(); ++i)
      dict->items[i].second = in_columns(std::move(dict->items[i].second), maker->input(2 * i + 1));
  return value;
}

bool holds_tensors(const ir::Constant& value) {
  const auto* list = value.get<ir::ListConstant>();
  return list && std::ranges::all_of(list->items, [](const ir::Constant& item) { return item.get<ir::TensorView>() != nullptr; });
}

bool is_arbitrary(const ir::Node& node, const mapping::Table& table, const schema::Registry& schemas) {
  static const std::set<std::string_view> open = {"aten::empty",          "aten::empty_like", "aten::empty_strided",
                                                  "aten::empty_permuted", "aten::new_empty",  "aten::new_empty_strided"};
  if (open.contains(node.op())) return true;
  // An operator that is random only with some arguments isn't run with these: verify refuses such a model.
  const auto rows = table.find(node.op(), node.overload(), any_opset, schemas).rows;
  return !rows.empty() &&
         std::ranges::all_of(rows, [](const mapping::Row& row) { return row.random || row.kind != mapping::Row::Kind::mapped; });
}

}  // namespace compatcheck::verification
