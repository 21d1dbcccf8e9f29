// compatcheck::verify: both sides run on the same inputs, their outputs compared.
#include "compatcheck/verify.h"

#include <algorithm>

#include "analysis/baked_in.h"
#include "analysis/boundary.h"
#include "analysis/onnx_model.h"
#include "analysis/prepare.h"
#include "analysis/run.h"
#include "files/naming.h"
#include "passes/effects.h"
#include "process/callback.h"
#include "verification/baked_in.h"
#include "verification/conclusion.h"
#include "verification/dump.h"
#include "verification/feed.h"
#include "verification/first_bad.h"
#include "verification/fixed_random.h"
#include "verification/judge.h"
#include "verification/match.h"
#include "verification/members.h"
#include "verification/pairing.h"
#include "verification/quantized.h"
#include "verification/reference.h"
#include "verification/runtime.h"
#include "verification/stated_by_file.h"
#include "verification/temporary.h"
#include "verification/undecided.h"
#include "verification/variation.h"

namespace compatcheck {
namespace {

using verification::add_finding;
using verification::Expected;
using verification::MadeCall;
using verification::spell;

constexpr int draws_of_distinct = 3, first_distinct = 2000;  // seeds that no other run has

class Verifying {
 public:
  // `members`: of lists and dictionaries, in the order in which an ONNX file of the user's takes them.
  Verifying(const Model::State& model, const VerifyOptions& options, const std::vector<std::string>& members = {})
      : options_(options),
        watch_(analysis::watch_of(options.convert.run, options.convert.timeout_seconds)),
        model_(analysis::state_of(model, options.convert.state, watch_)),
        prepared_(analysis::prepare(model_, analysis::check_options(options.convert), watch_, members)),
        reference_(model_, options, prepared_, watch_),
        runtime_(options.ort_library, options.ort_custom_ops,
                 {model.load.timeout_seconds, analysis::cancelled_of(options.convert.run)}),
        judge_(options, prepared_, reference_, made_) {
    made_.model = model.path;
    made_.runtime = runtime_.version();
    made_.opset = options.convert.opset;
    made_.seed = options.seed;
    made_.fail_on = options.fail_on;
    made_.assumed = prepared_.assumed;
  }

  // Verifies the user's file. A file with missing parts isn't the runtime's fault.
  Verification run_given(const std::filesystem::path& onnx, bool with_its_inputs) {
    if (with_its_inputs) reference_.inputs_of(onnx.string());
    {
      const verification::OnnxGraph graph(onnx, watch_);
      graph.must_be_whole();
      given_ = graph.inputs();
      if (graph.producer() == "compatcheck") values_ = graph.metadata(analysis::values_metadata).value_or("");
    }
    return run(onnx);
  }

  Verification run(const std::filesystem::path& onnx) {
    onnx_ = onnx;
    try {
      session_ = runtime_.open(onnx);
    } catch (const ModelError& error) {
      add_finding(made_, "CC201", Severity::error,
                  "ONNX Runtime " + runtime_.version() + " can't load the model: " + error.what(), help_of_type());
      return finish();
    }
    inputs_ = session_->inputs();
    outputs_ = session_->outputs();
    report_progress();
    std::optional<Expected> runs = reference_.first();
    if (!runs) {
      verification::report_misfits(reference_, prepared_, made_);
      return finish();
    }
    Expected first = *std::move(runs);
    if (first.on_cpu) made_.note = "the model's code names a GPU: TorchScript's operators were run one by one on the CPU";
    note_refused(first);
    if (!options_.dump.empty()) dump(first);
    verification::vary(reference_, options_, std::move(first), prepared_, made_, [&](const Expected& expected) {
      watch_.look();
      report_progress();
      return compare_unless_open(expected);
    });
    settle_ties();
    judge_.report_nones();
    verification::report_baked_in(analysis::collect_baked_in(model_, prepared_), options_, made_);
    return finish();
  }

 private:
  const char* help_of_type() const {
    return options_.convert.export_type == ExportType::onnx ? ""
                                                            : "calls that don't become ONNX stay PyTorch's operators with this "
                                                              "export type: such a model is for a runtime that has them";
  }

  void report_progress() const {
    const auto done = static_cast<std::uint64_t>(made_.runs.size());
    process::report_progress(
        options_.convert.run,
        {.stage = "verify", .done = done, .total = std::max(done, static_cast<std::uint64_t>(options_.runs))});
  }

  ir::Constants feed(const MadeCall& call) const {
    ir::Constants values = verification::feed(call, inputs_, {given_, values_, options_.convert.inputs, model_});
    for (ir::Constant& value : values)
      value = verification::as_given(verification::in_pairs(std::move(value)), options_.convert.quantized_io);
    return values;
  }

  // TorchScript's quantized results come as floats.
  ir::Constants with_floats(ir::Constants outputs) const {
    verification::dequantize(outputs, verification::leaves_of(prepared_.graph), prepared_.facts);
    return outputs;
  }

  verification::NamedValues named_inputs(const MadeCall& call) const {
    verification::NamedValues inputs;
    const ir::Constants given = feed(call);
    for (std::size_t i = 0; i < given.size(); ++i) inputs.emplace_back(inputs_[i], given[i]);
    return inputs;
  }

  void dump(const Expected& expected) {
    try {
      made_.dumped = verification::dump(options_.dump, verification::OnnxGraph(onnx_, watch_), runtime_,
                                        named_inputs(expected.call), options_.memory, watch_);
    } catch (const ModelError& error) {  // not fatal: the comparison reports more
      made_.note = std::string("not all values are saved: ") + error.what();
    }
  }

  // Sizes that aren't the model's are no failure of it.
  void note_refused(const Expected& expected) {
    if (expected.refused.empty()) return;
    const std::size_t others = expected.refused.size() - 1;
    made_.note +=
        (made_.note.empty() ? "" : "; ") + std::string("PyTorch itself refuses ") + spell(expected.refused.front()) +
        (others > 0 ? " and " + std::to_string(others) + (others == 1 ? " other choice" : " other choices") + " of sizes" : "") +
        ", which are skipped: " + expected.refusal;
  }

  verification::Matched match(const Expected& expected, const ir::Constants& found, const std::vector<std::string>& names) const {
    return verification::match(expected.result, found, names, {prepared_.graph, prepared_.facts});
  }

  // Returns TorchScript's values with the names of the ONNX model's outputs, if they can be paired.
  std::vector<verification::Pair> expected_outputs(const Expected& expected) const {
    const auto leaves = verification::leaves_of(expected.result);
    if (leaves.size() == outputs_.size()) return match(expected, {leaves.begin(), leaves.end()}, outputs_).pairs;
    auto matched = match(expected, got_, outputs_);
    return matched.mismatch.empty() ? std::move(matched.pairs) : std::vector<verification::Pair>();
  }

  // A difference counts only if the inputs decide what the result is: not where equal values are chosen among, in an order that
  // PyTorch doesn't promise, and not where made values stand so near to an edge that their last bits decide.
  bool compare_unless_open(const Expected& expected) {
    auto findings = made_.findings;
    auto outputs = made_.outputs;
    nones_differ_ = false;
    if (compare(expected)) {
      ++settled_;
      return true;
    }
    if (options_.convert.inputs_from.empty() && made_.findings.size() > findings.size()) {
      const bool usual = expected.way == verification::Way::usual;
      std::string place = verification::chose_among_equals(reference_, model_, options_, prepared_, expected);
      if (!place.empty() || (!usual && verification::is_at_edge(reference_, judge_, expected))) {
        if (usual && !open_) open_ = Open{std::move(place), made_.findings.back(), expected.sizes};
        made_.findings = std::move(findings);
        made_.outputs = std::move(outputs);
        differing_.reset();
        if (!session_) session_ = runtime_.open(onnx_);
        return true;
      }
    }
    if (differing_) bisect(*differing_, nones_differ_);
    return false;
  }

  // The runs in which equal values were chosen among, once more with values that all differ.
  void settle_ties() {
    if (!open_) return;
    bool same = true;
    for (int draw = 0; draw < draws_of_distinct && same; ++draw)
      if (const auto expected = reference_.in_way(verification::Way::distinct, open_->sizes, first_distinct + draw))
        same = compare_unless_open(*expected);
    if (!same) return;
    const std::string order = ", and PyTorch doesn't promise which of them it chooses";
    if (settled_ > 0) {
      made_.note += (made_.note.empty() ? "" : "; ") + open_->place + " chooses among equal values in some runs" + order +
                    ": these runs aren't compared";
      return;
    }
    made_.findings.push_back(open_->finding);
    verification::advise(made_, open_->place + " chooses among equal values" + order +
                                    ", so the difference need not be a fault; CheckOptions::inputs_from FILE gives inputs "
                                    "without equal values");
  }

  // False if further runs are useless. For a model that keeps state, compares the calls of a sequence, each with the state
  // that the ONNX model itself returned in the previous call.
  bool compare(const Expected& expected) {
    note_run(expected);
    if (!compare_call(expected)) return false;
    for (std::size_t i = 0; i < expected.later.size(); ++i) {
      Expected next = expected.later[i];
      for (const auto& [input, value] : state_after()) verification::Reference::set_leaf(next.call, input, value);
      if (compare_call(next)) continue;
      if (!made_.findings.empty())
        verification::advise(made_, "this is call " + std::to_string(i + 2) + " of " + std::to_string(expected.later.size() + 1) +
                                        ", with the state that the call before left");
      return false;
    }
    return true;
  }

  // Returns the state after the call that was compared last, by input.
  verification::NamedValues state_after() const {
    verification::NamedValues state;
    const auto& attributes = prepared_.state;
    const auto first = got_.end() - std::ssize(attributes);
    for (std::size_t i = 0; i < attributes.size(); ++i)
      state.emplace_back(attributes[i].input, verification::like(attributes[i].initial, first[static_cast<std::ptrdiff_t>(i)]));
    return state;
  }

  bool compare_call(const Expected& expected) {
    const ir::Constants values = feed(expected.call);
    if (const auto other = verification::unpaired(given_, inputs_, values); !other.reason.empty()) {
      add_finding(made_, other.rule, Severity::error, other.reason,
                  "--input or --inputs-from with the dtype and rank of the file");
      return false;
    }
    try {
      got_ = with_floats(session_->run(values));
    } catch (const ModelError& error) {
      add_finding(made_, verification::is_resized(made_, expected) ? "CC205" : "CC201", Severity::error,
                  "at " + spell(expected.sizes) + " " + error.what());
      differing_ = expected;
      return false;
    }
    if (expected.again && judge_.is_random(expected)) {
      report_fixed_random(expected);
      return false;
    }
    const auto pairs = match(expected, got_, outputs_);
    if (!pairs.mismatch.empty()) {
      add_finding(made_, "CC203", Severity::error, pairs.mismatch);
      nones_differ_ = pairs.nones_differ;
      differing_ = expected;
      return false;
    }
    if (judge_.judge(pairs.pairs, expected, [&] { return run_plainly(expected); })) return true;
    differing_ = expected;
    return false;
  }

  std::optional<std::vector<verification::Pair>> run_again(const verification::Session& session, const Expected& expected) const {
    try {
      auto matched = match(expected, with_floats(session.run(feed(expected.call))), outputs_);
      if (matched.mismatch.empty()) return std::move(matched.pairs);
    } catch (const ModelError&) {  // nothing is learned
    }
    return std::nullopt;
  }

  bool draws_numbers() const {
    bool found = false;
    ir::for_each_node(*prepared_.graph.top(), [&](const ir::Node* node) { found |= passes::is_random(*node); });
    return found;
  }

  // The runtime may remove a random operator, or compute it once. PyTorch's results may also differ because a call leaves
  // something.
  void report_fixed_random(const Expected& expected) {
    if (!draws_numbers()) return;
    const auto first = match(expected, got_, outputs_);
    const auto second = verification::match(*expected.again, got_, outputs_, {prepared_.graph, prepared_.facts});
    const auto fixed = verification::fixed_random(first.pairs, second.pairs, [&] { return run_again(*session_, expected); });
    if (fixed.empty()) return;
    for (const std::string& name : fixed)
      add_finding(made_, "CC201", Severity::error,
                  "output '" + name + "' is random in PyTorch, and the same in " + std::to_string(verification::runs_of_random) +
                      " runs of ONNX Runtime",
                  "docs/onnxruntime.md#avoided lists a random operator that ONNX Runtime removes");
    session_.reset();
    try {
      const auto plain = runtime_.open(onnx_, {.optimize = verification::Optimize::no});
      if (verification::fixed_random(first.pairs, second.pairs, [&] { return run_again(plain, expected); }).empty())
        verification::advise(made_, "it changes without ONNX Runtime's graph optimizations: they are at fault");
    } catch (const ModelError&) {  // nothing is learned
    }
  }

  // Without the runtime's own rewriting. The session that has it goes first: two would hold all weights twice.
  std::optional<std::vector<verification::Pair>> run_plainly(const Expected& expected) {
    session_.reset();
    try {
      const auto plain = runtime_.open(onnx_, {.optimize = verification::Optimize::no});
      auto pairs = match(expected, with_floats(plain.run(feed(expected.call))), plain.outputs());
      return pairs.mismatch.empty() ? std::optional(std::move(pairs.pairs)) : std::nullopt;
    } catch (const ModelError&) {
      return std::nullopt;  // nothing is learned
    }
  }

  void note_run(const Expected& expected) {
    RunInputs run{.sizes = expected.sizes, .inputs = {}};
    for (const auto& [name, value] : expected.call.leaves) verification::note_input(name, value, run);
    made_.runs.push_back(std::move(run));
  }

  void bisect(const Expected& expected, bool nones_differ = false) {
    if (!options_.bisect && options_.repro.empty()) return;
    session_.reset();
    const verification::NamedValues inputs = named_inputs(expected.call);
    verification::NamedValues outputs;
    for (auto& pair : expected_outputs(expected))
      if (!pair.none) outputs.emplace_back(pair.name, ir::Constant{std::move(pair.expected)});
    const ir::Constants arguments = reference_.prepared_arguments(expected.call);
    try {
      verification::explain({.model = model_,
                             .options = options_,
                             .onnx = onnx_,
                             .prepared = prepared_,
                             .arguments = arguments,
                             .inputs = inputs,
                             .outputs = outputs,
                             .nones_differ = nones_differ,
                             .runtime = runtime_,
                             .frontend = reference_.frontend(),
                             .tolerance = [this](ir::DType dtype) { return judge_.tolerance(dtype); },
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

  Verification finish() {
    verification::conclude(made_);
    return std::move(made_);
  }

  const VerifyOptions& options_;
  ir::Watch watch_;
  const Model::State& model_;
  analysis::Prepared prepared_;
  verification::Reference reference_;
  verification::Runtime runtime_;
  Verification made_;
  verification::Judge judge_;
  std::filesystem::path onnx_;
  std::optional<verification::Session> session_;
  std::vector<std::string> inputs_, outputs_;  // the ONNX model's
  ir::Constants got_;                          // the ONNX model's outputs in the last call
  // The first usual run that differs and doesn't count.
  struct Open {
    std::string place;
    Finding finding;
    verification::Sizes sizes;
  };
  std::optional<Open> open_;
  std::optional<Expected> differing_;                  // the call that is bisected if its difference counts
  bool nones_differ_ = false;                          // in it, another output is None than should be
  int settled_ = 0;                                    // number of runs that agree
  std::vector<verification::OnnxGraph::Given> given_;  // inputs of the user's ONNX file
  std::optional<std::string> values_;                  // those that compatcheck listed in it; nullopt: another exporter's file
};

void must_run(const Model& model, const VerifyOptions& options) {
  analysis::refuse_ranges(model.state(), "verify");
  if (options.runs < 1) throw UsageError("verify: at least 1 run is needed, not " + std::to_string(options.runs));
  if (model.state().format == frontend::Format::graph_text)
    throw UsageError(model.path() + ": a graph as text has no weights and can't be run: verify takes a model file");
}

Verification unconverted(const Model& model, Report report, VerifyFailOn fail_on) {
  Verification made;
  made.model = model.path();
  made.opset = report.opset;
  made.report = std::move(report);
  made.fail_on = fail_on;
  verification::conclude(made);
  return made;
}

}  // namespace

Verification verify(const Model& model, const VerifyOptions& given) {
  return analysis::guarded(model.path(), [&] {
    must_run(model, given);
    const VerifyOptions options = verification::with_stated_inputs(model.state(), given);
    const verification::TemporaryFolder folder;
    const auto onnx = folder.path() / "model.onnx";
    Report report = convert(model, onnx, options.convert);
    if (!report.convertible()) return unconverted(model, std::move(report), options.fail_on);
    return files::naming(model.path(), [&] { return Verifying(model.state(), options).run(onnx); });
  });
}

Verification verify(const Model& model, const std::filesystem::path& onnx, const VerifyOptions& options) {
  return analysis::guarded(model.path(), [&] {
    must_run(model, options);
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(onnx, ignored)) throw ModelError(onnx.string() + ": there is no such file");
    const verification::StatedByFile stated = verification::stated_by_file(model.state(), onnx, options);
    Verification made = files::naming(model.path(), [&] {
      return Verifying(model.state(), stated.options, stated.members).run_given(onnx, !verification::states_inputs(options));
    });
    made.onnx = onnx.string();
    made.opset.reset();
    return made;
  });
}

Verification failed_verification(const std::string& model, const std::exception& error) {
  const Report report = failure_report(model, error);
  Verification made;
  made.model = model;
  made.error = report.error;
  made.exit_code = report.exit_code;
  return made;
}

}  // namespace compatcheck
