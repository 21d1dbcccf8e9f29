// The page of very many reports. Each report is a line of text, which is split once. Only the visible rows of the table are made.

const data = JSON.parse(document.getElementById("report").textContent);
const main = document.getElementById("main");
const rowHeight = 34, rowsBeyond = 8;

const verdicts = {
  y: {word: "converts", kind: "ok"},
  n: {word: "doesn't convert", kind: "missing"},
  i: {word: "needs input", kind: "needs_input"},
  x: {word: "not checked", kind: "unassessed"},
  o: {word: "ONNX model", kind: "structural"},
};
const supports = {y: "supported", n: "unsupported", u: "unknown"};

// As src/report/registry_page.cpp writes them.
const lists = data.lists.map(text => text ? text.split(" ") : []);
const numberOf = text => text === "" ? null : Number(text);
const reports = data.rows.split("\n");
reports.pop();
for (let i = 0; i < reports.length; ++i) {
  const [verdict, path, opset, nodes, lowest, missing, targets, reason] = reports[i].split("\t");
  reports[i] = {verdict, path, sought: null, opset: numberOf(opset), nodes: numberOf(nodes), lowest: numberOf(lowest), missing: lists[missing], targets: lists[targets], reason};
}

function counted(items) {
  const counts = new Map();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}
// Counts the items in the lists of reports. Many reports share a list.
function countedIn(some, name) {
  const shared = new Map(), counts = new Map();
  for (const report of some) shared.set(report[name], (shared.get(report[name]) ?? 0) + 1);
  for (const [list, times] of shared) for (const item of list) counts.set(item, (counts.get(item) ?? 0) + times);
  return counts;
}
const byCount = counts => [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));

const filters = {text: "", verdict: "", op: "", target: "", opset: ""};
const passes = report =>
  (!filters.text || (report.sought ??= report.path.toLowerCase()).includes(filters.text)) &&
  (!filters.verdict || report.verdict === filters.verdict) &&
  (!filters.opset || report.opset === Number(filters.opset)) &&
  (!filters.op || report.missing.includes(filters.op)) &&
  (!filters.target || report.targets.includes(filters.target));

const columns = [
  {label: "Model", width: "34%", value: report => report.path, cell: report => report.path},
  {label: "Verdict", width: "15%", value: report => "xniyo".indexOf(report.verdict), cell: report => tag(verdicts[report.verdict].kind, verdicts[report.verdict].word)},
  {label: "Opset", width: "6%", value: report => report.opset, cell: report => report.opset ?? "–", numeric: true},
  {label: "Nodes", width: "8%", value: report => report.nodes, cell: report => report.nodes === null ? "–" : number(report.nodes), numeric: true},
  {label: "Lowest opset", width: "9%", value: report => report.lowest, cell: report => report.lowest ?? "–", numeric: true},
  {label: "Missing operators, or the reason", width: "28%", value: report => report.missing.length, cell: report => report.missing.length ? code(report.missing.join(" ")) : report.reason, numeric: false},
];

function table() {
  const body = element("tbody");
  const before = element("tr", {"aria-hidden": "true"}, element("td", {colspan: columns.length})), after = element("tr", {"aria-hidden": "true"}, element("td", {colspan: columns.length}));
  let passing = reports, sorted = null, descending = false, drawn = "";

  const head = element("tr", null, columns.map((column, place) =>
    element("th", {scope: "col", class: column.numeric ? "numeric" : ""}, element("button", {type: "button", onclick: () => sortBy(place)}, column.label))));
  const made = element("table", {class: "registry", "aria-rowcount": reports.length + 1},
    element("caption", {class: "unseen"}, "Models"), element("colgroup", null, columns.map(() => element("col"))), element("thead", null, head), body);
  columns.forEach((column, place) => { made.querySelectorAll("col")[place].style.width = column.width; });
  const scroll = element("div", {class: "registry-scroll", tabIndex: 0, role: "group", "aria-label": "Models"}, made);

  function line(report, place) {
    const row = element("tr", {"aria-rowindex": place + 2}, columns.map((column, i) => {
      const shown = column.cell(report);
      return element(i === 0 ? "th" : "td", {scope: i === 0 ? "row" : null, class: column.numeric ? "numeric" : "", title: spelled(i === 0 ? report.path : i === 5 ? report.missing.join(" ") || report.reason : "")}, shown);
    }));
    return row;
  }

  function draw(whole) {
    const first = Math.max(0, Math.floor(scroll.scrollTop / rowHeight) - rowsBeyond);
    const last = Math.min(passing.length, Math.ceil((scroll.scrollTop + (scroll.clientHeight || 800)) / rowHeight) + rowsBeyond);
    const key = `${first} ${last}`;
    if (!whole && key === drawn) return;
    drawn = key;
    before.style.height = `${first * rowHeight}px`;
    after.style.height = `${(passing.length - last) * rowHeight}px`;
    body.replaceChildren(before, ...passing.slice(first, last).map((report, i) => line(report, first + i)), after);
  }

  function order() {
    if (sorted === null) return;
    const {value} = columns[sorted];
    const sign = descending ? -1 : 1;   // what isn't known comes last in both orders
    const difference = (a, b) => a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -sign : sign;
    passing = [...passing].sort((a, b) => difference(value(a), value(b)));
  }

  function sortBy(place) {
    descending = sorted === place ? !descending : Boolean(columns[place].numeric);
    sorted = place;
    [...head.cells].forEach((cell, i) => {
      if (i === place) cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    order();
    draw(true);
  }

  scroll.addEventListener("scroll", () => draw(false), {passive: true});
  addEventListener("resize", () => draw(false));
  return {
    element: scroll,
    filter() {
      passing = reports.filter(passes);
      made.setAttribute("aria-rowcount", passing.length + 1);
      order();
      scroll.scrollTop = 0;
      draw(true);
      return passing;
    },
  };
}

// Of the reports that pass the filters, which operators are missing in most.
function operatorsOf(passing, choose) {
  const most = byCount(countedIn(passing, "missing")).slice(0, 10);
  if (!most.length) return element("p", {class: "quiet"}, "No operator is missing in these models.");
  const greatest = most[0][1];
  return element("div", {class: "bars"}, most.map(([op, count]) => {
    const bar = element("span", {class: "bar-fill k-missing"});
    bar.style.inlineSize = `${100 * count / greatest}%`;
    return element("div", {class: "registry-bar"}, element("button", {type: "button", class: "link", onclick: () => choose(op)}, code(op)), element("span", {class: "bar-room"}, bar), element("span", {class: "numeric"}, plural(count, "report")));
  }));
}

function page() {
  const models = table();
  const count = element("span", {class: "count", role: "status"});
  const operators = element("div");
  const selects = {};
  const apply = () => {
    const passing = models.filter();
    count.textContent = `${number(passing.length)} of ${plural(reports.length, "report")}`;
    operators.replaceChildren(operatorsOf(passing, op => { selects.op.value = op; filters.op = op; apply(); }));
  };
  const select = (name, label, options) => {
    if (options.length < 2) return null;
    const made = choice(label, [["", "all"], ...options], value => { filters[name] = value; apply(); });
    selects[name] = made.querySelector("select");
    return made;
  };
  const targets = byCount(countedIn(reports, "targets")).map(([target, models]) => {
    const [name, support] = [target.slice(0, -2), target.slice(-1)];
    return [target, `${name}: ${supports[support]} (${number(models)})`];
  });
  const opsets = [...counted(reports.map(report => report.opset).filter(opset => opset !== null)).keys()].sort((a, b) => a - b);
  const ops = byCount(countedIn(reports, "missing")).map(([op, models]) => [op, `${op} (${number(models)})`]);
  if (ops.length === 1) ops.push(["-", "no other"]);
  const verdictCounts = counted(reports.map(report => report.verdict));
  const tiles = Object.entries(verdicts).filter(([letter]) => letter !== "o" || reports.some(({verdict}) => verdict === "o")).map(([letter, {word, kind}]) =>
    element("div", {class: verdictCounts.get(letter) ? "" : "none"}, element("dt", null, tag(kind, word)), element("dd", null, number(verdictCounts.get(letter) ?? 0))));
  main.replaceChildren(
    element("section", {class: "part hero", "aria-labelledby": "title"}, element("h1", {id: "title"}, plural(reports.length, "report")), element("dl", {class: "tiles"}, tiles)),
    section("missing", "Missing operators", operators),
    section("models", "Models",
      element("div", {class: "filters"},
        search("Search the paths", text => { filters.text = text; apply(); }),
        select("verdict", "Verdict", Object.entries(verdicts).map(([letter, {word}]) => [letter, word])),
        select("op", "Missing operator", ops),
        select("target", "Engine", targets),
        select("opset", "Opset", opsets.map(opset => [String(opset), `opset ${opset}`])),
        count),
      models.element));
  document.title = `${plural(reports.length, "report")} · compatcheck`;
  document.getElementById("about").textContent = spelled(`Made by compatcheck ${data.version}. The page holds everything that it shows, and asks nothing of any network.`);
  apply();
}

theme();
page();
