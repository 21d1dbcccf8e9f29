// The findings: what is in the way, where, and what helps.

// Sites of one line of source stand together: a layer that is used twelve times is shown once.
function placesOf(finding) {
  const places = new Map();
  for (const site of finding.sites) {
    const key = JSON.stringify([site.file, site.line, site.function]);
    const place = places.get(key);
    if (place) place.sites.push(site);
    else places.set(key, {file: site.file, line: site.line, function: site.function, sites: [site]});
  }
  return [...places.values()];
}

const placeText = ({file, line, function: name}) => (file ? file + (line ? ":" + line : "") : "no source recorded") + (name ? " in " + name : "");

function snippetElement({file, line}) {
  const snippet = snippetAt(file, line);
  return snippet && element("pre", {class: "snippet", tabIndex: 0, role: "group", "aria-label": `${file} around line ${line}`}, snippet.lines.map((text, i) => element("span", {class: snippet.first + i === line ? "here" : ""},
    element("span", {class: "line-number"}, snippet.first + i), text + "\n")));
}

function siteElement(site, showNode) {
  return element("li", null,
    showNode ? element("button", {type: "button", class: "link", onclick: () => showNode(site.index)}, site.module || "the model") : element("span", null, site.module || "the model"),
    " ", code(site.args));
}

function placeElement(place, showNode, chunks) {
  const list = element("ul", {class: "sites"});
  const more = chunked(list, place.sites, site => siteElement(site, showNode), 5, "nodes");
  chunks.push(more);
  return element("li", null,
    element("p", {class: "place"}, code(placeText(place)), place.sites.length > 1 && element("span", {class: "quiet"}, " " + plural(place.sites.length, "node"))),
    snippetElement(place), list, more);
}

function findingBody(finding, showNode, chunks) {
  const places = element("ol", {class: "places"});
  const more = chunked(places, placesOf(finding), place => placeElement(place, showNode, chunks), 10, "places");
  chunks.unshift(more);
  return [
    finding.row && element("div", {class: "row"}, element("p", {class: "quiet"}, "A row for a mapping file:"), element("pre", {tabIndex: 0, role: "group", "aria-label": "Row of a mapping file"}, finding.row), copyButton(finding.row, "row")),
    finding.sites.length > 0 && [places, more],
  ];
}

const baselineWords = {unchanged: "in the baseline", added: "new", grown: "grown"};

function findingElement({finding, place}, showNode) {
  const panel = element("div", {class: "panel", id: `finding-${place}-panel`, hidden: true});
  const chunks = [];
  const opener = element("button", {type: "button", class: "opener", "aria-expanded": "false", "aria-controls": panel.id},
    mark(severityKind[finding.severity]), element("span", {class: "rule"}, finding.id), code(findingName(finding)),
    element("span", {class: "unseen"}, finding.severity));
  const first = finding.sites[0];
  const from = finding.available_from !== null ? `from opset ${finding.available_from}` : finding.id === "CC001" ? "no opset" : null;
  const card = element("article", {class: "finding s-" + finding.severity, id: `finding-${place}`},
    element("div", {class: "finding-head"}, element("h4", null, opener),
      element("span", {class: "quiet"}, plural(finding.nodes, "node")), from && note(from), finding.target && note(finding.target),
      finding.baseline && note(baselineWords[finding.baseline])),
    element("p", {class: "message"}, withCode(finding.message)),
    first && element("p", {class: "place-line quiet"}, code(placeText(first)), finding.sites.length > 1 && ` and ${number(finding.sites.length - 1)} more`),
    finding.help && element("p", {class: "help"}, withCode(finding.help)),
    finding.suppressed && element("p", {class: "suppressed"}, "Allowed: ", finding.suppressed.reason,
      element("span", {class: "quiet"}, ` · ${finding.suppressed.source}`, finding.suppressed.expires && ` · until ${finding.suppressed.expires}`)),
    panel);
  card.open = opened => {
    if (opened && !panel.childNodes.length) panel.append(...findingBody(finding, showNode, chunks).flat(2).filter(Boolean));
    panel.hidden = !opened;
    card.classList.toggle("opened", opened);
    opener.setAttribute("aria-expanded", String(opened));
  };
  card.showAll = () => {
    card.open(true);
    for (let i = 0; i < chunks.length; ++i) chunks[i].showAll();   // showing places adds their lists
  };
  card.focusHead = () => opener.focus();
  opener.addEventListener("click", () => card.open(panel.hidden));
  if (!finding.row && !finding.sites.length) opener.disabled = true;
  return card;
}

function findingGroup(title, items, showNode, few) {
  const list = element("div");
  const more = chunked(list, items, item => item.card ??= findingElement(item, showNode), few, "findings");
  const nodes = items.reduce((sum, {finding}) => sum + finding.nodes, 0);
  const group = element("div", {class: "group"}, element("h3", null, title, " ", element("span", {class: "quiet"}, `${number(items.length)} · ${plural(nodes, "node")}`)), list, more);
  group.showAll = () => more.showAll();
  return group;
}

function findingsPart(report, showNode) {
  const items = report.findings.map((finding, place) => ({finding, place, text:
    [finding.id, findingName(finding), finding.message, finding.help, finding.target ?? "", ...finding.sites.flatMap(site => [site.module, site.file])].join(" ").toLowerCase()}));
  const groups = element("div");
  const count = element("p", {class: "count", role: "status", "aria-live": "polite"});
  const wanted = {text: "", severity: ""};
  const draw = (few = 50) => {
    const left = items.filter(({finding, text}) => text.includes(wanted.text) && (!wanted.severity || finding.severity === wanted.severity));
    count.textContent = `${number(left.length)} of ${plural(items.length, "finding")}`;
    const of = rule => left.filter(({finding}) => !finding.suppressed && findingSections.find(({belongs}) => belongs(finding)) === rule);
    const shown = findingSections.map(rule => [rule.title, of(rule)]);
    shown.push(["Allowed, not counted", left.filter(({finding}) => finding.suppressed)]);
    groups.replaceChildren(...shown.filter(([, some]) => some.length).map(([title, some]) => findingGroup(title, some, showNode, few)));
    if (!left.length) groups.append(element("p", {class: "quiet"}, items.length ? "No finding matches." : "Nothing to report."));
  };
  draw();
  const errors = items.filter(({finding}) => finding.severity === "error" && !finding.suppressed);
  if (errors.length <= 4) for (const {card} of errors) card?.open(true);

  const severities = ["error", "warning", "note"].filter(word => items.some(({finding}) => finding.severity === word));
  const textField = search("Find", value => { wanted.text = value; draw(); });
  const severityField = choice("Severity", [["", "all"], ...severities.map(word => [word, word])], value => { wanted.severity = value; draw(); });
  const part = section("findings", "Findings", items.length > 0 && element("div", {class: "filters"}, textField, severityField, count), groups);
  part.reveal = place => {
    const item = items[place];
    if (!item.card?.isConnected) {
      wanted.text = wanted.severity = "";
      for (const control of part.querySelectorAll(".filters input, .filters select")) control.value = "";
      draw(Infinity);
    }
    item.card.open(true);
    item.card.scrollIntoView({block: "start"});
    item.card.focusHead();
  };
  part.showAll = () => {
    for (const group of groups.children) group.showAll?.();
    for (const {card} of items) card?.showAll();
  };
  return part;
}
