#include "frontend/pt2/tensor_meta.h"

#include <algorithm>

#include "frontend/pt2/enums.h"
#include "process/spell_count.h"

namespace compatcheck::frontend::pt2 {
namespace {

constexpr std::size_t most_dimensions = 64;

// {"as_int": 3}; before schema 5 an offset is a plain number.
std::optional<std::int64_t> size_number(const Json& size) {
  if (size.is(Json::Kind::integer)) return size.integer();
  const auto known = size.find("as_int");
  return known && !known->is_null() ? std::optional(known->integer()) : std::nullopt;
}

std::int64_t known_number(const Json& size) {
  if (const auto value = size_number(size)) return *value;
  size.fail("is not a number: sizes of stored tensors are known");
}

ir::DType dtype_in(const Json& meta) {
  const Json code = meta.at("dtype");
  if (const auto known = dtype_of(code.integer())) return *known;
  code.fail("is " + std::to_string(code.integer()) + ", a dtype that isn't supported");
}

std::vector<Json> sizes(const Json& meta, std::string_view name) {
  const Json list = meta.at(name);
  if (list.size() > most_dimensions) list.fail("has more than " + std::to_string(most_dimensions) + " dimensions");
  return list.members();
}

}  // namespace

ir::TensorView stored_view(const Json& meta) {
  if (meta.at("layout").integer() != strided_layout) meta.fail("is a sparse tensor, which isn't supported: save its dense form");
  ir::TensorView view;
  view.dtype = dtype_in(meta);
  for (const Json& size : sizes(meta, "sizes")) view.sizes.push_back(known_number(size));
  for (const Json& stride : sizes(meta, "strides")) view.strides.push_back(known_number(stride));
  if (view.sizes.size() != view.strides.size())
    meta.fail("has " + spell_count(view.strides.size(), "stride") + " for " + spell_count(view.sizes.size(), "size"));
  view.offset = known_number(meta.at("storage_offset"));
  view.requires_grad = meta.at("requires_grad").boolean();
  view.device = meta.at("device").at("type").text();
  return view;
}

ir::TensorType value_type(const Json& meta) {
  ir::TensorType type;
  type.dtype = dtype_in(meta);
  type.sizes.emplace();
  for (const Json& size : sizes(meta, "sizes")) type.sizes->push_back(size_number(size));
  return type;
}

bool is_row_major(const Json& meta) {
  std::optional<std::int64_t> inner;
  const auto shape = sizes(meta, "sizes"), steps = sizes(meta, "strides");
  for (std::size_t i = std::min(shape.size(), steps.size()); i-- > 0;) {
    if (size_number(shape[i]) == 1) continue;
    const auto step = size_number(steps[i]);
    if (inner && step && *step < *inner) return false;
    inner = step ? *step : inner.value_or(1) + 1;
  }
  return true;
}

std::string spell_size(const Json& size) {
  if (const auto number = size_number(size)) return std::to_string(*number);
  const auto expression = size.find("as_expr");
  return expression && !expression->is_null() ? std::string(expression->at("expr_str").text()) : std::string();
}

bool has_layout(const Json& meta, std::span<const std::string> wanted, std::span<const std::string> strides) {
  const auto shape = sizes(meta, "sizes"), steps = sizes(meta, "strides");
  if (shape.size() != wanted.size() || steps.size() != strides.size() || steps.size() != shape.size()) return false;
  if (size_number(meta.at("storage_offset")) != 0 || !is_row_major(meta)) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (wanted[i].empty() || spell_size(shape[i]) != wanted[i]) return false;
    if (wanted[i] != "1" && (strides[i].empty() || spell_size(steps[i]) != strides[i])) return false;
  }
  return true;
}

}  // namespace compatcheck::frontend::pt2
