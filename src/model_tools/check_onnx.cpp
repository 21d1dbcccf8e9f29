#include "compatcheck/check_onnx.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "analysis/boundary.h"
#include "analysis/gate.h"
#include "analysis/run.h"
#include "engines/age.h"
#include "engines/look.h"
#include "engines/targets.h"
#include "files/input_file.h"
#include "files/naming.h"
#include "files/sha256.h"
#include "lint/in_force.h"
#include "onnx/schema.h"
#include "onnx_file/data_types.h"
#include "onnx_file/skeleton.h"
#include "onnx_file/validity.h"
#include "onnx_file/value_types.h"
#include "process/callback.h"
#include "process/day.h"
#include "process/log.h"

namespace compatcheck {
namespace {

using engines::Look;
using engines::Looked;

int opset_of(const ::onnx::ModelProto& model) {
  for (const auto& import : model.opset_import())
    if (onnx::is_own_domain(import.domain())) return static_cast<int>(import.version());
  return 0;
}

std::string description_of(const ::onnx::ModelProto& model) {
  std::string producer = model.producer_name();
  if (!model.producer_version().empty()) producer += (producer.empty() ? "" : " ") + model.producer_version();
  return producer.empty() ? "ONNX" : "ONNX (" + producer + ")";
}

std::uint64_t elements_of(const ::onnx::TensorProto& tensor) {
  std::uint64_t count = 1;
  for (const auto dim : tensor.dims()) count *= static_cast<std::uint64_t>(std::max<std::int64_t>(dim, 0));
  return count;
}

ModelInfo model_info(const ::onnx::ModelProto& model, const std::filesystem::path& path, std::uint64_t bytes) {
  ModelInfo info;
  info.path = path.string();
  info.format = "onnx";
  info.description = description_of(model);
  info.bytes = bytes;
  for (const auto& initializer : model.graph().initializer()) {
    const auto dtype = onnx::dtype_from_data_type(initializer.data_type());
    info.parameters.count += elements_of(initializer);
    info.parameters.bytes += elements_of(initializer) * (dtype ? ir::element_bytes(*dtype) : 0);
  }
  const auto is_weight = [&](const ::onnx::ValueInfoProto& input) {
    return std::ranges::any_of(model.graph().initializer(), [&](const auto& tensor) { return tensor.name() == input.name(); });
  };
  for (const auto& input : model.graph().input())
    if (!is_weight(input)) info.inputs.push_back(onnx_file::info_of(input));
  for (const auto& output : model.graph().output()) info.outputs.push_back(onnx_file::info_of(output));
  return info;
}

// In the order of for_each_body: as engines look at them.
void for_each_node(const ::onnx::GraphProto& graph, auto&& visit) {
  for (const auto& node : graph.node()) {
    visit(node);
    for (const auto& attribute : node.attribute())
      if (attribute.has_g()) for_each_node(attribute.g(), visit);
  }
}

Site site_of(const ::onnx::NodeProto& node, std::uint32_t index, const std::string& file) {
  Site site;
  site.file = file;
  site.index = index;
  site.module = node.name();
  site.args = node.op_type() + "(";
  for (int i = 0; i < node.input_size(); ++i) site.args += (i ? ", " : "") + node.input(i);
  site.args += ")";
  return site;
}

void summarize(const ::onnx::ModelProto& model, Report& report) {
  std::map<std::string, int> operators;
  for_each_node(model.graph(), [&](const ::onnx::NodeProto& node) {
    ++report.summary.nodes;
    ++operators[onnx_file::operator_name(node.domain(), node.op_type())];
  });
  for (const auto& [name, nodes] : operators) {
    OperatorSummary op;
    op.op = name;
    op.operator_class = OperatorClass::one_to_one;
    op.verified = true;
    op.onnx = {name};
    op.nodes = nodes;
    op.emitted[name] = nodes;
    report.operators.push_back(std::move(op));
  }
  report.verdict = Verdict::yes;
  report.summary.convertible = true;
  report.summary.operators = report.summary.one_to_one = static_cast<int>(operators.size());
}

TargetSummary summary_of(const engines::Profile& profile, const Look& look) {
  TargetSummary summary{.target = profile.target(),
                        .engine = profile.engine,
                        .version = profile.version,
                        .source = profile.source,
                        .date = profile.date,
                        .partitions = look.partitions,
                        .lowest_opset = {},
                        .operators = {}};
  std::map<std::pair<std::string, Support>, int> operators;
  for (const Looked& one : look.nodes) {
    ++summary.nodes;
    ++(one.verdict.support == Support::yes  ? summary.supported
       : one.verdict.support == Support::no ? summary.unsupported
                                            : summary.unknown);
    ++operators[{one.name, one.verdict.support}];
  }
  for (const auto& [op, nodes] : operators) summary.operators.push_back({op.first, op.second, nodes});
  summary.support = summary.unsupported || !look.out_of_range.empty() ? Support::no
                    : summary.unknown                                 ? Support::unknown
                                                                      : Support::yes;
  return summary;
}

std::string help_for(const Looked& node, const engines::Profile& profile) {
  std::string text;
  if (node.body_supported)
    text = "replace the ONNX function " + node.name + " by its body (onnx.inliner): the engine supports all nodes of the body";
  if (!profile.fallback.empty() && node.verdict.support == Support::no)
    text += (text.empty() ? "" : "; otherwise ") + profile.fallback;
  return text;
}

Finding finding_of(const engines::Profile& profile, std::string rule, std::string message) {
  Finding finding;
  finding.id = std::move(rule);
  finding.severity = Severity::warning;
  finding.message = std::move(message);
  finding.target = profile.target();
  return finding;
}

void find(const engines::Profile& profile, const Look& look, const std::string& file,
          const std::map<const ::onnx::NodeProto*, std::uint32_t>& places, std::vector<Finding>& findings) {
  if (!look.out_of_range.empty()) {
    Finding finding = finding_of(profile, "CC102", look.out_of_range);
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
      finding = finding_of(profile, one.verdict.rule, message);
      finding.op = one.name;
      if (fits)
        finding.severity = Severity::note;
      else
        finding.help = help_for(one, profile);
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

Report check_file(const std::filesystem::path& path, const CheckOptions& options) {
  if (options.targets.empty())
    throw ModelError("is an ONNX model, which needs no conversion; CheckOptions::targets ENGINE holds it against an engine");
  const auto profiles = engines::profiles_of(options.targets);
  const ir::Watch watch = analysis::watch_of(options.run, options.timeout_seconds);
  process::report_progress(options.run, {.stage = "check", .done = 0, .total = 1});
  logging::info("{}: reading it as ONNX", path.string());
  const auto file = std::make_shared<const files::InputFile>(path);
  auto skeleton = onnx_file::Skeleton::read(file, watch);
  onnx_file::check_valid(skeleton.model);
  const ::onnx::ModelProto model = onnx_file::with_types(skeleton.model);
  Report report = failure_report(path.string(), UsageError(""));  // fills in the tool
  report.error.reset();
  report.exit_code = exit_passed;
  report.model = model_info(model, path, file->size());
  if (options.hash) report.model.sha256 = files::sha256_of_file(path);
  report.opset = opset_of(model);
  summarize(model, report);
  std::map<const ::onnx::NodeProto*, std::uint32_t> places;
  std::uint32_t index = 0;
  for_each_node(model.graph(), [&](const ::onnx::NodeProto& node) { places.emplace(&node, index++); });
  const auto tables = lint::in_force({}, {});
  for (const auto& profile : profiles) {
    watch.look();
    const Look look = engines::look_at(model, profile, tables.table.onnx_changes());
    report.targets.push_back(summary_of(profile, look));
    find(profile, look, path.string(), places, report.findings);
    if (auto note = engines::note_on_age(profile, process::today())) report.findings.push_back(*std::move(note));
  }
  sort(report.findings);
  report.gate = analysis::judge(report, {.fail_on = options.fail_on, .max_missing = options.max_missing});
  report.exit_code = report.gate.passed || options.exit_zero ? exit_passed : exit_findings;
  return report;
}

}  // namespace

Report check_onnx(const std::filesystem::path& file, const CheckOptions& options) {
  return analysis::guarded(file.string(),
                           [&] { return files::naming(file.string(), [&] { return check_file(file, options); }); });
}

}  // namespace compatcheck
