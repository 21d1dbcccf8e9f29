#include "files/saved_object.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "compatcheck/error.h"
#include "files/extent.h"
#include "files/pickle_tree.h"
#include "files/saved_quantizer.h"
#include "ir/quantized.h"

namespace compatcheck::files {
namespace {

using Kind = PickleItem::Kind;

constexpr std::uint64_t longest_pickle = 16 << 20;
constexpr int deepest_object = 32;

const ir::TypeRef& any() {
  static const ir::TypeRef type = ir::simple_type(ir::TypeKind::any);
  return type;
}

// Python's names of dtypes for which torch has no storage class.
std::optional<ir::DType> dtype_of_name(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, ir::DType>, 22> names{{{"uint8", ir::DType::u8},
                                                                          {"int8", ir::DType::i8},
                                                                          {"int16", ir::DType::i16},
                                                                          {"int32", ir::DType::i32},
                                                                          {"int64", ir::DType::i64},
                                                                          {"uint16", ir::DType::u16},
                                                                          {"uint32", ir::DType::u32},
                                                                          {"uint64", ir::DType::u64},
                                                                          {"bool", ir::DType::boolean},
                                                                          {"float16", ir::DType::f16},
                                                                          {"bfloat16", ir::DType::bf16},
                                                                          {"float32", ir::DType::f32},
                                                                          {"float64", ir::DType::f64},
                                                                          {"complex32", ir::DType::c32},
                                                                          {"complex64", ir::DType::c64},
                                                                          {"complex128", ir::DType::c128},
                                                                          {"float8_e5m2", ir::DType::f8e5m2},
                                                                          {"float8_e4m3fn", ir::DType::f8e4m3fn},
                                                                          {"float8_e5m2fnuz", ir::DType::f8e5m2fnuz},
                                                                          {"float8_e4m3fnuz", ir::DType::f8e4m3fnuz},
                                                                          {"qint8", ir::DType::qi8},
                                                                          {"quint8", ir::DType::qu8}}};
  const auto* found = std::find_if(names.begin(), names.end(), [&](const auto& known) { return known.first == name; });
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

// A storage as the pickle names it: ('storage', class, key, device, elements).
struct NamedStorage {
  std::optional<ir::DType> dtype;  // absent: bytes, whose dtype the tensor says
  std::string key;
  std::int64_t elements = 0;
};

class ObjectReader {
 public:
  ObjectReader(const InputFile& file, const ZipDirectory& directory, const PickleTree& tree, std::size_t most_values)
      : file_(file), directory_(directory), tree_(tree), most_values_(most_values) {}

  ir::Constant root() { return value(tree_.items[tree_.root], 0); }

 private:
  const PickleItem& at(PickleItemId id) const { return tree_.items[id]; }
  static std::string name_of(const PickleItem& item) { return std::string(item.module) + "." + std::string(item.text); }

  [[noreturn]] static void damaged() { throw ModelError("holds a tensor that torch doesn't write so: the file is damaged"); }

  ir::Constant value(const PickleItem& item, int depth) {
    if (depth > deepest_object) throw ModelError("nests its containers deeper than " + std::to_string(deepest_object));
    // A tuple of twice the same tuple, and so on, is small in the file.
    if (++values_ > most_values_) throw ModelError("holds more than " + std::to_string(most_values_) + " values");
    switch (item.kind) {
      case Kind::none: return {};
      case Kind::boolean: return {item.integer != 0};
      case Kind::integer: return {item.integer};
      case Kind::floating: return {item.floating};
      case Kind::text: return {std::string(item.text)};
      case Kind::tuple: return {ir::TupleConstant{any(), members(item, depth)}};
      case Kind::list: return {ir::ListConstant{any(), members(item, depth)}};
      case Kind::dict: return dict(item.members, depth);
      case Kind::call: return called(item, depth);
      case Kind::object: return object(item, depth);
      case Kind::name: throw ModelError("holds " + name_of(item) + ", which is not a tensor, number, text or container of these");
      case Kind::persistent: throw ModelError("holds a bare storage; save the tensor");
      case Kind::other: break;
    }
    throw ModelError("holds bytes, a set or a number of more than 64 bits");
  }

  ir::Constants members(const PickleItem& item, int depth) {
    ir::Constants values;
    for (const PickleItemId member : item.members) values.push_back(value(at(member), depth + 1));
    return values;
  }

  ir::Constant dict(const std::vector<PickleItemId>& items, int depth) {
    ir::DictConstant made(any(), any(), {});
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      const PickleItem& key = at(items[i]);
      if (key.kind != Kind::text && key.kind != Kind::integer)
        throw ModelError("holds a dict whose keys are neither strings nor integers");
      made.items.emplace_back(value(key, depth + 1), value(at(items[i + 1]), depth + 1));
    }
    return {std::move(made)};
  }

  // What torch.save makes of what isn't plain: by a function's name and arguments.
  ir::Constant called(const PickleItem& call, int depth) {
    const PickleItem &function = at(call.members[0]), &arguments = at(call.members[1]);
    if (function.kind != Kind::name || arguments.kind != Kind::tuple) damaged();
    const std::string name = name_of(function);
    if (name == "collections.OrderedDict") return dict(call.added, depth);
    if (name.starts_with("torch._utils._rebuild_") || name.starts_with("torch._tensor._rebuild_"))
      return rebuilt(name, arguments, depth);
    const bool is_wrapped =
        name == "torch.Size" || name.starts_with("torch.jit._pickle.build_") || name == "torch.jit._pickle.restore_type_tag";
    if (is_wrapped && !arguments.members.empty()) return value(at(arguments.members[0]), depth + 1);
    if (name == "torch.device" && !arguments.members.empty() && at(arguments.members[0]).kind == Kind::text)
      return {ir::DeviceConstant{std::string(at(arguments.members[0]).text)}};
    refuse(name);
  }

  // A NamedTuple is made of its fields; any other object of what its class does with a state.
  ir::Constant object(const PickleItem& item, int depth) {
    const PickleItem &made = at(item.members[0]), &arguments = at(item.members[1]);
    const std::string name = made.kind == Kind::name ? name_of(made) : "unknown";
    if (item.has_state || !item.added.empty() || arguments.kind != Kind::tuple || arguments.members.empty()) refuse(name);
    return {ir::TupleConstant{any(), members(arguments, depth)}};
  }

  [[noreturn]] static void refuse(const std::string& name) {
    throw ModelError("holds a Python object (" + name +
                     "), which isn't supported: save tensors, numbers, and tuples, lists and dicts of these");
  }

  ir::Constant rebuilt(const std::string& name, const PickleItem& arguments, int depth) {
    const auto argument = [&](std::size_t i) -> const PickleItem& {
      if (i >= arguments.members.size()) damaged();
      return at(arguments.members[i]);
    };
    const std::string_view function = std::string_view(name).substr(name.rfind('.') + 1);
    // A parameter, or a tensor of a device without storages: the first argument is the tensor.
    if (function == "_rebuild_parameter" || function == "_rebuild_parameter_with_state" ||
        function == "_rebuild_device_tensor_from_cpu_tensor")
      return value(argument(0), depth + 1);
    if (function == "_rebuild_from_type_v2" && argument(0).kind == Kind::name && argument(2).kind == Kind::tuple &&
        depth < deepest_object)
      return rebuilt(name_of(argument(0)), argument(2), depth + 1);
    if (function == "_rebuild_tensor" || function == "_rebuild_tensor_v2" || function == "_rebuild_qtensor") {
      ir::Constant made = tensor(argument(0), argument(1), argument(2), argument(3), std::nullopt);
      if (function == "_rebuild_qtensor") set_quantizer(std::get<ir::TensorView>(made.value), argument(4));
      return made;
    }
    if (function == "_rebuild_tensor_v3") return tensor(argument(0), argument(1), argument(2), argument(3), dtype(argument(6)));
    if (function == "_rebuild_meta_tensor_no_storage") {
      ir::TensorView view{.dtype = dtype(argument(0)),
                          .sizes = integers(argument(1)),
                          .strides = integers(argument(2)),
                          .storage = nullptr,
                          .quantizer = nullptr};
      if (!reach(0, view.sizes, view.strides)) damaged();
      return {std::move(view)};
    }
    throw ModelError("holds a tensor that isn't a strided one (" + name + "): save its dense form");
  }

  void set_quantizer(ir::TensorView& tensor, const PickleItem& parameters) const {
    tensor.quantizer = saved_quantizer(tree_, parameters, [&](const std::string& key) {
      const ZipRecord* record = directory_.find("data/" + key);
      return record ? read_zip_record(file_, *record, longest_pickle) : std::vector<std::uint8_t>();
    });
    if (!tensor.quantizer || !ir::is_quantized(tensor.dtype)) damaged();
    if (!ir::fits(*tensor.quantizer, tensor.dtype, tensor.sizes))
      throw ModelError(
          "holds a quantized tensor whose scales and zero points don't fit it: scales must be finite and above 0, zero points "
          "must be "
          "in the range of its dtype, and each position along the axis must have one of both");
  }

  ir::DType dtype(const PickleItem& item) const {
    const auto found = item.kind == Kind::name && item.module == "torch" ? dtype_of_name(item.text) : std::nullopt;
    if (!found)
      throw ModelError("holds a tensor of a dtype that isn't known: " + (item.kind == Kind::name ? name_of(item) : "no name"));
    return *found;
  }

  std::vector<std::int64_t> integers(const PickleItem& item) const {
    // Sizes may come as torch.Size, a call around the tuple.
    if (item.kind == Kind::call && at(item.members[1]).kind == Kind::tuple && at(item.members[1]).members.size() == 1)
      return plain_integers(at(at(item.members[1]).members[0]));
    return plain_integers(item);
  }

  std::vector<std::int64_t> plain_integers(const PickleItem& item) const {
    if (item.kind != Kind::tuple) damaged();
    std::vector<std::int64_t> numbers;
    for (const PickleItemId member : item.members) {
      if (at(member).kind != Kind::integer) damaged();
      numbers.push_back(at(member).integer);
    }
    return numbers;
  }

  NamedStorage storage_named(const PickleItem& item) const {
    if (item.kind != Kind::persistent || at(item.members[0]).kind != Kind::tuple) damaged();
    const auto& parts = at(item.members[0]).members;
    if (parts.size() < 5) damaged();
    const PickleItem &kind = at(parts[0]), &type = at(parts[1]), &key = at(parts[2]), &elements = at(parts[4]);
    if (kind.text != "storage" || type.kind != Kind::name || key.kind != Kind::text || elements.kind != Kind::integer) damaged();
    NamedStorage named{.dtype = {}, .key = std::string(key.text), .elements = elements.integer};
    if (type.module == "torch" && type.text.ends_with("Storage"))
      named.dtype = ir::dtype_from_torch_name(type.text.substr(0, type.text.size() - std::string_view("Storage").size()));
    if (!named.dtype && type.text != "UntypedStorage")
      throw ModelError("holds a tensor of a dtype that isn't known: " + name_of(type));
    return named;
  }

  // `stated`: where the storage is one of bytes.
  ir::Constant tensor(const PickleItem& storage, const PickleItem& offset, const PickleItem& sizes, const PickleItem& strides,
                      std::optional<ir::DType> stated) {
    const NamedStorage named = storage_named(storage);
    if (offset.kind != Kind::integer || (!stated && !named.dtype)) damaged();
    ir::TensorView view{.dtype = stated ? *stated : *named.dtype,
                        .sizes = integers(sizes),
                        .strides = integers(strides),
                        .offset = offset.integer,
                        .storage = nullptr,
                        .quantizer = nullptr};
    const auto stored = stored_at(named);
    const auto reached = reach(view.offset, view.sizes, view.strides);
    if (!fits(reached, std::max<std::size_t>(ir::element_bytes(view.dtype), 1), stored->bytes) &&
        ir::element_bytes(view.dtype) > 0)
      throw ModelError("holds a tensor that reaches outside its storage of " + std::to_string(stored->bytes) + " bytes (" +
                       stored->record + ")");
    view.storage = stored;
    return {std::move(view)};
  }

  // Tensors that share a storage share it here, too.
  std::shared_ptr<const ir::Storage> stored_at(const NamedStorage& named) {
    auto& storage = storages_[named.key];
    if (!storage) storage = storage_of(named);
    const std::size_t element = named.dtype ? ir::element_bytes(*named.dtype) : 1;
    if (named.elements < 0 || !fits(named.elements, element, storage->bytes))
      throw ModelError("record " + storage->record + " is shorter than its tensors: it is damaged");
    return storage;
  }

  std::shared_ptr<const ir::Storage> storage_of(const NamedStorage& named) const {
    auto storage = std::make_shared<ir::Storage>();
    storage->record = "data/" + named.key;
    if (named.elements == 0) return storage;
    const ZipRecord* record = directory_.find(storage->record);
    if (!record) throw ModelError("lacks record " + storage->record + ": it is cut short or damaged");
    storage->bytes = record->unpacked;
    storage->in_file = !record->compressed;
    if (storage->in_file) storage->file_offset = contents_offset(file_, *record);
    return storage;
  }

  const InputFile& file_;
  const ZipDirectory& directory_;
  const PickleTree& tree_;
  std::unordered_map<std::string, std::shared_ptr<const ir::Storage>> storages_;
  std::size_t most_values_, values_ = 0;
};

}  // namespace

void refuse_big_endian(const InputFile& file, const ZipDirectory& directory) {
  const ZipRecord* order = directory.find("byteorder");
  if (!order) return;
  const auto text = read_zip_record(file, *order, 16);
  if (std::string(text.begin(), text.end()) == "big")
    throw ModelError("was saved on a big-endian machine: save it on a little-endian one");
}

ir::Constant read_saved_object(const InputFile& file, const ZipDirectory& directory, std::size_t most_values) {
  const ZipRecord* found = directory.find("data.pkl");
  if (!found) throw ModelError("lacks record data.pkl: it is cut short or damaged");
  const ZipRecord& record = *found;
  if (record.unpacked > longest_pickle) throw ModelError("has a data.pkl of more than 16 MB");
  const auto pickle = read_zip_record(file, record, longest_pickle);
  refuse_big_endian(file, directory);
  const auto tree = read_pickle(pickle, 10 * most_values);
  return ObjectReader(file, directory, tree, most_values).root();
}

}  // namespace compatcheck::files
