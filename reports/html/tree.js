// The modules as a tree for eyes, keys and screen readers. Only the lines in sight are elements: a graph may have thousands.
//   view: {opened, selected, shows, toggle(box), select(box)}: shared with the drawing

const lineHeight = 28;

function moduleTree(root, view, label) {
  const room = element("div", {class: "tree-room", role: "none"});
  const tree = element("div", {class: "tree", role: "tree", tabIndex: 0, "aria-label": label}, room);
  let lines = [];

  function flatten() {
    lines = [];
    const walk = (box, level, place, among) => {
      lines.push({box, level, place, among});
      if (!view.opened.has(box)) return;
      const children = box.children.filter(view.shows);
      children.forEach((child, i) => walk(child, level + 1, i + 1, children.length));
    };
    walk(root, 1, 1, 1);
    room.style.blockSize = lines.length * lineHeight + "px";
  }

  function lineElement({box, level, place, among}, at) {
    const module = isModule(box);
    const line = element("div", {class: "tree-line" + (box === view.selected ? " selected" : ""), role: "treeitem", id: "box-" + box.id, "aria-level": level, "aria-posinset": place,
      "aria-setsize": among, "aria-selected": String(box === view.selected), "aria-expanded": module ? String(view.opened.has(box)) : null},
      element("span", {class: "twisty", "aria-hidden": "true"}, module ? (view.opened.has(box) ? "▾" : "▸") : ""),
      mark(module ? worstOf(box) : box.outcome),
      element("span", {class: module ? "tree-name" : "tree-name leaf"}, box.label),
      element("span", {class: "unseen"}, module ? ", " + outcomeWords(box) : ", " + marks[box.outcome].word),
      module && element("span", {class: "quiet", "aria-hidden": "true"}, number(box.total)));
    line.style.insetBlockStart = at * lineHeight + "px";
    line.style.paddingInlineStart = 8 + Math.min(level - 1, 12) * 14 + "px";
    line.addEventListener("click", event => {
      view.select(box);
      if (module && event.target.classList.contains("twisty")) view.toggle(box);
    });
    line.addEventListener("dblclick", () => module && view.toggle(box));
    return line;
  }

  function draw() {
    const from = Math.max(0, Math.floor(tree.scrollTop / lineHeight) - 10);
    const to = Math.min(lines.length, from + Math.ceil((tree.clientHeight || 480) / lineHeight) + 20);
    const made = [];
    for (let at = from; at < to; ++at) made.push(lineElement(lines[at], at));
    room.replaceChildren(...made);
    const active = made.find(line => line.id === "box-" + view.selected?.id);
    if (active) tree.setAttribute("aria-activedescendant", active.id);
    else tree.removeAttribute("aria-activedescendant");
  }

  const selectedAt = () => lines.findIndex(({box}) => box === view.selected);

  function scrollTo(at) {
    const top = at * lineHeight;
    if (top < tree.scrollTop) tree.scrollTop = top;
    else if (top + lineHeight > tree.scrollTop + tree.clientHeight) tree.scrollTop = top + lineHeight - tree.clientHeight;
  }

  let typed = "", typedAt = 0;
  function typeAhead(letter, at, time) {
    typed = time - typedAt < 700 ? typed + letter : letter;
    typedAt = time;
    const start = typed.length > 1 ? at : at + 1;
    for (let i = 0; i < lines.length; ++i) {
      const {box} = lines[(start + i) % lines.length];
      if (box.label.replace(/^aten::/, "").toLowerCase().startsWith(typed)) return view.select(box);
    }
  }

  tree.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = Math.max(0, selectedAt());
    const {box} = lines[at];
    const page = Math.max(1, Math.floor(tree.clientHeight / lineHeight) - 1);
    const go = to => view.select(lines[Math.max(0, Math.min(lines.length - 1, to))].box);
    const open = view.opened.has(box);
    const moves = {
      ArrowDown: () => go(at + 1), ArrowUp: () => go(at - 1), Home: () => go(0), End: () => go(lines.length - 1), PageDown: () => go(at + page), PageUp: () => go(at - page),
      ArrowRight: () => isModule(box) && (open ? go(at + 1) : view.toggle(box)),
      ArrowLeft: () => isModule(box) && open ? view.toggle(box) : box.parent && view.select(box.parent),
      Enter: () => isModule(box) && view.toggle(box), " ": () => isModule(box) && view.toggle(box),
    };
    if (moves[event.key]) moves[event.key]();
    else if (event.key.length === 1) typeAhead(event.key.toLowerCase(), at, event.timeStamp);
    else return;
    event.preventDefault();
  });
  tree.addEventListener("scroll", draw, {passive: true});

  return {
    element: tree,
    changed() { flatten(); draw(); },
    selected() {
      const at = selectedAt();
      if (at >= 0) scrollTo(at);
      draw();
    },
  };
}

function outcomeWords(box) {
  return outcomeOrder.filter(outcome => box.outcomes[outcome]).map(outcome => `${number(box.outcomes[outcome])} ${marks[outcome].word}`).join(", ");
}
