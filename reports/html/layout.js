// Boxes of one module in layers, edges downwards. An opened child is laid out first and then is a box like the others,
// so opening one lays out its own module and those around it.
//   laidOut(module) → {width, height, enter, leave, boxes: [{box, x, y, width, height}], paths: [{source, target, points, back}]}

const layerGap = 34, boxGap = 18, edgeGap = 12, border = 18, titleHeight = 30;
const longestRouted = 48;      // an edge over more layers isn't led around boxes
const sweeps = nodes => nodes > 3000 ? 3 : nodes > 800 ? 6 : 12;

const labelOf = box => {
  const label = spelled(isModule(box) ? box.label : box.label.replace(/^aten::/, ""));
  return label.length > 30 ? label.slice(0, 29) + "…" : label;
};

function sizeOf(box) {
  const letters = labelOf(box).length;
  return isModule(box) ? {width: Math.max(120, letters * 7.4 + 34), height: 50} : {width: Math.max(64, letters * 7 + 34), height: 28};
}

function laidOut(module, view) {
  if (module.layout) return module.layout;
  const items = module.children.filter(view.shows).map(box => {
    if (!isModule(box) || !view.opened.has(box)) return {box, ...sizeOf(box), enter: null, leave: null, ins: [], outs: []};
    const {width, height, enter, leave} = laidOut(box, view);
    return {box, width, height, enter, leave, ins: [], outs: []};
  });
  module.layout = place(module, items);
  return module.layout;
}

function place(module, items) {
  const of = new Map(items.map(item => [item.box, item]));
  const pairs = [];
  for (const [source, targets] of module.links)
    for (const target of targets) if (of.has(source) && of.has(target)) pairs.push([of.get(source), of.get(target)]);
  items = inFlow(items, pairs);
  const edges = pairs.map(([source, target]) => edgeBetween(source, target));
  const ranks = rank(items, edges);
  const port = rankAt => ({dummy: true, port: true, width: 0, height: 0, rank: rankAt, order: 0, ins: [], outs: []});
  const entry = port(-1), exit = port(ranks);
  for (const item of items) {
    if (item.box.enters) edges.push({from: entry, to: item, back: false});
    if (item.box.leaves) edges.push({from: item, to: exit, back: false});
  }
  const layers = Array.from({length: ranks + 2}, () => []);
  for (const item of [entry, ...items, exit]) layers[item.rank + 1].push(item);
  route(edges, layers, items.length);
  const many = layers.reduce((sum, layer) => sum + layer.length, 0);
  untangle(layers, sweeps(many));
  spread(layers, sweeps(many));
  return finished(module, items, edges, layers, entry, exit);
}

// Every box after those that it reads; where boxes read each other (a module that is used twice) the first in the graph begins.
function inFlow(items, pairs) {
  const waits = new Map(items.map(item => [item, 0])), readers = new Map(items.map(item => [item, []]));
  for (const [source, target] of pairs) {
    waits.set(target, waits.get(target) + 1);
    readers.get(source).push(target);
  }
  items.forEach((item, order) => { item.order = order; });
  const flow = [], left = new Set(items);
  let at = 0;   // none before it is ready
  while (left.size) {
    while (at < items.length && (waits.get(items[at]) || !left.has(items[at]))) ++at;
    const next = items[at] ?? left.values().next().value;
    left.delete(next);
    flow.push(next);
    for (const reader of readers.get(next)) {
      waits.set(reader, waits.get(reader) - 1);
      if (!waits.get(reader)) at = Math.min(at, reader.order);
    }
  }
  flow.forEach((item, order) => { item.order = order; });
  return flow;
}

// An edge against that order counts as one downwards.
const edgeBetween = (source, target) => source.order < target.order ? {from: source, to: target, back: false} : {from: target, to: source, back: true};

function rank(items, edges) {
  for (const {from, to} of edges) {
    from.outs.push(to);
    to.ins.push(from);
  }
  for (const item of items) item.rank = item.ins.reduce((most, {rank: above}) => Math.max(most, above + 1), 0);
  for (let i = items.length; i-- > 0;) {   // what reads nothing stands right above who reads it
    const item = items[i];
    if (!item.ins.length && item.outs.length) item.rank = Math.min(...item.outs.map(below => below.rank)) - 1;
  }
  let ranks = items.reduce((most, item) => Math.max(most, item.rank + 1), 0);
  const alone = items.filter(item => !item.ins.length && !item.outs.length);
  const inRow = Math.max(4, Math.ceil(Math.sqrt(alone.length)));
  const base = alone.length === items.length ? 0 : ranks;
  alone.forEach((item, i) => { item.rank = base + Math.floor(i / inRow); });
  if (alone.length) ranks = base + Math.ceil(alone.length / inRow);
  for (const item of items) item.ins = [], item.outs = [];
  return ranks;
}

// Edges over several layers become chains of places in between; those from one box share one.
function route(edges, layers, boxes) {
  let left = 4 * boxes + 4000;
  const chains = new Map();
  for (const edge of edges.sort((a, b) => a.to.rank - b.to.rank)) {
    const {from, to} = edge;
    const span = to.rank - from.rank;
    edge.via = [];
    if (span > 1 && (span <= longestRouted || from.port || to.port) && left > 0) {
      const end = to.port ? to : from;   // chains towards the exit are shared by where they end
      const chain = chains.get(end) ?? chains.set(end, new Map()).get(end);
      let above = from;
      for (let at = from.rank + 1; at < to.rank; ++at) {
        let dummy = chain.get(at);
        if (!dummy) {
          dummy = {dummy: true, width: 0, height: 0, rank: at, ins: [], outs: []};
          chain.set(at, dummy);
          layers[at + 1].push(dummy);
          left -= 1;
        }
        join(above, dummy);
        edge.via.push(dummy);
        above = dummy;
      }
      join(above, to);
    } else if (span === 1) join(from, to);
  }
}

function join(above, below) {
  above.joined ??= new Set();
  if (above.joined.has(below)) return;
  above.joined.add(below);
  above.outs.push(below);
  below.ins.push(above);
}

// Fewer crossings: each layer in the order of the mean place of its neighbours.
function untangle(layers, times) {
  const number = layer => layer.forEach((item, i) => { item.place = i; });
  layers.forEach(number);
  const settle = (layer, side) => {
    for (const item of layer) item.mean = item[side].length ? item[side].reduce((sum, {place}) => sum + place, 0) / item[side].length : item.place;
    layer.sort((a, b) => a.mean - b.mean);
    number(layer);
  };
  for (let i = 0; i < times; ++i) {
    for (let at = 1; at < layers.length; ++at) settle(layers[at], "ins");
    for (let at = layers.length - 1; at-- > 0;) settle(layers[at], "outs");
  }
  for (let at = 1; at < layers.length; ++at) settle(layers[at], "ins");
}

const enterOf = item => item.enter ?? item.width / 2;
const leaveOf = item => item.leave ?? item.width / 2;

// Positions across: each item near the mean of its neighbours, none over another.
function spread(layers, times) {
  for (const layer of layers) {
    let x = 0;
    for (const item of layer) {
      item.x = x;
      x += item.width + (item.dummy ? edgeGap : boxGap);
    }
    for (const item of layer) item.x -= x / 2;
  }
  for (let i = 0; i < times; ++i) {
    for (let at = 1; at < layers.length; ++at) settleAcross(layers[at], "ins", leaveOf, enterOf);
    for (let at = layers.length - 1; at-- > 0;) settleAcross(layers[at], "outs", enterOf, leaveOf);
  }
}

// The places nearest to the wanted ones that keep order and distance: neighbours that collide are moved as one block.
// Chains of boxes stay straight, and edges that pass them give way.
function settleAcross(layer, side, theirs, own) {
  const blocks = [];
  let offset = 0;
  for (const item of layer) {
    const boxes = item[side].filter(other => !other.dummy), near = boxes.length ? boxes : item[side];
    let wanted = item.x, weight = 0.1;
    if (near.length) {
      wanted = near.reduce((sum, other) => sum + other.x + theirs(other), 0) / near.length - own(item);
      weight = !item.dummy && boxes.length ? 60 : boxes.length ? 0.1 : 2;
    }
    item.offset = offset;
    offset += item.width + (item.dummy ? edgeGap : boxGap);
    let block = {at: wanted - item.offset, weight, items: [item]};
    while (blocks.length && blocks.at(-1).at > block.at) {
      const before = blocks.pop();
      const both = before.weight + block.weight;
      const [few, most] = before.items.length < block.items.length ? [before.items, block.items] : [block.items, before.items];
      most.push(...few);
      block = {at: (before.at * before.weight + block.at * block.weight) / both, weight: both, items: most};
    }
    blocks.push(block);
  }
  for (const {at, items} of blocks) for (const item of items) item.x = at + item.offset;
}

function finished(module, items, edges, layers, entry, exit) {
  let y = titleHeight;
  const tops = layers.map(layer => {
    const height = layer.reduce((most, item) => Math.max(most, item.height), 0);
    const top = y;
    y += height + (height ? layerGap : layerGap / 2);
    return {top, height};
  });
  let least = Infinity, most = -Infinity;
  for (const layer of layers)
    for (const item of layer) {
      least = Math.min(least, item.x);
      most = Math.max(most, item.x + item.width);
    }
  if (least > most) least = most = 0;
  for (const layer of layers)
    for (const item of layer) {
      const {top, height} = tops[item.rank + 1];
      item.x += border - least;
      item.y = top + (height - item.height) / 2;
    }
  const height = y - layerGap / 2 + 4, width = Math.max(most - least + 2 * border, labelOf(module).length * 7.4 + 60);
  entry.y = 0;
  exit.y = height;
  if (entry.outs.length) exit.x = entry.x;   // rows of opened modules stand straight below each other
  return {
    width, height, enter: entry.x, leave: exit.x,
    boxes: items.map(({box, x, y: top, width: across, height: down}) => ({box, x, y: top, width: across, height: down})),
    paths: edges.map(edge => pathOf(edge, tops)),
  };
}

function pathOf({from, to, via, back}, tops) {
  const points = [[from.x + leaveOf(from), from.y + from.height]];
  for (const dummy of via) {
    const {top, height} = tops[dummy.rank + 1];
    points.push([dummy.x, top], [dummy.x, top + height]);
  }
  points.push([to.x + enterOf(to), to.y]);
  if (back) points.reverse();
  const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
  const [source, target] = back ? [to, from] : [from, to];
  return {source: source.box, target: target.box, points, back, left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys)};
}
