// Windows that slide over a tensor's last dimensions: what convolutions, pools and resizing share.
#pragma once

#include "handlers/emission.h"

namespace compatcheck::handlers {

// A list of one stands for every dimension.
Ints spread(Ints list, std::size_t dims);
// Returns the dimensions in the operator's name: 2 for "max_pool2d".
std::size_t dims_of_name(const Emission& e);
bool all_known(const Shape& shape);

// One number of each for every dimension that the windows slide over.
struct Windows {
  Ints kernel, stride, begin, end, dilation;  // begin, end: padding

  std::size_t dims() const { return kernel.size(); }
  std::int64_t extent(std::size_t i) const { return dilation[i] * (kernel[i] - 1) + 1; }
  Ints pads() const;  // in ONNX's order
};

// Throws Refusal for sizes and steps that PyTorch doesn't support.
void demand_possible(const Windows& windows);

// A tensor of `dims` dimensions to slide over behind (batch, channels); the batch may be missing.
struct Batched {
  Value value;
  Shape shape;  // shape with the batch dimension
  bool added = false;

  Shape spatial() const { return {shape.begin() + 2, shape.end()}; }
  Value without(Emission& e, const Value& result) const { return added ? e.build.squeeze(result, {0}) : result; }
};
Batched with_batch(Emission& e, std::string_view tensor, std::size_t dims);

// Which cells each window reads along one dimension: kernel × count positions, row by row; -1: none, which counts as 0.
struct Cells {
  std::int64_t kernel = 0, count = 0;
  Ints at;

  std::int64_t& cell(std::int64_t k, std::int64_t window) { return at[static_cast<std::size_t>(k * count + window)]; }
  std::int64_t cell(std::int64_t k, std::int64_t window) const { return at[static_cast<std::size_t>(k * count + window)]; }
  bool has_gaps() const;
};
Cells cells_of(const Windows& windows, std::size_t dimension, std::int64_t size, std::int64_t count);
// The cells of dimension `axis`, of known size, in two dimensions (kernel, count) in its place.
Value gather_cells(Emission& e, const Value& value, std::int64_t rank, std::int64_t axis, std::int64_t size, const Cells& cells);
// The same for a size known only when the model runs, of a value that is padded already.
Value slice_cells(Emission& e, const Value& value, std::int64_t axis, const Windows& windows, std::size_t dimension);

// Zeros around the dimensions from `first` on.
Value pad(Emission& e, const Value& value, std::int64_t rank, std::int64_t first, const Ints& begin, const Ints& end);

}  // namespace compatcheck::handlers
