// Facts of what counts elements in memory: strides, and views by them.
#include <algorithm>

#include "symbolic/families.h"
#include "symbolic/layout.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

Facts as_strided(const Call& call) { return {tensor_fact(self_of(call).dtype, call.dims("size"))}; }

// The dimensions in the order in which memory_format wants them, from the outermost to the innermost; nullopt: this rank has
// none.
std::optional<Strided> formatted(Strided tensor, std::int64_t format) {
  constexpr std::int64_t contiguous = 0, channels_last = 2, channels_last_3d = 3;  // c10::MemoryFormat
  if (format == contiguous) return tensor;
  const std::size_t rank = format == channels_last ? 4 : format == channels_last_3d ? 5 : 0;
  if (tensor.sizes.size() != rank || tensor.strides.size() != rank) return std::nullopt;
  for (Shape* dims : {&tensor.sizes, &tensor.strides}) std::rotate(dims->begin() + 1, dims->begin() + 2, dims->end());
  return tensor;
}

// A tensor whose place in memory isn't known counts as one in order.
Facts is_contiguous(const Call& call) {
  const auto format = call.has("memory_format") ? call.integer("memory_format") : 0;
  Layouts layouts(call.facts());
  const auto& layout = layouts.of(call.value("self")).layout;
  const TensorFact& self = self_of(call);
  if (format == 0 && (!layout || layout->in_order)) return {boolean_fact(true)};
  if (!format || !self.shape) return {boolean_fact(std::nullopt)};
  const auto tensor = formatted({*self.shape, layout ? layout->strides : strides_in_order(*self.shape)}, *format);
  if (!tensor) return {boolean_fact(false)};
  const bool is_open = tensor->strides.size() != tensor->sizes.size() ||
                       (format != 0 && std::ranges::any_of(tensor->sizes, [](const Dim& size) { return size.number() == 0; }));
  const Truth truth = is_open ? Truth::unknown : lies_in_order(*tensor);
  return {boolean_fact(truth == Truth::unknown ? std::nullopt : std::optional(truth == Truth::yes))};
}

// The numbers themselves, as far as they are known: dimensions of size 1 included.
Facts stride(const Call& call) {
  const TensorFact& self = self_of(call);
  Layouts layouts(call.facts());
  const auto& layout = layouts.of(call.value("self")).layout;
  Shape strides(self.shape ? self.shape->size() : 0, Dim::unknown());
  if (layout && self.shape && layout->strides.size() == strides.size()) strides = exact_strides(*layout, *self.shape);
  if (call.has("dim")) {
    const auto dim = call.integer("dim");
    const auto index = dim && self.shape ? wrap_dim(*dim, strides.size()) : std::nullopt;
    return {integer_fact(index && *index < strides.size() ? strides[*index] : Dim::unknown())};
  }
  ListFact list{.items = std::nullopt, .element = std::make_shared<Fact>(integer_fact(Dim::unknown()))};
  if (self.shape) {
    list.items.emplace();
    for (const Dim& dim : strides) list.items->push_back(integer_fact(dim));
  }
  return {{.value = std::move(list)}};
}

Facts offset_in_storage(const Call& call) {
  Layouts layouts(call.facts());
  const auto& layout = layouts.of(call.value("self")).layout;
  return {integer_fact(layout ? layout->offset : Dim::unknown())};
}

}  // namespace

void register_view_strided(Registry& registry) {
  for (const char* op : {"aten::as_strided", "aten::as_strided_copy"}) registry.facts(op, as_strided);
  registry.facts("aten::is_contiguous", is_contiguous);
  registry.facts("aten::stride", stride);
  registry.facts("aten::storage_offset", offset_in_storage);
}

}  // namespace compatcheck::symbolic
