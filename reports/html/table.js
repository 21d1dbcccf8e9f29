// A table that sorts by its columns and shows only the rows that pass a filter. Rows are made when they are first shown.
//   columns: [{label, value: row → what sorts, cell?: row → what is shown, numeric?: bool}]

const rowsAtOnce = 200;

function compared(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  return typeof a === "number" && typeof b === "number" ? a - b : String(a) < String(b) ? -1 : 1;
}

function sortableTable({caption, columns, rows, word, detail}) {
  const made = new Map();
  const body = element("tbody");
  const footer = element("div");
  let sorted = null, descending = false, passing = rows, more = null;

  const head = element("tr", null, columns.map((column, place) => {
    const cell = element("th", {scope: "col", class: column.numeric ? "numeric" : ""});
    cell.append(element("button", {type: "button", onclick: () => sortBy(place)}, column.label));
    return cell;
  }));

  function rowElement(row) {
    if (made.has(row)) return made.get(row);
    const line = element("tr", null, columns.map((column, place) => {
      const shown = column.cell ? column.cell(row) : column.value(row);
      return element(place === 0 ? "th" : "td", {scope: place === 0 ? "row" : null, class: column.numeric ? "numeric" : ""}, shown ?? "");
    }));
    made.set(row, line);
    if (detail) addDetail(line, row);
    return line;
  }

  // The first cell opens a line of its own below the row.
  function addDetail(line, row) {
    const below = element("tr", {class: "detail", hidden: true, id: freshId("detail")});
    const button = element("button", {type: "button", class: "opener", "aria-expanded": "false", "aria-controls": below.id}, ...line.cells[0].childNodes);
    line.open = opened => {
      if (opened && !below.cells.length) below.append(element("td", {colspan: columns.length}, detail(row)));
      below.hidden = !opened;
      button.setAttribute("aria-expanded", String(opened));
    };
    button.addEventListener("click", () => line.open(below.hidden));
    line.cells[0].append(button);
    line.below = below;
  }

  function draw() {
    const order = sorted === null ? passing : [...passing].sort((a, b) => {
      const difference = compared(columns[sorted].value(a), columns[sorted].value(b));
      return descending ? -difference : difference;
    });
    body.replaceChildren();
    const lines = {append: (...next) => body.append(...next.flatMap(line => line.below ? [line, line.below] : [line]))};
    more = chunked(lines, order, rowElement, rowsAtOnce, word);
    footer.replaceChildren(more);
  }

  // Numbers: the greatest first.
  function sortBy(place, asked) {
    descending = asked ?? (sorted === place ? !descending : Boolean(columns[place].numeric));
    sorted = place;
    [...head.cells].forEach((cell, i) => {
      if (i === place) cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    draw();
  }

  draw();
  const table = element("table", null, element("caption", {class: "unseen"}, caption), element("thead", null, head), body);
  return {
    element: element("div", {class: "table"}, element("div", {class: "scroll", tabIndex: 0, role: "group", "aria-label": caption}, table), footer),
    filter(passes) { passing = rows.filter(passes); draw(); return passing; },
    sortBy,
    showAll() { more.showAll(); },
  };
}
