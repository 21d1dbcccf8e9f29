#include "verification/quantized.h"

#include <algorithm>
#include <cstring>

#include "ir/quantized.h"
#include "ir/quantizer_text.h"
#include "symbolic/quantizer.h"

namespace compatcheck::verification {
namespace {

std::int64_t integer_at(const ir::TensorView& view, std::int64_t place) {
  const std::uint8_t byte = view.storage->data.at(static_cast<std::size_t>(place));
  const bool is_signed = view.dtype == ir::DType::qi8 || view.dtype == ir::DType::i8;
  return is_signed ? static_cast<std::int8_t>(byte) : byte;
}

std::vector<std::int64_t> row_strides(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t dim = sizes.size(); dim-- > 1;) strides[dim - 1] = strides[dim] * std::max<std::int64_t>(sizes[dim], 1);
  return strides;
}

// Calls visit(place in the storage, place along `axis`) for each element in order.
template <class Visit>
void each_element(const ir::TensorView& view, std::size_t axis, const Visit& visit) {
  std::vector<std::int64_t> at(view.sizes.size(), 0);
  for (std::int64_t left = view.elements(); left > 0; --left) {
    std::int64_t place = view.offset;
    for (std::size_t dim = 0; dim < at.size(); ++dim) place += at[dim] * view.strides[dim];
    visit(place, axis < at.size() ? at[axis] : 0);
    for (std::size_t dim = at.size(); dim-- > 0 && ++at[dim] == view.sizes[dim];) at[dim] = 0;
  }
}

ir::TensorView holding(const ir::TensorView& view, ir::DType dtype, std::vector<std::uint8_t> bytes) {
  auto storage = std::make_shared<ir::Storage>();
  storage->bytes = bytes.size();
  storage->data = std::move(bytes);
  return {.dtype = dtype,
          .sizes = view.sizes,
          .strides = row_strides(view.sizes),
          .storage = std::move(storage),
          .quantizer = nullptr};
}

bool is_readable(const ir::TensorView& view) {
  return view.storage && view.storage->data.size() == view.storage->bytes && ir::element_bytes(view.dtype) == 1;
}

ir::TensorView as_floats(const ir::TensorView& view, const ir::Quantizer& quantizer) {
  std::vector<std::uint8_t> bytes;
  each_element(view, static_cast<std::size_t>(quantizer.axis), [&](std::int64_t place, std::int64_t channel) {
    const auto at = static_cast<std::size_t>(channel);
    const double scale = quantizer.per_channel ? quantizer.scales.at(at) : quantizer.scale;
    const std::int64_t zero_point = quantizer.per_channel ? quantizer.zero_points.at(at) : quantizer.zero_point;
    const float number = static_cast<float>(integer_at(view, place) - zero_point) * static_cast<float>(scale);
    const auto* begin = reinterpret_cast<const std::uint8_t*>(&number);
    bytes.insert(bytes.end(), begin, begin + sizeof number);
  });
  return holding(view, ir::DType::f32, std::move(bytes));
}

ir::TensorView as_integers(const ir::TensorView& view) {
  std::vector<std::uint8_t> bytes;
  each_element(view, 0, [&](std::int64_t place, std::int64_t) {
    bytes.push_back(view.storage->data.at(static_cast<std::size_t>(place)));
  });
  return holding(view, ir::stored_dtype(view.dtype), std::move(bytes));
}

const ir::Quantizer* quantizer_of(const ir::Value* value, const symbolic::FactTable& facts) {
  const auto* tensor = facts.of(value).tensor();
  const bool known = tensor && tensor->dtype && ir::is_quantized(*tensor->dtype) && tensor->quantizer &&
                     symbolic::states_numbers(*tensor->quantizer);
  return known ? tensor->quantizer.get() : nullptr;
}

}  // namespace

ir::Constant as_given(ir::Constant value, QuantizedIo form) {
  if (auto* list = std::get_if<ir::ListConstant>(&value.value)) {
    for (ir::Constant& item : list->items) item = as_given(std::move(item), form);
    return value;
  }
  const auto* view = value.get<ir::TensorView>();
  if (!view || !view->quantizer || !symbolic::states_numbers(*view->quantizer) || !is_readable(*view)) return value;
  return {form == QuantizedIo::integers ? as_integers(*view) : as_floats(*view, *view->quantizer)};
}

void dequantize(ir::Constants& outputs, const std::vector<const ir::Value*>& leaves, const symbolic::FactTable& facts) {
  if (outputs.size() != leaves.size()) return;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto* view = outputs[i].get<ir::TensorView>();
    const ir::Quantizer* quantizer = quantizer_of(leaves[i], facts);
    if (!view || !quantizer || !is_readable(*view)) continue;
    if (view->dtype == ir::DType::u8 || view->dtype == ir::DType::i8) outputs[i] = {as_floats(*view, *quantizer)};
  }
}

double step_of(const ir::Value* value, const symbolic::FactTable& facts) {
  const ir::Node* maker = value->producer();
  if (maker && maker->is("aten::dequantize") && !maker->inputs().empty()) value = maker->input(0);
  const ir::Quantizer* quantizer = quantizer_of(value, facts);
  if (!quantizer) return 0;
  return quantizer->per_channel ? *std::ranges::max_element(quantizer->scales) : quantizer->scale;
}

void requantize(std::vector<OnnxGraph::Given>& inputs, const std::string& metadata) {
  for (std::size_t begin = 0; begin < metadata.size();) {
    const std::size_t end = std::min(metadata.find('\n', begin), metadata.size());
    const std::string line = metadata.substr(begin, end - begin);
    begin = end + 1;
    const auto equals = line.rfind('=');
    const auto dtype = equals == line.npos ? std::nullopt : ir::quantized_dtype(line.substr(equals + 1));
    const auto input = std::ranges::find(inputs, line.substr(0, equals), &OnnxGraph::Given::name);
    if (!dtype || input == inputs.end()) continue;
    input->dtype = dtype->dtype;
    input->quantized = line.substr(equals + 1);
  }
}

}  // namespace compatcheck::verification
