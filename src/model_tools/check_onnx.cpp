#include "compatcheck/check_onnx.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "analysis/boundary.h"
#include "analysis/engine_reports.h"
#include "analysis/gate.h"
#include "analysis/note_forms.h"
#include "analysis/run.h"
#include "engines/age.h"
#include "engines/look.h"
#include "engines/targets.h"
#include "files/input_file.h"
#include "files/naming.h"
#include "files/sha256.h"
#include "frontend/pt2/origins.h"
#include "lint/in_force.h"
#include "onnx/schema.h"
#include "onnx_file/data_types.h"
#include "onnx_file/external_data.h"
#include "onnx_file/graph_index.h"
#include "onnx_file/skeleton.h"
#include "onnx_file/validity.h"
#include "onnx_file/value_types.h"
#include "onnx_file/write_skeleton.h"
#include "process/callback.h"
#include "process/day.h"
#include "process/log.h"
#include "retarget/retarget.h"

namespace compatcheck {
namespace {

using engines::Look;
using engines::Looked;

std::string description_of(const ::onnx::ModelProto& model) {
  std::string producer = model.producer_name();
  if (!model.producer_version().empty()) producer += (producer.empty() ? "" : " ") + model.producer_version();
  return producer.empty() ? "ONNX" : "ONNX (" + producer + ")";
}

ModelInfo model_info(const ::onnx::ModelProto& model, const std::filesystem::path& path, std::uint64_t bytes) {
  ModelInfo info;
  info.path = path.string();
  info.format = "onnx";
  info.description = description_of(model);
  info.bytes = bytes;
  for (const auto& initializer : model.graph().initializer()) {
    const auto dtype = onnx::dtype_from_data_type(initializer.data_type());
    const std::uint64_t elements = onnx_file::element_count(initializer).value_or(0);
    info.parameters.count += elements;
    info.parameters.bytes += elements * (dtype ? ir::element_bytes(*dtype) : 0);
  }
  const auto is_weight = [&](const ::onnx::ValueInfoProto& input) {
    return std::ranges::any_of(model.graph().initializer(), [&](const auto& tensor) { return tensor.name() == input.name(); });
  };
  for (const auto& input : model.graph().input())
    if (!is_weight(input)) info.inputs.push_back(onnx_file::info_of(input));
  for (const auto& output : model.graph().output()) info.outputs.push_back(onnx_file::info_of(output));
  return info;
}

// In the order in which engines look at them.
void for_each_node(const ::onnx::GraphProto& graph, auto&& visit) {
  for (const auto& node : graph.node()) {
    visit(node);
    onnx_file::for_each_body(node, [&](const ::onnx::GraphProto& body) { for_each_node(body, visit); });
  }
}

// "f32[batch,3]"
std::string spell_tensor(const TensorInfo& tensor) {
  if (!tensor.shape) return tensor.dtype;
  std::string sizes;
  for (const auto& size : *tensor.shape) sizes += (sizes.empty() ? "" : ",") + size;
  return tensor.dtype + "[" + sizes + "]";
}

// The last place of a Python stack.
void place_in_source(std::string_view stack, Site& site) {
  const auto at = stack.rfind("File \"");
  if (at == stack.npos) return;
  const auto place = frontend::pt2::stack_frame(stack.substr(at, stack.find('\n', at) - at));
  if (!place) return;
  site.file = place->file;
  site.line = place->line;
  site.function = place->function;
}

Site site_of(const ::onnx::NodeProto& node, std::uint32_t index, const std::string& file) {
  Site site;
  site.file = file;
  site.index = index;
  for (const auto& entry : node.metadata_props())
    if (entry.key() == "pkg.torch.onnx.stack_trace") place_in_source(entry.value(), site);
  site.module = node.name();
  site.args = node.op_type() + "(";
  for (int i = 0; i < node.input_size(); ++i) site.args += (i ? ", " : "") + node.input(i);
  site.args += ")";
  return site;
}

using Outcomes = std::vector<retarget::NodeOutcome>;

OperatorClass class_of(const retarget::NodeOutcome& outcome) {
  return !outcome.converts ? OperatorClass::missing : outcome.work > 1 ? OperatorClass::one_to_many : OperatorClass::one_to_one;
}

bool exists(const ::onnx::NodeProto& node, int opset) {
  const auto* schema = onnx::find(node.op_type(), opset, node.domain());
  return schema && !schema->deprecated;
}

void summarize(const Outcomes& outcomes, int opset, Report& report) {
  std::map<std::string, OperatorSummary> operators;
  std::set<std::string> missing;  // operators that the opset lacks
  int converted = 0;
  for (const auto& outcome : outcomes) {
    ++report.summary.nodes;
    converted += outcome.converts;
    const std::string name = onnx_file::operator_name(outcome.node->domain(), outcome.node->op_type());
    const auto [entry, fresh] = operators.try_emplace(name);
    OperatorSummary& op = entry->second;
    if (fresh) {
      op.op = name;
      op.operator_class = class_of(outcome);
      op.verified = true;
    }
    ++op.nodes;
    if (outcome.converts && class_of(outcome) == OperatorClass::one_to_many && op.operator_class == OperatorClass::one_to_one)
      op.operator_class = OperatorClass::one_to_many;
    if (!outcome.converts) {
      ++op.blocked;
      if (!exists(*outcome.node, opset)) missing.insert(name);
    }
    for (const auto& [emitted, nodes] : outcome.emitted) op.emitted[emitted] += nodes;
  }
  Summary& summary = report.summary;
  int blocked = 0;
  for (auto& [name, op] : operators) {
    for (const auto& [emitted, nodes] : op.emitted) op.onnx.push_back(emitted);
    if (missing.contains(name)) op.operator_class = OperatorClass::missing;
    blocked += op.blocked > 0;
    if (op.blocked == 0)
      ++(op.operator_class == OperatorClass::one_to_many ? summary.one_to_many : summary.one_to_one);
    else
      ++(op.operator_class == OperatorClass::missing ? summary.missing : summary.refused);
    report.operators.push_back(std::move(op));
  }
  summary.operators = static_cast<int>(operators.size());
  summary.convertible = blocked == 0;
  report.verdict = summary.convertible ? Verdict::yes : Verdict::no;
  if (summary.nodes > 0) summary.coverage_nodes = static_cast<double>(converted) / summary.nodes;
  if (summary.operators > 0) summary.coverage_operators = static_cast<double>(summary.operators - blocked) / summary.operators;
}

void find(const engines::Profile& profile, const Look& look, const std::string& file,
          const std::map<const ::onnx::NodeProto*, std::uint32_t>& places, std::vector<Finding>& findings) {
  if (!look.out_of_range.empty()) {
    Finding finding = analysis::finding_of_target(profile, "CC102", look.out_of_range);
    finding.nodes = static_cast<int>(look.nodes.size());
    findings.push_back(std::move(finding));
    return;
  }
  std::map<std::tuple<std::string, std::string, std::string>, Finding> all;
  for (const Looked& one : look.nodes) {
    const bool fits = one.verdict.support == Support::yes;
    const std::string& message = fits ? one.verdict.note : one.verdict.message;
    if (message.empty()) continue;
    auto [entry, fresh] = all.try_emplace({one.verdict.rule, one.name, message});
    Finding& finding = entry->second;
    if (fresh) {
      finding = analysis::finding_of_target(profile, one.verdict.rule, message);
      finding.op = one.name;
      if (fits)
        finding.severity = Severity::note;
      else
        finding.help = analysis::help_for(profile, one, {});
    }
    ++finding.nodes;
    finding.sites.push_back(site_of(*one.proto, places.at(one.proto), file));
  }
  for (auto& [key, finding] : all) findings.push_back(std::move(finding));
}

// Severity, then number of nodes, as in all reports.
void sort(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, [](const Finding& a, const Finding& b) {
    return std::tuple(a.severity, -a.nodes) < std::tuple(b.severity, -b.nodes);
  });
}

class OnnxFile {
 public:
  OnnxFile(const std::filesystem::path& path, std::vector<engines::Profile> profiles, const RunOptions& run, double seconds)
      : path_(path), watch_(analysis::watch_of(run, seconds)), profiles_(std::move(profiles)), tables_(lint::in_force({}, {})) {
    process::report_progress(run, {.stage = "check", .done = 0, .total = 1});
    logging::info("{}: reading it as ONNX", path.string());
    file_ = std::make_shared<const files::InputFile>(path);
    skeleton_ = onnx_file::Skeleton::read(file_, watch_);
    onnx_file::check_valid(skeleton_.model);
  }

  const onnx_file::Skeleton& skeleton() const { return skeleton_; }
  int opset() const { return retarget::opset_of(skeleton_.model); }

  // Without an opset, of the file as it is; at one, of the file that convert would write.
  Report report(std::optional<int> asked, const CheckOptions& options, ::onnx::ModelProto* model = nullptr) {
    const int at = asked.value_or(opset());
    retarget::Judge judge;
    if (asked && !profiles_.empty()) judge = [this](const ::onnx::ModelProto& form) { return fits_of(form); };
    auto made = retarget::retarget(skeleton_.model, at, tables(), watch_, judge);
    Report report = failure_report(path_.string(), UsageError(""));  // fills in the tool
    report.error.reset();
    report.exit_code = exit_passed;
    report.model = model_info(skeleton_.model, path_, file_->size());
    if (options.hash) report.model.sha256 = files::sha256_of_file(path_);
    report.opset = at;
    summarize(made.outcomes, at, report);
    if (asked) report.summary.lowest_opset = lowest_opset();
    find_unconverted(made.outcomes, report);
    if (!profiles_.empty() && made.converts()) look(made, report);
    sort(report.findings);
    report.gate = analysis::judge(report, {.fail_on = options.fail_on, .max_missing = options.max_missing});
    report.exit_code = report.gate.passed || options.exit_zero ? exit_passed : exit_findings;
    if (model) *model = std::move(made.model);
    return report;
  }

 private:
  std::optional<int> lowest_opset() {
    if (!lowest_) lowest_.emplace(retarget::lowest_opset(skeleton_.model, tables(), watch_));
    return *lowest_;
  }

  retarget::Tables tables() const { return {tables_.table, tables_.schemas, tables_.registry, tables_.handlers}; }

  // For each node that fails, the lowest higher opset at which it converts.
  std::vector<std::optional<int>> available(const Outcomes& outcomes, int opset) const {
    std::vector<std::optional<int>> from(outcomes.size());
    for (int higher = opset + 1; higher <= highest_opset; ++higher) {
      bool open = false;
      for (std::size_t i = 0; i < outcomes.size(); ++i) open = open || (!outcomes[i].converts && !from[i]);
      if (!open) break;
      const auto there = retarget::outcomes_at(skeleton_.model, higher, tables(), watch_);
      for (std::size_t i = 0; i < outcomes.size(); ++i)
        if (!outcomes[i].converts && !from[i] && there[i].converts) from[i] = higher;
    }
    return from;
  }

  void find_unconverted(const Outcomes& outcomes, Report& report) const {
    if (report.summary.convertible) return;
    const auto from = available(outcomes, report.opset);
    std::map<std::pair<std::string, std::string>, Finding> all;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const auto& outcome = outcomes[i];
      if (outcome.converts) continue;
      const std::string op = onnx_file::operator_name(outcome.node->domain(), outcome.node->op_type());
      auto [entry, fresh] = all.try_emplace({op, outcome.reason});
      Finding& finding = entry->second;
      if (fresh) {
        finding.id = exists(*outcome.node, report.opset) ? "CC005" : from[i] ? "CC002" : "CC001";
        finding.op = op;
        finding.message = outcome.reason;
        finding.available_from = from[i];
      } else if (!from[i] || !finding.available_from) {
        finding.available_from.reset();
      } else {
        finding.available_from = std::max(*finding.available_from, *from[i]);
      }
      ++finding.nodes;
      finding.sites.push_back(site_of_outcome(outcomes, i));
    }
    for (auto& [key, finding] : all) {
      if (finding.available_from) finding.help = "--opset " + std::to_string(*finding.available_from);
      for (auto& op : report.operators)
        if (op.op == finding.op) op.available_from = finding.available_from;
      report.findings.push_back(std::move(finding));
    }
  }

  std::vector<retarget::Fit> fits_of(const ::onnx::ModelProto& form) const {
    const ::onnx::ModelProto typed = onnx_file::with_types(form);
    std::vector<retarget::Fit> fits;
    for (const auto& profile : profiles_) {
      retarget::Fit& fit = fits.emplace_back();
      const Look look = engines::look_at(typed, profile, tables_.table.onnx_changes());
      if (!look.out_of_range.empty()) continue;  // it has no say
      for (const Looked& one : look.nodes) {
        if (one.verdict.support == Support::yes) continue;
        ++(one.verdict.support == Support::no ? fit.unsupported : fit.unknown);
        if (!fit.limit) fit.limit = one.verdict.message;
      }
    }
    return fits;
  }

  Site site_of_outcome(const Outcomes& outcomes, std::size_t place) const {
    return site_of(*outcomes[place].node, static_cast<std::uint32_t>(place), path_.string());
  }

  void find_forms(std::size_t target, const Outcomes& outcomes, TargetSummary& summary, std::vector<Finding>& findings) const {
    std::vector<analysis::WrittenForm> forms;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].form == 0) continue;
      const auto &usual = outcomes[i].forms.front(), &written = outcomes[i].forms[outcomes[i].form];
      if (!usual.fits[target].limit) continue;
      forms.push_back({.op = onnx_file::operator_name(outcomes[i].node->domain(), outcomes[i].node->op_type()),
                       .overload = {},
                       .opset = written.opset,
                       .text = written.text,
                       .newer = usual.operators,
                       .older = written.operators,
                       .limit = *usual.fits[target].limit,
                       .site = site_of_outcome(outcomes, i)});
    }
    analysis::note_forms(profiles_[target].target(), std::move(forms), summary, findings);
  }

  void find_conflicts(const Outcomes& outcomes, std::vector<Finding>& findings) const {
    std::vector<analysis::FormConflict> conflicts;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      std::vector<std::vector<bool>> taken;
      for (const auto& form : outcomes[i].forms) {
        taken.emplace_back();
        for (const auto& fit : form.fits) taken.back().push_back(!fit.limit);
      }
      for (const auto& [a, b] : analysis::excluding_engines(taken))
        conflicts.push_back({.first = profiles_[a].target(),
                             .second = profiles_[b].target(),
                             .op = onnx_file::operator_name(outcomes[i].node->domain(), outcomes[i].node->op_type()),
                             .overload = {},
                             .site = site_of_outcome(outcomes, i)});
    }
    analysis::note_conflicts(std::move(conflicts), findings);
  }

  void look(const retarget::Retargeted& made, Report& report) const {
    const ::onnx::ModelProto typed = onnx_file::with_types(made.model);
    std::map<const ::onnx::NodeProto*, std::uint32_t> places;
    std::uint32_t index = 0;
    for_each_node(typed.graph(), [&](const ::onnx::NodeProto& node) { places.emplace(&node, index++); });
    for (std::size_t i = 0; i < profiles_.size(); ++i) {
      const auto& profile = profiles_[i];
      watch_.look();
      const Look seen = engines::look_at(typed, profile, tables_.table.onnx_changes());
      report.targets.push_back(analysis::summary_of(profile, &seen));
      find(profile, seen, path_.string(), places, report.findings);
      if (seen.out_of_range.empty()) find_forms(i, made.outcomes, report.targets.back(), report.findings);
      if (auto note = engines::note_on_age(profile, process::today())) report.findings.push_back(*std::move(note));
    }
    find_conflicts(made.outcomes, report.findings);
  }

  const std::filesystem::path path_;
  const ir::Watch watch_;
  const std::vector<engines::Profile> profiles_;
  const lint::InForce tables_;
  std::shared_ptr<const files::InputFile> file_;
  onnx_file::Skeleton skeleton_;
  std::optional<std::optional<int>> lowest_;  // once it is asked for
};

std::vector<Report> check_file(const std::filesystem::path& path, std::span<const int> opsets, const CheckOptions& options) {
  OnnxFile file(path, engines::profiles_of(options.targets), options.run, options.timeout_seconds);
  std::vector<Report> reports;
  if (opsets.empty()) reports.push_back(file.report(std::nullopt, options));
  for (const int opset : opsets) reports.push_back(file.report(opset, options));
  return reports;
}

void refuse_options(const ConvertOptions& options) {
  const auto refuse = [](bool given, const char* option) {
    if (given) throw UsageError(std::string("ConvertOptions::") + option + " doesn't apply to an ONNX file");
  };
  refuse(!options.inputs.empty(), "inputs");
  refuse(!options.inputs_from.empty(), "inputs_from");
  refuse(!options.dims.empty(), "dims");
  refuse(!options.custom_opsets.empty(), "custom_opsets");
  refuse(!options.input_names.empty(), "input_names");
  refuse(!options.output_names.empty(), "output_names");
  refuse(options.keep_initializers_as_inputs, "keep_initializers_as_inputs");
  refuse(options.export_type != ExportType::onnx, "export_type");
  refuse(options.state != StateMode::refuse, "state");
  refuse(options.complex_io != ComplexIo::refuse, "complex_io");
  refuse(options.quantized_io != QuantizedIo::floats, "quantized_io");
  refuse(options.prefer != Preference::exact, "prefer");
  refuse(options.inline_functions, "inline_functions");
  refuse(!options.fold, "fold");
  refuse(!options.optimize, "optimize");
}

std::uint64_t count_nodes(const ::onnx::ModelProto& model) {
  std::uint64_t nodes = 0;
  for_each_node(model.graph(), [&](const ::onnx::NodeProto&) { ++nodes; });
  return nodes;
}

// The model's external data is read while the new file is written, and stays the model's.
void demand_other_files(::onnx::ModelProto model, const std::filesystem::path& path, const std::filesystem::path& out) {
  std::set<std::string> locations;
  onnx_file::for_each_tensor(model, [&](::onnx::TensorProto& tensor) {
    for (const auto& entry : tensor.external_data())
      if (entry.key() == "location") locations.insert(entry.value());
  });
  std::error_code error;
  for (const std::string& location : locations)
    for (const auto& file : {out, std::filesystem::path(out.string() + ".data")})
      if (std::filesystem::equivalent(path.parent_path() / location, file, error))
        throw UsageError(file.string() + ": that is the model's external data");
}

Report convert_file(const std::filesystem::path& path, const std::filesystem::path& out, std::optional<int> opset,
                    const ConvertOptions& options) {
  refuse_options(options);
  auto profiles = engines::profiles_of(options.targets);  // an unknown engine is an error before anything is read
  std::error_code error;
  for (const auto& file : {out, std::filesystem::path(out.string() + ".data")})
    if (std::filesystem::equivalent(path, file, error)) throw UsageError(file.string() + ": that is the model itself");
  OnnxFile file(path, std::move(profiles), options.run, options.timeout_seconds);
  demand_other_files(file.skeleton().model, path, out);
  ::onnx::ModelProto model;
  Report report = file.report(opset.value_or(file.opset()), {.fail_on = options.fail_on}, &model);
  if (!report.convertible()) {
    report.exit_code = exit_findings;
    return report;
  }
  if (options.accept && !process::call(options.accept, report)) report.gate.passed = false;
  report.exit_code = report.gate.passed ? exit_passed : exit_findings;
  if (!report.gate.passed) return report;
  WrittenModel made{.opset = report.opset,
                    .nodes = count_nodes(model),
                    .initializers = static_cast<std::uint64_t>(model.graph().initializer_size())};
  for (const auto& function : model.functions()) made.functions.push_back(function.domain() + "::" + function.name());
  for (const auto& input : report.model.inputs) made.signature.inputs.push_back({input.name, spell_tensor(input)});
  for (const auto& output : report.model.outputs) made.signature.outputs.push_back({output.name, spell_tensor(output)});
  auto skeleton = file.skeleton().with(std::move(model));
  onnx_file::ExternalFiles externals(path.parent_path());
  const auto written = onnx_file::write_skeleton(skeleton, externals, out, options.external_data, options.run);
  made.bytes = written.bytes;
  if (written.external_bytes) made.external_files.push_back({out.string() + ".data", written.external_bytes});
  report.written = std::move(made);
  return report;
}

}  // namespace

Report check_onnx(const std::filesystem::path& file, const CheckOptions& options) {
  return std::move(check_onnx(file, {}, options).front());
}

std::vector<Report> check_onnx(const std::filesystem::path& file, std::span<const int> opsets, const CheckOptions& options) {
  return analysis::guarded(file.string(),
                           [&] { return files::naming(file.string(), [&] { return check_file(file, opsets, options); }); });
}

Report convert_onnx(const std::filesystem::path& file, const std::filesystem::path& out, std::optional<int> opset,
                    const ConvertOptions& options) {
  return analysis::guarded(file.string(),
                           [&] { return files::naming(file.string(), [&] { return convert_file(file, out, opset, options); }); });
}

}  // namespace compatcheck
