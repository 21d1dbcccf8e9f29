// Fourier transforms: facts.

#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/promotion.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

std::optional<ir::DType> real_of(std::optional<ir::DType> dtype) { return as_real(as_float(dtype)); }

// The dimensions that are transformed and their sizes, −1 where the input's is kept: `n` and `dim`, or `s` and `dim`.
struct Transformed {
  std::vector<std::size_t> dims;
  std::vector<Dim> sizes;
};

std::optional<Transformed> transformed(const Call& call, const Shape& shape) {
  Transformed result;
  std::optional<std::vector<std::int64_t>> dims;
  std::optional<std::vector<Dim>> sizes;
  const char* size_argument = call.has("n") ? "n" : "s";
  if (!call.is_none(size_argument) && !(sizes = call.dims(size_argument))) return std::nullopt;
  if (!call.is_none("dim")) {
    if (!(dims = call.ints("dim"))) return std::nullopt;
  } else {
    const std::size_t count = sizes ? sizes->size() : shape.size();
    if (count > shape.size()) return std::nullopt;
    dims.emplace();
    for (std::size_t i = shape.size() - count; i < shape.size(); ++i) dims->push_back(static_cast<std::int64_t>(i));
  }
  for (const std::int64_t dim : *dims) {
    const auto index = wrap_dim(dim, shape.size());
    if (!index || shape.empty()) return std::nullopt;
    result.dims.push_back(*index);
  }
  if (sizes && sizes->size() != result.dims.size()) return std::nullopt;
  for (std::size_t i = 0; i < result.dims.size(); ++i)
    result.sizes.push_back(sizes && (*sizes)[i].number() != -1 ? (*sizes)[i] : Dim(-1));
  return result;
}

enum class Spectrum : std::uint8_t { complex, to_half, from_half };

// Half of the spectrum stands for a real signal: n/2 + 1 values of the last transformed dimension.
std::optional<Shape> spectrum(const Call& call, Spectrum kind) {
  if (!self_of(call).shape) return std::nullopt;
  Shape shape = *self_of(call).shape;
  const auto transform = transformed(call, shape);
  if (!transform) return std::nullopt;
  for (std::size_t i = 0; i < transform->dims.size(); ++i) {
    Dim& size = shape[transform->dims[i]];
    const bool last = i + 1 == transform->dims.size(), given = transform->sizes[i].number() != -1;
    if (last && kind == Spectrum::from_half)
      size = given ? transform->sizes[i] : Dim(2) * (size - Dim(1));
    else if (given)
      size = transform->sizes[i];
    if (last && kind == Spectrum::to_half) size = floor_div(size, 2) + Dim(1);
  }
  return shape;
}

Facts to_complex(const Call& call) { return {tensor_fact(as_complex(self_of(call).dtype), spectrum(call, Spectrum::complex))}; }
Facts real_to_half(const Call& call) { return {tensor_fact(as_complex(self_of(call).dtype), spectrum(call, Spectrum::to_half))}; }
Facts half_to_real(const Call& call) { return {tensor_fact(real_of(self_of(call).dtype), spectrum(call, Spectrum::from_half))}; }

// (frequencies, frames), a batch in front, real and imaginary parts behind where the result isn't complex.
Facts stft(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto points = call.dim("n_fft");
  const auto window = call.is_none("win_length") ? points : call.dim("win_length");
  if (window && call.tensor("window")) demand_equal(size_at(tensor_of(call, "window"), 0), *window, "the length of window");
  const auto hop =
      call.is_none("hop_length") ? (points ? std::optional(floor_div(*points, 4)) : std::nullopt) : call.dim("hop_length");
  const auto center = call.has("center") ? call.boolean("center") : std::optional(false);
  const bool complex_input = self.dtype && ir::is_complex(*self.dtype);
  const bool complex_window = call.tensor("window") && call.dtype_of("window") && ir::is_complex(*call.dtype_of("window"));
  const auto one_sided = call.is_none("onesided") ? std::optional(!complex_input && !complex_window) : call.boolean("onesided");
  const auto complex =
      call.is_none("return_complex") ? std::optional(complex_input || complex_window) : call.boolean("return_complex");
  if (!self.shape || self.shape->empty() || !self.dtype || !points || !hop || !center || !one_sided || !complex)
    return {tensor_fact(std::nullopt, std::nullopt)};
  Shape shape(self.shape->begin(), self.shape->end() - 1);
  const Dim length = self.shape->back() + (*center ? Dim(2) * floor_div(*points, 2) : Dim(0));
  shape.push_back(*one_sided ? floor_div(*points, 2) + Dim(1) : *points);
  shape.push_back(floor_div(length - *points, *hop) + Dim(1));
  if (!*complex) shape.emplace_back(2);
  return {tensor_fact(*complex ? as_complex(self.dtype) : real_of(self.dtype), std::move(shape))};
}

// [batch, frequencies, frames] → [batch, samples]
Facts istft(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto points = call.dim("n_fft");
  const auto hop =
      call.is_none("hop_length") ? (points ? std::optional(floor_div(*points, 4)) : std::nullopt) : call.dim("hop_length");
  const auto center = call.boolean("center"), complex = call.boolean("return_complex");
  if (!self.shape || self.shape->size() < 2 || !self.dtype || !points || !hop || !center || !complex)
    return {tensor_fact(std::nullopt, std::nullopt)};
  Shape shape(self.shape->begin(), self.shape->end() - 2);
  const Dim whole = *points + *hop * (self.shape->back() - Dim(1));
  if (call.is_none("length"))
    shape.push_back(*center ? whole - Dim(2) * floor_div(*points, 2) : whole);
  else
    shape.push_back(call.dim("length").value_or(Dim()));
  return {tensor_fact(*complex ? self.dtype : real_of(self.dtype), std::move(shape))};
}

// ---- The forms in which torch.export writes transforms: without sizes, except the last one's

Facts inner_to_complex(const Call& call) { return {tensor_fact(as_complex(self_of(call).dtype), self_of(call).shape)}; }

Facts inner_to_half(const Call& call) {
  std::optional<Shape> shape = self_of(call).shape;
  const auto dims = call.ints("dim");
  const auto half = call.boolean("onesided");
  const auto last = shape && !shape->empty() && dims && !dims->empty() ? wrap_dim(dims->back(), shape->size()) : std::nullopt;
  if (!half || !last) shape.reset();
  if (shape && *half) (*shape)[*last] = floor_div((*shape)[*last], 2) + Dim(1);
  return {tensor_fact(as_complex(self_of(call).dtype), std::move(shape))};
}

Facts inner_to_real(const Call& call) {
  std::optional<Shape> shape = self_of(call).shape;
  const auto dims = call.ints("dim");
  const auto size = call.dim("last_dim_size");
  const auto last = shape && !shape->empty() && dims && !dims->empty() ? wrap_dim(dims->back(), shape->size()) : std::nullopt;
  if (!size || !last) shape.reset();
  if (shape) (*shape)[*last] = *size;
  return {tensor_fact(real_of(self_of(call).dtype), std::move(shape))};
}

Facts frequencies(const Call& call) {
  const Dim n = call.dim("n").value_or(Dim::unknown());
  const bool half = call.op() == "aten::fft_rfftfreq";
  return {tensor_fact(dtype_or(call, default_float), Shape{half ? floor_div(n, 2) + Dim(1) : n})};
}

}  // namespace

void register_fft(Registry& registry) {
  for (const char* op :
       {"aten::fft_fft", "aten::fft_ifft", "aten::fft_fft2", "aten::fft_ifft2", "aten::fft_fftn", "aten::fft_ifftn"})
    registry.facts(op, to_complex);
  for (const char* op :
       {"aten::fft_rfft", "aten::fft_rfft2", "aten::fft_rfftn", "aten::fft_ihfft", "aten::fft_ihfft2", "aten::fft_ihfftn"})
    registry.facts(op, real_to_half);
  for (const char* op :
       {"aten::fft_irfft", "aten::fft_irfft2", "aten::fft_irfftn", "aten::fft_hfft", "aten::fft_hfft2", "aten::fft_hfftn"})
    registry.facts(op, half_to_real);
  registry.facts("aten::stft", stft);
  registry.facts("aten::istft", istft);
  registry.facts("aten::_fft_c2c", inner_to_complex);
  registry.facts("aten::_fft_r2c", inner_to_half);
  registry.facts("aten::_fft_c2r", inner_to_real);
  registry.facts("aten::fft_fftfreq", frequencies);
}

}  // namespace compatcheck::symbolic
