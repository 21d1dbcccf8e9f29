#include "files/saved_tensors.h"

#include <algorithm>
#include <array>
#include <optional>

#include "compatcheck/error.h"
#include "files/extent.h"
#include "files/saved_quantizer.h"
#include "ir/quantized.h"
#include "process/spell_count.h"

namespace compatcheck::files {
namespace {

using Kind = PickleItem::Kind;

constexpr std::uint64_t most_parameter_bytes = 16 << 20;  // size of a quantizer's scales
constexpr int deepest_wrapper = 32;
constexpr std::size_t highest_rank = 64;  // torch's limit
constexpr std::uint64_t most_unpacked_record = 1ull << 30, most_packing = 1000, most_unpacked = 4ull << 30;

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

std::string name_of(const PickleItem& item) { return std::string(item.module) + "." + std::string(item.text); }

[[noreturn]] void damaged_tensor() { throw ModelError("holds a tensor that torch doesn't write so: the file is damaged"); }

// Returns the bytes of one number of an element; a complex element has two.
std::size_t number_bytes(ir::DType dtype) {
  const bool complex = dtype == ir::DType::c32 || dtype == ir::DType::c64 || dtype == ir::DType::c128;
  return ir::element_bytes(dtype) / (complex ? 2 : 1);
}

void swap_bytes(std::vector<std::uint8_t>& bytes, std::size_t width) {
  for (std::size_t at = 0; width > 1 && at + width <= bytes.size(); at += width)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(at + width));
}

}  // namespace

// As the pickle names it: ('storage', class, key, device, elements).
struct SavedTensors::NamedStorage {
  std::optional<ir::DType> dtype;  // absent: bytes, whose dtype is stated by the tensor
  std::string key, device;
  std::int64_t elements = 0;
};

bool is_big_endian(const InputFile& file, const ZipDirectory& directory) {
  const ZipRecord* order = directory.find("byteorder");
  if (!order) return false;
  const auto text = read_zip_record(file, *order, 16);
  return std::string_view(reinterpret_cast<const char*>(text.data()), text.size()).starts_with("big");
}

SavedTensors::SavedTensors(const InputFile& file, const ZipDirectory& directory, const PickleTree& tree, std::string folder)
    : file_(file), directory_(directory), tree_(tree), folder_(std::move(folder)), big_endian_(is_big_endian(file, directory)) {}

bool SavedTensors::rebuilds(std::string_view function) {
  return function.starts_with("torch._utils._rebuild_") || function.starts_with("torch._tensor._rebuild_");
}

ir::Constant SavedTensors::rebuilt(std::string_view name, const PickleItem& arguments, int depth) {
  const auto argument = [&](std::size_t i) -> const PickleItem& {
    if (i >= arguments.members.size()) damaged_tensor();
    return at(arguments.members[i]);
  };
  const std::string_view function = name.substr(name.rfind('.') + 1);
  if (depth > deepest_wrapper) damaged_tensor();
  // A parameter, or a tensor of a device without storages: the first argument is the tensor.
  if (function == "_rebuild_parameter" || function == "_rebuild_parameter_with_state" ||
      function == "_rebuild_device_tensor_from_cpu_tensor")
    return wrapped(argument(0), depth);
  if (function == "_rebuild_from_type_v2" && argument(0).kind == Kind::name && argument(2).kind == Kind::tuple)
    return rebuilt(name_of(argument(0)), argument(2), depth + 1);
  if (function == "_rebuild_tensor" || function == "_rebuild_tensor_v2" || function == "_rebuild_qtensor") {
    ir::Constant made = tensor(argument(0), argument(1), argument(2), argument(3), std::nullopt);
    auto& view = std::get<ir::TensorView>(made.value);
    if (function == "_rebuild_qtensor") set_quantizer(view, argument(4));
    const std::size_t grad = function == "_rebuild_qtensor" ? 5 : 4;
    if (grad < arguments.members.size()) view.requires_grad = argument(grad).integer != 0;
    if (function == "_rebuild_tensor_v2" && arguments.members.size() > 6 && !argument(6).members.empty())
      throw UnsupportedTensor(
          "holds a tensor that is conjugated or negated when it is read: save its resolve_conj().resolve_neg()");
    return made;
  }
  if (function == "_rebuild_tensor_v3") return tensor(argument(0), argument(1), argument(2), argument(3), dtype(argument(6)));
  if (function == "_rebuild_meta_tensor_no_storage") {
    ir::TensorView view{.dtype = dtype(argument(0)),
                        .sizes = integers(argument(1)),
                        .strides = integers(argument(2)),
                        .storage = nullptr,
                        .quantizer = nullptr};
    if (!reach(0, view.sizes, view.strides)) damaged_tensor();
    return {std::move(view)};
  }
  throw UnsupportedTensor("holds a tensor that isn't a strided one (" + std::string(name) + "): save its dense form");
}

ir::Constant SavedTensors::wrapped(const PickleItem& tensor, int depth) {
  if (tensor.kind != Kind::call || at(tensor.members[0]).kind != Kind::name || at(tensor.members[1]).kind != Kind::tuple)
    damaged_tensor();
  return rebuilt(name_of(at(tensor.members[0])), at(tensor.members[1]), depth + 1);
}

void SavedTensors::set_quantizer(ir::TensorView& tensor, const PickleItem& parameters) const {
  tensor.quantizer = saved_quantizer(tree_, parameters, [&](const std::string& key) {
    const ZipRecord* record = directory_.find(folder_ + key);
    return record ? read_zip_record(file_, *record, most_parameter_bytes) : std::vector<std::uint8_t>();
  });
  if (!tensor.quantizer || !ir::is_quantized(tensor.dtype)) damaged_tensor();
  if (!ir::fits(*tensor.quantizer, tensor.dtype, tensor.sizes))
    throw ModelError(
        "holds a quantized tensor whose scales and zero points don't fit it: scales must be finite and above 0, zero points "
        "must be in the range of its dtype, and each position along the axis must have one of both");
}

ir::DType SavedTensors::dtype(const PickleItem& item) const {
  const auto found = item.kind == Kind::name && item.module == "torch" ? dtype_of_name(item.text) : std::nullopt;
  if (!found)
    throw ModelError("holds a tensor of a dtype that isn't known: " + (item.kind == Kind::name ? name_of(item) : "no name"));
  return *found;
}

std::vector<std::int64_t> SavedTensors::integers(const PickleItem& item) const {
  // Sizes may come as torch.Size, a call around the tuple.
  if (item.kind == Kind::call && at(item.members[1]).kind == Kind::tuple && at(item.members[1]).members.size() == 1)
    return plain_integers(at(at(item.members[1]).members[0]));
  return plain_integers(item);
}

std::vector<std::int64_t> SavedTensors::plain_integers(const PickleItem& item) const {
  if (item.kind != Kind::tuple) damaged_tensor();
  std::vector<std::int64_t> numbers;
  for (const PickleItemId member : item.members) {
    if (at(member).kind != Kind::integer) damaged_tensor();
    numbers.push_back(at(member).integer);
  }
  return numbers;
}

SavedTensors::NamedStorage SavedTensors::storage_named(const PickleItem& item) const {
  if (item.kind != Kind::persistent || at(item.members[0]).kind != Kind::tuple) damaged_tensor();
  const auto& parts = at(item.members[0]).members;
  if (parts.size() < 5) damaged_tensor();
  const PickleItem &kind = at(parts[0]), &type = at(parts[1]), &key = at(parts[2]), &elements = at(parts[4]);
  if (kind.text != "storage" || type.kind != Kind::name || key.kind != Kind::text || elements.kind != Kind::integer)
    damaged_tensor();
  NamedStorage named{
      .dtype = {}, .key = std::string(key.text), .device = std::string(at(parts[3]).text), .elements = elements.integer};
  if (type.module == "torch" && type.text.ends_with("Storage"))
    named.dtype = ir::dtype_from_torch_name(type.text.substr(0, type.text.size() - std::string_view("Storage").size()));
  if (!named.dtype && type.text != "UntypedStorage")
    throw ModelError("holds a tensor of a dtype that isn't known: " + name_of(type));
  return named;
}

// `stated`: where the storage is one of bytes.
ir::Constant SavedTensors::tensor(const PickleItem& storage, const PickleItem& offset, const PickleItem& sizes,
                                  const PickleItem& strides, std::optional<ir::DType> stated) {
  const NamedStorage named = storage_named(storage);
  if (offset.kind != Kind::integer || (!stated && !named.dtype) || sizes.members.size() > highest_rank) damaged_tensor();
  ir::TensorView view{.dtype = stated ? *stated : *named.dtype,
                      .sizes = integers(sizes),
                      .strides = integers(strides),
                      .offset = offset.integer,
                      .storage = nullptr,
                      .quantizer = nullptr};
  const auto& [stored, device] = stored_at(named);
  const auto reached = reach(view.offset, view.sizes, view.strides);
  if (!fits(reached, std::max<std::size_t>(ir::element_bytes(view.dtype), 1), stored->bytes) && ir::element_bytes(view.dtype) > 0)
    throw ModelError("holds a tensor that reaches outside its storage of " + spell_count(stored->bytes, "byte") + " (" +
                     stored->record + ")");
  view.storage = stored;
  view.device = device;
  return {std::move(view)};
}

const SavedTensors::Place& SavedTensors::stored_at(const NamedStorage& named) {
  Place& place = storages_[named.key];
  if (!place.storage) {
    place = {storage_of(named), named.device.empty() ? "cpu" : named.device};
    if (place.device != "cpu") devices_.insert(place.device);
  }
  const std::size_t element = named.dtype ? ir::element_bytes(*named.dtype) : 1;
  if (named.elements < 0 || !fits(named.elements, element, place.storage->bytes))
    throw ModelError("record " + place.storage->record + " is too short: " + spell_count(named.elements, "element") +
                     (named.elements == 1 ? " doesn't fit its " : " don't fit its ") + spell_count(place.storage->bytes, "byte"));
  return place;
}

// Bounds the size, as a few bytes could unpack to all memory.
void SavedTensors::unpack(const ZipRecord& record) {
  if (record.unpacked > most_unpacked_record || record.unpacked / most_packing > record.stored)
    throw ModelError("record " + record.name + " unpacks to " + std::to_string(record.unpacked) +
                     " bytes; compressed records of more than 1 GB, or of more than 1,000 times their size, aren't read");
  unpacked_bytes_ += record.unpacked;
  if (unpacked_bytes_ > most_unpacked)
    throw ModelError("its compressed records of weights unpack to more than 4 GB; save it uncompressed, as torch does");
}

std::shared_ptr<const ir::Storage> SavedTensors::storage_of(const NamedStorage& named) {
  auto storage = std::make_shared<ir::Storage>();
  storage->record = folder_ + named.key;
  if (named.elements == 0) return storage;
  const ZipRecord* record = directory_.find(storage->record);
  if (!record) throw ModelError("record " + storage->record + " is missing: a tensor's values aren't in the file");
  if (record->compressed) unpack(*record);
  storage->bytes = record->unpacked;
  storage->in_file = !record->compressed && !big_endian_;
  if (storage->in_file) storage->file_offset = weights_offset(file_, *record);
  if (!storage->in_file || storage->bytes <= small_storage_bytes)
    storage->data = read_zip_record(file_, *record, record->unpacked);
  if (storage->in_file) return storage;
  if (big_endian_ && named.dtype) swap_bytes(storage->data, number_bytes(*named.dtype));
  unpacked_.push_back(storage->record);
  return storage;
}

}  // namespace compatcheck::files
