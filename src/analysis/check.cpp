// compatcheck::check: facts, verdicts at each opset, report.
#include "compatcheck/check.h"

#include <algorithm>

#include "analysis/baked_in.h"
#include "analysis/boundary.h"
#include "analysis/causes.h"
#include "analysis/check_model.h"
#include "analysis/container_advice.h"
#include "analysis/deciding_sizes.h"
#include "analysis/describe.h"
#include "analysis/dropped_assertions.h"
#include "analysis/exported_inputs.h"
#include "analysis/findings.h"
#include "analysis/gate.h"
#include "analysis/graph_summary.h"
#include "analysis/input_spec.h"
#include "analysis/lost_writes.h"
#include "analysis/model_state.h"
#include "analysis/onnx_model.h"
#include "analysis/open_ranks.h"
#include "analysis/prepare.h"
#include "analysis/required_input.h"
#include "analysis/run.h"
#include "analysis/site.h"
#include "analysis/state_advice.h"
#include "analysis/targets.h"
#include "conversion/assess.h"
#include "conversion/stated_facts.h"
#include "files/naming.h"
#include "files/sha256.h"
#include "onnx/proto.h"
#include "process/callback.h"
#include "process/log.h"
#include "process/spell_count.h"

namespace compatcheck {
namespace {

// Whether it holds what works otherwise in training, and was saved so. Tracing has settled that, operator by operator.
bool was_training(const Model::State& state) {
  if (!state.program || !state.program->training || state.program->traced) return false;
  bool found = false;
  ir::for_each_node(*state.graph.top(), [&](const ir::Node* node) {
    for (const char* argument : {"train", "training"})
      found = found || (node->schema() && node->schema()->argument_index(argument));
  });
  return found;
}

Finding saved_in_training() {
  Finding finding;
  finding.id = "CC008";
  finding.severity = Severity::warning;
  finding.message = "the model was saved in training mode; it is checked, converted and verified in evaluation mode";
  finding.help = "call model.eval() before saving";
  return finding;
}

std::vector<Finding> reading_notes(const Model::State& state) {
  std::vector<Finding> findings;
  if (!state.program) return findings;
  for (const ir::LoadNote& note : state.program->notes) {
    using enum ir::LoadNote::Kind;
    if (note.kind != read_by_libtorch && note.kind != setstate_skipped && note.kind != matched_by_position) continue;
    Finding finding;
    finding.id = "CC016";
    finding.severity = Severity::note;
    finding.message = note.message;
    if (note.kind == matched_by_position)
      finding.help = "if they are other arguments, give the schema of the row the names in the file";
    if (note.kind == setstate_skipped)
      finding.help = "if a call needs these attributes, set them in __init__ and save the model again";
    findings.push_back(std::move(finding));
  }
  return findings;
}

Verdict verdict_of(const conversion::Assessment& assessment) {
  bool wanting = false;
  for (const auto& outcome : assessment.outcomes) {
    if (conversion::is_failure(outcome.status) && outcome.wants.empty()) return Verdict::no;
    wanting |= outcome.status != conversion::Status::ok;
  }
  return wanting ? Verdict::needs_input : Verdict::yes;
}

Report report_of(ModelInfo info, const std::string& libtorch) {
  Report report;
  report.tool = {"compatcheck", COMPATCHECK_VERSION, libtorch, COMPATCHECK_ONNX_VERSION};
  report.model = std::move(info);
  return report;
}

// The model as convert writes it, where somebody looks at it. Rows and handlers of users may contradict what facts state: no
// trial of one call shows that.
struct Whole {
  std::optional<onnx::Model> model;
  std::optional<Finding> fault;
};

Whole make_whole(const Model::State& state, const analysis::Prepared& prepared, int opset, const CheckOptions& options,
                 const conversion::Context& context, const ir::Watch& watch) {
  Whole whole;
  const auto fault = [&](std::string message, std::string help) -> Finding& {
    whole.fault.emplace();
    whole.fault->id = "CC005";
    whole.fault->severity = Severity::error;
    whole.fault->message = std::move(message);
    whole.fault->help = std::move(help);
    return *whole.fault;
  };
  try {
    std::vector<conversion::Stand> stands;
    whole.model = analysis::onnx_model(state, prepared, analysis::convert_options(options, opset), watch, &stands);
    if (const auto found = conversion::contradicted_by_nodes(prepared.graph, context, *whole.model, stands)) {
      Finding& made = fault(found->reason, "state in the row how the result follows from the arguments (docs/mappings.md#facts)");
      made.op = found->node->op();
      made.overload = found->node->overload();
      made.nodes = 1;
      made.sites.push_back(analysis::site_of(*found->node, 0));
    } else {
      onnx::check(onnx::to_proto(*whole.model), *whole.model);
    }
  } catch (const TableError&) {
    throw;
  } catch (const Error& error) {
    watch.look();  // throws if the time limit or a cancellation ended the call
    fault(std::string("with the rows and plugins given, ") + error.what(),
          "fix or remove the row or plugin that emitted the nodes named above");
  }
  return whole;
}

// Options that name the first size of inputs where the example of the trace alone made it 1.
std::vector<std::string> traced_batches(const Model::State& state, const CheckOptions& options) {
  std::vector<std::string> named;
  if (!state.program || !state.program->traced || state.exported || !options.inputs_from.empty()) return named;
  const auto stated = analysis::stated_sizes(options.inputs, state.graph, state.defaults);
  for (const analysis::InputLeaf& leaf : analysis::input_leaves(state.graph)) {
    const auto is_other = [&](const analysis::StatedSizes& each) { return each.input != leaf.name; };
    if (!ir::is(leaf.type, ir::TypeKind::tensor) || state.graph.inputs()[leaf.input]->unused() ||
        !std::ranges::all_of(stated, is_other))
      continue;
    const auto& dtype = leaf.type->tensor.dtype;
    const auto& sizes = leaf.type->tensor.sizes;
    if (!dtype || !sizes || sizes->size() < 2 || sizes->front() != 1) continue;
    std::string option = leaf.name + "=" + std::string(ir::name(*dtype)) + ":batch";
    for (std::size_t dim = 1; dim < sizes->size(); ++dim)
      option += "," + ((*sizes)[dim] ? std::to_string(*(*sizes)[dim]) : "d" + std::to_string(dim));
    named.push_back(std::move(option));
  }
  return named;
}

Signature signature_from(const conversion::Interface& interface, std::vector<std::string> batches) {
  Signature made{.inputs = {}, .outputs = {}, .traced_batches = std::move(batches)};
  for (const auto& [name, type] : interface.inputs) made.inputs.push_back({name, type});
  for (const auto& [name, type] : interface.outputs) made.outputs.push_back({name, type});
  return made;
}

Report report_at(int opset, const ModelInfo& info, const analysis::Prepared& prepared, const conversion::Context& context,
                 conversion::Assessor& assessor, std::vector<Finding> others, const CheckOptions& options,
                 const Model::State& state, analysis::Targets& targets, analysis::DecidingSizes& sizes,
                 analysis::StateAdvice& advice) {
  if (!targets.empty()) targets.choose_forms(opset);
  auto assessment = assessor.assess(opset);
  sizes.leave_to_inputs(assessment, opset);
  analysis::settle_needs_input(assessment);
  if (!assessment.convertible()) analysis::leave_lists_to_inputs(assessment, context, prepared.write_causes);
  analysis::refuse_what_no_option_states(assessment, prepared.graph, prepared.state.size());
  sizes.suggest_members(assessment, opset);
  sizes.suggest_values(assessment, opset);
  analysis::advise_constants(assessment, prepared.facts);
  sizes.suggest_constants(assessment, opset);
  Report report = report_of(info, state.program ? state.program->libtorch_version : "");
  report.opset = opset;
  report.export_type = options.export_type;
  report.verdict = verdict_of(assessment);
  for (Finding& finding : analysis::collect_open_ranks(assessment, context)) others.push_back(std::move(finding));
  Whole whole;
  if (report.convertible() && !state.table.users().empty())
    whole = make_whole(state, prepared, opset, options, context, context.watch);
  report.operators = analysis::summarize_operators(assessment, context, opset);
  report.summary = analysis::summarize(assessment, report.operators);
  if (report.convertible() && options.export_type != ExportType::raw)
    report.signature = signature_from(assessment.interface, traced_batches(state, options));
  if (!targets.empty()) targets.look(report, assessment, others);
  if (whole.fault) {
    report.verdict = Verdict::no;
    others.push_back(*std::move(whole.fault));
  }
  report.findings = analysis::collect_findings(prepared.graph, assessment, context, report.opset, std::move(others),
                                               prepared.write_causes, !targets.empty());
  advice.advise(report.findings, opset);
  if (options.graph) report.graph = analysis::summarize_graph(assessment, context.facts);
  report.gate = analysis::judge(report, {.fail_on = options.fail_on, .max_missing = options.max_missing});
  report.exit_code = report.gate.passed || options.exit_zero ? exit_passed : exit_findings;
  return report;
}

void check_opset(int opset) {
  if (opset < lowest_opset || opset > highest_opset)
    throw UsageError("opset " + std::to_string(opset) + " is out of range: " + std::to_string(lowest_opset) + " to " +
                     std::to_string(highest_opset));
}

}  // namespace

analysis::CheckedModel analysis::check_model(const Model::State& loaded, std::span<const int> opsets, const CheckOptions& given,
                                             const CleanUp& clean_up) {
  for (const int opset : opsets) check_opset(opset);
  const ir::Watch watch = watch_of(given.run, given.timeout_seconds);
  const Model::State& state = state_of(loaded, given.state, watch);
  const CheckOptions options = with_exported_inputs(state, given);
  const logging::Timed stating(state.path + ": facts stated");
  CheckedModel checked{.state = state, .prepared = prepare(state, options, watch), .reports = {}};
  const Prepared& prepared = checked.prepared;
  stating.done();
  const conversion::Context context = context_of(state, prepared, watch, options.export_type);
  conversion::Assessor assessor(prepared.graph, context);
  DecidingSizes sizes(state, options, prepared, opsets, watch);
  StateAdvice advice(state, prepared, options, watch);
  Targets targets(state, prepared, assessor, checked.prepared.forms, options, clean_up, watch);
  ModelInfo info = describe_model(state, prepared);
  if (options.hash) analysis::refuse_ranges(state, "CheckOptions::hash");
  if (options.hash && !std::filesystem::is_regular_file(state.path))
    throw UsageError("CheckOptions::hash needs a file, not " + state.path);
  if (options.hash) info.sha256 = files::sha256_of_file(state.path);
  const auto lowest = assessor.lowest_opset();
  logging::debug("{}: lowest opset {}", state.path, lowest ? std::to_string(*lowest) : "none");
  std::vector<Finding> of_model;
  for (BakedIn& found : collect_baked_in(state, prepared)) of_model.push_back(std::move(found.finding));
  for (Finding& finding : collect_dropped_assertions(state, prepared, watch)) of_model.push_back(std::move(finding));
  for (Finding& finding : collect_lost_writes(prepared)) of_model.push_back(std::move(finding));
  for (Finding& finding : reading_notes(state)) of_model.push_back(std::move(finding));
  if (was_training(state)) of_model.push_back(saved_in_training());
  std::vector<Report>& reports = checked.reports;
  for (const int opset : opsets) {
    process::report_progress(options.run, {.stage = "check", .done = reports.size(), .total = opsets.size()});
    watch.look();
    const logging::Timed timed(state.path + ": opset " + std::to_string(opset));
    reports.push_back(report_at(opset, info, prepared, context, assessor, of_model, options, state, targets, sizes, advice));
    timed.done();
    logging::info("{}: opset {}: {}, {}", state.path, opset,
                  reports.back().verdict == Verdict::yes  ? "converts"
                  : reports.back().verdict == Verdict::no ? "doesn't convert"
                                                          : "needs input",
                  spell_count(reports.back().findings.size(), "finding"));
    if (reports.back().summary.unassessed == 0) reports.back().summary.lowest_opset = lowest;
  }
  return checked;
}

std::vector<Report> check(const Model& model, std::span<const int> opsets, const CheckOptions& options) {
  return analysis::guarded(model.path(), [&] {
    return files::naming(model.path(), [&] { return analysis::check_model(model.state(), opsets, options).reports; });
  });
}

Report check(const Model& model, const CheckOptions& options) {
  const int opset = options.opset;
  return std::move(check(model, {&opset, 1}, options).front());
}

int exit_code_of(const std::exception& error) {
  const bool caller = dynamic_cast<const UsageError*>(&error) || dynamic_cast<const TableError*>(&error);
  return caller ? exit_usage : exit_unreadable;
}

Report failure_report(const std::string& path, const std::exception& error) {
  ModelInfo info;
  info.path = path;
  Report report = report_of(std::move(info), "");
  report.error = error.what();
  report.exit_code = exit_code_of(error);
  return report;
}

}  // namespace compatcheck
