// Opsets and engines: one row for each report of a model, one column for each engine.

const supportKind = {yes: "ok", no: "missing", unknown: "unassessed"};
const supportWord = {yes: "supported", no: "unsupported", unknown: "unknown"};

function targetNames(reports) {
  const names = new Set();
  for (const report of reports) for (const target of report.targets ?? []) names.add(target.target);
  return [...names];
}

function targetCell(target) {
  if (!target) return element("td", {class: "quiet"}, "–");
  const lines = [`${number(target.supported)} of ${plural(target.nodes, "node")}`];
  if (target.unsupported) lines.push(`${number(target.unsupported)} unsupported`);
  if (target.unknown) lines.push(`${number(target.unknown)} unknown`);
  lines.push(plural(target.partitions, "partition"));
  const older = (target.older_forms || []).reduce((sum, form) => sum + form.calls, 0);
  if (older) lines.push(`${plural(older, "call")} in older forms`);
  return element("td", null, tag(supportKind[target.support], supportWord[target.support]), lines.map(line => element("div", {class: "quiet count-line"}, line)));
}

function matrixRow(model, report, place, chosen, names) {
  const {word, kind} = verdicts[verdictOf(report)];
  const {summary} = report;
  const link = element("a", {href: `#/${model.place}/${place}`, "aria-current": report === chosen ? "true" : null}, `opset ${report.opset}`);
  return element("tr", {class: report === chosen ? "chosen" : ""},
    element("th", {scope: "row"}, link, report.export_type && element("div", {class: "quiet"}, report.export_type)),
    element("td", null, tag(kind, word)),
    ...["missing", "refused", "needs_input"].map(key => element("td", {class: "numeric"}, number(summary[key]))),
    element("td", {class: "numeric"}, `${number(convertedNodes(summary))} of ${number(summary.nodes)}`),
    names.map(name => targetCell((report.targets ?? []).find(({target}) => target === name))));
}

const fromOpset = lowest => lowest === undefined ? "–" : lowest === "none" ? "at no opset" : lowest === "not known" ? "from an opset not known" : `from opset ${lowest}`;

// From which opset on the whole model converts, and each engine supports it.
function lowestRow(report, names) {
  return element("tfoot", null, element("tr", null,
    element("th", {scope: "row"}, "Whole"), element("td", null, fromOpset(report.words?.lowest_opset)), element("td", {colspan: 4}),
    names.map(name => element("td", null, fromOpset(report.words?.targets[(report.targets ?? []).findIndex(({target}) => target === name)])))));
}

function engineTable(target) {
  const rows = target.operators;
  const table = sortableTable({caption: `ONNX operators of the model, and whether ${target.target} supports them`, rows, word: "operators", columns: [
    {label: "ONNX operator", value: row => row.onnx, cell: row => code(row.onnx)},
    {label: "Support", value: row => ["no", "unknown", "yes"].indexOf(row.support), cell: row => tag(supportKind[row.support], row.support === "yes" ? "yes" : row.support)},
    {label: "Nodes", value: row => row.nodes, cell: row => number(row.nodes), numeric: true},
  ]});
  table.sortBy(1, false);
  return element("details", null,
    element("summary", null, code(target.target), " ", tag(supportKind[target.support], supportWord[target.support]), " ",
      element("span", {class: "quiet"}, `${number(target.unsupported)} unsupported · ${number(target.unknown)} unknown · ${number(target.supported)} supported`)),
    element("p", {class: "quiet"}, `${target.engine} ${target.version} · profile of ${target.date} · ${target.source}`),
    table.element);
}

function matrixPart(model, chosen) {
  const names = targetNames(model.reports);
  if (model.reports.length < 2 && !names.length) return null;
  const head = ["Opset", "Verdict", "Missing", "Refused", "Needs input", "Nodes that convert", ...names];
  const numeric = new Set([2, 3, 4, 5]);
  const caption = names.length ? "Opsets and engines" : "Opsets";
  return section("opsets", caption,
    element("div", {class: "scroll", tabIndex: 0, role: "group", "aria-label": caption}, element("table", {class: "matrix"},
      element("caption", {class: "unseen"}, caption),
      element("thead", null, element("tr", null, head.map((word, i) => element("th", {scope: "col", class: numeric.has(i) ? "numeric" : ""}, word)))),
      element("tbody", null, model.reports.map((report, place) => matrixRow(model, report, place, chosen, names))),
      lowestRow(chosen, names))),
    names.length > 1 && element("p", {class: "quiet below"}, `All engines support the whole model ${fromOpset(chosen.words?.targets_lowest_opset)}.`),
    (chosen.targets ?? []).map(engineTable));
}
