// Several models: totals, which missing operator blocks most of them, and the way to each.

function missingTable(totals) {
  if (!totals.missing.length) return null;
  const table = sortableTable({caption: "Missing operators of all models", rows: totals.missing, word: "operators", columns: [
    {label: "Operator", value: row => row.op, cell: row => code(row.op)},
    {label: "Models", value: row => row.models, cell: row => number(row.models), numeric: true},
    {label: "Nodes", value: row => row.nodes, cell: row => number(row.nodes), numeric: true},
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

function overview() {
  const {totals} = data;
  const tiles = [["yes", totals.yes], ["no", totals.no], ["needs_input", totals.needs_input], ["not_checked", totals.not_checked]];
  const list = section("models", "Models");
  list.append(...modelsTable(list));
  return [
    element("section", {class: "part hero", id: "verdict", "aria-label": "Verdict"},
      element("h1", null, `${number(totals.yes)} of ${plural(totals.models, "model")} ${totals.models === 1 ? "converts" : "convert"}`),
      element("p", {class: "quiet"}, plural(data.reports.length, "report")),
      element("dl", {class: "tiles"}, tiles.map(([name, many]) => element("div", {class: many ? "" : "none"},
        element("dt", null, tag(verdicts[name].kind, verdicts[name].word)), element("dd", null, number(many)))))),
    missingTable(totals), list];
}
