#include "report/json.h"

#include "compatcheck/check.h"
#include "report/assumed.h"
#include "report/enumerator_names.h"
#include "report/json_parts.h"
#include "report/totals.h"

namespace compatcheck::report {

namespace {

Json quantization_json(const Quantization& held) {
  Json json = {{"scales", held.scales}, {"zero_points", held.zero_points}};
  if (held.axis) json["axis"] = *held.axis;
  json["onnx_dtype"] = held.onnx_dtype;
  return json;
}

}  // namespace

Json tensors(const std::vector<TensorInfo>& infos) {
  Json list = Json::array();
  for (const auto& info : infos) {
    Json shape = nullptr;
    if (info.shape) {
      shape = Json::array();
      for (const auto& dim : *info.shape) {
        const bool number = !dim.empty() && dim.size() < 19 && dim.find_first_not_of("0123456789") == std::string::npos;
        if (number)
          shape.push_back(std::stoll(dim));
        else
          shape.push_back(dim == "?" ? Json(nullptr) : Json(dim));
      }
    }
    list.push_back({{"name", info.name}, {"dtype", info.dtype}, {"shape", std::move(shape)}});
    if (info.assumed) list.back()["assumed"] = true;
    if (info.quantization) list.back()["quantization"] = quantization_json(*info.quantization);
  }
  return list;
}

Json assumed_inputs(const std::vector<AssumedInput>& all) {
  Json list = tensors(tensors_of(all));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].option.empty()) list[i]["option"] = all[i].option;
    list[i]["because"] = Json::array();
    for (const auto& reason : all[i].because)
      list[i]["because"].push_back(
          {{"what", reason.what}, {"op", reason.op}, {"module", reason.module}, {"file", reason.file}, {"line", reason.line}});
  }
  return list;
}

namespace {

Json states(const std::vector<StateInfo>& all) {
  std::vector<TensorInfo> inputs;
  for (const StateInfo& state : all) inputs.push_back(state.input);
  const Json told = tensors(inputs);
  Json list = Json::array();
  for (std::size_t i = 0; i < all.size(); ++i)
    list.push_back({{"attribute", all[i].attribute},
                    {"input", all[i].input.name},
                    {"output", all[i].output},
                    {"dtype", told[i]["dtype"]},
                    {"shape", told[i]["shape"]}});
  return list;
}

Json model_json(const ModelInfo& info) {
  Json json = {{"path", info.path}, {"identity", info.identity}};
  if (info.sha256) json["sha256"] = *info.sha256;
  json["format"] = info.format;
  json["description"] = info.description;
  json["bytes"] = info.bytes;
  json["parameters"] = {{"count", info.parameters.count}, {"bytes", info.parameters.bytes}};
  json["inputs"] = tensors(info.inputs);
  json["outputs"] = tensors(info.outputs);
  if (!info.state.empty()) json["state"] = states(info.state);
  if (!info.assumed.empty()) json["assumed"] = assumed_inputs(info.assumed);
  json["steps"] = info.steps;
  if (!info.warnings.empty()) json["warnings"] = info.warnings;
  return json;
}

Json summary_json(const Summary& summary, bool may_keep) {
  Json json = {{"nodes", summary.nodes},
               {"operators", summary.operators},
               {"one_to_one", summary.one_to_one},
               {"one_to_many", summary.one_to_many},
               {"missing", summary.missing},
               {"refused", summary.refused},
               {"needs_input", summary.needs_input},
               {"unassessed", summary.unassessed},
               {"structural", summary.structural},
               {"convertible", summary.convertible},
               {"coverage_nodes", summary.coverage_nodes},
               {"coverage_operators", summary.coverage_operators},
               {"lowest_opset", or_null(summary.lowest_opset)}};
  if (may_keep) json["kept"] = summary.kept;
  return json;
}

Json rows(const std::vector<RowUse>& uses) {
  Json list = Json::array();
  for (const auto& use : uses) {
    Json row = {{"place", use.place}, {"nodes", use.nodes}};
    if (!use.lifted.empty()) row["lifted"] = use.lifted;
    if (use.users) row["users"] = true;
    list.push_back(std::move(row));
  }
  return list;
}

Json operators(const std::vector<OperatorSummary>& summaries, bool may_keep) {
  Json list = Json::array();
  for (const auto& op : summaries) {
    Json emitted = Json::object();
    for (const auto& [name, count] : op.emitted) emitted[name] = count;
    Json json = {{"op", op.op},
                 {"overload", op.overload},
                 {"class", word(op.operator_class)},
                 {"verified", op.verified},
                 {"onnx", op.onnx},
                 {"since", or_null(op.since)},
                 {"available_from", or_null(op.available_from)},
                 {"nodes", op.nodes},
                 {"blocked", op.blocked},
                 {"rows", rows(op.rows)},
                 {"emitted", std::move(emitted)}};
    for (const auto& use : op.rows)
      if (use.users && !json.contains("mapping")) json["mapping"] = {{"source", use.source}, {"line", use.line}};
    if (may_keep) json["kept"] = op.kept;
    list.push_back(std::move(json));
  }
  return list;
}

Json sites(const std::vector<Site>& all) {
  Json list = Json::array();
  for (const auto& site : all)
    list.push_back({{"index", site.index},
                    {"module", site.module},
                    {"file", site.file},
                    {"line", site.line},
                    {"function", site.function},
                    {"args", site.args}});
  return list;
}

}  // namespace

Json findings(const std::vector<Finding>& all) {
  Json list = Json::array();
  for (const auto& finding : all) {
    Json json = {{"id", finding.id},
                 {"severity", word(finding.severity)},
                 {"op", finding.op},
                 {"overload", finding.overload},
                 {"message", finding.message},
                 {"help", finding.help},
                 {"available_from", or_null(finding.available_from)},
                 {"nodes", finding.nodes},
                 {"sites", sites(finding.sites)}};
    if (!finding.row.empty()) json["row"] = finding.row;
    if (finding.target) json["target"] = *finding.target;
    if (finding.suppressed)
      json["suppressed"] = {{"reason", finding.suppressed->reason},
                            {"expires", or_null(finding.suppressed->expires)},
                            {"source", finding.suppressed->source}};
    if (finding.baseline) json["baseline"] = word(*finding.baseline);
    list.push_back(std::move(json));
  }
  return list;
}

namespace {

Json target_json(const TargetSummary& summary) {
  Json operators = Json::array();
  for (const auto& op : summary.operators)
    operators.push_back({{"onnx", op.onnx}, {"support", word(op.support)}, {"nodes", op.nodes}});
  return {{"target", summary.target},
          {"engine", summary.engine},
          {"version", summary.version},
          {"source", summary.source},
          {"date", summary.date},
          {"support", word(summary.support)},
          {"nodes", summary.nodes},
          {"supported", summary.supported},
          {"unsupported", summary.unsupported},
          {"unknown", summary.unknown},
          {"partitions", summary.partitions},
          {"lowest_opset", or_null(summary.lowest_opset)},
          {"operators", std::move(operators)}};
}

// A node is a list: there may be many.
Json graph_json(const GraphSummary& graph) {
  Json nodes = Json::array();
  for (const auto& node : graph.nodes) nodes.push_back(Json::array({node.op, node.module, word(node.outcome), node.inputs}));
  return {{"operators", graph.operators}, {"modules", graph.modules}, {"nodes", std::move(nodes)}};
}

Json totals_json(const Totals& totals) {
  Json missing = Json::array();
  for (const auto& op : totals.missing) missing.push_back({{"op", op.op}, {"models", op.models}, {"nodes", op.nodes}});
  return {{"models", totals.models},
          {"yes", totals.yes},
          {"no", totals.no},
          {"needs_input", totals.needs_input},
          {"not_checked", totals.not_checked},
          {"missing", std::move(missing)}};
}

Json gate(const Gate& gate) {
  Json json = {{"passed", gate.passed}, {"fail_on", word(gate.fail_on)}, {"violations", gate.violations}};
  if (gate.max_missing) json["max_missing"] = *gate.max_missing;
  if (gate.one_opset_is_enough) json["one_opset_is_enough"] = true;
  return json;
}

Json tool(const Report& report) {
  return {{"name", report.tool.name},
          {"version", report.tool.version},
          {"libtorch", report.tool.libtorch},
          {"onnx", report.tool.onnx}};
}

Json failure(const Report& report) {
  return {{"schema_version", Report::schema_version},
          {"tool", tool(report)},
          {"model", {{"path", report.model.path}}},
          {"error", {{"message", *report.error}}},
          {"exit_code", report.exit_code}};
}

}  // namespace

Json object(const Report& report) {
  if (report.error) return failure(report);
  const bool may_keep = report.export_type != ExportType::onnx;
  Json json = {{"schema_version", Report::schema_version},
               {"tool", tool(report)},
               {"model", model_json(report.model)},
               {"opset", report.opset}};
  if (may_keep) json["export_type"] = word(report.export_type);
  json["verdict"] = word(report.verdict);
  json["summary"] = summary_json(report.summary, may_keep);
  json["operators"] = operators(report.operators, may_keep);
  json["findings"] = findings(report.findings);
  if (!report.targets.empty()) {
    json["targets"] = Json::array();
    for (const auto& each : report.targets) json["targets"].push_back(target_json(each));
    json["targets_lowest_opset"] = or_null(report.targets_lowest_opset);
  }
  if (report.graph) json["graph"] = graph_json(*report.graph);
  json["gate"] = gate(report.gate);
  if (report.settings) json["settings"] = *report.settings;
  json["exit_code"] = report.exit_code;
  return json;
}

Json list(std::span<const Report> reports) {
  Json all = Json::array();
  for (const auto& report : reports) all.push_back(object(report));
  return {{"schema_version", Report::schema_version},
          {"reports", std::move(all)},
          {"totals", totals_json(totals_of(reports))},
          {"exit_code", exit_code_of(reports)}};
}

std::string json(std::span<const Report> reports, bool as_list) {
  return (reports.size() == 1 && !as_list ? object(reports.front()) : list(reports)).dump(2, ' ', false, replace_bad_utf8) + "\n";
}

std::string json_lines(std::span<const Report> reports) {
  const auto line = [](const Json& json) { return json.dump(-1, ' ', false, replace_bad_utf8) + "\n"; };
  if (reports.empty()) return line(list(reports));  // of a run without models: an empty file would be one that was cut short
  std::string lines;
  for (const auto& report : reports) lines += line(object(report));
  return lines;
}

}  // namespace compatcheck::report
