#include "frontend/snapshot_reader.h"

#include <algorithm>

#include "frontend/snapshot.h"

namespace compatcheck::frontend {

SnapshotReader::SnapshotReader(std::span<const std::uint8_t> bytes, snapshot_format::Content content) : Reader(bytes) {
  for (const std::uint8_t expected : snapshot_format::magic)
    if (byte() != expected) damaged("it isn't a snapshot");
  if (unsigned_number() != snapshot_version)
    throw ModelError("the loader speaks another version of the snapshot: it belongs to another compatcheck");
  if (byte() != static_cast<std::uint8_t>(content)) damaged("it holds something else");
  read_texts();
  read_types();
  read_locations();
  read_storages();
}

void SnapshotReader::read_texts() {
  const std::size_t size = count();
  texts_.reserve(size);
  for (std::size_t i = 0; i < size; ++i) texts_.push_back(string());
}

namespace {

// What readers of a type index without asking.
bool has_its_elements(const ir::Type& type) {
  using enum ir::TypeKind;
  if (std::any_of(type.elements.begin(), type.elements.end(), [](const ir::TypeRef& element) { return !element; })) return false;
  switch (type.kind) {
    case list:
    case optional:
    case future:
    case rref:
    case await_of: return type.elements.size() == 1;
    case dict: return type.elements.size() == 2;
    default: return true;
  }
}

}  // namespace

void SnapshotReader::read_types() {
  const std::size_t size = count();
  types_.reserve(size + 1);
  types_.push_back(nullptr);
  std::vector<std::size_t> depths = {0};  // of each type, so that a chain of small records can't nest without end
  std::vector<std::size_t> parts = {0};   // nor double at every step
  for (std::size_t i = 0; i < size; ++i) {
    auto type = std::make_shared<ir::Type>();
    const std::uint8_t kind = byte();
    if (kind > static_cast<std::uint8_t>(ir::TypeKind::var)) damaged("a type is unknown");
    type->kind = static_cast<ir::TypeKind>(kind);
    if (type->kind == ir::TypeKind::tensor) type->tensor = tensor_type();
    type->elements.resize(count());
    std::size_t depth = 0, held = 1;
    for (ir::TypeRef& element : type->elements) {
      const std::uint64_t number = unsigned_number();
      if (number >= types_.size()) damaged("a type refers to a later one");
      element = types_[static_cast<std::size_t>(number)];
      depth = std::max(depth, depths[static_cast<std::size_t>(number)] + 1);
      held = std::min(held + parts[static_cast<std::size_t>(number)], most_type_parts + 1);
    }
    if (depth > deepest_nesting + 1) damaged("a type is nested too deeply");
    if (held > most_type_parts) damaged("a type holds too many others");
    if (!has_its_elements(*type)) damaged("a type doesn't hold what its kind does");
    type->name = text();
    type->field_names = texts();
    types_.push_back(std::move(type));
    depths.push_back(depth);
    parts.push_back(held);
  }
}

void SnapshotReader::read_locations() {
  const std::size_t size = count();
  locations_.reserve(size + 1);
  locations_.push_back(nullptr);
  std::vector<std::size_t> depths = {0};  // releasing a chain is recursive
  for (std::size_t i = 0; i < size; ++i) {
    auto location = std::make_shared<ir::Location>();
    location->file = text();
    location->line = static_cast<int>(number());
    location->column = static_cast<int>(number());
    location->function = text();
    location->text = text();
    const std::uint64_t caller = unsigned_number();
    if (caller >= locations_.size()) damaged("a location refers to a later one");
    location->caller = locations_[static_cast<std::size_t>(caller)];
    depths.push_back(depths[static_cast<std::size_t>(caller)] + 1);
    if (depths.back() > deepest_nesting + 1) damaged("calls are nested too deeply");
    locations_.push_back(std::move(location));
  }
}

void SnapshotReader::read_storages() {
  const std::size_t size = count();
  storages_.reserve(size + 1);
  storages_.push_back(nullptr);
  for (std::size_t i = 0; i < size; ++i) {
    auto storage = std::make_shared<ir::Storage>();
    storage->in_file = boolean();
    storage->file_offset = unsigned_number();
    storage->bytes = unsigned_number();
    storage->record = text();
    const auto data = blob();
    storage->data.assign(data.begin(), data.end());
    if (!storage->in_file && storage->bytes != data.size()) damaged("a storage's size is wrong");
    storages_.push_back(std::move(storage));
  }
}

std::vector<std::string> SnapshotReader::texts() {
  std::vector<std::string> all(count());
  for (std::string& each : all) each = text();
  return all;
}

std::vector<std::int64_t> SnapshotReader::numbers() {
  std::vector<std::int64_t> all(count());
  for (std::int64_t& each : all) each = number();
  return all;
}

std::optional<std::vector<std::optional<std::int64_t>>> SnapshotReader::optional_numbers() {
  if (!boolean()) return std::nullopt;
  std::vector<std::optional<std::int64_t>> all(count());
  for (auto& each : all)
    if (boolean()) each = number();
  return all;
}

ir::DType SnapshotReader::dtype() {
  if (const auto known = ir::dtype_from_number(byte())) return *known;
  damaged("an element type is unknown");
}

std::shared_ptr<const ir::Quantizer> SnapshotReader::quantizer() {
  if (!boolean()) return nullptr;
  const auto reals = [&] {
    std::vector<double> all(count());
    for (double& number : all) number = real();
    return all;
  };
  auto quantizer = std::make_shared<ir::Quantizer>();
  quantizer->per_channel = boolean();
  quantizer->scale = real();
  quantizer->zero_point = number();
  quantizer->scales = reals();
  quantizer->zero_points = numbers();
  quantizer->float_zero_points = reals();
  quantizer->axis = number();
  return quantizer;
}

ir::TensorType SnapshotReader::tensor_type() {
  ir::TensorType tensor;
  if (boolean()) tensor.dtype = dtype();
  tensor.sizes = optional_numbers();
  tensor.strides = optional_numbers();
  if (const std::uint8_t grad = byte()) tensor.requires_grad = grad == 2;
  tensor.device = text();
  tensor.quantizer = quantizer();
  return tensor;
}

}  // namespace compatcheck::frontend
