#include "onnx/weight_copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "compatcheck/error.h"
#include "onnx/moves.h"

namespace compatcheck::onnx {
namespace {

using ir::DType;
using Bytes = std::vector<std::uint8_t>;
constexpr std::size_t buffer_bytes = 4u << 20;
constexpr std::uint64_t most_held = 64u << 20;  // most bytes of a strided tensor in memory at a time
constexpr std::size_t tile = 32;                // rows and columns that a cache holds while they are transposed

[[noreturn]] void fail_to_write() { throw UsageError(std::string("can't write: ") + std::strerror(errno)); }

// Bytes of a storage, in the file or carried along.
class Source {
 public:
  Source(const ir::TensorView& view, WeightFile file) : storage_(*view.storage), file_(std::move(file)) {}

  bool in_file() const { return storage_.data.size() < storage_.bytes; }
  std::uint64_t file_offset() const { return storage_.file_offset; }

  void read(std::uint64_t offset, std::uint8_t* into, std::size_t count) const {
    if (!in_file()) {
      std::memcpy(into, storage_.data.data() + offset, count);
      return;
    }
    if (file_.read) return file_.read(storage_, offset, {into, count});
    while (count > 0) {
      const ssize_t got = pread(file_.descriptor, into, count, static_cast<off_t>(storage_.file_offset + offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) throw ModelError("the model file ends within a weight, or can't be read any more");
      into += got;
      offset += static_cast<std::uint64_t>(got);
      count -= static_cast<std::size_t>(got);
    }
  }

 private:
  const ir::Storage& storage_;
  WeightFile file_;
};

// The part of a storage between a view's first element and its last.
struct Reach {
  std::int64_t lowest, elements = 1;
  std::uint64_t width;

  explicit Reach(const ir::TensorView& view) : lowest(view.offset), width(ir::element_bytes(view.dtype)) {
    for (std::size_t d = 0; d < view.sizes.size(); ++d) {
      const std::int64_t last = view.strides[d] * (view.sizes[d] - 1);
      lowest += std::min<std::int64_t>(0, last);
      elements += std::abs(last);
    }
  }
  std::uint64_t begin() const { return static_cast<std::uint64_t>(lowest) * width; }
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(elements) * width; }
};

// Elements from one dtype to another, as PyTorch casts.
Bytes cast(const Bytes& from, DType source, DType target) {
  if (source == target) return from;
  const TensorData data{
      .dtype = source, .dims = {static_cast<std::int64_t>(from.size() / ir::element_bytes(source))}, .bytes = from, .view = {}};
  if (const auto whole = as_ints(data)) return make_tensor(target, data.dims, *whole).bytes;
  return make_tensor(target, data.dims, as_floats(data).value()).bytes;
}

// f32 elements from number `first` on, each times its part's factor.
void scale(std::span<std::uint8_t> bytes, const TensorData& data, std::size_t first) {
  const std::size_t part = static_cast<std::size_t>(data.elements()) / data.factors.size();
  const std::size_t elements = bytes.size() / sizeof(float);
  for (std::size_t i = 0; i < elements;) {
    const std::size_t number = (first + i) / part, end = std::min(elements, (number + 1) * part - first);
    const auto factor = data.factors[number];
    for (; i < end; ++i) {
      float element;
      std::memcpy(&element, bytes.data() + i * sizeof element, sizeof element);
      element = static_cast<float>(element * factor);
      std::memcpy(bytes.data() + i * sizeof element, &element, sizeof element);
    }
  }
}

// Columns, `stride` elements apart, to rows; in tiles: either order alone misses the cache at every element.
template <class Element>
void transpose(const std::uint8_t* from, std::uint8_t* to, std::size_t rows, std::size_t columns, std::size_t stride) {
  for (std::size_t row = 0; row < rows; row += tile) {
    const std::size_t last_row = std::min(row + tile, rows);
    for (std::size_t column = 0; column < columns; column += tile) {
      const std::size_t last_column = std::min(column + tile, columns);
      for (std::size_t r = row; r < last_row; ++r)
        for (std::size_t c = column; c < last_column; ++c)
          std::memcpy(to + (r * columns + c) * sizeof(Element), from + (c * stride + r) * sizeof(Element), sizeof(Element));
    }
  }
}

void transpose(const std::uint8_t* from, std::uint8_t* to, std::size_t rows, std::size_t columns, std::size_t stride,
               std::size_t width) {
  switch (width) {
    case 1: return transpose<std::uint8_t>(from, to, rows, columns, stride);
    case 2: return transpose<std::uint16_t>(from, to, rows, columns, stride);
    case 4: return transpose<std::uint32_t>(from, to, rows, columns, stride);
    default: return transpose<std::uint64_t>(from, to, rows, columns, stride);
  }
}

// Memory that is neither cleared nor given back between weights.
class Scratch {
 public:
  std::uint8_t* at_least(std::size_t bytes) {
    if (bytes > size_) {
      memory_.reset();
      memory_ = std::make_unique_for_overwrite<std::uint8_t[]>(bytes);
      size_ = bytes;
    }
    return memory_.get();
  }

 private:
  std::unique_ptr<std::uint8_t[]> memory_;
  std::size_t size_ = 0;
};

struct Memory {
  Scratch held, made;
};

class Copy {
 public:
  Copy(const PlacedWeight& placed, int weights, int to, const std::function<void(std::uint64_t)>& written, Memory& memory)
      : data_(*placed.data),
        view_(*data_.view),
        source_(view_, {.descriptor = weights}),
        weights_(weights),
        to_(to),
        at_(placed.at),
        written_(written),
        held_(memory.held),
        made_(memory.made),
        width_(ir::element_bytes(view_.dtype)) {}

  void run() {
    if (view_.elements() == 0) return;
    if (view_.contiguous()) return changes() ? in_chunks() : straight();
    if (is_transposed()) return in_bands();
    if (Reach(view_).bytes() <= most_held) return gathered();
    one_by_one();
  }

 private:
  std::uint64_t begin() const { return static_cast<std::uint64_t>(view_.offset) * width_; }

  // A matrix whose columns lie together.
  bool is_transposed() const {
    return view_.sizes.size() == 2 && view_.strides[0] == 1 && view_.strides[1] >= view_.sizes[0] && width_ <= 8;
  }

  bool changes() const { return data_.dtype != view_.dtype || !data_.factors.empty(); }

  // The next elements, in order, which may be changed where they are.
  void put(std::uint8_t* bytes, std::size_t count) {
    const std::size_t first = done_;
    done_ += count / width_;
    if (data_.dtype == view_.dtype) {
      if (!data_.factors.empty()) scale({bytes, count}, data_, first);
      return write(bytes, count);
    }
    Bytes made = cast({bytes, bytes + count}, view_.dtype, data_.dtype);
    if (!data_.factors.empty()) scale(made, data_, first);
    write(made.data(), made.size());
  }

  void write(const std::uint8_t* bytes, std::size_t count) {
    write_all(to_, bytes, count, at_);
    at_ += count;
    written_(count);
  }

  // In the kernel, where both files allow.
  void straight() {
    std::uint64_t left = static_cast<std::uint64_t>(view_.elements()) * width_;
    std::uint64_t at = begin();
    while (source_.in_file() && left > 0) {
      auto from = static_cast<off_t>(source_.file_offset() + at);
      auto into = static_cast<off_t>(at_);
      const ssize_t copied = copy_file_range(weights_, &from, to_, &into, std::min<std::uint64_t>(left, most_held), 0);
      if (copied <= 0) break;  // other file systems: by hand, which also tells what is wrong
      at += static_cast<std::uint64_t>(copied);
      at_ += static_cast<std::uint64_t>(copied);
      left -= static_cast<std::uint64_t>(copied);
      written_(static_cast<std::uint64_t>(copied));
    }
    chunks(at, left);
  }

  void in_chunks() { chunks(begin(), static_cast<std::uint64_t>(view_.elements()) * width_); }

  void chunks(std::uint64_t at, std::uint64_t left) {
    while (left > 0) {
      const std::size_t count = std::min<std::uint64_t>(left, buffer_bytes);
      std::uint8_t* buffer = held_.at_least(buffer_bytes);
      source_.read(at, buffer, count);
      put(buffer, count);
      at += count;
      left -= count;
    }
  }

  // Copies as many rows at a time, with all columns, as may be held.
  void in_bands() {
    const auto height = static_cast<std::size_t>(view_.sizes[0]), columns = static_cast<std::size_t>(view_.sizes[1]);
    const bool dense = static_cast<std::size_t>(view_.strides[1]) == height;
    const std::size_t band = std::clamp<std::size_t>(most_held / (columns * width_), 1, height);
    for (std::size_t row = 0; row < height; row += band) {
      const std::size_t rows = std::min(band, height - row);
      std::uint8_t* held = held_.at_least(rows * columns * width_);
      if (dense && rows == height)
        source_.read(begin(), held, rows * columns * width_);
      else
        for (std::size_t c = 0; c < columns; ++c)
          source_.read(begin() + (row + c * static_cast<std::size_t>(view_.strides[1])) * width_, held + c * rows * width_,
                       rows * width_);
      // Written in slices, of whole tiles, while they are still in a cache.
      const std::size_t slice = std::max<std::size_t>(buffer_bytes / (columns * width_) / tile, 1) * tile;
      for (std::size_t first = 0; first < rows; first += slice) {
        const std::size_t count = std::min(slice, rows - first);
        std::uint8_t* made = made_.at_least(count * columns * width_);
        transpose(held + first * width_, made, count, columns, rows, width_);
        put(made, count * columns * width_);
      }
    }
  }

  void gathered() {
    const Reach reach(view_);
    std::uint8_t* held = held_.at_least(reach.bytes());
    source_.read(reach.begin(), held, reach.bytes());
    each_element([&](std::int64_t element, std::uint8_t* into) {
      std::memcpy(into, held + static_cast<std::size_t>(element - reach.lowest) * width_, width_);
    });
  }

  void one_by_one() {
    each_element([&](std::int64_t element, std::uint8_t* into) {
      source_.read(static_cast<std::uint64_t>(element) * width_, into, width_);
    });
  }

  template <class Fetch>
  void each_element(Fetch&& fetch) {
    std::uint8_t* made = made_.at_least(buffer_bytes);
    std::size_t filled = 0;
    visit(0, view_.offset, [&](std::int64_t element) {
      fetch(element, made + filled);
      filled += width_;
      if (filled + width_ > buffer_bytes) put(made, std::exchange(filled, 0));
    });
    if (filled > 0) put(made, filled);
  }

  template <class Visit>
  void visit(std::size_t dim, std::int64_t at, Visit&& take) const {
    if (dim == view_.sizes.size()) return take(at);
    for (std::int64_t i = 0; i < view_.sizes[dim]; ++i) visit(dim + 1, at + i * view_.strides[dim], take);
  }

  const TensorData& data_;
  const ir::TensorView& view_;
  Source source_;
  int weights_, to_;
  std::uint64_t at_;  // offset of the next bytes to write
  const std::function<void(std::uint64_t)>& written_;
  Scratch &held_, &made_;
  std::size_t width_;
  std::size_t done_ = 0;  // elements
};

}  // namespace

std::uint64_t byte_count(const TensorData& data) {
  return data.view ? static_cast<std::uint64_t>(data.elements()) * ir::element_bytes(data.dtype) : data.bytes.size();
}

void write_all(int to, const void* bytes, std::size_t count, std::uint64_t at) {
  const auto* from = static_cast<const std::uint8_t*>(bytes);
  while (count > 0) {
    const ssize_t done = ::pwrite(to, from, count, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail_to_write();
    from += done;
    at += static_cast<std::uint64_t>(done);
    count -= static_cast<std::size_t>(done);
  }
}

void copy_weights(std::span<const PlacedWeight> placed, int weights, int to, const std::function<void(std::uint64_t)>& written) {
  std::atomic<std::size_t> next = 0;
  std::atomic<std::uint64_t> done = 0;
  const auto work = [&](const std::function<void(std::uint64_t)>& counted) {
    Memory memory;
    for (std::size_t i = next++; i < placed.size(); i = next++) Copy(placed[i], weights, to, counted, memory).run();
  };
  // Where nothing is left to take, the other ends: one failed.
  const auto stop = [&] { next = placed.size(); };
  std::future<void> other;
  if (placed.size() > 1)
    other = std::async(std::launch::async, [&] {
      try {
        work([&](std::uint64_t bytes) { done += bytes; });
      } catch (...) {
        stop();
        throw;
      }
    });
  try {
    work([&](std::uint64_t bytes) { written(bytes + done.exchange(0)); });
  } catch (...) {
    stop();
    throw;  // the future waits for the other
  }
  if (other.valid()) other.get();
  if (const std::uint64_t rest = done) written(rest);
}

std::uint64_t bytes_to_read(const TensorData& data) { return data.view ? Reach(*data.view).bytes() : data.bytes.size(); }

TensorData read_tensor(const TensorData& data, const WeightFile& weights) {
  TensorData made{.dtype = data.dtype, .dims = data.dims, .bytes = data.bytes, .view = {}, .factors = data.factors};
  if (data.view && data.elements() > 0) {
    const ir::TensorView& view = *data.view;
    const Reach reach(view);
    TensorData held{.dtype = view.dtype, .dims = {}, .bytes = Bytes(reach.bytes()), .view = {}};
    Source(view, weights).read(reach.begin(), held.bytes.data(), held.bytes.size());
    if (!view.contiguous()) held = window(held, view.sizes, view.strides, view.offset - reach.lowest);
    made.bytes = cast(held.bytes, view.dtype, data.dtype);
  }
  take_factors(made);
  return made;
}

void take_factors(TensorData& data) {
  if (data.view || data.factors.empty()) return;
  scale(data.bytes, data, 0);
  data.factors.clear();
}

}  // namespace compatcheck::onnx
