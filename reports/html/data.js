// The reports as the JSON has them, and what the words of the text report make of them.

const data = JSON.parse(document.getElementById("report").textContent);
const sources = new Map(Object.entries(data.sources ?? {}));

const fileName = path => path.slice(path.lastIndexOf("/") + 1) || path;

// The reports of one path, at several opsets, are one model; a model that could not be checked is one by itself.
const models = (() => {
  const list = [], checked = new Map();
  for (const report of data.reports) {
    const {path} = report.model;
    let model = report.error ? null : checked.get(path);
    if (!model) list.push(model = {place: list.length, path, name: fileName(path), reports: []});
    if (!report.error) checked.set(path, model);
    model.reports.push(report);
  }
  return list;
})();

const verdicts = {
  yes: {word: "Convertible", kind: "ok"},
  no: {word: "Not convertible", kind: "missing"},
  needs_input: {word: "Needs input", kind: "needs_input"},
  not_checked: {word: "Not checked", kind: "unassessed"},
};
const verdictOf = report => report.error ? "not_checked" : report.verdict;

// A model counts by its best report.
const verdictOrder = ["yes", "needs_input", "no", "not_checked"];
const bestOf = model => model.reports.reduce((best, report) => {
  const order = verdictOrder.indexOf(verdictOf(report)) - verdictOrder.indexOf(verdictOf(best));
  return order < 0 || (order === 0 && !report.error && report.summary.coverage_nodes > best.summary.coverage_nodes) ? report : best;
});

const convertedNodes = ({coverage_nodes, nodes}) => Math.round(coverage_nodes * nodes);
const fullName = ({op, overload}) => overload ? op + "." + overload : op;

// The line beside the verdict.
function headline({summary, opset, verdict}) {
  const parts = [];
  if (summary.missing) parts.push(`${number(summary.missing)} of ${plural(summary.operators, "operator")} missing`);
  if (summary.refused) parts.push(`${plural(summary.refused, "operator")} refused`);
  if (summary.needs_input) parts.push(`${plural(summary.needs_input, "operator")} undecided without --input`);
  if (!parts.length) parts.push(plural(summary.operators, "operator"));
  const blocked = summary.nodes - convertedNodes(summary) - (summary.kept ?? 0);
  parts.push(blocked ? `${number(blocked)} of ${plural(summary.nodes, "node")} in the way` : plural(summary.nodes, "node"));
  if (summary.kept) parts.push(`${number(summary.kept)} kept as PyTorch's operators`);
  if (summary.lowest_opset !== null && summary.lowest_opset > opset) parts.push(`converts whole from opset ${summary.lowest_opset}`);
  else if (summary.lowest_opset !== null && verdict === "yes") parts.push(`lowest opset ${summary.lowest_opset}`);
  return parts;
}

const isMissing = id => ["CC001", "CC002", "CC003", "CC011"].includes(id);
const findingName = finding => finding.op && finding.id !== "CC006" ? fullName(finding) : finding.id === "CC005" ? "the model" : finding.id === "CC006" ? "input" : "the run";

// Every finding belongs to the first section that takes it.
const findingSections = [
  {title: "Missing", belongs: f => f.severity === "error" && isMissing(f.id)},
  {title: "Conditions", belongs: f => f.severity === "error" && (f.id === "CC005" || f.id === "CC008")},
  {title: "Writes", belongs: f => f.id === "CC007"},
  {title: "Needs input", belongs: f => f.id === "CC006"},
  {title: "Engines", belongs: f => f.id.startsWith("CC1")},
  {title: "Perhaps baked in by tracing", belongs: f => f.id === "CC012"},
  {title: "The run itself", belongs: f => f.id.startsWith("CC9")},
  {title: "Other errors", belongs: f => f.severity === "error"},
  {title: "Warnings", belongs: f => f.severity === "warning"},
  {title: "Notes", belongs: () => true},
];

const severityKind = {error: "missing", warning: "needs_input", note: "structural"};

// The outcome that a finding means for its nodes, where no graph tells.
function outcomeOf(finding) {
  if (finding.severity !== "error") return "ok";
  return isMissing(finding.id) ? "missing" : finding.id === "CC006" ? "needs_input" : "refused";
}

// The lines around a place in a source file; nothing where the file wasn't found.
function snippetAt(file, line) {
  const block = (sources.get(file) ?? []).find(({first, lines}) => line >= first && line < first + lines.length);
  if (!block) return null;
  const from = Math.max(block.first, line - 2), to = Math.min(block.first + block.lines.length - 1, line + 2);
  return {first: from, lines: block.lines.slice(from - block.first, to + 1 - block.first)};
}
