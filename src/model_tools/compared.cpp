#include "model_tools/compared.h"

#include "process/spell_count.h"

namespace compatcheck::model_tools {
namespace {

std::string spell_type(const TensorInfo& info) {
  if (!info.shape) return info.dtype;
  std::string text = info.dtype + "[";
  for (std::size_t i = 0; i < info.shape->size(); ++i) text += (i ? "," : "") + (*info.shape)[i];
  return text + "]";
}

std::string word(Verdict verdict) { return verdict == Verdict::yes ? "yes" : verdict == Verdict::no ? "no" : "needs_input"; }
std::string word(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note";
}
std::string full_name(const std::string& op, const std::string& overload) { return overload.empty() ? op : op + "." + overload; }

void add_types(Compared& side, const char* kind, const std::vector<TensorInfo>& tensors) {
  for (const auto& tensor : tensors) side.properties.emplace_back(kind + tensor.name, spell_type(tensor));
}

// Findings that are one here have their nodes counted together.
void add_finding(Compared& side, const std::string& id, const std::string& op, const std::string& severity,
                 const std::string& message, std::uint64_t nodes) {
  ComparedFinding& finding = side.findings[{id, op}];
  if (finding.message.empty() || severity == "error") finding = {severity, message, finding.nodes};
  finding.nodes += nodes;
}

constexpr const char* could_not_be_checked = "unread";

}  // namespace

Compared compared(const Report& report) {
  Compared side;
  side.path = report.model.path;
  if (report.error) {
    add_finding(side, could_not_be_checked, "", "error", *report.error, 1);
    return side;
  }
  side.opset = report.opset;
  side.properties = {{"opset", std::to_string(report.opset)}, {"verdict", word(report.verdict)}};
  add_types(side, "input ", report.model.inputs);
  add_types(side, "output ", report.model.outputs);
  for (const auto& op : report.operators)
    if (op.operator_class != OperatorClass::structural)
      side.operators[full_name(op.op, op.overload)] += static_cast<std::uint64_t>(op.nodes);
  for (const auto& finding : report.findings)
    if (!finding.suppressed)
      add_finding(side, finding.id, full_name(finding.op, finding.overload), word(finding.severity), finding.message,
                  static_cast<std::uint64_t>(finding.nodes));
  return side;
}

Compared compared(const Inspection& inspection) {
  Compared side;
  side.path = inspection.path;
  side.properties.emplace_back("producer", inspection.producer);
  if (inspection.onnx) {
    side.properties.emplace_back("IR version", std::to_string(inspection.onnx->ir_version));
    for (const auto& [domain, version] : inspection.onnx->opsets)
      side.properties.emplace_back("opset " + (domain.empty() ? "ai.onnx" : domain), std::to_string(version));
    for (const auto& [key, value] : inspection.onnx->metadata) side.properties.emplace_back("metadata " + key, value);
    for (const auto& function : inspection.onnx->functions)
      side.properties.emplace_back("function " + full_name(function.domain + "::" + function.name, function.overload),
                                   std::to_string(function.nodes) + (function.nodes == 1 ? " node" : " nodes"));
  }
  add_types(side, "input ", inspection.inputs);
  add_types(side, "output ", inspection.outputs);
  std::uint64_t bytes = 0;
  for (const auto& tensor : inspection.tensors) bytes += tensor.bytes;
  side.properties.emplace_back("initializers", std::to_string(inspection.tensors.size()) + " of " + spell_count(bytes, "byte"));
  for (const auto& op : inspection.operators) side.operators[op.op] = op.nodes;
  return side;
}

}  // namespace compatcheck::model_tools
