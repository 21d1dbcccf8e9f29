// The head of a report: whether it goes, by how much, and what to do.

function bars(report) {
  const kinds = ["one_to_one", "one_to_many", "missing"];
  const totals = new Map(kinds.map(kind => [kind, {operators: 0, nodes: 0}]));
  for (const op of report.operators) {
    const total = totals.get(op.class);
    if (!total) continue;
    total.operators += 1;
    total.nodes += op.nodes;
  }
  const most = Math.max(1, ...kinds.map(kind => totals.get(kind).operators));
  return element("dl", {class: "bars"}, kinds.map(kind => {
    const {operators, nodes} = totals.get(kind);
    const bar = element("span", {class: "bar-fill k-" + kind, "aria-hidden": "true"});
    bar.style.inlineSize = operators ? `max(${100 * operators / most}%, 4px)` : "0";
    return element("div", null,
      element("dt", null, tag(kind)),
      element("dd", {class: "bar-cell"}, element("span", {class: "bar-room", "aria-hidden": "true"}, bar)),
      element("dd", {class: "numeric"}, plural(operators, "operator")),
      element("dd", {class: "numeric quiet"}, plural(nodes, "node")));
  }));
}

const quoted = word => /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'";

function convertCommand(report, opset) {
  const {path} = report.model, name = fileName(path).replace(/\.[^.]+$/, "") + ".onnx";
  const words = ["compatcheck", "convert", path, "-o", name, "--opset", String(opset)];
  if (report.export_type) words.push("--export-type", report.export_type);
  return words.map(quoted).join(" ");
}

// What to do, the greatest step first. Findings that say the same are one step.
function steps(report) {
  const list = [];
  const {summary} = report;
  const others = "with the other options of this check";
  if (isOnnx(report)) return list;
  if (report.verdict === "yes") list.push({text: `This command, ${others}, writes the ONNX model:`, nodes: null, command: convertCommand(report, report.opset)});
  else if (summary.lowest_opset !== null && summary.lowest_opset > report.opset)
    list.push({text: `The whole model converts from opset ${summary.lowest_opset} on, ${others}:`, nodes: null, command: convertCommand(report, summary.lowest_opset)});
  const told = new Map();
  report.findings.forEach((finding, place) => {
    if (finding.severity !== "error" || finding.suppressed || !finding.help) return;
    const known = told.get(finding.help);
    if (known) known.nodes += finding.nodes;
    else told.set(finding.help, {text: finding.help, nodes: finding.nodes, op: findingName(finding), place, command: finding.row});
  });
  return [...list, ...told.values()];
}

function stepsPanel(report, reveal) {
  const list = steps(report);
  if (!list.length) return null;
  const items = element("ol", {class: "steps"});
  const more = chunked(items, list, step => element("li", null,
    step.op && [code(step.op), ": "], element("span", null, withCode(step.text)), " ",
    step.command && element("div", {class: "row"}, element("pre", {tabIndex: 0, role: "group", "aria-label": step.op ? "Row of a mapping file" : "Command"}, step.command), copyButton(step.command, step.op ? "row" : "command")),
    step.nodes !== null && element("button", {type: "button", class: "link", onclick: () => reveal(step.place)}, plural(step.nodes, "node"))), 4, "steps");
  return element("div", {class: "todo"}, element("h2", null, "What to do"), items, more);
}

function gateLine(report) {
  const {gate} = report;
  const said = gate.passed ? "The gate passed" : `The gate failed: ${plural(gate.violations, "violation")}`;
  return element("p", {class: "quiet"}, said, " · ", code(`--fail-on ${gate.fail_on}`), ` · exit ${report.exit_code}`);
}

function modelLine({model, opset, export_type}) {
  return [model.description || model.format, bytes(model.bytes), plural(model.parameters.count, "parameter"), `opset ${opset}`, export_type]
    .filter(Boolean).join(" · ");
}

function verdictPart(report, reveal) {
  const {word, kind} = verdicts[verdictOf(report)];
  const stamp = element("p", {class: "verdict k-" + kind}, mark(kind), word);
  if (report.error)
    return element("section", {class: "part hero", id: "verdict", "aria-label": "Verdict"}, element("h1", null, fileName(report.model.path)), stamp,
      element("pre", {class: "reason"}, report.error.message), element("p", {class: "quiet"}, `exit ${report.exit_code}`));
  return element("section", {class: "part hero", id: "verdict", "aria-label": "Verdict"},
    element("h1", null, fileName(report.model.path)),
    element("p", {class: "quiet"}, modelLine(report)),
    stamp,
    element("p", {class: "headline"}, report.words.headline),
    element("div", {class: "halves"}, element("div", null, bars(report), gateLine(report)), stepsPanel(report, reveal)));
}

// What the file says of itself.
function modelPart(report) {
  const {model, tool} = report;
  const shape = ({shape: sizes}) => sizes ? "[" + sizes.map(size => size ?? "?").join(", ") + "]" : "";
  const ends = (title, list) => list.length > 0 && element("div", null, element("h3", null, title),
    element("ul", {class: "plain"}, list.map(end => element("li", null, code(end.name), " ", element("span", {class: "quiet"}, end.dtype, " ", shape(end))))));
  const because = ({what, op, file, line}) => what.join(", ") + ": " + (op ? op + (file ? ` at ${file}:${line}` : "") : "assumed, because no operator that reads it decides");
  const assumed = (model.assumed ?? []).map(input => `${input.name}: ${input.dtype}${shape(input)} (${input.because.map(because).join("; ")})`);
  const lines = (title, list) => list?.length > 0 && element("div", null, element("h3", null, title), element("ul", {class: "plain"}, list.map(line => element("li", null, line))));
  const facts = [["Path", model.path], ["Identity", model.identity], ["SHA-256", model.sha256], ["Format", model.description || model.format],
    ["Size", `${bytes(model.bytes)}, of which parameters ${bytes(model.parameters.bytes)}`], ["Parameters", number(model.parameters.count)],
    ["Made by", [`${tool.name} ${tool.version}`, tool.libtorch && `libtorch ${tool.libtorch}`, `onnx ${tool.onnx}`].filter(Boolean).join(", ")]];
  return section("model", "Model",
    lines("Warnings", model.warnings),
    lines("Assumed inputs (--input overrides)", assumed),
    element("div", {class: "halves"}, ends("Inputs", model.inputs), ends("Outputs", model.outputs)),
    lines("Normalising steps", model.steps),
    element("h3", null, "File"),
    element("dl", {class: "facts"}, facts.filter(([, value]) => value).map(([name, value]) => element("div", null, element("dt", null, name), element("dd", null, value)))));
}
