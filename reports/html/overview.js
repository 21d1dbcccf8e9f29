// Several models: totals, which operators block most of them, and the way to each.

// Operators that are missing or refused, those first that block most models.
function blockingOperators() {
  const rows = new Map();
  for (const {best} of models) {
    if (best.error) continue;
    const met = new Set();
    for (const op of best.operators) {
      const missing = op.class === "missing" ? op.nodes : 0, refused = op.class === "missing" ? 0 : op.blocked;
      if (!missing && !refused) continue;
      const row = rows.get(op.op) ?? rows.set(op.op, {op: op.op, models: 0, missing: 0, refused: 0}).get(op.op);
      row.missing += missing;
      row.refused += refused;
      row.models += !met.has(op.op);
      met.add(op.op);
    }
  }
  const nodes = row => row.missing + row.refused;
  return [...rows.values()].sort((a, b) => b.models - a.models || nodes(b) - nodes(a) || (a.op < b.op ? -1 : 1));
}

function missingTable() {
  const rows = blockingOperators();
  if (!rows.length) return null;
  const table = sortableTable({caption: "Operators that block models", rows, word: "operators", columns: [
    {label: "Operator", value: row => row.op, cell: row => code(row.op)},
    {label: "Models", value: row => row.models, cell: row => number(row.models), numeric: true},
    {label: "Missing nodes", value: row => row.missing, cell: row => number(row.missing), numeric: true},
    {label: "Refused nodes", value: row => row.refused, cell: row => number(row.refused), numeric: true},
  ]});
  return section("missing", "What blocks most models", table.element);
}

function modelsTable(asPart) {
  const rows = models.map(model => ({model, best: model.best, text: model.path.toLowerCase()}));
  const of = (row, key) => row.best.error ? null : row.best.summary[key];
  const table = sortableTable({caption: "Models", rows, word: "models", columns: [
    {label: "Model", value: row => row.model.path, cell: ({model}) => [element("a", {href: `#/${model.place}`}, model.name), element("div", {class: "quiet path"}, model.path)]},
    {label: "Verdict", value: row => verdictOrder.indexOf(verdictOf(row.best)), cell: ({best}) => tag(verdicts[verdictOf(best)].kind, verdicts[verdictOf(best)].word)},
    {label: "Opset", value: row => row.best.opset ?? null, cell: ({best, model}) => (best.opset ?? "–") + (model.reports.length > 1 ? ` (of ${model.reports.length})` : ""), numeric: true},
    {label: "Missing", value: row => of(row, "missing"), cell: row => of(row, "missing") ?? "–", numeric: true},
    {label: "Refused", value: row => of(row, "refused"), cell: row => of(row, "refused") ?? "–", numeric: true},
    {label: "Nodes", value: row => of(row, "nodes"), cell: row => row.best.error ? "–" : number(of(row, "nodes")), numeric: true},
    {label: "Lowest opset", value: row => of(row, "lowest_opset"), cell: row => of(row, "lowest_opset") ?? "–", numeric: true},
  ]});
  const count = element("p", {class: "count", role: "status", "aria-live": "polite"});
  const wanted = {text: "", verdict: ""};
  const update = change => {
    Object.assign(wanted, change);
    const left = table.filter(row => row.text.includes(wanted.text) && (!wanted.verdict || verdictOf(row.best) === wanted.verdict));
    count.textContent = `${number(left.length)} of ${plural(rows.length, "model")}`;
  };
  update({});
  asPart.showAll = () => table.showAll();
  return [element("div", {class: "filters"}, search("Find", value => update({text: value})),
    choice("Verdict", [["", "all"], ...verdictOrder.map(name => [name, verdicts[name].word.toLowerCase()])], value => update({verdict: value})), count), table.element];
}

// ONNX files aren't converted.
function convertedWords({yes, models: all, onnx = 0}) {
  const asked = all - onnx;
  return asked ? `${number(yes)} of ${plural(asked, "model")} ${asked === 1 ? "converts" : "convert"}` : plural(onnx, "ONNX model");
}

function overview() {
  const {totals} = data;
  const tiles = [["yes", totals.yes], ["no", totals.no], ["needs_input", totals.needs_input], ["not_checked", totals.not_checked]];
  if (totals.onnx) tiles.push(["onnx", totals.onnx]);
  const list = section("models", "Models");
  list.append(...modelsTable(list));
  return [
    element("section", {class: "part hero", id: "verdict", "aria-label": "Verdict"},
      element("h1", null, convertedWords(totals)),
      element("p", {class: "quiet"}, plural(data.reports.length, "report")),
      element("dl", {class: "tiles"}, tiles.map(([name, many]) => element("div", {class: many ? "" : "none"},
        element("dt", null, tag(verdicts[name].kind, verdicts[name].word)), element("dd", null, number(many)))))),
    missingTable(), list];
}
