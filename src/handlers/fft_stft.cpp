// Short-time Fourier transforms: frames times a matrix of windowed cosines and sines, and back.
#include <cmath>
#include <numbers>
#include <numeric>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/fourier.h"
#include "handlers/sizes.h"
#include "process/spell_count.h"

namespace compatcheck::handlers {
namespace {

struct Frames {
  std::int64_t points, hop, bins;
};

// Returns the window in the middle of n_fft points; ones if there is none.
Value window_of(Emission& e, const Frames& frames, DType dtype) {
  const std::int64_t length = e.integer("win_length", frames.points);
  if (length < 1 || length > frames.points)
    throw Refusal{"a window of " + spell_count(length, "point") + " for frames of " + std::to_string(frames.points)};
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

// [times, last - first]: cosines, or negative sines. Angles are reduced before the multiplication by 2π.
Value waves(Emission& e, const Frames& frames, DType dtype, bool sine, const Ints& times, std::int64_t first, std::int64_t last) {
  Doubles made;
  for (const std::int64_t t : times)
    for (std::int64_t k = first; k < last; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(t * k % frames.points) / static_cast<double>(frames.points);
      made.push_back(sine ? -std::sin(angle) : std::cos(angle));
    }
  return e.build.constant(onnx::make_tensor(dtype, {static_cast<std::int64_t>(times.size()), last - first}, made));
}

// The imaginary parts, [batch, frames, bins]. A Fourier transform ignores elements that a sine of 0 would multiply (the points
// at the start and in the middle of a frame, the lowest and the highest bin), so that NaN there has no effect.
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

// How many there are, as an i64 vector of one. `beyond`: what padding adds to the samples.
Value count_of(Emission& e, const Frames& frames, std::int64_t beyond) {
  if (const auto samples = e.size("self", -1)) {
    if (*samples + beyond < frames.points) throw Refusal{"the signal is shorter than a frame"};
    return e.integers({1 + (*samples + beyond - frames.points) / frames.hop});
  }
  const Value places = e.node("Add", {e.size_of("self", -1), e.integers({beyond - frames.points})});
  return e.node("Add", {e.node("Div", {places, e.integers({frames.hop})}), e.integers({1})});
}

// [batch, samples] → [batch, frames, points]
Value framed(Emission& e, const Value& signal, const Value& count, const Frames& frames) {
  Ints within(static_cast<std::size_t>(frames.points));
  std::iota(within.begin(), within.end(), 0);
  const auto known = e.build.ints_of(count);
  if (!known) {
    const auto marked = e.build.plumbing();
    const Value starts = e.node("Mul", {counting(e, count), e.integers({frames.hop})});
    return e.build.gather(signal, e.node("Add", {e.build.unsqueeze(starts, {1}), e.integers(within)}), 1);
  }
  Ints places;
  for (std::int64_t frame = 0; frame < known->front(); ++frame)
    for (const std::int64_t i : within) places.push_back(frame * frames.hop + i);
  const Value at = e.build.constant(onnx::make_tensor(DType::i64, {known->front(), frames.points}, places));
  return e.build.gather(signal, at, 1);
}

void stft(Emission& e) {
  const std::int64_t rank = e.rank("self"), points = e.integer("n_fft");
  const bool onesided = !e.given("onesided") || e.boolean("onesided");
  const Frames frames{points, e.integer("hop_length", points / 4), onesided ? points / 2 + 1 : points};
  if (points < 1 || frames.hop < 1)
    throw Refusal{"PyTorch doesn't support frames of " + spell_count(points, "point") + " every " + std::to_string(frames.hop)};
  Value x = e.tensor("self");
  const DType dtype = x.dtype;
  if (rank == 1) x = e.build.unsqueeze(x, {0});
  std::int64_t beyond = 0;
  if (e.call.has("center") && e.boolean("center")) {
    const std::int64_t half = points / 2;
    const std::string mode = e.string("pad_mode");
    if (mode != "reflect" && mode != "constant" && mode != "replicate")
      throw Refusal{"the padding '" + mode + "' has no ONNX form", "use pad_mode='reflect'"};
    x = e.node("Pad", {x}, {{"pads", Ints{0, half, 0, half}}, {"mode", mode == "replicate" ? "edge" : mode}});
    beyond = 2 * half;
  }
  const Value count = count_of(e, frames, beyond);
  const Value windowed = e.node("Mul", {framed(e, x, count, frames), window_of(e, frames, dtype)});
  Ints times(static_cast<std::size_t>(points));
  std::iota(times.begin(), times.end(), 0);
  const Value real =
      e.node("MatMul", {windowed, waves(e, frames, dtype, false, times, 0, frames.bins)});  // [batch, frames, bins]
  const Value batch = rank == 1 ? e.integers({1}) : e.size_of("self", 0);
  const Value still = [&] {
    const auto marked = e.build.plumbing();  // would be a constant if its size were known
    return filled(e, e.build.concat({batch, count, e.integers({1})}, 0), dtype, 0);
  }();
  const auto placed = [&](const Value& part) {  // [batch, bins, frames]
    Value bins = e.build.transpose(part, {0, 2, 1});
    if (e.boolean("normalized")) bins = e.node("Div", {bins, e.scalar(dtype, std::sqrt(static_cast<double>(points)))});
    return rank == 1 ? e.build.squeeze(bins, {0}) : bins;
  };
  const Complex made{placed(real), placed(imaginary(e, windowed, frames, still))};
  if (ir::is_complex(e.output_dtype())) return e.give(made);
  e.give(paired(made, rank + 1, e.build));
}

// ---- istft: frames are added where they overlap, and divided by what the windows add up to there

// `rows` of a kernel, each at the place of its frame. [batch, rows, frames] → [batch, 1, samples]
Value overlapped(Emission& e, const Value& frames, const Value& kernel, std::int64_t hop) {
  return e.node("ConvTranspose", {frames, kernel}, {{"strides", Ints{hop}}});
}

// `beyond`: value of the samples after the last frame.
Value trimmed(Emission& e, const Value& samples, const Frames& frames, double beyond) {
  const std::int64_t start = e.boolean("center") ? frames.points / 2 : 0;
  if (!e.given("length")) return start == 0 ? samples : part(e, samples, 2, start, -start);
  const Value end = sum(e, int_value(e, "length"), e.integers({start}));
  const auto known = e.build.ints_of(end);
  const auto count = e.size("self", -1);
  const std::int64_t whole = count ? frames.points + frames.hop * (*count - 1) : 0;
  if (!known) {
    const auto marked = e.build.plumbing();  // would be a pad if its size were known
    const Value more = filled(e, e.build.concat({size_at(e, samples, 0), e.integers({1}), end}, 0), samples.dtype, beyond);
    return sliced(e, e.build.concat({samples, more}, 2), 2, e.integers({start}), end);
  }
  if (count && known->front() <= whole) return part(e, samples, 2, start, known->front());
  const Ints pads{0, 0, 0, 0, 0, count ? known->front() - whole : known->front()};
  const Value behind = e.node("Pad", {samples}, {{"pads", pads}, {"value", beyond}});
  return part(e, behind, 2, start, known->front());
}

void istft(Emission& e) {
  const std::int64_t rank = e.rank("self"), points = e.integer("n_fft");
  const Frames frames{points, e.integer("hop_length", points / 4), points / 2 + 1};
  if (points < 1 || frames.hop < 1 || rank < 2) throw Refusal{"PyTorch doesn't support such frames"};
  const DType dtype = e.output_dtype();
  const auto placed = [&](const Value& part) {  // the bins behind are the conjugates of these
    const Value bins = e.size("self", -2) == frames.bins ? part : e.build.slice(part, {0}, {frames.bins}, {rank - 2});
    return rank == 2 ? e.build.unsqueeze(bins, {0}) : bins;
  };
  const Complex x = e.complex("self", dtype);
  const Value spectrum = e.build.concat({placed(x.real), placed(x.imag)}, 1);
  const Value window = window_of(e, frames, dtype);
  const Value waves = half_spectrum_matrix(e, points, e.boolean("normalized") ? Norm::by_root : Norm::by_points, dtype);
  const Value samples = overlapped(e, spectrum, e.build.unsqueeze(e.node("Mul", {waves, window}), {1}), frames.hop);
  const Value kernel = e.build.reshape(e.node("Mul", {window, window}), {1, 1, points});
  const Value ones = [&] {
    const auto marked = e.build.plumbing();  // would be a constant if its size were known
    return filled(e, e.build.concat({e.integers({1, 1}), e.size_of("self", -1)}, 0), dtype, 1);
  }();
  const Value shares = overlapped(e, ones, kernel, frames.hop);
  const Value made = e.build.squeeze(e.node("Div", {trimmed(e, samples, frames, 0), trimmed(e, shares, frames, 1)}), {1});
  e.give(rank == 2 ? e.build.squeeze(made, {0}) : made);
}

}  // namespace

void register_fft_stft(Registry& registry) {
  registry.handler("aten::stft", stft);
  registry.complex_handler("aten::stft", stft);
  registry.complex_handler("aten::istft", istft);
}

}  // namespace compatcheck::handlers
