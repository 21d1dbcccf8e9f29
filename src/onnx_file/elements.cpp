#include "onnx_file/elements.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "compatcheck/error.h"
#include "onnx/model.h"
#include "onnx_file/data_types.h"
#include "onnx_file/external_data.h"
#include "onnx_file/raw_elements.h"

namespace compatcheck::onnx_file {
namespace {

using Type = ::onnx::TensorProto;
constexpr std::size_t chunk_bytes = 1 << 20;

// Block by block (Chan, Golub, LeVeque 1979): a sum of squares would lose the deviation of weights far from 0.
class Sums {
 public:
  void add(double value) {
    if (std::isnan(value)) return void(++found_.nan);
    if (std::isinf(value)) return void(++found_.inf);
    found_.zeros += value == 0;
    block_[filled_++] = value;
    if (filled_ == block_.size()) merge();
  }

  TensorStatistics finish() {
    merge();
    if (count_ > 0) {
      found_.min = min_;
      found_.max = max_;
      found_.mean = mean_;
      found_.std = std::sqrt(squares_ / count_);
    }
    return found_;
  }

 private:
  void merge() {
    if (filled_ == 0) return;
    const std::span block(block_.data(), filled_);
    const auto count = static_cast<double>(std::exchange(filled_, 0));
    double sum = 0, squares = 0;
    for (const double value : block) {
      sum += value;
      min_ = std::min(min_, value);
      max_ = std::max(max_, value);
    }
    const double mean = sum / count;
    for (const double value : block) squares += (value - mean) * (value - mean);
    const double apart = mean - mean_, total = count_ + count;
    mean_ += apart * count / total;
    squares_ += squares + apart * apart * count_ * count / total;
    count_ = total;
  }

  TensorStatistics found_;
  std::array<double, 2048> block_{};
  std::size_t filled_ = 0;
  double count_ = 0, mean_ = 0, squares_ = 0, min_ = std::numeric_limits<double>::infinity(), max_ = -min_;
};

// The meaning of a minifloat's highest exponent.
enum class Top : std::uint8_t { ieee, nan_at_end, finite, nan_is_minus_zero };

double minifloat(unsigned bits, int exponent_bits, int mantissa_bits, int bias, Top top) {
  const unsigned sign = bits >> (exponent_bits + mantissa_bits) & 1, all_ones = (1u << exponent_bits) - 1;
  const unsigned exponent = bits >> mantissa_bits & all_ones, mantissa = bits & ((1u << mantissa_bits) - 1),
                 most = (1u << mantissa_bits) - 1;
  if (top == Top::nan_is_minus_zero && sign && exponent == 0 && mantissa == 0) return std::nan("");
  if (top == Top::nan_at_end && exponent == all_ones && mantissa == most) return std::nan("");
  if (top == Top::ieee && exponent == all_ones) return mantissa ? std::nan("") : sign ? -INFINITY : INFINITY;
  const double size = exponent == 0
                          ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                          : std::ldexp(mantissa + (1u << mantissa_bits), static_cast<int>(exponent) - bias - mantissa_bits);
  return sign ? -size : size;
}

std::int64_t sign_extended(std::uint64_t bits, unsigned width) {
  return static_cast<std::int64_t>(bits << (64 - width)) >> (64 - width);
}

// Calls `use` with what makes a number of an element's bits, which are the lowest ones; false for types that have none here.
template <class Use>
bool with_decoder(std::int64_t data_type, Use&& use) {
  switch (data_type) {
    case Type::FLOAT:
      use([](std::uint64_t bits) { return double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))}; });
      break;
    case Type::DOUBLE: use([](std::uint64_t bits) { return std::bit_cast<double>(bits); }); break;
    case Type::FLOAT16: use([](std::uint64_t bits) { return minifloat(bits & 0xffff, 5, 10, 15, Top::ieee); }); break;
    case Type::BFLOAT16:
      use([](std::uint64_t bits) { return double{std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16)}; });
      break;
    case Type::BOOL:
    case Type::UINT8: use([](std::uint64_t bits) { return static_cast<double>(bits & 0xff); }); break;
    case Type::INT8: use([](std::uint64_t bits) { return static_cast<double>(sign_extended(bits, 8)); }); break;
    case Type::UINT16: use([](std::uint64_t bits) { return static_cast<double>(bits & 0xffff); }); break;
    case Type::INT16: use([](std::uint64_t bits) { return static_cast<double>(sign_extended(bits, 16)); }); break;
    case Type::UINT32: use([](std::uint64_t bits) { return static_cast<double>(bits & 0xffffffff); }); break;
    case Type::INT32: use([](std::uint64_t bits) { return static_cast<double>(sign_extended(bits, 32)); }); break;
    case Type::UINT64: use([](std::uint64_t bits) { return static_cast<double>(bits); }); break;
    case Type::INT64: use([](std::uint64_t bits) { return static_cast<double>(static_cast<std::int64_t>(bits)); }); break;
    case Type::FLOAT8E4M3FN: use([](std::uint64_t bits) { return minifloat(bits & 0xff, 4, 3, 7, Top::nan_at_end); }); break;
    case Type::FLOAT8E4M3FNUZ:
      use([](std::uint64_t bits) { return minifloat(bits & 0xff, 4, 3, 8, Top::nan_is_minus_zero); });
      break;
    case Type::FLOAT8E5M2: use([](std::uint64_t bits) { return minifloat(bits & 0xff, 5, 2, 15, Top::ieee); }); break;
    case Type::FLOAT8E5M2FNUZ:
      use([](std::uint64_t bits) { return minifloat(bits & 0xff, 5, 2, 16, Top::nan_is_minus_zero); });
      break;
    case Type::FLOAT8E8M0:
      use([](std::uint64_t bits) {
        return (bits & 0xff) == 0xff ? std::nan("") : std::ldexp(1.0, static_cast<int>(bits & 0xff) - 127);
      });
      break;
    case Type::FLOAT4E2M1: use([](std::uint64_t bits) { return minifloat(bits & 0xf, 2, 1, 1, Top::finite); }); break;
    case Type::UINT4: use([](std::uint64_t bits) { return static_cast<double>(bits & 0xf); }); break;
    case Type::INT4: use([](std::uint64_t bits) { return static_cast<double>(sign_extended(bits, 4)); }); break;
    case Type::UINT2: use([](std::uint64_t bits) { return static_cast<double>(bits & 3); }); break;
    case Type::INT2: use([](std::uint64_t bits) { return static_cast<double>(sign_extended(bits, 2)); }); break;
    default: return false;
  }
  return true;
}

// Elements as raw_data packs them: little-endian, those of less than a byte from the lowest bits on.
template <unsigned width, class Decode, class Take>
void unpack(std::span<const std::uint8_t> bytes, std::uint64_t count, Decode&& decode, Take&& take) {
  if constexpr (width < 8) {
    constexpr unsigned each = 8 / width;
    for (std::uint64_t i = 0; i < count; ++i) take(decode(bytes[i / each] >> (i % each * width)));
  } else {
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, bytes.data() + i * (width / 8), width / 8);
      take(decode(bits));
    }
  }
}

template <class Decode, class Take>
void unpack(unsigned width, std::span<const std::uint8_t> bytes, std::uint64_t count, Decode&& decode, Take&& take) {
  count = std::min<std::uint64_t>(count, bytes.size() * 8 / width);
  switch (width) {
    case 2: return unpack<2>(bytes, count, decode, take);
    case 4: return unpack<4>(bytes, count, decode, take);
    case 8: return unpack<8>(bytes, count, decode, take);
    case 16: return unpack<16>(bytes, count, decode, take);
    case 32: return unpack<32>(bytes, count, decode, take);
    default: return unpack<64>(bytes, count, decode, take);
  }
}

using Chunk = std::span<const std::uint8_t>;

void read_parts(const FarElements& far, const ir::Watch& watch, const std::function<void(Chunk)>& take) {
  std::vector<std::uint8_t> buffer;
  for (FarElements::Part part : far.parts)
    while (part.bytes > 0) {
      watch.look();
      buffer.resize(std::min<std::uint64_t>(part.bytes, chunk_bytes));
      far.file->read_into(part.at, buffer);
      take(buffer);
      part.at += buffer.size();
      part.bytes -= buffer.size();
    }
}

// A field of packed varints, however it is cut into chunks.
void read_varints(const FarElements& far, const ir::Watch& watch, const std::function<void(std::uint64_t)>& take) {
  std::uint64_t value = 0;
  int shift = 0;
  read_parts(far, watch, [&](Chunk chunk) {
    for (const std::uint8_t byte : chunk) {
      if (shift < 64) value |= std::uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if (byte & 0x80) continue;
      take(value);
      value = 0;
      shift = 0;
    }
  });
}

bool is_complex(std::int64_t type) { return type == Type::COMPLEX64 || type == Type::COMPLEX128; }

// Every element, as a number; false for types that aren't numbers here.
template <class Take>
bool each_element(const ::onnx::TensorProto& tensor, const FarElements* far, const ir::Watch& watch, Take&& take) {
  const std::int64_t type = tensor.data_type();
  const unsigned width = bits_of(type);
  const std::uint64_t count = element_count(tensor).value_or(0);
  if (is_complex(type)) return false;
  return with_decoder(type, [&](auto decode) {
    if (far && far->field == raw_data) {
      std::uint64_t left = count;
      // Pieces hold whole elements, as chunks are a power of two long.
      read_parts(*far, watch, [&](Chunk chunk) {
        const std::uint64_t here = std::min<std::uint64_t>(left, chunk.size() * 8 / width);
        unpack(width, chunk, here, decode, take);
        left -= here;
      });
    } else if (far && far->field == float_data) {
      read_parts(*far, watch, [&](Chunk chunk) { unpack<32>(chunk, chunk.size() / 4, decode, take); });
    } else if (far && far->field == double_data) {
      read_parts(*far, watch, [&](Chunk chunk) { unpack<64>(chunk, chunk.size() / 8, decode, take); });
    } else if (far) {
      read_varints(*far, watch, [&](std::uint64_t bits) { take(decode(bits)); });
    } else if (tensor.has_raw_data()) {
      unpack(width, {reinterpret_cast<const std::uint8_t*>(tensor.raw_data().data()), tensor.raw_data().size()}, count, decode,
             take);
    } else {
      for (const float value : tensor.float_data()) take(double{value});
      for (const double value : tensor.double_data()) take(value);
      for (const auto value : tensor.int32_data()) take(decode(static_cast<std::uint64_t>(value)));
      for (const auto value : tensor.int64_data()) take(decode(static_cast<std::uint64_t>(value)));
      for (const auto value : tensor.uint64_data()) take(decode(value));
    }
  });
}

// Elements that share an int32 aren't unpacked here.
bool is_packed_in_ints(const ::onnx::TensorProto& tensor, const FarElements* far) {
  return bits_of(tensor.data_type()) < 8 && !(far ? far->field == raw_data : tensor.has_raw_data());
}

bool is_floating(std::int64_t type) {
  switch (type) {
    case Type::FLOAT:
    case Type::DOUBLE:
    case Type::FLOAT16:
    case Type::BFLOAT16:
    case Type::FLOAT8E4M3FN:
    case Type::FLOAT8E4M3FNUZ:
    case Type::FLOAT8E5M2:
    case Type::FLOAT8E5M2FNUZ:
    case Type::FLOAT8E8M0:
    case Type::FLOAT4E2M1: return true;
    default: return false;
  }
}

// An integer's tensor may hold floats, in the wrong field.
Scalar whole(double value) {
  if (!(value >= -0x1p63 && value < 0x1p63) || value != std::trunc(value)) return value;
  return static_cast<std::int64_t>(value);
}

// i64 is exact where a double isn't.
Scalar scalar_of(const ::onnx::TensorProto& tensor, double value, std::size_t index) {
  if (tensor.data_type() == Type::BOOL) return value != 0;
  if (is_floating(tensor.data_type())) return value;
  if (tensor.data_type() == Type::INT64) {
    const auto place = static_cast<int>(index);
    if (!tensor.has_raw_data())
      return place < tensor.int64_data_size() ? Scalar(std::int64_t{tensor.int64_data(place)}) : whole(value);
    std::int64_t exact = 0;
    if ((index + 1) * sizeof exact > tensor.raw_data().size()) return whole(value);
    std::memcpy(&exact, tensor.raw_data().data() + index * sizeof exact, sizeof exact);
    return exact;
  }
  return whole(value);
}

// ---- Parameters

std::int64_t data_type_of(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::qi8: return Type::INT8;
    case ir::DType::qu8: return Type::UINT8;
    case ir::DType::qi32: return Type::INT32;
    default: return onnx::data_type(dtype);
  }
}

// Elements from the first to the last, in the storage's order.
std::uint64_t span_of(const ir::TensorView& tensor) {
  std::uint64_t span = 1;
  for (std::size_t dim = 0; dim < tensor.sizes.size(); ++dim)
    span += static_cast<std::uint64_t>(std::max<std::int64_t>(0, (tensor.sizes[dim] - 1) * tensor.strides[dim]));
  return span;
}

bool is_dense(const ir::TensorView& tensor) {
  for (std::size_t dim = 0; dim < tensor.sizes.size(); ++dim)
    if (tensor.sizes[dim] > 1 && tensor.strides[dim] <= 0) return false;
  return span_of(tensor) == static_cast<std::uint64_t>(tensor.elements());
}

}  // namespace

std::vector<Scalar> first_elements(const ::onnx::TensorProto& tensor, std::uint64_t most) {
  std::vector<Scalar> first;
  for (int i = 0; i < tensor.string_data_size() && first.size() < most; ++i) first.emplace_back(tensor.string_data(i));
  if (tensor.data_type() == Type::STRING || is_packed_in_ints(tensor, nullptr)) return first;
  each_element(tensor, nullptr, {}, [&](double value) {
    if (first.size() < most) first.push_back(scalar_of(tensor, value, first.size()));
  });
  return first;
}

std::optional<TensorStatistics> statistics_of(const ::onnx::TensorProto& tensor, const FarElements* far, const ir::Watch& watch) {
  if (is_packed_in_ints(tensor, far)) return std::nullopt;
  Sums sums;
  if (!each_element(tensor, far, watch, [&](double value) { sums.add(value); })) return std::nullopt;
  return sums.finish();
}

std::optional<TensorStatistics> statistics_of(const ir::TensorView& tensor, const files::InputFile* file,
                                              const ir::Watch& watch) {
  const std::int64_t type = data_type_of(tensor.dtype);
  const unsigned width = bits_of(type);
  if (!tensor.storage || width == 0 || is_complex(type)) return std::nullopt;
  const ir::Storage& storage = *tensor.storage;
  const bool carried = storage.data.size() == storage.bytes;
  const std::uint64_t bytes = tensor.elements() == 0 ? 0 : span_of(tensor) * (width / 8),
                      begin = static_cast<std::uint64_t>(tensor.offset) * (width / 8);
  if (!carried && !(storage.in_file && file)) return std::nullopt;
  if (begin > storage.bytes || bytes > storage.bytes - begin) throw ModelError("a tensor reaches outside of its storage");
  const bool dense = is_dense(tensor);
  if (!dense && bytes > most_gathered) return std::nullopt;
  Sums sums;
  const bool decoded = with_decoder(type, [&](auto decode) {
    const auto take = [&](double value) { sums.add(value); };
    if (bytes == 0) return;
    if (dense && !carried) {
      const FarElements far{
          .file = {std::shared_ptr<void>(), file}, .field = raw_data, .parts = {{storage.file_offset + begin, bytes}}};
      return read_parts(far, watch, [&](Chunk chunk) { unpack(width, chunk, chunk.size() * 8 / width, decode, take); });
    }
    if (dense) return unpack(width, Chunk(storage.data).subspan(begin, bytes), bytes * 8 / width, decode, take);
    const auto held = carried ? std::vector<std::uint8_t>(storage.data.begin() + static_cast<std::ptrdiff_t>(begin),
                                                          storage.data.begin() + static_cast<std::ptrdiff_t>(begin + bytes))
                              : file->read(storage.file_offset + begin, bytes);
    visit_offsets(tensor, 0, 0, [&](std::int64_t at) {
      watch.step();
      std::uint64_t bits = 0;
      std::memcpy(&bits, held.data() + static_cast<std::uint64_t>(at) * (width / 8), width / 8);
      take(decode(bits));
    });
  });
  return decoded ? std::optional(sums.finish()) : std::nullopt;
}

}  // namespace compatcheck::onnx_file
