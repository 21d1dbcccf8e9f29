// The graph on a canvas: only what is in sight is drawn, with words only where they can be read.
//   view: {root, opened, selected, found, shows, colours, toggle(box), select(box)}

const largestScale = 2.5, smallestScale = 0.01, readable = 0.45, typesReadable = 0.7;
const blocking = ["missing", "refused", "needs_input"];

function graphDrawing(view, label) {
  const canvas = element("canvas", {tabIndex: 0, role: "application", "aria-roledescription": "graph drawing", "aria-label": label});
  const context = canvas.getContext("2d");
  const forms = Object.fromEntries(Object.entries(marks).map(([kind, {path}]) => [kind, new Path2D(path)]));
  let scale = 1, left = 0, top = 0, width = 0, height = 0, waiting = false, palette = {}, near = null;

  const colour = name => palette[name] ??= getComputedStyle(canvas).getPropertyValue("--" + name).trim();
  const drawSoon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };

  function resize() {
    const {clientWidth, clientHeight} = canvas;
    if (!clientWidth) return;
    const fresh = !width;
    const density = devicePixelRatio || 1;
    [width, height] = [clientWidth, clientHeight];
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    if (fresh) fit(false);
    drawSoon();
  }

  function draw() {
    if (!width) return;
    const density = canvas.width / width;
    context.setTransform(density, 0, 0, density, 0, 0);
    context.fillStyle = colour("sunken");
    context.fillRect(0, 0, width, height);
    context.setTransform(density * scale, 0, 0, density * scale, -left * scale * density, -top * scale * density);
    const sight = {left, top, right: left + width / scale, bottom: top + height / scale};
    const layout = laidOut(view.root, view);
    drawModule(view.root, layout, 0, 0, sight, 0);
  }

  const meets = (sight, x, y, right, bottom) => right >= sight.left && x <= sight.right && bottom >= sight.top && y <= sight.bottom;

  function frame(x, y, across, down, radius) {
    context.beginPath();
    context.roundRect(x, y, across, down, radius);
  }

  function drawModule(module, layout, x, y, sight, depth) {
    if (depth) {
      frame(x, y, layout.width, layout.height, 8);
      context.fillStyle = colour(depth % 2 ? "surface" : "raised");
      context.fill();
      context.lineWidth = (module === view.selected ? 2.5 : 1) / Math.min(1, scale);
      context.strokeStyle = colour(module === view.selected ? "accent" : "line-strong");
      context.stroke();
    }
    if (layout.height * scale < 14) {
      if (depth && blocking.includes(worstOf(module))) tint(worstOf(module), 0.8);
      return;
    }
    drawPaths(layout, x, y, sight);
    if (depth && scale > readable) write(labelOf(module), x + 12, y + 19, layout.width - 24, "muted", true);
    for (const {box, x: inX, y: inY, width: across, height: down} of layout.boxes) {
      const atX = x + inX, atY = y + inY;
      if (!meets(sight, atX, atY, atX + across, atY + down)) continue;
      if (isModule(box) && view.opened.has(box)) drawModule(box, box.layout, atX, atY, sight, depth + 1);
      else drawBox(box, atX, atY, across, down);
    }
  }

  // Fills the frame that was drawn last: where the trouble is shows from far away, too.
  function tint(kind, strength) {
    const before = context.globalAlpha;
    context.globalAlpha = before * strength;
    context.fillStyle = colour("k-" + kind);
    context.fill();
    context.globalAlpha = before;
  }

  function trace(points, x, y) {
    context.moveTo(x + points[0][0], y + points[0][1]);
    for (let i = 1; i < points.length; ++i) {
      const [fromX, fromY] = points[i - 1], [toX, toY] = points[i];
      const middle = y + (fromY + toY) / 2;
      if (fromX === toX) context.lineTo(x + toX, y + toY);
      else context.bezierCurveTo(x + fromX, middle, x + toX, middle, x + toX, y + toY);
    }
  }

  function drawPaths(layout, x, y, sight) {
    const seen = layout.paths.filter(path => meets(sight, x + path.left, y + path.top, x + path.right, y + path.bottom));
    context.lineWidth = Math.max(1.1, 0.6 / scale);
    context.strokeStyle = colour("edge");
    for (let i = 0; i < seen.length;) {   // one path of everything would be slow to fill in
      context.beginPath();
      for (const end = Math.min(seen.length, i + 100); i < end; ++i) if (!seen[i].lit) trace(seen[i].points, x, y);
      context.stroke();
    }
    context.lineWidth = Math.max(2, 1.4 / scale);
    context.strokeStyle = context.fillStyle = colour("accent");
    for (const path of seen) {
      if (!path.lit) continue;
      context.beginPath();
      trace(path.points, x, y);
      context.stroke();
    }
    if (scale > 0.3) for (const path of seen) arrow(path, x, y);
    if (scale > typesReadable) writeTypes(seen, x, y);
  }

  // The dtype and shape of a node's results, once below it.
  function writeTypes(paths, x, y) {
    const written = new Set();
    for (const {source, points} of paths) {
      if (!source || isModule(source) || written.has(source)) continue;
      written.add(source);
      write(view.typeOf(source.node), x + points[0][0] + 5, y + points[0][1] + 13, 170, "muted", false, 10.5);
    }
  }

  function arrow({points, lit, target, back}, x, y) {
    if (!target) return;
    const [endX, endY] = points.at(-1);
    const to = back ? 6 : -6;
    context.fillStyle = colour(lit ? "accent" : "edge");
    context.beginPath();
    context.moveTo(x + endX, y + endY);
    context.lineTo(x + endX - 3.5, y + endY + to);
    context.lineTo(x + endX + 3.5, y + endY + to);
    context.fill();
  }

  function write(text, x, y, room, ink, strong, size = 12.5) {
    context.font = `${strong ? 600 : 400} ${size}px ${palette.font ??= getComputedStyle(document.body).fontFamily}`;
    context.fillStyle = colour(ink);
    context.fillText(text, x, y, room);
  }

  function drawMark(kind, x, y, size) {
    context.save();
    context.translate(x, y);
    context.scale(size / 12, size / 12);
    context.fillStyle = colour("k-" + kind);
    context.fill(forms[kind], "evenodd");
    context.restore();
  }

  function drawBox(box, x, y, across, down) {
    const kind = isModule(box) ? worstOf(box) : view.kindOf(box);
    const dim = view.found && !view.found.has(box);
    if (dim) context.globalAlpha = 0.35;
    frame(x, y, across, down, isModule(box) ? 8 : 6);
    context.fillStyle = colour("surface");
    context.fill();
    const blocked = blocking.includes(kind);
    if (scale <= readable && (blocked || !isModule(box))) tint(kind, blocked ? 0.9 : 0.4);
    context.lineWidth = box === view.selected ? 3 : box === near || blocked ? 2 : 1;
    context.strokeStyle = colour(box === view.selected ? "accent" : blocked ? "k-" + kind : "line-strong");
    context.stroke();
    if (scale > readable) {
      drawMark(kind, x + 9, y + (isModule(box) ? 11 : down / 2 - 5), 10);
      write(labelOf(box), x + 25, y + (isModule(box) ? 20 : down / 2 + 4.5), across - 32, "text", isModule(box));
    }
    if (isModule(box)) drawShares(box, x, y, across, down);
    context.globalAlpha = 1;
  }

  // A closed module: how many nodes, and how they come out.
  function drawShares(box, x, y, across, down) {
    if (scale > readable) write(plural(box.total, "node"), x + 10, y + down - 14, across - 20, "muted", false);
    let at = x + 10;
    for (const outcome of outcomeOrder) {
      const share = (across - 20) * (box.outcomes[outcome] ?? 0) / box.total;
      if (!share) continue;
      context.fillStyle = colour("k-" + outcome);
      context.fillRect(at, y + down - 8, share, 4);
      at += share;
    }
  }

  // The innermost box at a point of the canvas.
  function boxAt(clientX, clientY) {
    const bounds = canvas.getBoundingClientRect();
    const x = left + (clientX - bounds.left) / scale, y = top + (clientY - bounds.top) / scale;
    let module = view.root, fromX = 0, fromY = 0, found = null;
    for (;;) {
      const inner = laidOut(module, view).boxes.find(({x: inX, y: inY, width: across, height: down}) => x >= fromX + inX && x <= fromX + inX + across && y >= fromY + inY && y <= fromY + inY + down);
      if (!inner) return found;
      found = inner.box;
      if (!isModule(found) || !view.opened.has(found)) return found;
      module = found;
      fromX += inner.x;
      fromY += inner.y;
    }
  }

  function boundsOf(box) {
    let x = 0, y = 0, across = 0, down = 0;
    const way = [];
    for (let at = box; at.parent; at = at.parent) way.unshift(at);
    const whole = laidOut(view.root, view);
    if (!way.length) return {x, y, across: whole.width, down: whole.height};
    for (const step of way) {
      const inner = laidOut(step.parent, view).boxes.find(other => other.box === step);
      if (!inner) return null;
      x += inner.x;
      y += inner.y;
      [across, down] = [inner.width, inner.height];
      if (!view.opened.has(step)) break;
    }
    return {x, y, across, down};
  }

  function zoom(factor, atX = width / 2, atY = height / 2) {
    const next = Math.min(largestScale, Math.max(smallestScale, scale * factor));
    left += atX / scale - atX / next;
    top += atY / scale - atY / next;
    scale = next;
    drawSoon();
  }

  function pan(x, y) {
    left += x / scale;
    top += y / scale;
    drawSoon();
  }

  // The whole graph; at first not smaller than can be read, from its top.
  function fit(whole) {
    const layout = laidOut(view.root, view);
    scale = Math.min(1.2, (width - 24) / layout.width, (height - 24) / layout.height);
    if (!whole) scale = Math.max(scale, Math.min(0.8, Math.max(0.5, (width - 24) / layout.width)));
    const {x, width: across} = whole || !layout.boxes.length ? {x: 0, width: layout.width} : layout.boxes[0];
    left = x + across / 2 - width / 2 / scale;
    top = Math.min(0, layout.height / 2 - height / 2 / scale);
    if (layout.height * scale > height) top = -12 / scale;
    drawSoon();
  }

  function show(box) {
    const bounds = width && boundsOf(box);
    if (!bounds) return drawSoon();
    const {x, y, across, down} = bounds;
    if (scale < readable) scale = 0.8;
    const inSight = x >= left && y >= top && x + across <= left + width / scale && y + down <= top + height / scale;
    if (!inSight) {
      left = x + across / 2 - width / 2 / scale;
      top = down * scale > height ? y - 20 / scale : y + down / 2 - height / 2 / scale;
    }
    drawSoon();
  }

  // Keeps a box where it is on the screen while the drawing around it changes.
  function keeping(box, change) {
    const before = boundsOf(box);
    change();
    const after = boundsOf(box);
    if (before && after) {
      left += after.x + after.across / 2 - before.x - before.across / 2;
      top += after.y - before.y;
    }
    drawSoon();
  }

  const pointers = new Map();
  let moved = false;
  canvas.addEventListener("pointerdown", event => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
    moved = false;
  });
  canvas.addEventListener("pointermove", event => {
    const before = pointers.get(event.pointerId);
    if (!before) return hover(event);
    const after = [event.clientX, event.clientY];
    if (Math.hypot(after[0] - before[0], after[1] - before[1]) < 3 && !moved) return;
    moved = true;
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const bounds = canvas.getBoundingClientRect();
      zoom(Math.hypot(after[0] - other[0], after[1] - other[1]) / Math.max(1, Math.hypot(before[0] - other[0], before[1] - other[1])), other[0] - bounds.left, other[1] - bounds.top);
    } else pan(before[0] - after[0], before[1] - after[1]);
    pointers.set(event.pointerId, after);
  });
  const lift = event => {
    if (pointers.delete(event.pointerId) && !moved && event.type === "pointerup") {
      const box = boxAt(event.clientX, event.clientY);
      if (box) view.select(box, true);
    }
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("dblclick", event => {
    const box = boxAt(event.clientX, event.clientY);
    if (box && isModule(box)) view.toggle(box);
  });
  // A page that is scrolled by doesn't get stuck here: the wheel zooms once the drawing was chosen.
  canvas.addEventListener("wheel", event => {
    if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const bounds = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0018)), event.clientX - bounds.left, event.clientY - bounds.top);
  }, {passive: false});
  canvas.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = {ArrowLeft: () => pan(-60, 0), ArrowRight: () => pan(60, 0), ArrowUp: () => pan(0, -60), ArrowDown: () => pan(0, 60), "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: () => fit(true)};
    if (!moves[event.key]) return;
    moves[event.key]();
    event.preventDefault();
  });

  function hover(event) {
    const box = boxAt(event.clientX, event.clientY);
    if (box === near) return;
    near = box;
    canvas.style.cursor = box ? "pointer" : "grab";
    drawSoon();
  }

  new ResizeObserver(resize).observe(canvas);
  return {element: canvas, drawSoon, drawNow: draw, zoom, fit, show, keeping, boxAt, boundsOf, repaint() { palette = {}; drawSoon(); },
    screenOf(box) {
      const bounds = boundsOf(box);
      return bounds && {x: (bounds.x + bounds.across / 2 - left) * scale, y: (bounds.y + Math.min(14, bounds.down / 2) - top) * scale};
    }};
}
