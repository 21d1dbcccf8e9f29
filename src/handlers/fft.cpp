// Short-time Fourier transforms, and what goes with Fourier transforms.
#include <cmath>
#include <numbers>
#include <numeric>

#include "handlers/compute.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

// ---- Half of a dimension to the other side

template <bool inverse>
void shift(Emission& e) {
  Value x = e.tensor("self");
  if (e.rank("self") == 0) return e.give(x);
  for (const std::int64_t axis : e.axes("dim")) {
    const auto known = e.size("self", axis);
    if (known && *known < 2) continue;
    // The last half goes first: of an odd number the smaller one, for the inverse the larger.
    Value from;
    if (known)
      from = e.integers({inverse ? *known / 2 : *known - *known / 2});
    else {
      const Value size = e.size_of("self", axis), half = e.node("Div", {size, e.integers({2})});
      from = inverse ? half : e.node("Sub", {size, half});
    }
    const Arguments last{{"starts", from}, {"ends", e.integers({to_end})}, {"axes", Ints{axis}}};
    const Arguments first{{"starts", e.integers({0})}, {"ends", from}, {"axes", Ints{axis}}};
    x = e.build.concat({e.node("Slice", {x}, last), e.node("Slice", {x}, first)}, axis);
  }
  e.give(x);
}

void frequencies(Emission& e) {
  const std::int64_t n = e.integer("n"), middle = n / 2;
  const bool real = e.call.op() == "aten::fft_rfftfreq";
  const double step = 1 / (static_cast<double>(n) * e.number("d", 1));
  const auto points = static_cast<double>(n), half = static_cast<double>(middle);
  const auto made =
      ir::listed<double>(real ? half + 1 : points, [&](double i) { return (real || i < points - half ? i : i - points) * step; });
  const auto count = static_cast<std::int64_t>(made.size());
  e.give(e.build.constant(onnx::make_tensor(e.output_dtype(), {count}, made)));
}

// ---- stft: frames times a matrix of windowed cosines and sines

struct Frames {
  std::int64_t points, hop, bins;
};

// Of n_fft points, the window in the middle; ones if there is none.
Value window_of(Emission& e, const Frames& frames, DType dtype) {
  const std::int64_t length = e.integer("win_length", frames.points);
  if (length < 1 || length > frames.points)
    throw Refusal{"a window of " + std::to_string(length) + " points for frames of " + std::to_string(frames.points)};
  const std::int64_t before = (frames.points - length) / 2;
  if (!e.given("window")) {
    Doubles ones(static_cast<std::size_t>(frames.points), 0);
    for (std::int64_t i = 0; i < length; ++i) ones[static_cast<std::size_t>(before + i)] = 1;
    return e.build.constant(onnx::make_tensor(dtype, {frames.points}, ones));
  }
  const Value window = e.tensor("window", dtype);
  if (length == frames.points) return window;
  const auto zeros = [&](std::int64_t count) {
    return e.build.constant(onnx::make_tensor(dtype, {count}, Doubles(static_cast<std::size_t>(count), 0)));
  };
  return e.build.concat({zeros(before), window, zeros(frames.points - length - before)}, 0);
}

// [times, last - first]: cosines, or sines taken negative. Angles are reduced before they are multiplied out.
Value waves(Emission& e, const Frames& frames, DType dtype, bool sine, const Ints& times, std::int64_t first, std::int64_t last) {
  Doubles made;
  for (const std::int64_t t : times)
    for (std::int64_t k = first; k < last; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(t * k % frames.points) / static_cast<double>(frames.points);
      made.push_back(sine ? -std::sin(angle) : std::cos(angle));
    }
  return e.build.constant(onnx::make_tensor(dtype, {static_cast<std::int64_t>(times.size()), last - first}, made));
}

// The imaginary parts, [batch, frames, bins]. A Fourier transform never looks at what a sine of 0 would multiply: the points at
// the start and in the middle of a frame, the lowest and the highest bin. So NaN there stays out.
Value imaginary(Emission& e, const Value& windowed, const Frames& frames, const Value& still) {
  Ints times;
  for (std::int64_t t = 1; t < frames.points; ++t)
    if (2 * t != frames.points) times.push_back(t);
  const std::int64_t middle = frames.points % 2 == 0 ? frames.points / 2 : -1;  // the bin whose sines are all 0
  const auto turning = [&](std::int64_t first, std::int64_t last) {
    return e.node("MatMul",
                  {e.build.gather(windowed, e.integers(times), 2), waves(e, frames, windowed.dtype, true, times, first, last)});
  };
  Values bins{still};
  const std::int64_t below = middle > 0 ? std::min(middle, frames.bins) : frames.bins;
  if (below > 1) bins.push_back(turning(1, below));
  if (middle > 0 && middle < frames.bins) bins.push_back(still);
  if (middle > 0 && middle + 1 < frames.bins) bins.push_back(turning(middle + 1, frames.bins));
  return e.build.concat(bins, 2);
}

// [batch, samples] → [batch, frames, points]
Value framed(Emission& e, const Value& signal, std::int64_t samples, const Frames& frames) {
  const std::int64_t count = 1 + (samples - frames.points) / frames.hop;
  if (samples < frames.points || count < 1) throw Refusal{"the signal is shorter than a frame"};
  Ints places;
  for (std::int64_t frame = 0; frame < count; ++frame)
    for (std::int64_t i = 0; i < frames.points; ++i) places.push_back(frame * frames.hop + i);
  const Value at = e.build.constant(onnx::make_tensor(DType::i64, {count, frames.points}, places));
  return e.build.gather(signal, at, 1);
}

void stft(Emission& e) {
  const std::int64_t rank = e.rank("self"), points = e.integer("n_fft");
  const bool onesided = !e.given("onesided") || e.boolean("onesided");
  const Frames frames{points, e.integer("hop_length", points / 4), onesided ? points / 2 + 1 : points};
  if (points < 1 || frames.hop < 1)
    throw Refusal{"PyTorch takes no frames of " + std::to_string(points) + " points every " + std::to_string(frames.hop)};
  Value x = e.tensor("self");
  const DType dtype = x.dtype;
  if (rank == 1) x = e.build.unsqueeze(x, {0});
  std::int64_t samples = e.known_size("self", -1);
  if (e.call.has("center") && e.boolean("center")) {
    const std::int64_t half = points / 2;
    const std::string mode = e.string("pad_mode");
    if (mode != "reflect" && mode != "constant" && mode != "replicate")
      throw Refusal{"the padding '" + mode + "' has no ONNX form", "use pad_mode='reflect'"};
    x = e.node("Pad", {x}, {{"pads", Ints{0, half, 0, half}}, {"mode", mode == "replicate" ? "edge" : mode}});
    samples += 2 * half;
  }
  const Value windowed = e.node("Mul", {framed(e, x, samples, frames), window_of(e, frames, dtype)});
  Ints times(static_cast<std::size_t>(points));
  std::iota(times.begin(), times.end(), 0);
  const Value real =
      e.node("MatMul", {windowed, waves(e, frames, dtype, false, times, 0, frames.bins)});  // [batch, frames, bins]
  const Value batch = rank == 1 ? e.integers({1}) : e.size_of("self", 0);
  const Value still = [&] {
    const auto marked = e.build.plumbing();  // a constant, but for its size
    return filled(e, e.build.concat({batch, e.integers({1 + (samples - points) / frames.hop, 1})}, 0), dtype, 0);
  }();
  const auto placed = [&](const Value& bins) { return e.build.unsqueeze(e.build.transpose(bins, {0, 2, 1}), {3}); };
  Value made = e.build.concat({placed(real), placed(imaginary(e, windowed, frames, still))}, 3);  // [batch, bins, frames, 2]
  if (e.boolean("normalized")) made = e.node("Div", {made, e.scalar(dtype, std::sqrt(static_cast<double>(points)))});
  e.give(rank == 1 ? e.build.squeeze(made, {0}) : made);
}

}  // namespace

void register_fft(Registry& registry) {
  registry.handler("aten::fft_fftshift", shift<false>);
  registry.handler("aten::fft_ifftshift", shift<true>);
  registry.handler("aten::fft_fftfreq", frequencies);
  registry.handler("aten::stft", stft);
}

}  // namespace compatcheck::handlers
