#include "onnx_file/wire_reader.h"

#include <algorithm>
#include <span>

#include "compatcheck/error.h"

namespace compatcheck::onnx_file {
namespace {

constexpr std::uint64_t window_bytes = 64 << 10;

[[noreturn]] void damaged(std::uint64_t at) {
  throw ModelError("is no ONNX model, or is cut short or damaged (at byte " + std::to_string(at) + ")");
}

}  // namespace

WireField WireReader::field(std::uint64_t at, std::uint64_t end) {
  WireField found{.begin = at};
  const std::uint64_t tag = varint(at, end);
  found.field = static_cast<std::uint32_t>(tag >> 3);
  found.wire = static_cast<std::uint32_t>(tag & 7);
  if (found.field == 0 || tag >> 32 != 0) damaged(found.begin);
  switch (found.wire) {
    case wire_varint: found.number = varint(at, end); break;
    case 1: found.bytes = 8; break;
    case wire_bytes: found.bytes = varint(at, end); break;
    case 5: found.bytes = 4; break;
    default: damaged(found.begin);
  }
  if (found.bytes > end - at) damaged(found.begin);
  found.at = at;
  found.end = at + found.bytes;
  return found;
}

std::uint64_t WireReader::varint(std::uint64_t& at, std::uint64_t end) {
  const std::uint64_t begin = at;
  std::uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at >= end) damaged(begin);
    const std::uint8_t next = byte(at++);
    if (shift < 64) value |= std::uint64_t{next & 0x7fu} << shift;
    if (!(next & 0x80)) return value;
  }
  damaged(begin);
}

std::uint8_t WireReader::byte(std::uint64_t at) {
  if (at < window_at_ || at - window_at_ >= window_.size()) {
    window_ = file_.read(at, std::min(window_bytes, file_.size() - at));
    window_at_ = at;
  }
  return window_[at - window_at_];
}

void WireReader::copy(std::uint64_t at, std::uint64_t bytes, std::string& onto) {
  const std::size_t had = onto.size();
  if (at >= window_at_ && at - window_at_ < window_.size() && window_.size() - (at - window_at_) >= bytes) {
    onto.append(reinterpret_cast<const char*>(window_.data()) + (at - window_at_), bytes);
    return;
  }
  onto.resize(had + bytes);
  file_.read_into(at, std::span(reinterpret_cast<std::uint8_t*>(onto.data()) + had, bytes));
}

}  // namespace compatcheck::onnx_file
