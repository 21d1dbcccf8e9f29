#include "model_tools/compared.h"

#include <nlohmann/json.hpp>

#include "compatcheck/error.h"

namespace compatcheck::model_tools {
namespace {

using Json = nlohmann::json;

std::string spell(const TensorInfo& info) {
  if (!info.shape) return info.dtype;
  std::string text = info.dtype + "[";
  for (std::size_t i = 0; i < info.shape->size(); ++i) text += (i ? "," : "") + (*info.shape)[i];
  return text + "]";
}

std::string word(Verdict verdict) { return verdict == Verdict::yes ? "yes" : verdict == Verdict::no ? "no" : "needs_input"; }
std::string word(Severity severity) { return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note"; }
std::string full_name(const std::string& op, const std::string& overload) { return overload.empty() ? op : op + "." + overload; }

void add_tensors(Compared& side, const char* kind, const std::vector<TensorInfo>& tensors) {
  for (const auto& tensor : tensors) side.properties.emplace_back(kind + tensor.name, spell(tensor));
}

// Findings that are one here have their nodes counted together.
void add_finding(Compared& side, const std::string& id, const std::string& op, const std::string& severity, const std::string& message, std::uint64_t nodes) {
  ComparedFinding& finding = side.findings[{id, op}];
  if (finding.message.empty() || severity == "error") finding = {severity, message, finding.nodes};
  finding.nodes += nodes;
}

constexpr const char* could_not_be_checked = "unread";
constexpr const char* structural = "structural";   // constants, lists, control flow: not what a model is compared by

// ---- Saved reports. What a key lacks, or has of another type, is no report.

std::string dimension(const Json& dim) { return dim.is_null() ? "?" : dim.is_string() ? dim.get<std::string>() : std::to_string(dim.get<std::int64_t>()); }

std::vector<TensorInfo> tensors_in(const Json& list) {
  std::vector<TensorInfo> tensors;
  for (const Json& each : list) {
    TensorInfo info{.name = each.at("name"), .dtype = each.at("dtype"), .shape = {}};
    if (const Json& shape = each.at("shape"); !shape.is_null()) {
      info.shape.emplace();
      for (const Json& dim : shape) info.shape->push_back(dimension(dim));
    }
    tensors.push_back(std::move(info));
  }
  return tensors;
}

Compared report_in(const Json& json) {
  Compared side;
  side.path = json.at("model").at("path");
  if (json.contains("error")) {
    add_finding(side, could_not_be_checked, "", "error", json.at("error").at("message"), 1);
    return side;
  }
  side.opset = json.at("opset").get<int>();
  side.properties = {{"opset", std::to_string(*side.opset)}, {"verdict", json.at("verdict")}};
  add_tensors(side, "input ", tensors_in(json.at("model").at("inputs")));
  add_tensors(side, "output ", tensors_in(json.at("model").at("outputs")));
  for (const Json& op : json.at("operators"))
    if (op.at("class") != structural) side.operators[full_name(op.at("op"), op.at("overload"))] += op.at("nodes").get<std::uint64_t>();
  for (const Json& finding : json.at("findings"))
    if (!finding.contains("suppressed"))
      add_finding(side, finding.at("id"), full_name(finding.at("op"), finding.at("overload")), finding.at("severity"), finding.at("message"), finding.at("nodes").get<std::uint64_t>());
  return side;
}

void add_reports(const Json& json, std::vector<Compared>& reports) {
  if (!json.is_object() || !json.contains("schema_version")) throw ModelError("is JSON, but no report of compatcheck check");
  try {
    if (json.contains("reports")) for (const Json& report : json.at("reports")) reports.push_back(report_in(report));
    else reports.push_back(report_in(json));
  } catch (const Json::exception& error) {
    throw ModelError(std::string("is no report of compatcheck check: ") + error.what());
  }
}

}  // namespace

Compared compared(const Report& report) {
  Compared side;
  side.path = report.model.path;
  side.opset = report.opset;
  side.properties = {{"opset", std::to_string(report.opset)}, {"verdict", word(report.verdict)}};
  add_tensors(side, "input ", report.model.inputs);
  add_tensors(side, "output ", report.model.outputs);
  for (const auto& op : report.operators)
    if (op.operator_class != OperatorClass::structural) side.operators[full_name(op.op, op.overload)] += static_cast<std::uint64_t>(op.nodes);
  for (const auto& finding : report.findings)
    if (!finding.suppressed) add_finding(side, finding.id, full_name(finding.op, finding.overload), word(finding.severity), finding.message, static_cast<std::uint64_t>(finding.nodes));
  return side;
}

Compared compared(const Inspection& inspection) {
  Compared side;
  side.path = inspection.path;
  side.properties.emplace_back("producer", inspection.producer);
  if (inspection.onnx) {
    side.properties.emplace_back("IR version", std::to_string(inspection.onnx->ir_version));
    for (const auto& [domain, version] : inspection.onnx->opsets) side.properties.emplace_back("opset " + (domain.empty() ? "ai.onnx" : domain), std::to_string(version));
    for (const auto& [key, value] : inspection.onnx->metadata) side.properties.emplace_back("metadata " + key, value);
    for (const auto& function : inspection.onnx->functions)
      side.properties.emplace_back("function " + full_name(function.domain + "::" + function.name, function.overload), std::to_string(function.nodes) + (function.nodes == 1 ? " node" : " nodes"));
  }
  add_tensors(side, "input ", inspection.inputs);
  add_tensors(side, "output ", inspection.outputs);
  std::uint64_t bytes = 0;
  for (const auto& tensor : inspection.tensors) bytes += tensor.bytes;
  side.properties.emplace_back("initializers", std::to_string(inspection.tensors.size()) + " of " + std::to_string(bytes) + " bytes");
  for (const auto& op : inspection.operators) side.operators[op.op] = op.nodes;
  return side;
}

std::vector<Compared> read_reports(const std::string& text) {
  std::vector<Compared> reports;
  if (const Json whole = Json::parse(text, nullptr, false); !whole.is_discarded()) {
    add_reports(whole, reports);
    return reports;
  }
  for (std::size_t at = 0; at < text.size();) {   // one a line
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (text.find_first_not_of(" \t\r", at) < end) {
      const Json line = Json::parse(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
      if (line.is_discarded()) throw ModelError("is no JSON, or is cut short");
      add_reports(line, reports);
    }
    at = end + 1;
  }
  return reports;
}

}  // namespace compatcheck::model_tools
