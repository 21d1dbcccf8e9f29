#include "frontend/traced_types.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "compatcheck/error.h"
#include "files/pickle_tree.h"
#include "files/saved_quantizer.h"
#include "ir/quantized.h"
#include "ir/value_name.h"

namespace compatcheck::frontend {
namespace {

using Kind = files::PickleItem::Kind;

constexpr std::size_t deepest_type = 100, most_visits = 100'000;

class TypeReader {
 public:
  TypeReader(const files::PickleTree& tree, std::span<const std::string> names) : tree_(tree), names_(names) {}

  std::vector<ir::RecordedInput> read() {
    const files::PickleItem* record = plain(tree_.root);
    if (record && record->kind == Kind::dict)
      for (const auto* pairs : {&record->members, &record->added})
        for (std::size_t i = 0; i + 1 < pairs->size(); i += 2)
          if (item((*pairs)[i]).text == "forward") return arguments((*pairs)[i + 1]);
    throw ModelError("the record holds no example inputs of forward");
  }

 private:
  const files::PickleItem& item(files::PickleItemId id) const { return tree_.items[id]; }

  std::vector<ir::RecordedInput> arguments(files::PickleItemId id) {
    const files::PickleItem* list = plain(id);
    if (!list || list->kind != Kind::list) throw ModelError("the record's example inputs of forward are no list");
    std::vector<ir::RecordedInput> inputs;
    for (const auto* members : {&list->members, &list->added})
      for (const files::PickleItemId member : *members)
        if (inputs.size() < names_.size()) {
          const std::string& name = names_[inputs.size()];
          inputs.push_back({name, type_of(member, name)});
        }
    std::ranges::move(members_, std::back_inserter(inputs));
    return inputs;
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

  ir::TypeRef type_of(files::PickleItemId id, const std::string& name) {
    if (++depth_ > deepest_type) throw ModelError("an example input is nested more than 100 deep");
    if (++visits_ > most_visits) throw ModelError("the example inputs hold more than 100,000 values");
    const files::PickleItem* held = plain(id);
    ir::TypeRef type = held ? type_of(*held, name) : nullptr;
    --depth_;
    return type;
  }

  ir::TypeRef member(files::PickleItemId id, const std::string& whole, std::string_view key) {
    const std::string name = ir::member_name(whole, key);
    ir::TypeRef type = type_of(id, name);
    if (ir::is(type, ir::TypeKind::tensor)) members_.push_back({name, without_sizes(type->tensor)});
    return type;
  }

  // The dtype and rank of a member: what the model does with its sizes decides which of them may vary.
  static ir::TypeRef without_sizes(const ir::TensorType& tensor) {
    ir::TensorType kept;
    kept.dtype = tensor.dtype;
    kept.quantizer = tensor.quantizer;
    if (tensor.sizes) kept.sizes.emplace(tensor.sizes->size());
    return ir::tensor_type(std::move(kept));
  }

  ir::TypeRef type_of(const files::PickleItem& held, const std::string& name) {
    switch (held.kind) {
      case Kind::none: return ir::simple_type(ir::TypeKind::none);
      case Kind::boolean: return ir::simple_type(ir::TypeKind::boolean);
      case Kind::integer: return ir::simple_type(ir::TypeKind::integer);
      case Kind::floating: return ir::simple_type(ir::TypeKind::floating);
      case Kind::text: return ir::simple_type(ir::TypeKind::string);
      case Kind::call: return tensor(held);
      case Kind::tuple: return tuple(held, name);
      case Kind::list: return list(held, name);
      case Kind::dict: return dict(held, name);
      default: return nullptr;
    }
  }

  ir::TypeRef tuple(const files::PickleItem& held, const std::string& name) {
    std::vector<ir::TypeRef> members;
    for (const files::PickleItemId id : held.members) members.push_back(member(id, name, std::to_string(members.size())));
    const bool known = std::ranges::all_of(members, [](const ir::TypeRef& member) { return member != nullptr; });
    return known ? ir::tuple_of(std::move(members)) : nullptr;
  }

  ir::TypeRef list(const files::PickleItem& held, const std::string& name) {
    std::vector<ir::TypeRef> types;
    for (const auto* members : {&held.members, &held.added})
      for (const files::PickleItemId id : *members) types.push_back(member(id, name, std::to_string(types.size())));
    ir::TypeRef each = common(types);
    return each ? ir::list_of(std::move(each)) : nullptr;
  }

  // Keys are texts or ints. Tensors have types of their own, as members.
  ir::TypeRef dict(const files::PickleItem& held, const std::string& name) {
    std::vector<ir::TypeRef> keys, types;
    for (const auto* pairs : {&held.members, &held.added})
      for (std::size_t i = 0; i + 1 < pairs->size(); i += 2) {
        const files::PickleItem& key = item((*pairs)[i]);
        if (key.kind != Kind::text && key.kind != Kind::integer) return nullptr;
        keys.push_back(type_of(key, name));
        types.push_back(
            member((*pairs)[i + 1], name, key.kind == Kind::text ? std::string(key.text) : std::to_string(key.integer)));
      }
    ir::TypeRef key = common(keys), each = common(types);
    if (ir::is(each, ir::TypeKind::tensor)) each = ir::tensor_type();
    return key && each ? ir::dict_of(std::move(key), std::move(each)) : nullptr;
  }

  // Returns what holds for every member: tensors have sizes of their own, and quantizers.
  static ir::TypeRef common(const std::vector<ir::TypeRef>& types) {
    if (types.empty() || !types.front()) return nullptr;
    const ir::TypeRef& first = types.front();
    const bool alike = std::ranges::all_of(
        types, [&](const ir::TypeRef& type) { return type && (type == first || ir::same_structure(*type, *first)); });
    if (!alike) return nullptr;
    if (!ir::is(first, ir::TypeKind::tensor)) return first;
    ir::TensorType each;
    const auto agree = [&](const auto& of) {
      return std::ranges::all_of(types, [&](const ir::TypeRef& type) { return of(type->tensor) == of(first->tensor); });
    };
    if (agree([](const ir::TensorType& tensor) { return tensor.dtype; })) each.dtype = first->tensor.dtype;
    if (agree([](const ir::TensorType& tensor) { return tensor.sizes ? tensor.sizes->size() : 0; }) && first->tensor.sizes)
      each.sizes.emplace(first->tensor.sizes->size());
    return ir::tensor_type(std::move(each));
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
  std::span<const std::string> names_;
  std::vector<ir::RecordedInput> members_;
  std::size_t depth_ = 0, visits_ = 0;
};

}  // namespace

std::vector<ir::RecordedInput> traced_inputs(std::span<const std::uint8_t> pickle, std::span<const std::string> names) {
  const files::PickleTree tree = files::read_pickle(pickle);
  return TypeReader(tree, names).read();
}

}  // namespace compatcheck::frontend
