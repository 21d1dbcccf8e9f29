// The reports as the JSON has them, and what stands beside them there for the page alone.

const data = JSON.parse(document.getElementById("report").textContent);
const sources = new Map(Object.entries(data.sources ?? {}));

const fileName = path => path.slice(path.lastIndexOf("/") + 1) || path;

// `words`: what the text report says of a report.
data.reports.forEach((report, place) => { report.words = data.words[place]; });
const models = data.models.map(({reports, best}, place) => {
  const {path} = data.reports[best].model;
  return {place, path, name: fileName(path), reports: reports.map(at => data.reports[at]), best: data.reports[best]};
});

const verdicts = {
  yes: {word: "Convertible", kind: "ok"},
  no: {word: "Not convertible", kind: "missing"},
  needs_input: {word: "Needs input", kind: "needs_input"},
  not_checked: {word: "Not checked", kind: "unassessed"},
  onnx: {word: "ONNX model", kind: "structural"},
};
const isOnnx = report => !report.error && report.model.format === "onnx" && report.verdict === "yes" &&
  report.summary.lowest_opset == null;
const verdictOf = report => report.error ? "not_checked" : isOnnx(report) ? "onnx" : report.verdict;

const verdictOrder = ["yes", "needs_input", "no", "not_checked", "onnx"];

const convertedNodes = ({coverage_nodes, nodes}) => Math.round(coverage_nodes * nodes);
const fullName = ({op, overload}) => overload ? op + "." + overload : op;

const isMissing = id => data.missing_rules.includes(id);

function findingName(finding) {
  if (finding.op && finding.id !== "CC006") return fullName(finding);
  return finding.id === "CC005" || finding.target ? "the model" : finding.id.startsWith("CC9") ? "the run" : "input";
}

// Every finding belongs to the first section that takes it.
const findingSections = [
  {title: "Missing", belongs: f => f.severity === "error" && isMissing(f.id)},
  {title: "Conditions", belongs: f => f.severity === "error" && (f.id === "CC005" || f.id === "CC008")},
  {title: "Writes", belongs: f => f.id === "CC007"},
  {title: "Needs input", belongs: f => f.id === "CC006"},
  {title: "Engines", belongs: f => f.target},
  {title: "Values that tracing may have made constant", belongs: f => f.id === "CC012"},
  {title: "Assertions that the ONNX model doesn't make", belongs: f => f.id === "CC013"},
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

// How many nodes of each operator only depend on one that fails.
function waitingNodes(report) {
  const counts = new Map();
  if (report.graph) {
    const {operators, nodes} = report.graph;
    for (const [op, , outcome] of nodes) if (outcome === "unassessed") counts.set(operators[op], (counts.get(operators[op]) ?? 0) + 1);
  } else if (report.summary.unassessed) {
    const emits = op => op.blocked || op.kept || op.class === "structural" || op.class === "missing" || Object.keys(op.emitted).length;
    for (const op of report.operators) if (!emits(op)) counts.set(fullName(op), op.nodes);
  }
  return counts;
}

// The lines around a place in a source file; nothing where the file wasn't found.
function snippetAt(file, line) {
  const block = (sources.get(file) ?? []).find(({first, lines}) => line >= first && line < first + lines.length);
  if (!block) return null;
  const from = Math.max(block.first, line - 2), to = Math.min(block.first + block.lines.length - 1, line + 2);
  return {first: from, lines: block.lines.slice(from - block.first, to + 1 - block.first)};
}
