// Constants, and the nodes that aren't needed where their operand is one.
#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>

#include "onnx/builder.h"
#include "onnx/moves.h"

namespace compatcheck::onnx {
namespace {

using ir::DType;

// Beyond it a constant is computed when the model runs, rather than stored.
constexpr std::int64_t most_folded = 1 << 16;

std::size_t hash_of(const TensorData& data) {
  std::size_t hash = std::hash<int>{}(static_cast<int>(data.dtype));
  const auto mix = [&](std::size_t more) { hash = hash * 1099511628211ULL ^ more; };
  for (const std::int64_t dim : data.dims) mix(static_cast<std::size_t>(dim));
  mix(std::hash<std::string_view>{}({reinterpret_cast<const char*>(data.bytes.data()), data.bytes.size()}));
  if (data.view) mix(std::hash<const void*>{}(data.view->storage.get())), mix(static_cast<std::size_t>(data.view->offset));
  return hash;
}

bool same_view(const ir::TensorView& a, const ir::TensorView& b) {
  return a.dtype == b.dtype && a.storage == b.storage && a.offset == b.offset && a.sizes == b.sizes && a.strides == b.strides;
}

bool equal(const TensorData& a, const TensorData& b) {
  if (a.dtype != b.dtype || a.dims != b.dims || a.bytes != b.bytes || a.view.has_value() != b.view.has_value()) return false;
  return !a.view || same_view(*a.view, *b.view);
}

std::optional<TensorData> reshaped(TensorData data, const Ints& dims) {
  const auto made = reshaped_dims(data.dims, dims);
  if (!made) return std::nullopt;
  if (data.view) {
    if (!data.view->contiguous()) return std::nullopt;
    data.view->sizes = *made;
    data.view->strides = row_major(*made);
  }
  data.dims = *made;
  return data;
}

// ONNX counts axes from 0, up to 64 dimensions as PyTorch, each once.
void demand_axes(const Ints& axes, std::size_t rank = 64) {
  for (const std::int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) throw Refusal{"there is no dimension " + std::to_string(axis)};
    if (std::ranges::count(axes, axis) > 1) throw Refusal{"dimension " + std::to_string(axis) + " is named twice"};
  }
}

void demand_permutation(const Ints& permutation) {
  std::vector<bool> seen(permutation.size(), false);
  for (const std::int64_t axis : permutation) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(seen.size()) || seen[static_cast<std::size_t>(axis)])
      throw Refusal{"dimensions are permuted that aren't there, or are twice"};
    seen[static_cast<std::size_t>(axis)] = true;
  }
}

}  // namespace

Value Builder::add_constant(TensorData data) {
  const ValueId id = model_.add_value({.kind = ValueInfo::Kind::tensor, .dtype = data.dtype, .shape = {}, .name = {}});
  constants_.emplace(id, model_.initializers.size());
  const DType dtype = data.dtype;
  model_.initializers.push_back({id, std::move(data)});
  return {id, dtype};
}

Value Builder::constant(TensorData data) {
  const std::size_t hash = hash_of(data);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (const Initializer& known = model_.initializers[it->second]; equal(known.data, data)) return {known.value, data.dtype};
  by_hash_.emplace(hash, model_.initializers.size());
  return add_constant(std::move(data));
}

Value Builder::ints(const Ints& values) {
  return constant(make_tensor(DType::i64, {static_cast<std::int64_t>(values.size())}, values));
}
Value Builder::scalar(DType dtype, double value) { return constant(make_tensor(dtype, {}, std::vector<double>{value})); }
Value Builder::scalar(DType dtype, std::int64_t value) { return constant(make_tensor(dtype, {}, Ints{value})); }

const TensorData* Builder::constant_of(const Value& value) const {
  const auto found = constants_.find(value.id);
  return found == constants_.end() ? nullptr : &model_.initializers[found->second].data;
}

std::optional<Ints> Builder::ints_of(const Value& value) const {
  const TensorData* data = constant_of(value);
  return data ? as_ints(*data) : std::nullopt;
}

// A copy: adding initializers moves them.
std::optional<TensorData> Builder::known(const Value& value) const {
  const TensorData* data = constant_of(value);
  return data && (data->view || data->elements() <= most_folded) ? std::optional(*data) : std::nullopt;
}

Value Builder::cast(const Value& value, DType dtype) {
  if (!value || value.dtype == dtype) return value;
  if (auto data = known(value)) {
    if (data->view) {
      data->dtype = dtype;  // cast as it is written
      return constant(std::move(*data));
    }
    if (const auto whole = as_ints(*data)) return constant(make_tensor(dtype, data->dims, *whole));
    if (const auto numbers = as_floats(*data)) return constant(make_tensor(dtype, data->dims, *numbers));
  }
  if (!data_type(dtype)) throw Refusal{"ONNX has no tensors of " + std::string(ir::name(dtype))};
  const Marking marked(role_, Role::layout);
  return node("Cast", {value}, {{"to", data_type(dtype)}}, dtype);
}

Value Builder::transpose(const Value& value, const Ints& permutation) {
  demand_permutation(permutation);
  Ints straight(permutation.size());
  std::iota(straight.begin(), straight.end(), 0);
  if (permutation == straight) return value;
  if (auto data = known(value); data && data->dims.size() == permutation.size()) {
    const Ints strides = data->view ? Ints(data->view->strides) : row_major(data->dims);
    Ints dims, moved;
    for (const std::int64_t axis : permutation) {
      dims.push_back(data->dims[static_cast<std::size_t>(axis)]);
      moved.push_back(strides[static_cast<std::size_t>(axis)]);
    }
    if (!data->view) return constant(window(*data, dims, moved, 0));
    data->dims = data->view->sizes = dims;
    data->view->strides = moved;
    return constant(std::move(*data));
  }
  return node("Transpose", {value}, {{"perm", permutation}});
}

void Builder::state_sizes(const Value& value, const Ints& sizes) {
  ValueInfo& info = model_.values[value.id];
  info.stated = true;
  info.shape.emplace();
  for (const std::int64_t size : sizes) info.shape->push_back({size, {}});
}

Value Builder::reshape(const Value& value, const Ints& dims) {
  if (auto data = known(value))
    if (auto made = reshaped(std::move(*data), dims)) return constant(std::move(*made));
  const Marking marked(role_, Role::layout);
  return node("Reshape", {value, ints(dims)});
}

Value Builder::reshape_by(const Value& value, const Value& dims, const Arguments& attributes) {
  const Marking marked(role_, Role::layout);
  return node("Reshape", {value, dims}, attributes);
}

Value Builder::unsqueeze(const Value& value, const Ints& axes) {
  if (axes.empty()) return value;
  demand_axes(axes);
  if (const TensorData* data = constant_of(value)) {
    demand_axes(axes, data->dims.size() + axes.size());
    Ints dims = data->dims;
    Ints sorted = axes;
    std::ranges::sort(sorted);
    for (const std::int64_t axis : sorted) dims.insert(dims.begin() + axis, 1);
    if (auto copy = known(value))
      if (auto made = reshaped(std::move(*copy), dims)) return constant(std::move(*made));
  }
  const Marking marked(role_, Role::layout);
  return node("Unsqueeze", {value}, {{"axes", axes}});
}

Value Builder::squeeze(const Value& value, const Ints& axes) {
  if (axes.empty()) return value;
  demand_axes(axes);
  if (auto data = known(value)) {
    demand_axes(axes, data->dims.size());
    Ints dims;
    for (std::size_t i = 0; i < data->dims.size(); ++i)
      if (std::ranges::find(axes, static_cast<std::int64_t>(i)) == axes.end()) dims.push_back(data->dims[i]);
    if (auto made = reshaped(std::move(*data), dims)) return constant(std::move(*made));
  }
  const Marking marked(role_, Role::layout);
  return node("Squeeze", {value}, {{"axes", axes}});
}

Value Builder::concat(const Values& parts, std::int64_t axis) {
  demand_axes({axis});
  if (parts.empty()) throw Refusal{"nothing is joined"};
  if (parts.size() == 1) return parts.front();
  std::vector<const TensorData*> all;
  for (const Value& part : parts) {
    const TensorData* data = constant_of(part);
    if (!data || data->view || data->elements() > most_folded) return node("Concat", parts, {{"axis", axis}});
    all.push_back(data);
  }
  if (auto made = joined(all, axis)) return constant(std::move(*made));
  return node("Concat", parts, {{"axis", axis}});
}

Value Builder::gather(const Value& data, const Value& indices, std::int64_t axis) {
  demand_axes({axis});
  const auto from = known(data);
  const auto at = known(indices);
  if (!from || !at || from->view || at->view || static_cast<std::int64_t>(from->dims.size()) <= axis)
    return node("Gather", {data, indices}, {{"axis", axis}});
  const std::int64_t length = from->dims[static_cast<std::size_t>(axis)];
  auto places = as_ints(*at).value();
  if (from->elements() / std::max<std::int64_t>(1, length) * at->elements() > most_folded)
    return node("Gather", {data, indices}, {{"axis", axis}});
  for (std::int64_t& place : places) {
    if (place < 0) place += length;
    if (place < 0 || place >= length) throw Refusal{"an index is out of range"};
  }
  return constant(gathered(*from, places, at->dims, axis));
}

Value Builder::slice(const Value& data, const Ints& starts, const Ints& ends, const Ints& axes, const Ints& steps) {
  Arguments arguments{{"starts", starts}, {"ends", ends}, {"axes", axes}};
  if (!std::ranges::all_of(steps, [](std::int64_t step) { return step == 1; })) arguments.push_back({"steps", steps});
  return node("Slice", {data}, arguments);
}

}  // namespace compatcheck::onnx
