#include "onnx_file/raw_elements.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "compatcheck/error.h"
#include "onnx_file/data_types.h"
#include "onnx_file/external_data.h"

namespace compatcheck::onnx_file {
namespace {

constexpr std::size_t piece_bytes = 1 << 20;

void append(std::string& bytes, const void* value, std::size_t size) { bytes.append(static_cast<const char*>(value), size); }

// Returns the numbers in the tensor's fields, one after the other.
std::string carried(const ::onnx::TensorProto& tensor, unsigned element_bytes) {
  if (tensor.has_raw_data()) return tensor.raw_data();
  std::string bytes;
  for (const float value : tensor.float_data()) append(bytes, &value, sizeof value);
  for (const double value : tensor.double_data()) append(bytes, &value, sizeof value);
  for (const std::int32_t value : tensor.int32_data()) append(bytes, &value, std::min<std::size_t>(element_bytes, sizeof value));
  for (const std::int64_t value : tensor.int64_data()) append(bytes, &value, sizeof value);
  for (const std::uint64_t value : tensor.uint64_data()) append(bytes, &value, element_bytes);
  return bytes;
}

}  // namespace

RawElements::RawElements(const ::onnx::TensorProto& tensor, const FarElements* far) {
  const std::uint64_t elements = element_count(tensor).value_or(0);
  left_ = bytes_of(tensor.data_type(), elements);
  element_bytes_ = std::max(1u, bits_of(tensor.data_type()) / 8);
  if (!far) {
    ready_ = carried(tensor, element_bytes_);
    return;
  }
  far_ = *far;
  varints_ = far->field != raw_data && far->field != float_data && far->field != double_data;
}

RawElements::RawElements(const ir::TensorView& tensor, const std::shared_ptr<const files::InputFile>& file) {
  if (!tensor.storage) throw ModelError("has no elements");
  const ir::Storage& storage = *tensor.storage;
  element_bytes_ = static_cast<unsigned>(ir::element_bytes(tensor.dtype));
  left_ = static_cast<std::uint64_t>(tensor.elements()) * element_bytes_;
  if (left_ == 0) return;
  const bool carries = storage.data.size() == storage.bytes;
  const auto begin = static_cast<std::uint64_t>(tensor.offset) * element_bytes_;
  if (!carries && !(storage.in_file && file)) throw ModelError("has no elements");
  if (tensor.contiguous()) {
    if (begin > storage.bytes || left_ > storage.bytes - begin) throw ModelError("reaches outside of its storage");
    if (carries)
      ready_.assign(reinterpret_cast<const char*>(storage.data.data()) + begin, left_);
    else
      far_ = {.file = file, .field = raw_data, .parts = {{storage.file_offset + begin, left_}}};
    return;
  }
  if (storage.bytes > most_gathered || left_ > most_gathered)
    throw ModelError("is a part of another tensor, and too large to be put in order");
  const auto held = carries ? storage.data : file->read(storage.file_offset, storage.bytes);
  visit_offsets(tensor, 0, tensor.offset, [&](std::int64_t at) {
    const auto place = static_cast<std::uint64_t>(at) * element_bytes_;
    if (at < 0 || place > held.size() || element_bytes_ > held.size() - place) throw ModelError("reaches outside of its storage");
    append(ready_, held.data() + place, element_bytes_);
  });
}

void RawElements::decode_more() {
  ready_.clear();
  given_ = 0;
  std::vector<std::uint8_t> piece;
  while (ready_.empty() && !far_.parts.empty()) {
    FarElements::Part& part = far_.parts.front();
    piece.resize(std::min<std::uint64_t>(part.bytes, piece_bytes));
    far_.file->read_into(part.at, piece);
    part.at += piece.size();
    part.bytes -= piece.size();
    if (part.bytes == 0) far_.parts.erase(far_.parts.begin());
    if (!varints_)
      append(ready_, piece.data(), piece.size());
    else
      for (const std::uint8_t byte : piece) {
        if (shift_ > 63) throw ModelError("an element takes more than ten bytes");
        value_ |= std::uint64_t{byte & 0x7fu} << shift_;
        shift_ += 7;
        if (byte & 0x80) continue;
        append(ready_, &value_, element_bytes_);
        value_ = 0;
        shift_ = 0;
      }
  }
}

std::size_t RawElements::read(std::span<std::uint8_t> into) {
  std::size_t done = 0;
  while (done < into.size() && left_ > 0) {
    if (given_ == ready_.size()) decode_more();
    const std::size_t here = std::min<std::uint64_t>({into.size() - done, ready_.size() - given_, left_});
    if (here == 0) break;  // fewer than dtype and shape say
    std::memcpy(into.data() + done, ready_.data() + given_, here);
    done += here;
    given_ += here;
    left_ -= here;
  }
  return done;
}

namespace {

std::uint64_t differing_in(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, unsigned bits) {
  const std::size_t common = std::min(a.size(), b.size()), longer = std::max(a.size(), b.size());
  std::uint64_t count = (longer - common) * 8 / bits;
  if (std::memcmp(a.data(), b.data(), common) == 0) return count;
  if (8 % bits != 0 && bits < 8) {  // several may share a byte: as many bytes
    for (std::size_t i = 0; i < common; ++i) count += a[i] != b[i];
    return count;
  }
  if (bits < 8) {
    const unsigned mask = (1u << bits) - 1;
    for (std::size_t i = 0; i < common; ++i)
      for (unsigned shift = 0; shift + bits <= 8; shift += bits) count += ((a[i] ^ b[i]) >> shift & mask) != 0;
    return count;
  }
  const std::size_t width = bits / 8;
  for (std::size_t i = 0; i < common; i += width)
    count += std::memcmp(a.data() + i, b.data() + i, std::min(width, common - i)) != 0;
  return count;
}

}  // namespace

std::uint64_t differing(RawElements& a, RawElements& b, unsigned bits, const ir::Watch& watch) {
  std::vector<std::uint8_t> of_a(piece_bytes), of_b(piece_bytes);
  std::uint64_t count = 0;
  for (;;) {
    watch.look();
    const std::size_t some = a.read(of_a), others = b.read(of_b);
    if (some == 0 && others == 0) return count;
    count += differing_in(std::span(of_a).first(some), std::span(of_b).first(others), std::max(1u, bits));
  }
}

}  // namespace compatcheck::onnx_file
