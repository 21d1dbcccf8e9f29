// The graph as a tree of modules with nodes as leaves, and what of its edges each module sees.
//   box: {id, label, path, parent, depth, children, first, total, outcomes, node?: place in graph.nodes}

const deepestModule = 48;   // names of a hostile file may have any number of dots

const outcomeOrder = ["missing", "refused", "needs_input", "unassessed", "ok", "structural"];

// Where a report has no graph its findings' sites are one, without edges.
function graphOf(report) {
  if (report.graph) return {...report.graph, drawn: true};
  const operators = new Map(), modules = new Map(), nodes = new Map();
  const place = (map, name) => (map.has(name) ? map : map.set(name, map.size)).get(name);
  for (const finding of report.findings)
    for (const site of finding.sites) {
      const known = nodes.get(site.index), outcome = outcomeOf(finding);
      const worse = known && outcomeOrder.indexOf(known[2]) < outcomeOrder.indexOf(outcome) ? known[2] : outcome;
      nodes.set(site.index, [place(operators, findingName(finding)), place(modules, site.module), worse, []]);
    }
  const list = [];
  for (const [index, node] of nodes) list[index] = node;
  return {operators: [...operators.keys()], modules: [...modules.keys()], nodes: list, drawn: false};
}

function makeTree(graph) {
  let boxes = 0;
  const box = (label, path, parent) => ({id: ++boxes, label, path, parent, depth: parent ? parent.depth + 1 : 0, children: [], first: Infinity, total: 0, outcomes: {}});
  const root = box("the model", "", null);
  const byPath = new Map([["", root]]);
  const moduleBox = path => {
    const known = byPath.get(path);
    if (known) return known;
    const names = path.split(".");
    if (names.length > deepestModule) names.splice(deepestModule, Infinity, names.slice(deepestModule).join("."));
    let at = root, so = "";
    for (const name of names) {
      so = so ? so + "." + name : name;
      let next = byPath.get(so);
      if (!next) {
        next = box(name, so, at);
        at.children.push(next);
        byPath.set(so, next);
      }
      at = next;
    }
    byPath.set(path, at);
    return at;
  };
  const leaves = [];
  graph.nodes.forEach((node, index) => {
    const parent = moduleBox(graph.modules[node[1]] ?? "");
    const leaf = box(graph.operators[node[0]] ?? "?", parent.path, parent);
    Object.assign(leaf, {node: index, first: index, total: 1, outcome: node[2], outcomes: {[node[2]]: 1}});
    parent.children.push(leaf);
    leaves[index] = leaf;
    for (let up = parent; up; up = up.parent) {
      up.total += 1;
      up.outcomes[node[2]] = (up.outcomes[node[2]] ?? 0) + 1;
    }
  });
  // A module stands where its first node does that computes: constants lie anywhere.
  const computes = box => box.total > (box.outcomes.structural ?? 0);
  const order = at => {
    if (!isModule(at)) return;
    at.children.forEach(order);
    at.children.sort((a, b) => a.first - b.first);
    at.first = (at.children.find(computes) ?? at.children[0])?.first ?? Infinity;
  };
  order(root);
  return {root, leaves};
}

const isModule = box => box.node === undefined;
const worstOf = box => outcomeOrder.find(outcome => box.outcomes[outcome]) ?? "ok";

// Structural nodes (constants, lists) that aren't shown are seen through: who reads them reads what they read.
const mostSeenThrough = 64;

function inputsOfNodes(graph, structural) {
  const seen = [];
  const inputs = [];
  const real = index => structural || graph.nodes[index][2] !== "structural";
  graph.nodes.forEach((node, index) => {
    const from = new Set();
    for (const input of node[3]) {
      if (!Number.isInteger(input) || input === index || !graph.nodes[input]) continue;
      if (real(input)) from.add(input);
      else for (const further of seen[input] ?? []) if (from.size < mostSeenThrough) from.add(further);
    }
    if (real(index)) inputs[index] = [...from];
    else seen[index] = [...from];
  });
  return inputs;
}

// Puts into every module the edges between its children, and which of them are read from outside or read what is outside.
function linkTree({root, leaves}, inputs) {
  const clear = box => {
    box.links = new Map();
    box.enters = box.leaves = false;
    box.children.forEach(clear);
  };
  clear(root);
  inputs.forEach((from, index) => {
    for (const input of from) {
      const {meet, source, target} = meeting(leaves[input], leaves[index]);
      for (let box = leaves[input]; box !== source; box = box.parent) box.leaves = true;
      for (let box = leaves[index]; box !== target; box = box.parent) box.enters = true;
      if (source === target) continue;
      if (!meet.links.has(source)) meet.links.set(source, new Set());
      meet.links.get(source).add(target);
    }
  });
}

// The module that holds both, and its children on the way to each.
function meeting(source, target) {
  while (source.depth > target.depth) source = source.parent;
  while (target.depth > source.depth) target = target.parent;
  while (source.parent !== target.parent) {
    source = source.parent;
    target = target.parent;
  }
  return {meet: source.parent, source, target};
}
