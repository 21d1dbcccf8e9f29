#include "onnx/weight_copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "compatcheck/error.h"

namespace compatcheck::onnx {
namespace {

using ir::DType;
using Bytes = std::vector<std::uint8_t>;
constexpr std::size_t buffer_bytes = 4u << 20;
// Strided tensors up to this size are read whole.
constexpr std::uint64_t most_gathered = 64u << 20;

[[noreturn]] void fail_to_write() { throw UsageError(std::string("can't write: ") + std::strerror(errno)); }

// Bytes of a storage, in the file or carried along.
class Source {
 public:
  Source(const ir::TensorView& view, int file) : storage_(*view.storage), file_(file) {}

  bool in_file() const { return storage_.data.size() < storage_.bytes; }
  std::uint64_t file_offset() const { return storage_.file_offset; }

  void read(std::uint64_t offset, std::uint8_t* into, std::size_t count) const {
    if (!in_file()) {
      std::memcpy(into, storage_.data.data() + offset, count);
      return;
    }
    while (count > 0) {
      const ssize_t got = pread(file_, into, count, static_cast<off_t>(storage_.file_offset + offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) throw ModelError("the model file ends within a weight, or can't be read any more");
      into += got;
      offset += static_cast<std::uint64_t>(got);
      count -= static_cast<std::size_t>(got);
    }
  }

 private:
  const ir::Storage& storage_;
  int file_;
};

// Elements from one dtype to another, as PyTorch casts.
Bytes cast(const Bytes& from, DType source, DType target) {
  if (source == target) return from;
  const TensorData data{.dtype = source, .dims = {static_cast<std::int64_t>(from.size() / ir::element_bytes(source))}, .bytes = from, .view = {}};
  if (const auto whole = as_ints(data)) return make_tensor(target, data.dims, *whole).bytes;
  return make_tensor(target, data.dims, as_floats(data).value()).bytes;
}

class Copy {
 public:
  Copy(const TensorData& data, int weights, int to, const std::function<void(std::uint64_t)>& written)
      : data_(data), view_(*data.view), source_(view_, weights), weights_(weights), to_(to), written_(written), width_(ir::element_bytes(view_.dtype)) {}

  void run() {
    if (view_.elements() == 0) return;
    if (view_.contiguous()) return data_.dtype == view_.dtype ? straight() : in_chunks();
    if (view_.elements() * static_cast<std::int64_t>(width_) <= static_cast<std::int64_t>(most_gathered)) return gathered();
    rows();
  }

 private:
  std::uint64_t begin() const { return static_cast<std::uint64_t>(view_.offset) * width_; }

  void put(const Bytes& bytes) {
    const Bytes made = cast(bytes, view_.dtype, data_.dtype);
    write_all(to_, made.data(), made.size());
    written_(made.size());
  }

  // In the kernel, where both files allow.
  void straight() {
    std::uint64_t left = static_cast<std::uint64_t>(view_.elements()) * width_;
    std::uint64_t at = begin();
    while (source_.in_file() && left > 0) {
      auto from = static_cast<off_t>(source_.file_offset() + at);
      const ssize_t copied = copy_file_range(weights_, &from, to_, nullptr, std::min<std::uint64_t>(left, 256u << 20), 0);
      if (copied <= 0) break;   // other file systems, pipes: by hand, which also tells what is wrong
      at += static_cast<std::uint64_t>(copied);
      left -= static_cast<std::uint64_t>(copied);
      written_(static_cast<std::uint64_t>(copied));
    }
    for (Bytes buffer; left > 0;) {
      buffer.resize(std::min<std::uint64_t>(left, buffer_bytes));
      source_.read(at, buffer.data(), buffer.size());
      put(buffer);
      at += buffer.size();
      left -= buffer.size();
    }
  }

  void in_chunks() {
    std::uint64_t at = begin();
    std::uint64_t left = static_cast<std::uint64_t>(view_.elements()) * width_;
    for (Bytes buffer; left > 0; at += buffer.size(), left -= buffer.size()) {
      buffer.resize(std::min<std::uint64_t>(left, buffer_bytes / 8 * 8));
      source_.read(at, buffer.data(), buffer.size());
      put(buffer);
    }
  }

  // Elements that the view spans, read once.
  void gathered() {
    std::int64_t low = view_.offset, high = view_.offset;
    for (std::size_t d = 0; d < view_.sizes.size(); ++d) {
      const std::int64_t reach = view_.strides[d] * (view_.sizes[d] - 1);
      (reach < 0 ? low : high) += reach;
    }
    const auto span = static_cast<std::uint64_t>(high - low + 1) * width_;
    if (span > 4 * most_gathered) return rows();
    Bytes held(span), out;
    source_.read(static_cast<std::uint64_t>(low) * width_, held.data(), held.size());
    out.reserve(static_cast<std::size_t>(view_.elements()) * width_);
    visit(0, view_.offset, [&](std::int64_t element) {
      const auto* from = held.data() + static_cast<std::size_t>(element - low) * width_;
      out.insert(out.end(), from, from + width_);
    });
    put(out);
  }

  // A matrix whose columns lie together, transposed in bands of rows; anything else element by element.
  void rows() {
    if (view_.sizes.size() != 2 || view_.strides[0] != 1) {
      Bytes out;
      visit(0, view_.offset, [&](std::int64_t element) {
        out.resize(out.size() + width_);
        source_.read(static_cast<std::uint64_t>(element) * width_, out.data() + out.size() - width_, width_);
        if (out.size() >= buffer_bytes) put(std::exchange(out, {}));
      });
      return put(out);
    }
    const auto height = static_cast<std::size_t>(view_.sizes[0]), columns = static_cast<std::size_t>(view_.sizes[1]);
    const std::size_t band = std::max<std::size_t>(1, 2 * buffer_bytes / (columns * width_));
    for (std::size_t row = 0; row < height; row += band) {
      const std::size_t count = std::min(band, height - row);
      Bytes out(count * columns * width_), column(count * width_);
      for (std::size_t c = 0; c < columns; ++c) {
        const auto first = static_cast<std::uint64_t>(view_.offset + static_cast<std::int64_t>(row) + static_cast<std::int64_t>(c) * view_.strides[1]);
        source_.read(first * width_, column.data(), column.size());
        for (std::size_t r = 0; r < count; ++r) std::memcpy(out.data() + (r * columns + c) * width_, column.data() + r * width_, width_);
      }
      put(out);
    }
  }

  template <class Visit> void visit(std::size_t dim, std::int64_t at, Visit&& take) const {
    if (dim == view_.sizes.size()) return take(at);
    for (std::int64_t i = 0; i < view_.sizes[dim]; ++i) visit(dim + 1, at + i * view_.strides[dim], take);
  }

  const TensorData& data_;
  const ir::TensorView& view_;
  Source source_;
  int weights_, to_;
  const std::function<void(std::uint64_t)>& written_;
  std::size_t width_;
};

}  // namespace

std::uint64_t byte_count(const TensorData& data) {
  return data.view ? static_cast<std::uint64_t>(data.elements()) * ir::element_bytes(data.dtype) : data.bytes.size();
}

void write_all(int to, const void* bytes, std::size_t count) {
  const auto* at = static_cast<const std::uint8_t*>(bytes);
  while (count > 0) {
    const ssize_t done = ::write(to, at, count);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail_to_write();
    at += done;
    count -= static_cast<std::size_t>(done);
  }
}

void copy_weight(const TensorData& data, int weights, int to, const std::function<void(std::uint64_t)>& written) {
  if (data.view) return Copy(data, weights, to, written).run();
  write_all(to, data.bytes.data(), data.bytes.size());
  written(data.bytes.size());
}

}  // namespace compatcheck::onnx
