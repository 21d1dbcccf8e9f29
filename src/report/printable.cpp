#include "report/printable.h"

#include "compatcheck/printable.h"

namespace compatcheck::report {
namespace {

void spell(std::string& text) { text = compatcheck::printable(text); }

void spell(Finding& finding) {
  for (std::string* text : {&finding.op, &finding.overload, &finding.message, &finding.help, &finding.row}) spell(*text);
  for (Site& site : finding.sites)
    for (std::string* text : {&site.module, &site.file, &site.function, &site.args}) spell(*text);
  if (finding.target) spell(*finding.target);
  if (!finding.suppressed) return;
  spell(finding.suppressed->reason);
  spell(finding.suppressed->source);
}

void spell(TargetSummary& target) {
  for (std::string* text : {&target.target, &target.engine, &target.version, &target.source, &target.date}) spell(*text);
  for (auto& op : target.operators) spell(op.onnx);
}

void spell(AssumedInput& input) {
  spell(input.tensor.name);
  spell(input.option);
  if (input.tensor.shape)
    for (std::string& size : *input.tensor.shape) spell(size);
  for (auto& reason : input.because)
    for (std::string* text : {&reason.op, &reason.module, &reason.file}) spell(*text);
}

}  // namespace

Report printable(Report report) {
  spell(report.model.path);
  spell(report.model.description);
  for (AssumedInput& input : report.model.assumed) spell(input);
  for (StateInfo& state : report.model.state)
    for (std::string* text : {&state.attribute, &state.input.name, &state.output}) spell(*text);
  for (std::string& step : report.model.steps) spell(step);
  for (OperatorSummary& op : report.operators) {
    spell(op.op);
    spell(op.overload);
    for (std::string& name : op.onnx) spell(name);
    for (RowUse& row : op.rows) spell(row.place);
  }
  for (Finding& finding : report.findings) spell(finding);
  for (TargetSummary& target : report.targets) spell(target);
  if (report.error) report.error = printable_lines(*report.error);
  return report;
}

}  // namespace compatcheck::report
