#include "frontend/torchscript/library_operators.h"

#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>
#include <vector>

namespace compatcheck::frontend::torchscript {
namespace {

using at::Tensor;

// The best box first; what overlaps a kept one by more than the threshold goes.
template <class T>
Tensor nms_of(const Tensor& boxes, const Tensor& scores, double threshold) {
  const Tensor order = std::get<1>(scores.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  const auto box = boxes.accessor<T, 2>();
  const auto by_score = order.accessor<std::int64_t, 1>();
  const auto area = [&](std::int64_t i) { return (box[i][2] - box[i][0]) * (box[i][3] - box[i][1]); };
  std::vector<bool> gone(static_cast<std::size_t>(boxes.size(0)));
  std::vector<std::int64_t> kept;
  for (std::int64_t a = 0; a < boxes.size(0); ++a) {
    const std::int64_t i = by_score[a];
    if (gone[static_cast<std::size_t>(i)]) continue;
    kept.push_back(i);
    for (std::int64_t b = a + 1; b < boxes.size(0); ++b) {
      const std::int64_t j = by_score[b];
      const T width = std::min(box[i][2], box[j][2]) - std::max(box[i][0], box[j][0]);
      const T height = std::min(box[i][3], box[j][3]) - std::max(box[i][1], box[j][1]);
      const T common = std::max(T(0), width) * std::max(T(0), height);
      if (common / (area(i) + area(j) - common) > threshold) gone[static_cast<std::size_t>(j)] = true;
    }
  }
  return at::tensor(kept, scores.options().dtype(at::kLong));
}

Tensor nms(const Tensor& boxes, const Tensor& scores, double threshold) {
  TORCH_CHECK(boxes.dim() == 2 && boxes.size(1) == 4 && scores.dim() == 1 && scores.size(0) == boxes.size(0),
              "nms takes boxes of 4 numbers and a score for each");
  TORCH_CHECK(boxes.scalar_type() == scores.scalar_type(), "boxes and scores must have one dtype");
  return AT_DISPATCH_FLOATING_TYPES(boxes.scalar_type(), "nms",
                                    [&] { return nms_of<scalar_t>(boxes.contiguous(), scores.contiguous(), threshold); });
}

// The value of a channel between its cells; 0 beyond one cell from the edge.
template <class T, class Plane>
T between(const Plane& plane, std::int64_t height, std::int64_t width, T y, T x) {
  if (y < -1 || y > T(height) || x < -1 || x > T(width)) return 0;
  const auto place = [](T at, std::int64_t size) {
    at = std::max(at, T(0));
    const auto low = static_cast<std::int64_t>(at);
    if (low >= size - 1) return std::tuple(size - 1, size - 1, T(0));
    return std::tuple(low, low + 1, at - T(low));
  };
  const auto [top, bottom, down] = place(y, height);
  const auto [left, right, across] = place(x, width);
  return (1 - down) * (1 - across) * plane[top][left] + (1 - down) * across * plane[top][right] +
         down * (1 - across) * plane[bottom][left] + down * across * plane[bottom][right];
}

template <class T>
void align(const Tensor& input, const Tensor& rois, double spatial_scale, std::int64_t sampling, bool aligned, Tensor& output) {
  const auto in = input.accessor<T, 4>();
  const auto roi = rois.accessor<T, 2>();
  auto out = output.accessor<T, 4>();
  const T scale = static_cast<T>(spatial_scale), offset = aligned ? T(0.5) : T(0);
  const std::int64_t rows = output.size(2), columns = output.size(3);
  for (std::int64_t n = 0; n < rois.size(0); ++n) {
    const T left = roi[n][1] * scale - offset, top = roi[n][2] * scale - offset;
    T width = roi[n][3] * scale - offset - left, height = roi[n][4] * scale - offset - top;
    if (!aligned) {
      width = std::max(width, T(1));
      height = std::max(height, T(1));
    }
    const T bin_height = height / T(rows), bin_width = width / T(columns);
    const auto samples = [&](T bin) { return sampling > 0 ? sampling : static_cast<std::int64_t>(std::ceil(bin)); };
    const std::int64_t down = samples(bin_height), across = samples(bin_width), count = std::max<std::int64_t>(down * across, 1);
    for (std::int64_t c = 0; c < input.size(1); ++c)
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column) {
          T sum = 0;
          for (std::int64_t i = 0; i < down; ++i)
            for (std::int64_t j = 0; j < across; ++j)
              sum += between<T>(in[static_cast<std::int64_t>(roi[n][0])][c], input.size(2), input.size(3),
                                top + T(row) * bin_height + (T(i) + T(0.5)) * bin_height / T(down),
                                left + T(column) * bin_width + (T(j) + T(0.5)) * bin_width / T(across));
          out[n][c][row][column] = sum / T(count);
        }
  }
}

void check_rois(const Tensor& input, const Tensor& rois) {
  TORCH_CHECK(input.dim() == 4 && rois.dim() == 2 && rois.size(1) == 5, "regions are (batch index, x1, y1, x2, y2)");
  TORCH_CHECK(input.scalar_type() == rois.scalar_type(), "input and regions must have one dtype");
  TORCH_CHECK(rois.numel() == 0 || (rois.select(1, 0).min().item<double>() >= 0 &&
                                    rois.select(1, 0).max().item<double>() < static_cast<double>(input.size(0))),
              "a region's batch index is out of range");
}

Tensor roi_align(const Tensor& input, const Tensor& rois, double spatial_scale, std::int64_t height, std::int64_t width,
                 std::int64_t sampling, bool aligned) {
  check_rois(input, rois);
  Tensor output = at::zeros({rois.size(0), input.size(1), height, width}, input.options());
  AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "roi_align", [&] {
    align<scalar_t>(input.contiguous(), rois.contiguous(), spatial_scale, sampling, aligned, output);
  });
  return output;
}

template <class T>
void pool(const Tensor& input, const Tensor& rois, double spatial_scale, Tensor& output, Tensor& places) {
  const auto in = input.accessor<T, 4>();
  const auto roi = rois.accessor<T, 2>();
  auto out = output.accessor<T, 4>();
  auto place = places.accessor<int, 4>();
  const std::int64_t rows = output.size(2), columns = output.size(3);
  const auto cell = [&](T at) { return static_cast<std::int64_t>(std::round(at * static_cast<T>(spatial_scale))); };
  for (std::int64_t n = 0; n < rois.size(0); ++n) {
    const std::int64_t left = cell(roi[n][1]), top = cell(roi[n][2]);
    const T bin_height = T(std::max<std::int64_t>(cell(roi[n][4]) - top + 1, 1)) / T(rows);
    const T bin_width = T(std::max<std::int64_t>(cell(roi[n][3]) - left + 1, 1)) / T(columns);
    const auto edge = [](T at, std::int64_t from, std::int64_t size) {
      return std::clamp<std::int64_t>(static_cast<std::int64_t>(at) + from, 0, size);
    };
    for (std::int64_t c = 0; c < input.size(1); ++c)
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column) {
          const std::int64_t first_row = edge(std::floor(T(row) * bin_height), top, input.size(2)),
                             last_row = edge(std::ceil(T(row + 1) * bin_height), top, input.size(2)),
                             first = edge(std::floor(T(column) * bin_width), left, input.size(3)),
                             last = edge(std::ceil(T(column + 1) * bin_width), left, input.size(3));
          T most = last_row <= first_row || last <= first ? T(0) : std::numeric_limits<T>::lowest();
          int at = -1;
          for (std::int64_t y = first_row; y < last_row; ++y)
            for (std::int64_t x = first; x < last; ++x)
              if (const T value = in[static_cast<std::int64_t>(roi[n][0])][c][y][x]; value > most) {
                most = value;
                at = static_cast<int>(y * input.size(3) + x);
              }
          out[n][c][row][column] = most;
          place[n][c][row][column] = at;
        }
  }
}

std::tuple<Tensor, Tensor> roi_pool(const Tensor& input, const Tensor& rois, double spatial_scale, std::int64_t height,
                                    std::int64_t width) {
  check_rois(input, rois);
  Tensor output = at::zeros({rois.size(0), input.size(1), height, width}, input.options());
  Tensor places = at::zeros(output.sizes(), input.options().dtype(at::kInt));
  AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "roi_pool",
                             [&] { pool<scalar_t>(input.contiguous(), rois.contiguous(), spatial_scale, output, places); });
  return {output, places};
}

// Rows up to the end of each group, times the group's matrix; rows behind the last group are zeros.
Tensor grouped_mm(const Tensor& input, const Tensor& weight, const Tensor& offs) {
  Tensor output = at::zeros({input.size(0), weight.size(2)}, input.options());
  const Tensor ends = offs.to(at::kLong);
  std::int64_t start = 0;
  for (std::int64_t group = 0; group < ends.size(0); ++group) {
    const auto end = ends[group].item<std::int64_t>();
    if (end != start) output.slice(0, start, end).copy_(at::mm(input.slice(0, start, end), weight[group]));
    start = end;
  }
  return output;
}

std::vector<torch::Library>& ours() {
  static auto& libraries = *new std::vector<torch::Library>();  // outlives the dispatcher's own statics
  return libraries;
}

// The library, to be filled, if nobody registers its operators.
torch::Library* added(const char* name, const char* op) {
  if (c10::Dispatcher::singleton().findSchema({op, ""})) return nullptr;
  return &ours().emplace_back(torch::Library::FRAGMENT, name, std::nullopt, __FILE__, __LINE__);
}

}  // namespace

void register_library_operators() {
  if (torch::Library* library = added("torchvision", "torchvision::nms")) {
    library->def("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor");
    library->def(
        "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int "
        "sampling_ratio, "
        "bool aligned) -> Tensor");
    library->def(
        "roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, "
        "Tensor)");
    library->impl("nms", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(nms)));
    library->impl("roi_align", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(roi_align)));
    library->impl("roi_pool", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(roi_pool)));
  }
  if (torch::Library* library = added("transformers", "transformers::grouped_mm_fallback")) {
    library->def("grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor");
    library->impl("grouped_mm_fallback", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(grouped_mm)));
  }
}

void unregister_library_operators() { ours().clear(); }

}  // namespace compatcheck::frontend::torchscript
