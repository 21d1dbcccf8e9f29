// The part of the page that shows the model's modules: the tree, the drawing, and what was chosen in either.

const openedAtFirst = 48;    // boxes

// Opens modules from the top, as long as few boxes are in sight.
function openFirst(root, view) {
  view.opened.add(root);
  let sight = root.children.filter(view.shows).length;
  for (let level = [root]; level.length;) {
    const next = [];
    for (const parent of level)
      for (const box of parent.children.filter(view.shows)) {
        if (!isModule(box)) continue;
        const inside = box.children.filter(view.shows).length;
        if (sight + inside > openedAtFirst) continue;
        sight += inside;
        view.opened.add(box);
        next.push(box);
      }
    level = next;
  }
}

const listAt = (map, key) => map.get(key) ?? map.set(key, []).get(key);

function graphView(report, graph, reveal) {
  const {root, leaves} = makeTree(graph);
  const classes = new Map();
  for (const op of report.operators) {
    if (!classes.has(op.op)) classes.set(op.op, op.class);
    classes.set(fullName(op), op.class);
  }
  const findingsAt = new Map();
  report.findings.forEach((finding, place) => {
    for (const {index} of finding.sites) listAt(findingsAt, index).push(place);
  });
  let inputs = [], readers = new Map();
  const view = {
    root, leaves, graph, findingsAt, opened: new Set(), selected: null, found: null, structural: false, byClass: false,
    shows: box => view.structural || (isModule(box) ? box.total > (box.outcomes.structural ?? 0) : box.outcome !== "structural"),
    kindOf: box => view.byClass ? classes.get(box.label) ?? "unassessed" : box.outcome,
    typeOf: index => graph.types?.[graph.nodes[index][4]] ?? "",
    callOf: index => graph.calls?.[graph.nodes[index][5]] ?? "",
    onnxOf: index => graph.onnx?.[graph.nodes[index][6]] ?? "",
    inputsOf: index => inputs[index] ?? [],
    readersOf: index => readers.get(index) ?? [],
  };
  view.link = () => {
    inputs = inputsOfNodes(graph, view.structural);
    readers = new Map();
    inputs.forEach((from, index) => from.forEach(input => listAt(readers, input).push(index)));
    linkTree(view, inputs);
    const forget = box => { box.layout = null; box.children.forEach(forget); };
    forget(root);
  };
  view.link();
  openFirst(root, view);

  const changed = box => { for (let up = box; up; up = up.parent) up.layout = null; };
  view.toggle = box => {
    const flip = () => {
      if (!view.opened.delete(box)) view.opened.add(box);
      changed(box);
      light(view);
    };
    if (view.drawing) view.drawing.keeping(box, flip);
    else flip();
    if (!view.opened.has(box) && view.selected && within(view.selected, box) && view.selected !== box) view.select(box, true);
    view.tree.changed();
  };
  view.select = (box, inSight) => {
    for (let up = box.parent; up; up = up.parent)
      if (!view.opened.has(up)) { view.opened.add(up); changed(up); }
    view.selected = box;
    light(view);
    view.tree.changed();
    view.tree.selected();
    if (view.drawing && !inSight) view.drawing.show(box);
    view.drawing?.drawSoon();
    view.detail.replaceChildren(...boxDetail(report, view, box, reveal));
  };
  return view;
}

function within(box, module) {
  for (let up = box; up; up = up.parent) if (up === module) return true;
  return false;
}

// Marks the edges that lead to and from what is chosen.
function light(view) {
  const {root, leaves, selected} = view;
  const clear = box => {
    for (const path of box.layout?.paths ?? []) path.lit = false;
    if (view.opened.has(box)) box.children.forEach(clear);
  };
  laidOut(root, view);
  clear(root);
  if (!selected || selected === root) return;
  const lit = new Map();   // module → pairs of boxes; null is its border
  const add = (module, source, target) => {
    if (!lit.has(module)) lit.set(module, new Map());
    const of = lit.get(module);
    of.set(source, (of.get(source) ?? new Set()).add(target));
  };
  const led = (from, to) => {
    const {meet, source, target} = meeting(from, to);
    for (let box = from; box !== source; box = box.parent) add(box.parent, box, null);
    for (let box = to; box !== target; box = box.parent) add(box.parent, null, box);
    add(meet, source, target);
  };
  const walk = box => {
    if (isModule(box)) return box.children.forEach(walk);
    for (const input of view.inputsOf(box.node)) if (!within(leaves[input], selected)) led(leaves[input], box);
    for (const reader of view.readersOf(box.node)) if (!within(leaves[reader], selected)) led(box, leaves[reader]);
  };
  walk(selected);
  for (const [module, of] of lit)
    for (const path of module.layout?.paths ?? []) path.lit = of.get(path.source ?? null)?.has(path.target ?? null) ?? false;
}

function boxButton(view, box) {
  return element("button", {type: "button", class: "link", onclick: () => view.select(box)}, labelOf(box));
}

function nodeList(view, title, indices) {
  const list = element("ul", {class: "plain inline"});
  const more = chunked(list, indices, index => element("li", null, boxButton(view, view.leaves[index]), view.typeOf(index) && element("span", {class: "quiet"}, " " + view.typeOf(index))), 8, "nodes");
  return indices.length > 0 && element("div", null, element("h4", null, title), list, more);
}

function findingList(report, places, reveal) {
  const list = element("ul", {class: "plain"});
  const more = chunked(list, places, place => {
    const finding = report.findings[place];
    return element("li", null, mark(severityKind[finding.severity]), " ", element("button", {type: "button", class: "link", onclick: () => reveal(place)}, finding.id), " ", withCode(finding.message),
      finding.help && element("div", {class: "help"}, withCode(finding.help)));
  }, 6, "findings");
  return places.length > 0 && element("div", null, element("h4", null, "Findings"), list, more);
}

function boxDetail(report, view, box, reveal) {
  if (isModule(box)) {
    const places = new Set();
    const walk = at => isModule(at) ? at.children.forEach(walk) : view.findingsAt.get(at.node)?.forEach(place => places.add(place));
    walk(box);
    return [element("h3", null, box.path || "the model"), element("p", {class: "quiet"}, plural(box.total, "node")),
      element("ul", {class: "plain"}, outcomeOrder.filter(outcome => box.outcomes[outcome]).map(outcome => element("li", null, tag(outcome), " ", number(box.outcomes[outcome])))),
      findingList(report, [...places].sort((a, b) => a - b), reveal)].filter(Boolean);
  }
  const places = view.findingsAt.get(box.node) ?? [];
  const site = places.flatMap(place => report.findings[place].sites).find(({index}) => index === box.node);
  return [element("h3", null, code(box.label)), element("p", null, tag(box.outcome), " ", element("span", {class: "quiet"}, `node ${box.node} · ${box.path || "the model"}`)),
    site && element("p", {class: "place-line"}, code(placeText(site))), element("p", null, code(view.callOf(box.node) || site?.args || "")),
    view.typeOf(box.node) && element("p", null, element("span", {class: "quiet"}, "Gives "), code(view.typeOf(box.node))),
    view.onnxOf(box.node) && element("p", null, element("span", {class: "quiet"}, "ONNX "), code(view.onnxOf(box.node))),
    nodeList(view, "Reads", view.inputsOf(box.node)), nodeList(view, "Read by", view.readersOf(box.node)), findingList(report, places, reveal)].filter(Boolean);
}

// Text and outcomes that are looked for, and the next node that is found.
function finder(view) {
  const count = element("p", {class: "count", role: "status", "aria-live": "polite"});
  const wanted = {text: "", outcome: ""};
  let matches = [];
  const update = change => {
    Object.assign(wanted, change);
    const asked = wanted.text || wanted.outcome;
    matches = !asked ? [] : view.leaves.filter(leaf => (!wanted.outcome || leaf.outcome === wanted.outcome) &&
      (!wanted.text || leaf.label.toLowerCase().includes(wanted.text) || leaf.path.toLowerCase().includes(wanted.text)));
    view.found = asked ? new Set() : null;
    for (const leaf of matches) for (let up = leaf; up && !view.found.has(up); up = up.parent) view.found.add(up);
    count.textContent = asked ? plural(matches.length, "node") : plural(view.leaves.filter(Boolean).length, "node");
    next.disabled = !matches.length;
    view.drawing?.drawSoon();
  };
  const step = () => {
    const shown = matches.filter(view.shows);
    if (!shown.length) return;
    const after = shown.find(leaf => view.selected && leaf.node > (view.selected.node ?? view.selected.first)) ?? shown[0];
    view.select(after);
    say(`${after.label}, ${marks[after.outcome].word}, in ${after.path || "the model"}`);
  };
  const next = element("button", {type: "button", class: "small", disabled: true, onclick: step}, "Next");
  const text = search("Find node", value => update({text: value}));
  text.querySelector("input").addEventListener("keydown", event => { if (event.key === "Enter") step(); });
  const present = outcomeOrder.filter(outcome => view.root.outcomes[outcome]);
  const outcomes = choice("Outcome", [["", "all"], ...present.map(outcome => [outcome, marks[outcome].word])], value => update({outcome: value}));
  update({});
  return [text, outcomes, next, count];
}

function checkbox(label, changed) {
  const box = element("input", {type: "checkbox", onchange: () => changed(box.checked)});
  return element("label", {class: "check"}, box, label);
}

function drawingTools(view) {
  const button = (text, label, action) => element("button", {type: "button", class: "small", "aria-label": label, onclick: action}, text);
  const legend = element("ul", {class: "legend"});
  const kinds = () => view.byClass ? ["one_to_one", "one_to_many", "missing", "structural"] : outcomeOrder.filter(outcome => view.root.outcomes[outcome] && (outcome !== "structural" || view.structural));
  const describe = () => legend.replaceChildren(...kinds().map(kind => element("li", null, tag(kind))));
  describe();
  const hidden = view.root.outcomes.structural ?? 0;
  return element("div", {class: "drawing-tools"},
    element("span", {class: "buttons"}, button("−", "Zoom out", () => view.drawing.zoom(1 / 1.3)), button("+", "Zoom in", () => view.drawing.zoom(1.3)), button("Fit", "Fit the graph", () => view.drawing.fit(true)),
      button("Open all", "Open all modules", () => openAll(view, true)), button("Close all", "Close all modules", () => openAll(view, false))),
    checkbox("Colour by class", on => { view.byClass = on; describe(); view.drawing.drawSoon(); }),
    hidden > 0 && checkbox(`Show ${plural(hidden, "structural node")}`, on => { showStructural(view, on); describe(); }),
    legend);
}

function openAll(view, all) {
  view.opened.clear();
  view.opened.add(view.root);
  const walk = box => {
    box.layout = null;
    if (all && isModule(box)) view.opened.add(box);
    box.children.forEach(walk);
  };
  walk(view.root);
  view.select(view.root, true);
  view.drawing.fit(false);
}

function showStructural(view, on) {
  view.structural = on;
  view.link();
  if (view.selected && !view.shows(view.selected)) view.select(view.root, true);
  light(view);
  view.tree.changed();
  view.drawing.drawSoon();
}

function graphPart(report, reveal) {
  const graph = graphOf(report);
  if (!graph.nodes.length) return null;
  const title = graph.drawn ? "Graph" : "Modules with findings";
  const view = graphView(report, graph, reveal);
  view.tree = moduleTree(view.root, view, title);
  view.detail = element("aside", {class: "box-detail", "aria-label": "What is chosen", "aria-live": "polite"});
  view.detail.append(element("p", {class: "quiet"}, "Choose a module or node to see what it is and what was found there."));
  if (graph.drawn) view.drawing = graphDrawing(view, "The graph by modules. The tree beside it holds the same; arrow keys move the drawing, plus and minus zoom, 0 fits.");
  const part = section("graph", title,
    element("div", {class: "filters"}, finder(view)),
    graph.drawn && drawingTools(view),
    element("div", {class: graph.drawn ? "graph" : "graph undrawn"}, view.tree.element, graph.drawn && view.drawing.element, view.detail),
    graph.drawn && element("p", {class: "quiet hint"}, "Drag to move. Click the drawing, then scroll to zoom. Double-click opens and closes a module."));
  part.view = view;
  part.showNode = index => {
    const leaf = view.leaves[index];
    if (!leaf) return;
    part.scrollIntoView({block: "start"});
    view.select(leaf);
    view.tree.element.focus({preventScroll: true});
  };
  part.mounted = () => { view.tree.changed(); };
  return part;
}
