#include "verification/judge.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "verification/quantized.h"
#include "verification/ties.h"

namespace compatcheck::verification {
namespace {

// A difference that is mostly gone without the runtime's optimizations is theirs; near a tolerance every change of the order of
// sums decides.
constexpr double much_less = 4;

std::string short_number(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", number);
  return text;
}

// The largest difference of any output; nullopt where they differ by more than numbers.
std::optional<double> largest(const std::vector<Pair>& pairs) {
  double most = 0;
  for (const auto& pair : pairs) {
    if (pair.none) continue;
    const auto comparison = compare(pair.expected, pair.found, {});
    if (!comparison.same_form() || comparison.nonfinite_differ > 0) return std::nullopt;
    if (ir::is_floating(comparison.expected_dtype)) most = std::max(most, comparison.max_abs);
  }
  return most;
}

}  // namespace

const char* id_of(const Comparison& comparison) {
  return comparison.expected_dtype != comparison.found_dtype   ? "CC204"
         : comparison.expected_sizes != comparison.found_sizes ? "CC203"
         : comparison.nonfinite_differ > 0                     ? "CC202"
                                                               : "CC201";
}

void note_input(const std::string& name, const ir::Constant& value, RunInputs& run) {
  if (const auto* list = value.get<ir::ListConstant>()) {
    for (std::size_t i = 0; i < list->items.size(); ++i) note_input(name + "." + std::to_string(i), list->items[i], run);
    return;
  }
  const auto* view = value.get<ir::TensorView>();
  TensorInfo info{.name = name,
                  .dtype = view ? std::string(ir::name(view->dtype)) : ir::to_string(*ir::type_of(value)),
                  .shape = std::vector<std::string>()};
  if (view)
    for (const std::int64_t size : view->sizes) info.shape->push_back(std::to_string(size));
  run.inputs.push_back(std::move(info));
}

void note_metrics(OutputVerification& output, const Comparison& comparison) {
  output.max_abs = std::max(output.max_abs, comparison.max_abs);
  output.max_rel = std::max(output.max_rel, comparison.max_rel);
  output.mean_abs = std::max(output.mean_abs, comparison.mean_abs);
  output.p99_abs = std::max(output.p99_abs, comparison.p99_abs);
  output.cosine = std::min(output.cosine, comparison.cosine);
  if (comparison.snr_db) output.snr_db = std::min(output.snr_db.value_or(*comparison.snr_db), *comparison.snr_db);
  output.elements += comparison.elements;
  output.nonfinite += comparison.nonfinite;
}

Finding& add_finding(Verification& made, const std::string& id, Severity severity, std::string message, std::string help) {
  Finding& finding = made.findings.emplace_back();
  finding.id = id;
  finding.severity = severity;
  finding.message = std::move(message);
  finding.help = std::move(help);
  return finding;
}

void advise(Verification& made, const std::string& text) {
  std::string& help = made.findings.back().help;
  help += (help.empty() ? "" : "; ") + text;
}

bool is_resized(const Verification& made, const Expected& expected) {
  return std::ranges::all_of(made.runs.begin(), made.runs.end() - 1,
                             [&](const RunInputs& run) { return run.sizes != expected.sizes; }) &&
         made.runs.size() > 1;
}

Tolerance Judge::tolerance(ir::DType dtype) const { return tolerance_of(dtype, options_.rtol, options_.atol); }

Tolerance Judge::tolerance_of_output(std::size_t index, std::size_t outputs, ir::DType dtype) const {
  const auto narrow = reference_.narrow_of(index, outputs);
  const bool narrowed = narrow && ir::is_floating(dtype) && ir::element_bytes(dtype) > ir::element_bytes(*narrow);
  Tolerance allowed = tolerance(narrowed ? *narrow : dtype);
  // Both sides round sums to steps: where a sum ends between two, each may take another.
  const auto leaves = leaves_of(prepared_.graph);
  if (leaves.size() == outputs && ir::is_floating(dtype) && !options_.atol)
    allowed.absolute = std::max(allowed.absolute, step_of(leaves[index], prepared_.facts) * (1 + 1e-4));
  return allowed;
}

bool Judge::is_random(const Expected& expected) {
  const auto first = leaves_of(expected.result), second = leaves_of(*expected.again);
  own_.assign(first.size(), 0);
  if (first.size() != second.size()) {
    report_random("the number of its values changes from " + std::to_string(first.size()) + " to " +
                  std::to_string(second.size()));
    return true;
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto comparison = compare(first[i], second[i], tolerance(first[i].dtype));
    own_[i] = comparison.max_abs;
    if (comparison.passed()) continue;
    report_random(describe(comparison));
    return true;
  }
  return false;
}

void Judge::report_random(const std::string& difference) {
  add_finding(made_, "CC008", Severity::error,
              "PyTorch's own result differs from call to call (" + difference + "), so nothing can be compared",
              "save the model in eval mode, or verify the part without random operators; if the code changes a list in a loop "
              "that also sets it to a literal such as [], use clear() instead (docs/verify.md#literals-in-loops)");
}

bool Judge::judge(const std::vector<Pair>& pairs, const Expected& expected, const Plain& plain) {
  noise_.reset();
  in_half_.reset();
  of_weights_ = false;
  bool all = true;
  std::size_t leaf = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    output_of(pairs[i]);
    if (!pairs[i].none) all &= judge_output(i, leaf++, pairs[i], expected, pairs.size());
  }
  if (all) return true;
  blame(pairs, plain);
  report_noise();
  return false;
}

// An output that may be None has no dtype or shape before the first run that gives it a value.
OutputVerification& Judge::output_of(const Pair& pair) {
  auto place = std::ranges::find(made_.outputs, pair.name, &OutputVerification::name);
  if (place == made_.outputs.end()) {
    place = made_.outputs.emplace(place);
    place->name = pair.name;
  }
  OutputVerification& output = *place;
  if (pair.none || !output.dtype.empty()) return output;
  output.dtype = ir::name(pair.expected.dtype);
  output.shape = pair.expected.sizes;
  return output;
}

void Judge::report_nones() {
  // A list that has a value in another run is there by its members.
  const auto has_members = [&](const OutputVerification& output) {
    return output.dtype.empty() && std::ranges::any_of(made_.outputs, [&](const OutputVerification& other) {
             return !other.dtype.empty() && other.name.starts_with(output.name + ".");
           });
  };
  std::vector<OutputVerification> kept;
  std::ranges::remove_copy_if(made_.outputs, std::back_inserter(kept), has_members);
  made_.outputs = std::move(kept);
  for (OutputVerification& output : made_.outputs) {
    if (!output.dtype.empty()) continue;
    output.dtype = "None";
    made_.note += (made_.note.empty() ? "" : "; ") + std::string("output '") + output.name +
                  "' is None on both sides in every run, so none of its values are compared";
  }
}

bool Judge::judge_output(std::size_t index, std::size_t leaf, const Pair& pair, const Expected& expected, std::size_t outputs) {
  OutputVerification& output = output_of(pair);
  const Tolerance allowed = tolerance_of_output(index, outputs, pair.expected.dtype);
  const auto comparison = compare(pair.expected, pair.found, allowed);
  if (!comparison.passed() && comparison.same_form() && !ir::is_floating(comparison.expected_dtype) &&
      ties(index, pair, expected.call, outputs)) {
    output.elements += comparison.elements;
    output.ties += comparison.mismatched;
    return true;
  }
  note_metrics(output, comparison);
  if (leaf < own_.size()) output.noise_abs = std::max(output.noise_abs, own_[leaf]);
  bool within = comparison.passed();
  if (!within && comparison.same_form() && ir::is_floating(comparison.expected_dtype)) {
    for (const auto what : {Reference::Nudged::inputs, Reference::Nudged::weights}) {
      const Noise* noise = noise_of(leaf, expected, what);
      if (noise) output.noise_abs = std::max(output.noise_abs, noise->largest);
      within = noise && is_within(*noise, comparison, allowed);
      if (within) break;
    }
    if (!within && reference_.narrow_of(index, outputs)) {
      if (!in_half_) in_half_ = measure_noise(reference_, expected, Reference::Nudged::inputs_in_half);
      within = leaf < in_half_->size() && is_within((*in_half_)[leaf], comparison, allowed);
    }
    if (within) output.within_noise += comparison.mismatched;
  }
  if (!within) output.mismatched += comparison.mismatched;
  if (within && reaches_cosine(comparison)) return true;
  std::string difference = describe(comparison);
  if (within)
    difference =
        "the cosine is " + std::to_string(comparison.cosine) + ", but --require needs " + short_number(*options_.least_cosine);
  if (output.passed) output.difference = difference;
  output.passed = false;
  const std::string id = id_of(comparison);
  const bool resized = id != "CC204" && !within && is_resized(made_, expected);
  add_finding(made_, resized ? "CC205" : id, Severity::error,
              "output '" + output.name + "': " + difference + (resized ? " at " + spell(expected.sizes) : ""));
  if (within && *options_.least_cosine > 1) advise(made_, "a cosine is at most 1: lower --require");
  return false;
}

// sort, topk and argmax may name any of several equally large elements.
bool Judge::ties(std::size_t index, const Pair& pair, const MadeCall& call, std::size_t outputs) {
  const auto leaves = leaves_of(prepared_.graph);
  const auto by = leaves.size() == outputs ? indexed_by(leaves[index], prepared_.facts) : std::nullopt;
  const auto held = by ? reference_.value(by->input, call) : std::nullopt;
  const auto* input = held ? held->get<ir::TensorView>() : nullptr;
  return input && is_tie(*by, *input, pair.expected, pair.found, tolerance(input->dtype));
}

// Weights are asked where inputs don't explain enough: the larger noise counts.
const Noise* Judge::noise_of(std::size_t leaf, const Expected& expected, Reference::Nudged what) {
  if (!noise_) noise_ = measure_noise(reference_, expected, Reference::Nudged::inputs);
  if (what == Reference::Nudged::weights && !of_weights_) {
    of_weights_ = true;
    const auto more = measure_noise(reference_, expected, what);
    noise_->resize(std::max(noise_->size(), more.size()));
    for (std::size_t i = 0; i < more.size(); ++i) {
      Noise& noise = (*noise_)[i];
      noise = {std::max(noise.largest, more[i].largest), std::max(noise.rms, more[i].rms)};
    }
  }
  return leaf < noise_->size() ? &(*noise_)[leaf] : nullptr;
}

bool Judge::reaches_cosine(const Comparison& comparison) const {
  return !options_.least_cosine || comparison.cosine >= *options_.least_cosine;
}

bool Judge::passes(const Comparison& comparison) const { return comparison.passed() && reaches_cosine(comparison); }

// The runtime rewrites the graph: its outputs once more without that.
void Judge::blame(const std::vector<Pair>& pairs, const Plain& plain) {
  const auto difference = largest(pairs);
  if (difference && noise_ && std::ranges::any_of(*noise_, [&](const Noise& noise) {
        return noise.largest > 0 && *difference <= much_less * noise.largest;
      }))
    return;  // every change of the order of sums makes as much
  const auto others = plain();
  if (!others) return;
  const bool right = std::ranges::all_of(*others, [&](const Pair& pair) {
    return pair.none || passes(compare(pair.expected, pair.found, tolerance(pair.expected.dtype)));
  });
  const auto left = largest(*others);
  const bool less = !difference || *difference == 0 || (left && *left * much_less < *difference);
  if (right && less)
    advise(made_, "the result is correct without ONNX Runtime's graph optimizations: they are at fault");
  else if (left && difference && less && *difference > 0)
    advise(made_, "without ONNX Runtime's graph optimizations the largest difference is " + short_number(*left) + " instead of " +
                      short_number(*difference) + ": they cause most of the difference");
}

void Judge::report_noise() {
  if (!noise_) return;
  double noise = 0, difference = 0;
  for (const Noise& each : *noise_) noise = std::max(noise, each.largest);
  for (const OutputVerification& output : made_.outputs)
    if (!output.passed) difference = std::max(difference, output.max_abs);
  if (noise > 0 && difference <= much_less * noise)
    advise(made_,
           "PyTorch's own result changes by " + short_number(noise) +
               " if the last bits of its inputs or weights change; if such a difference is acceptable, raise --atol or --rtol");
}

}  // namespace compatcheck::verification
