// compatcheck::verify: both sides run on the same inputs, their outputs compared.
#include "compatcheck/verify.h"

#include <algorithm>
#include <cstdio>

#include "analysis/boundary.h"
#include "analysis/onnx_model.h"
#include "analysis/prepare.h"
#include "analysis/run.h"
#include "frontend/naming.h"
#include "verify/dump.h"
#include "verify/first_bad.h"
#include "verify/match.h"
#include "verify/reference.h"
#include "verify/runtime.h"
#include "verify/temporary.h"
#include "verify/ties.h"

namespace compatcheck {
namespace {

using verification::Expected;
using verification::MadeCall;
using verification::Sizes;

class Verifying {
 public:
  Verifying(const Model::State& model, const VerifyOptions& options)
      : model_(model),
        options_(options),
        watch_(analysis::watch_of(options.convert.run, options.convert.timeout_seconds)),
        prepared_(analysis::prepare(model, analysis::check_options(options.convert), watch_)),
        reference_(model, options, prepared_, watch_),
        runtime_(options.ort_library) {
    made_.model = model.path;
    made_.runtime = runtime_.version();
    made_.opset = options.convert.opset;
    made_.seed = options.seed;
  }

  // A file of the user's; what isn't whole isn't the runtime's fault.
  Verification run_given(const std::filesystem::path& onnx) {
    verification::OnnxGraph(onnx, watch_).must_be_whole();
    return run(onnx);
  }

  Verification run(const std::filesystem::path& onnx) {
    std::optional<verification::Session> session;
    try {
      session = runtime_.open(onnx);
    } catch (const ModelError& error) {
      add_finding("CC201", Severity::error, "ONNX Runtime " + runtime_.version() + " doesn't take the model: " + error.what(),
                  help_of_type());
      return finish();
    }
    for (int index = 0; index < reference_.runs(); ++index) {
      watch_.look();
      report(index);
      verification::Reference::Refused refused;
      const auto expected = reference_.expect(index, refused);
      if (!expected) {
        add_finding("CC205", Severity::warning, "at " + spell(refused.sizes) + " TorchScript itself fails: " + refused.reason,
                    "a size that tracing took for a constant fits the traced size alone: make it of x.shape without int(…), or "
                    "state the size as a number in --input");
        break;
      }
      if (expected->on_cpu) made_.note = "the model's code names a GPU: TorchScript's operators were run one by one on the CPU";
      if (index == 0 && !options_.dump.empty()) dump(*session, onnx, *expected);
      if (!compare(*session, onnx, *expected)) break;
    }
    return finish();
  }

 private:
  const char* help_of_type() const {
    return options_.convert.export_type == ExportType::onnx ? ""
                                                            : "calls that don't become ONNX stay PyTorch's operators with this "
                                                              "export type: such a model is for a runtime that has them";
  }

  void report(int index) const {
    if (options_.convert.run.progress)
      options_.convert.run.progress(
          {.stage = "verify", .done = static_cast<std::uint64_t>(index), .total = static_cast<std::uint64_t>(reference_.runs())});
  }

  static std::string spell(const Sizes& sizes) {
    std::string text;
    for (const auto& [name, size] : sizes) text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(size);
    return text.empty() ? "these sizes" : text;
  }

  ir::Constants feed(const verification::Session& session, const MadeCall& call) const {
    ir::Constants values;
    const auto& names = session.inputs();
    for (std::size_t i = 0; i < names.size(); ++i) {
      auto found = std::ranges::find(call.leaves, names[i], &std::pair<std::string, ir::Constant>::first);
      if (found == call.leaves.end() && names.size() == call.leaves.size())
        found = call.leaves.begin() + static_cast<std::ptrdiff_t>(i);
      if (found == call.leaves.end())
        throw UsageError("the ONNX model's input '" + names[i] +
                         "' is none of the TorchScript model's, and it has another number of them");
      values.push_back(found->second);
    }
    return values;
  }

  verification::NamedValues named_inputs(const verification::Session& session, const MadeCall& call) const {
    verification::NamedValues inputs;
    const ir::Constants given = feed(session, call);
    for (std::size_t i = 0; i < given.size(); ++i) inputs.emplace_back(session.inputs()[i], given[i]);
    return inputs;
  }

  void dump(const verification::Session& session, const std::filesystem::path& onnx, const Expected& expected) {
    const verification::NamedValues inputs = named_inputs(session, expected.call);
    try {
      made_.dumped =
          verification::dump(options_.dump, verification::OnnxGraph(onnx, watch_), runtime_, inputs, options_.memory, watch_);
    } catch (const ModelError& error) {  // the comparison tells more
      made_.note = std::string("not all values are saved: ") + error.what();
    }
  }

  // False where nothing more is worth running.
  bool compare(const verification::Session& session, const std::filesystem::path& onnx, const Expected& expected) {
    note_run(expected);
    ir::Constants got;
    try {
      got = session.run(feed(session, expected.call));
    } catch (const ModelError& error) {
      const bool resized = made_.runs.size() > 1 && !expected.sizes.empty();
      add_finding(resized ? "CC205" : "CC201", Severity::error, "at " + spell(expected.sizes) + " " + error.what(), "");
      bisect(session, onnx, expected);
      return false;
    }
    const auto pairs = verification::match(expected.result, got, session.outputs());
    if (!pairs.mismatch.empty()) {
      add_finding("CC203", Severity::error, pairs.mismatch, "");
      bisect(session, onnx, expected);
      return false;
    }
    if (expected.again && is_random(expected)) return false;
    bool all = true;
    for (std::size_t i = 0; i < pairs.pairs.size(); ++i) all &= judge(i, pairs.pairs[i], expected.call, pairs.pairs.size());
    if (!all) {
      const auto difference = largest(pairs.pairs);
      blame(onnx, expected, difference);
      if (difference) measure_noise(expected, *difference);
      bisect(session, onnx, expected);
    }
    return all;
  }

  void note_run(const Expected& expected) {
    RunInputs run{.sizes = expected.sizes, .inputs = {}};
    for (const auto& [name, value] : expected.call.leaves) {
      const auto* view = value.get<ir::TensorView>();
      TensorInfo info{.name = name,
                      .dtype = view ? std::string(ir::name(view->dtype)) : ir::to_string(*ir::type_of(value)),
                      .shape = std::vector<std::string>()};
      if (view)
        for (const std::int64_t size : view->sizes) info.shape->push_back(std::to_string(size));
      run.inputs.push_back(std::move(info));
    }
    made_.runs.push_back(std::move(run));
  }

  verification::Tolerance tolerance(ir::DType dtype) const {
    verification::Tolerance tolerance = verification::tolerance_of(dtype);
    const bool exact = tolerance.relative == 0 && tolerance.absolute == 0;
    if (exact) return tolerance;
    return {options_.rtol.value_or(tolerance.relative), options_.atol.value_or(tolerance.absolute)};
  }

  // TorchScript against itself: what differs there can't be compared with anything.
  bool is_random(const Expected& expected) {
    const auto first = verification::leaves_of(expected.result), second = verification::leaves_of(*expected.again);
    noise_.assign(first.size(), 0);
    for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
      const auto comparison = verification::compare(first[i], second[i], tolerance(first[i].dtype));
      noise_[i] = comparison.max_abs;
      if (comparison.passed()) continue;
      add_finding("CC008", Severity::error,
                  "TorchScript's own result differs from call to call (" + verification::describe(comparison) +
                      "): the model is random or in training mode, and nothing can be compared",
                  "save it in eval mode, or verify the part without random operators");
      return true;
    }
    return false;
  }

  // sort, topk and argmax may name either of what is equally large.
  bool ties(std::size_t index, const verification::Pair& pair, const MadeCall& call, std::size_t outputs) {
    const auto leaves = verification::leaves_of(prepared_.graph);
    const auto by = leaves.size() == outputs ? verification::indexed_by(leaves[index], prepared_.facts) : std::nullopt;
    const auto held = by ? reference_.value(by->input, call) : std::nullopt;
    const auto* input = held ? held->get<ir::TensorView>() : nullptr;
    return input && verification::is_tie(*by, *input, pair.expected, pair.found, tolerance(input->dtype));
  }

  bool judge(std::size_t index, const verification::Pair& pair, const MadeCall& call, std::size_t outputs) {
    if (made_.outputs.size() <= index) {
      OutputVerification& made = made_.outputs.emplace_back();
      made.name = pair.name;
      made.dtype = ir::name(pair.expected.dtype);
      made.shape = pair.expected.sizes;
    }
    OutputVerification& output = made_.outputs[index];
    const auto comparison = verification::compare(pair.expected, pair.found, tolerance(pair.expected.dtype));
    if (!comparison.passed() && comparison.same_form() && !ir::is_floating(comparison.expected_dtype) &&
        ties(index, pair, call, outputs)) {
      output.elements += comparison.elements;
      output.ties += comparison.mismatched;
      return true;
    }
    output.max_abs = std::max(output.max_abs, comparison.max_abs);
    output.max_rel = std::max(output.max_rel, comparison.max_rel);
    output.mean_abs = std::max(output.mean_abs, comparison.mean_abs);
    output.p99_abs = std::max(output.p99_abs, comparison.p99_abs);
    output.cosine = std::min(output.cosine, comparison.cosine);
    if (comparison.snr_db) output.snr_db = std::min(output.snr_db.value_or(*comparison.snr_db), *comparison.snr_db);
    output.elements += comparison.elements;
    output.nonfinite += comparison.nonfinite;
    if (index < noise_.size()) output.noise_abs = noise_[index];
    const bool cosine = !options_.least_cosine || comparison.cosine >= *options_.least_cosine;
    output.mismatched += comparison.mismatched;
    if (comparison.passed() && cosine) return true;
    if (output.passed)
      output.difference =
          comparison.passed() ? "cosine " + std::to_string(comparison.cosine) : verification::describe(comparison);
    output.passed = false;
    const char* id = comparison.expected_dtype != comparison.found_dtype   ? "CC204"
                     : comparison.expected_sizes != comparison.found_sizes ? "CC203"
                     : comparison.nonfinite_differ > 0                     ? "CC202"
                                                                           : "CC201";
    add_finding(made_.runs.size() > 1 && id != std::string("CC204") && !made_.runs.back().sizes.empty() ? "CC205" : id,
                Severity::error, "output '" + output.name + "': " + output.difference, "");
    return false;
  }

  // The largest difference of any output; nullopt where they differ by more than numbers.
  static std::optional<double> largest(const std::vector<verification::Pair>& pairs) {
    double most = 0;
    for (const auto& pair : pairs) {
      const auto comparison = verification::compare(pair.expected, pair.found, {});
      if (!comparison.same_form() || comparison.nonfinite_differ > 0) return std::nullopt;
      if (ir::is_floating(comparison.expected_dtype)) most = std::max(most, comparison.max_abs);
    }
    return most;
  }

  // The runtime rewrites the graph: run once more as it stands.
  void blame(const std::filesystem::path& onnx, const Expected& expected, const std::optional<double>& difference) {
    try {
      const auto plain = runtime_.open(onnx, {.optimize = verification::Optimize::no});
      const auto pairs = verification::match(expected.result, plain.run(feed(plain, expected.call)), plain.outputs());
      if (!pairs.mismatch.empty()) return;
      const bool right = std::ranges::all_of(pairs.pairs, [&](const verification::Pair& pair) {
        return verification::compare(pair.expected, pair.found, tolerance(pair.expected.dtype)).passed();
      });
      const auto left = largest(pairs.pairs);
      if (right)
        advise("without ONNX Runtime's graph optimisations the model is right: the fault is in these");
      else if (left && difference && *left * 4 < *difference)
        advise("without ONNX Runtime's graph optimisations the largest difference is " + short_number(*left) + " instead of " +
               short_number(*difference) + ": most of the fault is in these");
    } catch (const ModelError&) {
      // Nothing is learned.
    }
  }

  // What the model itself makes of rounding.
  void measure_noise(const Expected& expected, double difference) {
    const auto other = reference_.nudged_result(expected);
    if (!other) return;
    const auto first = verification::leaves_of(expected.result), second = verification::leaves_of(*other);
    double noise = 0;
    for (std::size_t i = 0; i < std::min({first.size(), second.size(), made_.outputs.size()}); ++i) {
      const double moved = verification::compare(first[i], second[i], {}).max_abs;
      made_.outputs[i].noise_abs = std::max(made_.outputs[i].noise_abs, moved);
      noise = std::max(noise, moved);
    }
    if (noise > 0 && difference <= 4 * noise)
      advise("TorchScript's own result moves by " + short_number(noise) +
             " when the last bit of its inputs changes: the model makes that much of rounding; --atol and --rtol say what is "
             "near enough");
  }

  static std::string short_number(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2g", number);
    return text;
  }

  void advise(const std::string& text) {
    std::string& help = made_.findings.back().help;
    help += (help.empty() ? "" : "; ") + text;
  }

  void bisect(const verification::Session& session, const std::filesystem::path& onnx, const Expected& expected) {
    if (!options_.bisect && options_.repro.empty()) return;
    const verification::NamedValues inputs = named_inputs(session, expected.call);
    verification::NamedValues outputs;
    const auto leaves = verification::leaves_of(expected.result);
    if (leaves.size() == session.outputs().size())  // no sequences among them
      for (std::size_t i = 0; i < leaves.size(); ++i) outputs.emplace_back(session.outputs()[i], ir::Constant{leaves[i]});
    const ir::Constants arguments = reference_.prepared_arguments(expected.call);
    try {
      verification::explain({.model = model_,
                             .options = options_,
                             .onnx = onnx,
                             .prepared = prepared_,
                             .arguments = arguments,
                             .inputs = inputs,
                             .outputs = outputs,
                             .runtime = runtime_,
                             .frontend = reference_.frontend(),
                             .tolerance = [this](ir::DType dtype) { return tolerance(dtype); },
                             .watch = watch_},
                            made_);
    } catch (const Cancelled&) {
      throw;
    } catch (const UsageError&) {
      throw;  // the folder of --repro
    } catch (const Error& error) {
      made_.bisection = {.compared = 0, .runs = 0, .bytes = 0, .note = std::string("bisecting failed: ") + error.what()};
    }
  }

  void add_finding(const std::string& id, Severity severity, std::string message, std::string help) {
    made_.findings.push_back({.id = id,
                              .severity = severity,
                              .op = {},
                              .overload = {},
                              .message = std::move(message),
                              .help = std::move(help),
                              .available_from = {},
                              .nodes = 0,
                              .sites = {},
                              .target = {},
                              .suppressed = {}});
  }

  Verification finish() {
    made_.passed =
        std::ranges::none_of(made_.findings, [](const Finding& finding) { return finding.severity == Severity::error; });
    made_.exit_code = made_.passed ? exit_passed : exit_findings;
    return std::move(made_);
  }

  const Model::State& model_;
  const VerifyOptions& options_;
  ir::Watch watch_;
  analysis::Prepared prepared_;
  verification::Reference reference_;
  verification::Runtime runtime_;
  std::vector<double> noise_;
  Verification made_;
};

void must_run(const Model& model, const VerifyOptions& options) {
  if (options.runs < 1) throw UsageError("verify: at least 1 run is needed, not " + std::to_string(options.runs));
  if (model.state().format != frontend::Format::torchscript)
    throw UsageError(model.path() + ": a graph as text has no weights and can't be run: verify takes a TorchScript file");
}

Verification unconverted(const Model& model, Report report) {
  Verification made;
  made.model = model.path();
  made.opset = report.opset;
  made.report = std::move(report);
  made.exit_code = exit_findings;
  return made;
}

}  // namespace

Verification verify(const Model& model, const VerifyOptions& options) {
  return analysis::guarded(model.path(), [&] {
    must_run(model, options);
    const verification::TemporaryFolder folder;
    const auto onnx = folder.path() / "model.onnx";
    Report report = convert(model, onnx, options.convert);
    if (!report.convertible()) return unconverted(model, std::move(report));
    return frontend::naming(model.path(), [&] { return Verifying(model.state(), options).run(onnx); });
  });
}

Verification verify(const Model& model, const std::filesystem::path& onnx, const VerifyOptions& options) {
  return analysis::guarded(model.path(), [&] {
    must_run(model, options);
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(onnx, ignored)) throw ModelError(onnx.string() + ": there is no such file");
    Verification made = frontend::naming(model.path(), [&] { return Verifying(model.state(), options).run_given(onnx); });
    made.onnx = onnx.string();
    made.opset.reset();
    return made;
  });
}

}  // namespace compatcheck
