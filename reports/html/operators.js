// The operators of a report: filtered by text, class and outcome, sorted by any column.

const operatorOutcomes = {
  converts: {word: "converts", kind: "ok", holds: (op, waiting) => op.class !== "structural" && op.class !== "missing" && !op.blocked && !op.kept && !waiting},
  waits: {word: "depends on another", kind: "unassessed", holds: (op, waiting) => waiting > 0 && waiting === op.nodes},
  partly: {word: "blocked in part", kind: "refused", holds: (op, waiting) => op.blocked + waiting > 0 && op.blocked < op.nodes && op.class !== "missing"},
  blocked: {word: "blocked", kind: "missing", holds: op => op.class === "missing" || (op.blocked > 0 && op.blocked === op.nodes)},
  kept: {word: "kept as PyTorch's", kind: "unassessed", holds: op => op.kept > 0},
  structural: {word: "structural", kind: "structural", holds: () => true},
};
const outcomeOfOperator = waiting => op => Object.keys(operatorOutcomes).find(name => operatorOutcomes[name].holds(op, waiting.get(fullName(op)) ?? 0));

const emittedNodes = op => Object.values(op.emitted).reduce((sum, count) => sum + count, 0);

function operatorDetail(report, waiting, reveal) {
  return op => {
    const emitted = Object.entries(op.emitted), calls = op.nodes - op.blocked - (waiting.get(fullName(op)) ?? 0);
    const findings = report.findings.map((finding, place) => ({finding, place})).filter(({finding}) => finding.op === op.op && finding.overload === op.overload);
    const line = (name, ...value) => element("div", null, element("dt", null, name), element("dd", null, ...value));
    return element("dl", {class: "facts"},
      emitted.length > 0 && line("ONNX nodes", emittedNodes(op) !== calls && `${plural(calls, "call")} → ${plural(emittedNodes(op), "node")}: `, emitted.map(([name, count]) => `${name} ${number(count)}`).join(" · ")),
      op.rows?.length > 0 && line("Rows", op.rows.map(row => element("div", null, code(row.place), ` ${plural(row.nodes, "node")}`,
        row.lifted && element("span", {class: "quiet"}, ` · beyond PyTorch's exporter: ${row.lifted}`)))),
      op.mapping && line("Your row", code(`${op.mapping.source}:${op.mapping.line}`)),
      line("Verified", op.verified ? "a test has run its handler" : "no: by its table row alone"),
      op.kept > 0 && line("Kept", plural(op.kept, "node")),
      findings.length > 0 && line("Findings", findings.map(({finding, place}) =>
        element("div", null, element("button", {type: "button", class: "link", onclick: () => reveal(place)}, finding.id), " ", withCode(finding.message)))));
  };
}

function operatorsPart(report, reveal) {
  const rows = report.operators, waiting = waitingNodes(report), outcome = outcomeOfOperator(waiting);
  const text = new Map(rows.map(op => [op, [fullName(op), ...op.onnx].join(" ").toLowerCase()]));
  const table = sortableTable({caption: "Operators", rows, word: "operators", detail: operatorDetail(report, waiting, reveal), columns: [
    {label: "Operator", value: fullName, cell: op => code(fullName(op))},
    {label: "Class", value: op => op.class, cell: op => [tag(op.class), !op.verified && (op.class === "one_to_one" || op.class === "one_to_many") && note("not verified")]},
    {label: "Outcome", value: outcome, cell: op => tag(operatorOutcomes[outcome(op)].kind, operatorOutcomes[outcome(op)].word)},
    {label: "ONNX", value: op => op.onnx.join(", ") || null, cell: op => op.onnx.join(", ")},
    {label: "Since", value: op => op.since, cell: op => op.since ?? "–", numeric: true},
    {label: "Available from", value: op => op.available_from, cell: op => op.available_from ?? "–", numeric: true},
    {label: "Blocked", value: op => op.blocked, cell: op => number(op.blocked), numeric: true},
    {label: "Nodes", value: op => op.nodes, cell: op => number(op.nodes), numeric: true},
    {label: "In ONNX", value: emittedNodes, cell: op => emittedNodes(op) ? number(emittedNodes(op)) : "–", numeric: true},
  ]});
  table.sortBy(7, true);

  const count = element("p", {class: "count", role: "status", "aria-live": "polite"});
  const wanted = {text: "", class: "", outcome: ""};
  const update = change => {
    Object.assign(wanted, change);
    const left = table.filter(op => text.get(op).includes(wanted.text) && (!wanted.class || op.class === wanted.class) && (!wanted.outcome || outcome(op) === wanted.outcome));
    count.textContent = `${number(left.length)} of ${plural(rows.length, "operator")} · ${plural(left.reduce((sum, op) => sum + op.nodes, 0), "node")}`;
  };
  update({});
  const part = section("operators", "Operators",
    element("div", {class: "filters"},
      search("Find", value => update({text: value})),
      choice("Class", [["", "all"], ...["one_to_one", "one_to_many", "missing", "structural"].map(name => [name, marks[name].word])], value => update({class: value})),
      choice("Outcome", [["", "all"], ...Object.entries(operatorOutcomes).map(([name, {word}]) => [name, word])], value => update({outcome: value})),
      count),
    table.element);
  part.showAll = () => table.showAll();
  return part;
}
