#include "frontend/torchscript/weights.h"

#include <ATen/ATen.h>
#include <ATen/quantized/Quantizer.h>
#include <caffe2/serialize/inline_container.h>

#include <algorithm>

#include "compatcheck/error.h"
#include "files/extent.h"
#include "process/spell_count.h"

namespace compatcheck::frontend::torchscript {
namespace {

// Bytes of one element of "FloatStorage"; 0 if the name is unknown, which libtorch refuses by itself.
std::size_t element_bytes(std::string_view storage_type) {
  if (!storage_type.ends_with("Storage")) return 0;
  storage_type.remove_suffix(7);
#define CASE(_, name) \
  if (storage_type == #name) return c10::elementSize(c10::ScalarType::name);
  AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(CASE)
#undef CASE
  return 0;
}

[[noreturn]] void outside(const std::string& tensor, std::uint64_t storage) {
  throw ModelError(tensor + " reaches outside its storage of " + spell_count(storage, "byte"));
}

// Returns the bytes of one number of an element; a complex element has two.
std::size_t number_bytes(std::string_view storage_type) {
  return element_bytes(storage_type) / (storage_type.starts_with("Complex") ? 2 : 1);
}

void swap_bytes(std::span<std::uint8_t> bytes, std::size_t width) {
  for (std::size_t at = 0; width > 1 && at + width <= bytes.size(); at += width)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(at + width));
}

bool plain(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && tensor.device().is_cpu() && !tensor.is_nested();
}

std::shared_ptr<const ir::Storage> copied(const c10::Storage& storage) {
  auto copy = std::make_shared<ir::Storage>();
  copy->bytes = storage.nbytes();
  const auto* data = static_cast<const std::uint8_t*>(storage.data());
  if (data) copy->data.assign(data, data + storage.nbytes());
  return copy;
}

}  // namespace

std::shared_ptr<torch::jit::DeserializationStorageContext> Weights::map(const std::string& pickle, const std::string& folder) {
  auto context = std::make_shared<torch::jit::DeserializationStorageContext>();
  const Record* pickle_record = archive_.find(pickle);
  if (!pickle_record) throw ModelError("record " + pickle + " is missing");
  std::string unpacked;
  std::span<const std::uint8_t> bytes = archive_.contents(*pickle_record);
  if (pickle_record->compressed) {
    auto [data, size] = reader_.getRecord(pickle);
    unpacked.assign(static_cast<const char*>(data.get()), size);
    bytes = {reinterpret_cast<const std::uint8_t*>(unpacked.data()), unpacked.size()};
  }
  const PickledWeights named = scan_weights(bytes, pickle);
  for (const PickledStorage& storage : named.storages) map_storage(storage, folder, *context);
  for (const PickledTensor& tensor : named.tensors) {
    const std::uint64_t has = context->hasStorage(tensor.storage.key) ? context->getStorage(tensor.storage.key).nbytes() : 0;
    if (!files::fits(files::reach(tensor.offset, tensor.sizes, tensor.strides), element_bytes(tensor.storage.type), has))
      outside("a tensor in record " + folder + tensor.storage.key, has);
  }
  return context;
}

void Weights::map_storage(const PickledStorage& named, const std::string& folder,
                          torch::jit::DeserializationStorageContext& context) {
  const std::string name = folder + named.key;
  if (named.elements < 0) throw ModelError("record " + name + " has a negative length");
  if (named.elements == 0) return;
  const Record* record = archive_.find(name);
  if (!record) throw ModelError("record " + name + " is missing: a tensor's values aren't in the file");
  if (!context.hasStorage(named.key)) context.addStorage(named.key, storage_of(*record, named));
  const std::uint64_t has = context.getStorage(named.key).nbytes();
  if (!files::fits(named.elements, element_bytes(named.type), has))
    throw ModelError("record " + name + " is too short: " + spell_count(named.elements, "element") + " of " + named.type +
                     (named.elements == 1 ? " doesn't fit its " : " don't fit its ") + spell_count(has, "byte"));
}

c10::Storage Weights::storage_of(const Record& record, const PickledStorage& named) {
  const auto made = std::make_shared<ir::Storage>();
  made->record = record.name;
  made->bytes = record.unpacked;
  c10::Storage storage;
  if (record.compressed || big_endian_) {
    auto [data, size] = reader_.getRecord(record.name);
    const std::span bytes(static_cast<std::uint8_t*>(data.get()), size);
    if (big_endian_) swap_bytes(bytes, number_bytes(named.type));
    made->data.assign(bytes.begin(), bytes.end());
    made->bytes = size;
    storage = c10::Storage(c10::Storage::use_byte_size_t(), size, std::move(data), nullptr, false);
    unpacked_.push_back(record.name);
  } else {
    made->in_file = true;
    made->file_offset = record.offset;
    if (record.bytes <= files::small_storage_bytes) {
      const auto bytes = archive_.contents(record);
      made->data.assign(bytes.begin(), bytes.end());
    }
    storage = c10::Storage(c10::Storage::use_byte_size_t(), record.bytes, at::DataPtr(archive_.contents(record).data(), at::kCPU),
                           nullptr, false);
  }
  if (named.device != "cpu") devices_.insert(named.device);
  origins_.emplace(storage.unsafeGetStorageImpl(), Origin{made, named.device});
  alive_.push_back(storage);
  return storage;
}

void Weights::check(const at::Tensor& tensor) const {
  if (!tensor.defined() || !plain(tensor)) return;
  const auto found = origins_.find(tensor.storage().unsafeGetStorageImpl());
  const std::string where = found == origins_.end() ? "a tensor" : "a tensor in record " + found->second.storage->record;
  if (!files::fits(files::reach(tensor.storage_offset(), tensor.sizes(), tensor.strides()), tensor.itemsize(),
                   tensor.storage().nbytes()))
    outside(where, tensor.storage().nbytes());
}

const Weights::Origin& Weights::origin_of(const at::Tensor& tensor) {
  const auto [found, fresh] = origins_.try_emplace(tensor.storage().unsafeGetStorageImpl());
  if (fresh) {
    alive_.push_back(tensor.storage());
    found->second = {copied(tensor.storage()), "cpu"};
  }
  return found->second;
}

std::shared_ptr<const ir::Quantizer> Weights::quantizer_of(const at::Tensor& tensor) {
  auto made = std::make_shared<ir::Quantizer>();
  if (tensor.qscheme() == at::kPerTensorAffine || tensor.qscheme() == at::kPerTensorSymmetric) {
    made->scale = tensor.q_scale();
    made->zero_point = tensor.q_zero_point();
    return made;
  }
  made->per_channel = true;
  made->axis = tensor.q_per_channel_axis();
  const at::Tensor scales = tensor.q_per_channel_scales(), zero_points = tensor.q_per_channel_zero_points();
  check(scales);
  check(zero_points);
  const auto doubles = [](const at::Tensor& numbers) {
    const at::Tensor held = numbers.to(at::kDouble).contiguous();
    return std::vector<double>(held.const_data_ptr<double>(), held.const_data_ptr<double>() + held.numel());
  };
  made->scales = doubles(scales);
  if (zero_points.is_floating_point()) {
    made->float_zero_points = doubles(zero_points);
    return made;
  }
  const at::Tensor zeros64 = zero_points.to(at::kLong).contiguous();
  made->zero_points.assign(zeros64.const_data_ptr<std::int64_t>(), zeros64.const_data_ptr<std::int64_t>() + zeros64.numel());
  return made;
}

ir::Constant Weights::convert(const at::Tensor& given) {
  if (!given.defined()) return {};
  if (!given.device().is_meta() && !plain(given)) return {ir::OpaqueConstant{"Tensor (" + given.toString() + ")"}};
  check(given);
  const at::Tensor tensor = given.is_conj() || given.is_neg() ? given.resolve_conj().resolve_neg() : given;
  const auto dtype = ir::dtype_from_number(static_cast<std::int64_t>(tensor.scalar_type()));
  if (!dtype) return {ir::OpaqueConstant{"Tensor (" + tensor.toString() + ")"}};
  ir::TensorView view;
  view.dtype = *dtype;
  view.sizes = tensor.sizes().vec();
  view.strides = tensor.strides().vec();
  view.offset = tensor.storage_offset();
  view.requires_grad = tensor.requires_grad();
  if (!tensor.device().is_meta()) {
    const Origin& origin = origin_of(tensor);
    view.storage = origin.storage;
    view.device = origin.device;
  }
  if (tensor.is_quantized()) view.quantizer = quantizer_of(tensor);
  return {std::move(view)};
}

}  // namespace compatcheck::frontend::torchscript
