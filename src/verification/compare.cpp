#include "verification/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "ir/number_text.h"
#include "process/spell_count.h"

namespace compatcheck::verification {
namespace {

using ir::DType;

template <class T>
T load(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Reads one real number; of complex tensors each element is two.
using Read = double (*)(const std::uint8_t*);

struct Layout {
  Read read = nullptr;
  std::size_t bytes = 0;
  bool exact = false;  // compared by their bits: doubles hold 64-bit integers to 2^53 only
};

Layout layout_of(DType dtype) {
  const auto number = []<class T>(T) {
    return Layout{[](const std::uint8_t* from) { return static_cast<double>(load<T>(from)); }, sizeof(T),
                  !std::is_floating_point_v<T>};
  };
  const Read half = [](const std::uint8_t* from) { return static_cast<double>(ir::from_half(load<std::uint16_t>(from))); };
  switch (dtype) {
    case DType::f64:
    case DType::c128: return number(double{});
    case DType::f32:
    case DType::c64: return number(float{});
    case DType::f16:
    case DType::c32: return {half, 2, false};
    case DType::bf16:
      return {[](const std::uint8_t* from) { return static_cast<double>(ir::from_bfloat(load<std::uint16_t>(from))); }, 2, false};
    case DType::i64: return number(std::int64_t{});
    case DType::u64: return number(std::uint64_t{});
    case DType::i32: return number(std::int32_t{});
    case DType::u32: return number(std::uint32_t{});
    case DType::i16: return number(std::int16_t{});
    case DType::u16: return number(std::uint16_t{});
    case DType::i8: return number(std::int8_t{});
    default: return number(std::uint8_t{});
  }
}

// Sums over elements that are finite on both sides.
struct Sums {
  std::uint64_t count = 0;
  double difference = 0, squared_difference = 0, expected = 0, found = 0, product = 0;
};

class Comparing {
 public:
  Comparing(const ir::TensorView& expected, const ir::TensorView& found, const Tolerance& tolerance)
      : layout_(layout_of(expected.dtype)),
        tolerance_(tolerance),
        expected_(expected.storage->data.data()),
        found_(found.storage->data.data()) {
    made_.elements = static_cast<std::uint64_t>(expected.elements()) * (ir::is_complex(expected.dtype) ? 2 : 1);
  }

  Comparison run() {
    differences_.reserve(made_.elements);
    for (std::uint64_t i = 0; i < made_.elements; ++i) element(i);
    finish();
    return std::move(made_);
  }

 private:
  void element(std::uint64_t index) {
    const std::uint8_t *e = expected_ + index * layout_.bytes, *f = found_ + index * layout_.bytes;
    const double expected = layout_.read(e), found = layout_.read(f);
    if (!std::isfinite(expected)) ++made_.nonfinite;
    if (!std::isfinite(expected) || !std::isfinite(found)) {
      if (expected == found || (std::isnan(expected) && std::isnan(found))) return;
      ++made_.nonfinite_differ;
      return mismatch(index, expected, found);
    }
    const double difference = std::abs(found - expected);
    add(expected, found, difference);
    const bool equal = layout_.exact ? std::memcmp(e, f, layout_.bytes) == 0
                                     : difference <= tolerance_.absolute + tolerance_.relative * std::abs(expected);
    if (!equal) mismatch(index, expected, found);
  }

  void mismatch(std::uint64_t index, double expected, double found) {
    if (made_.mismatched++ > 0) return;
    made_.first_mismatch = index;
    made_.expected_there = expected;
    made_.found_there = found;
  }

  void add(double expected, double found, double difference) {
    ++sums_.count;
    sums_.difference += difference;
    sums_.squared_difference += difference * difference;
    sums_.expected += expected * expected;
    sums_.found += found * found;
    sums_.product += expected * found;
    made_.max_abs = std::max(made_.max_abs, difference);
    made_.largest = std::max(made_.largest, std::abs(expected));
    if (expected != 0) made_.max_rel = std::max(made_.max_rel, difference / std::abs(expected));
    differences_.push_back(static_cast<float>(difference));
  }

  void finish() {
    if (sums_.count == 0) return;
    made_.mean_abs = sums_.difference / static_cast<double>(sums_.count);
    made_.rms = std::sqrt(sums_.squared_difference / static_cast<double>(sums_.count));
    const auto place = differences_.begin() + static_cast<std::ptrdiff_t>((differences_.size() - 1) * 99 / 100);
    std::nth_element(differences_.begin(), place, differences_.end());
    made_.p99_abs = *place;
    if (sums_.expected > 0 && sums_.found > 0)
      made_.cosine = sums_.product / std::sqrt(sums_.expected) / std::sqrt(sums_.found);
    else if (sums_.expected > 0 || sums_.found > 0)
      made_.cosine = 0;
    if (sums_.squared_difference > 0) made_.snr_db = 10 * std::log10(sums_.expected / sums_.squared_difference);
  }

  Layout layout_;
  Tolerance tolerance_;
  const std::uint8_t *expected_, *found_;
  Comparison made_;
  Sums sums_;
  std::vector<float> differences_;
};

std::vector<std::int64_t> index_to_place(std::uint64_t index, const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> place(sizes.size());
  for (std::size_t dim = sizes.size(); dim-- > 0;) {
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(sizes[dim], 1));
    place[dim] = static_cast<std::int64_t>(index % size);
    index /= size;
  }
  return place;
}

}  // namespace

std::string spell(const std::vector<std::int64_t>& numbers) {
  std::string text = "[";
  for (const std::int64_t number : numbers) text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + "]";
}

Tolerance tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::c64: return {1e-3, 1e-5};
    case DType::f16:
    case DType::c32: return {1e-2, 1e-3};
    case DType::bf16: return {5e-2, 1e-2};
    case DType::f64:
    case DType::c128: return {1e-6, 1e-8};
    default: return {};
  }
}

Tolerance tolerance_of(DType dtype, std::optional<double> relative, std::optional<double> absolute) {
  const Tolerance usual = tolerance_of(dtype);
  if (usual.relative == 0 && usual.absolute == 0) return usual;
  return {relative.value_or(usual.relative), absolute.value_or(usual.absolute)};
}

Comparison compare(const ir::TensorView& expected, const ir::TensorView& found, const Tolerance& tolerance) {
  Comparison made;
  if (expected.dtype == found.dtype && expected.sizes == found.sizes) made = Comparing(expected, found, tolerance).run();
  made.expected_dtype = expected.dtype;
  made.found_dtype = found.dtype;
  made.expected_sizes = expected.sizes;
  made.found_sizes = found.sizes;
  return made;
}

double element_of(const ir::TensorView& tensor, std::uint64_t index) {
  const Layout layout = layout_of(tensor.dtype);
  return layout.read(tensor.storage->data.data() + index * layout.bytes);
}

std::string describe(const Comparison& comparison) {
  if (comparison.expected_dtype != comparison.found_dtype)
    return std::string(ir::name(comparison.found_dtype)) + " for " + std::string(ir::name(comparison.expected_dtype));
  if (comparison.expected_sizes != comparison.found_sizes)
    return "shape " + spell(comparison.found_sizes) + " for " + spell(comparison.expected_sizes);
  if (comparison.passed()) return {};
  const std::uint64_t parts = ir::is_complex(comparison.expected_dtype) ? 2 : 1;
  return std::to_string(comparison.mismatched) + " of " + spell_count(comparison.elements, "value") + ", " +
         ir::plainly(comparison.found_there) + " for " + ir::plainly(comparison.expected_there) + " at " +
         spell(index_to_place(comparison.first_mismatch / parts, comparison.expected_sizes));
}

}  // namespace compatcheck::verification
