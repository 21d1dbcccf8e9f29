#include "report/enumerator_names.h"

namespace compatcheck::report {

std::string_view word(Verdict verdict) {
  switch (verdict) {
    case Verdict::yes: return "yes";
    case Verdict::no: return "no";
    case Verdict::needs_input: return "needs_input";
  }
  return {};
}

std::string_view word(OperatorClass operator_class) {
  switch (operator_class) {
    case OperatorClass::one_to_one: return "one_to_one";
    case OperatorClass::one_to_many: return "one_to_many";
    case OperatorClass::missing: return "missing";
    case OperatorClass::structural: return "structural";
  }
  return {};
}

std::string_view word(Severity severity) {
  switch (severity) {
    case Severity::error: return "error";
    case Severity::warning: return "warning";
    case Severity::note: return "note";
  }
  return {};
}

std::string_view word(FailOn fail_on) {
  switch (fail_on) {
    case FailOn::unconvertible: return "unconvertible";
    case FailOn::missing: return "missing";
    case FailOn::conditional: return "conditional";
    case FailOn::composite: return "composite";
    case FailOn::warning: return "warning";
    case FailOn::never: return "never";
  }
  return {};
}

std::string_view word(ExportType type) {
  switch (type) {
    case ExportType::onnx: return "onnx";
    case ExportType::onnx_aten: return "onnx-aten";
    case ExportType::onnx_aten_fallback: return "onnx-aten-fallback";
    case ExportType::onnx_fallthrough: return "onnx-fallthrough";
    case ExportType::raw: return "raw";
  }
  return {};
}

std::string_view word(BaselineState state) {
  switch (state) {
    case BaselineState::unchanged: return "unchanged";
    case BaselineState::added: return "added";
    case BaselineState::grown: return "grown";
  }
  return {};
}

std::string_view word(Support support) {
  switch (support) {
    case Support::yes: return "yes";
    case Support::no: return "no";
    case Support::unknown: return "unknown";
  }
  return {};
}

std::string_view word(GraphSummary::Outcome outcome) {
  switch (outcome) {
    case GraphSummary::Outcome::ok: return "ok";
    case GraphSummary::Outcome::missing: return "missing";
    case GraphSummary::Outcome::refused: return "refused";
    case GraphSummary::Outcome::needs_input: return "needs_input";
    case GraphSummary::Outcome::unassessed: return "unassessed";
    case GraphSummary::Outcome::structural: return "structural";
  }
  return {};
}

}  // namespace compatcheck::report
