#include "verify/members.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace compatcheck::verification {
namespace {

constexpr int any_opset = 17;  // what is random at one is random at all

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
