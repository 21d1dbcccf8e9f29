#include "frontend/traced_types.h"

#include <algorithm>
#include <optional>

#include "compatcheck/error.h"
#include "files/pickle_tree.h"
#include "files/saved_quantizer.h"
#include "ir/quantized.h"

namespace compatcheck::frontend {
namespace {

using Kind = files::PickleItem::Kind;

constexpr std::size_t deepest_type = 100, most_visits = 100'000;

class TypeReader {
 public:
  explicit TypeReader(const files::PickleTree& tree) : tree_(tree) {}

  std::vector<ir::TypeRef> read() {
    const files::PickleItem* record = plain(tree_.root);
    if (record && record->kind == Kind::dict)
      for (const auto* pairs : {&record->members, &record->added})
        for (std::size_t i = 0; i + 1 < pairs->size(); i += 2)
          if (item((*pairs)[i]).text == "forward") return arguments((*pairs)[i + 1]);
    throw ModelError("the record holds no example inputs of forward");
  }

 private:
  const files::PickleItem& item(files::PickleItemId id) const { return tree_.items[id]; }

  std::vector<ir::TypeRef> arguments(files::PickleItemId id) {
    const files::PickleItem* list = plain(id);
    if (!list || list->kind != Kind::list) throw ModelError("the record's example inputs of forward are no list");
    std::vector<ir::TypeRef> types;
    for (const auto* members : {&list->members, &list->added})
      for (const files::PickleItemId member : *members) types.push_back(type_of(member));
    return types;
  }

  // A call of restore_type_tag or build_…list stands for its first argument. Null: none is given.
  const files::PickleItem* plain(files::PickleItemId id) const {
    const files::PickleItem* held = &item(id);
    for (std::size_t depth = 0; depth < deepest_type && held->kind == Kind::call; ++depth) {
      if (item(held->members.at(0)).module != "torch.jit._pickle") return held;
      const files::PickleItem& given = item(held->members.at(1));
      if (given.members.empty()) return nullptr;
      held = &item(given.members[0]);
    }
    return held;
  }

  ir::TypeRef type_of(files::PickleItemId id) {
    if (++depth_ > deepest_type) throw ModelError("an example input is nested more than 100 deep");
    if (++visits_ > most_visits) throw ModelError("the example inputs hold more than 100,000 values");
    const files::PickleItem* held = plain(id);
    ir::TypeRef type = held ? type_of(*held) : nullptr;
    --depth_;
    return type;
  }

  ir::TypeRef type_of(const files::PickleItem& held) {
    switch (held.kind) {
      case Kind::none: return ir::simple_type(ir::TypeKind::none);
      case Kind::boolean: return ir::simple_type(ir::TypeKind::boolean);
      case Kind::integer: return ir::simple_type(ir::TypeKind::integer);
      case Kind::floating: return ir::simple_type(ir::TypeKind::floating);
      case Kind::text: return ir::simple_type(ir::TypeKind::string);
      case Kind::call: return tensor(held);
      case Kind::tuple: return tuple(held);
      case Kind::list: return list(held);
      default: return nullptr;
    }
  }

  ir::TypeRef tuple(const files::PickleItem& held) {
    std::vector<ir::TypeRef> members;
    for (const files::PickleItemId member : held.members) members.push_back(type_of(member));
    const bool known = std::ranges::all_of(members, [](const ir::TypeRef& member) { return member != nullptr; });
    return known ? ir::tuple_of(std::move(members)) : nullptr;
  }

  // Members of a list of tensors have sizes of their own, and quantizers.
  ir::TypeRef list(const files::PickleItem& held) {
    const auto& members = held.members.empty() ? held.added : held.members;
    const ir::TypeRef member = members.empty() ? nullptr : type_of(members.front());
    if (!member) return nullptr;
    if (!ir::is(member, ir::TypeKind::tensor)) return ir::list_of(member);
    ir::TensorType each;
    if (member->tensor.dtype && ir::is_quantized(*member->tensor.dtype)) each.dtype = member->tensor.dtype;
    return ir::list_of(ir::tensor_type(std::move(each)));
  }

  // _rebuild_tensor_v2 and _rebuild_qtensor: storage, offset, sizes, strides; the latter's quantizer, …
  ir::TypeRef tensor(const files::PickleItem& call) {
    const files::PickleItem& function = item(call.members.at(0));
    const bool known =
        function.module == "torch._utils" && (function.text == "_rebuild_tensor_v2" || function.text == "_rebuild_qtensor");
    const files::PickleItem& given = item(call.members.at(1));
    if (!known || given.members.size() < 4) return nullptr;
    ir::TensorType type;
    type.dtype = dtype_of(item(given.members[0]));
    const files::PickleItem& sizes = item(given.members[2]);
    if (!type.dtype || sizes.kind != Kind::tuple) return nullptr;
    type.sizes.emplace();
    for (const files::PickleItemId size : sizes.members) type.sizes->push_back(item(size).integer);
    if (function.text == "_rebuild_qtensor" && given.members.size() > 4)
      type.quantizer = files::saved_quantizer(tree_, item(given.members[4]), [](const std::string&) {
        return std::vector<std::uint8_t>();  // the file has no elements of examples, nor the scales of channels
      });
    if (type.quantizer && !ir::fits(*type.quantizer, *type.dtype)) type.quantizer = nullptr;
    return ir::tensor_type(std::move(type));
  }

  // The id of a storage: ("storage", torch.FloatStorage, key, device, elements).
  std::optional<ir::DType> dtype_of(const files::PickleItem& persistent) const {
    constexpr std::string_view ending = "Storage";
    if (persistent.kind != Kind::persistent || persistent.members.empty()) return std::nullopt;
    const files::PickleItem& id = item(persistent.members[0]);
    if (id.kind != Kind::tuple || id.members.size() < 2) return std::nullopt;
    std::string_view name = item(id.members[1]).text;
    if (!name.ends_with(ending)) return std::nullopt;
    name.remove_suffix(ending.size());
    return ir::dtype_from_torch_name(name);
  }

  const files::PickleTree& tree_;
  std::size_t depth_ = 0, visits_ = 0;
};

}  // namespace

std::vector<ir::TypeRef> traced_types(std::span<const std::uint8_t> pickle) {
  const files::PickleTree tree = files::read_pickle(pickle);
  return TypeReader(tree).read();
}

}  // namespace compatcheck::frontend
