#include "report/printable.h"

#include "compatcheck/printable.h"

namespace compatcheck::report {
namespace {

void make_printable(std::string& text) { text = printable(text); }

void make_printable(Finding& finding) {
  for (std::string* text : {&finding.op, &finding.overload, &finding.message, &finding.help, &finding.row}) make_printable(*text);
  for (Site& site : finding.sites)
    for (std::string* text : {&site.module, &site.file, &site.function, &site.args}) make_printable(*text);
  if (finding.target) make_printable(*finding.target);
  if (!finding.suppressed) return;
  make_printable(finding.suppressed->reason);
  make_printable(finding.suppressed->source);
}

void make_printable(TargetSummary& target) {
  for (std::string* text : {&target.target, &target.engine, &target.version, &target.source, &target.date}) make_printable(*text);
  for (auto& op : target.operators) make_printable(op.onnx);
  for (auto& form : target.older_forms) {
    for (std::string* text : {&form.op, &form.overload, &form.limit}) make_printable(*text);
    for (auto* names : {&form.newer, &form.older})
      for (std::string& name : *names) make_printable(name);
  }
}

void make_printable(AssumedInput& input) {
  make_printable(input.tensor.name);
  make_printable(input.option);
  if (input.tensor.shape)
    for (std::string& size : *input.tensor.shape) make_printable(size);
  for (auto& reason : input.because)
    for (std::string* text : {&reason.op, &reason.module, &reason.file}) make_printable(*text);
}

void make_printable(Signature& signature) {
  for (auto* values : {&signature.inputs, &signature.outputs})
    for (Signature::Value& value : *values)
      for (std::string* text : {&value.name, &value.type}) make_printable(*text);
  for (std::string& option : signature.traced_batches) make_printable(option);
}

}  // namespace

Report printable_report(Report report) {
  make_printable(report.model.path);
  make_printable(report.model.description);
  for (AssumedInput& input : report.model.assumed) make_printable(input);
  for (StateInfo& state : report.model.state)
    for (std::string* text : {&state.attribute, &state.input.name, &state.output}) make_printable(*text);
  for (std::string& step : report.model.steps) make_printable(step);
  for (OperatorSummary& op : report.operators) {
    make_printable(op.op);
    make_printable(op.overload);
    for (std::string& name : op.onnx) make_printable(name);
    for (RowUse& row : op.rows) make_printable(row.place);
  }
  for (Finding& finding : report.findings) make_printable(finding);
  if (report.signature) make_printable(*report.signature);
  for (TargetSummary& target : report.targets) make_printable(target);
  if (report.error) report.error = printable_lines(*report.error);
  return report;
}

}  // namespace compatcheck::report
