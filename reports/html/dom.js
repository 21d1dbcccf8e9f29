"use strict";
// Elements of the page. Names come from models that nobody vouches for: they go in as text nodes, never as markup.

// What a reader can't see, or what turns the reading direction around, is spelled out.
const unseenCharacters = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const spelled = text => String(text).replace(unseenCharacters, c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

const isAttribute = name => name.includes("-") || ["role", "for", "scope", "colspan", "rowspan", "viewBox", "d", "href", "class"].includes(name);

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (isAttribute(name)) made.setAttribute(name, value === true ? "" : String(value));
    else made[name] = value;
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    made.append(child instanceof Node ? child : spelled(child));
  }
  return made;
}

const element = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

// Each class and outcome has a colour and a form of its own, in a square of 12: what colour alone would say isn't seen by all.
const marks = {
  ok: {word: "converts", path: "M6 1.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9z"},
  missing: {word: "missing", path: "M3 1.2L6 4.2L9 1.2L10.8 3L7.8 6L10.8 9L9 10.8L6 7.8L3 10.8L1.2 9L4.2 6L1.2 3z"},
  refused: {word: "refused", path: "M6 1L11.4 10.6H.6z"},
  needs_input: {word: "needs input", path: "M6 .6L11.4 6L6 11.4L.6 6z"},
  unassessed: {word: "unassessed", path: "M6 1a5 5 0 1 0 0 10a5 5 0 1 0 0-10zM6 3.4a2.6 2.6 0 1 1 0 5.2a2.6 2.6 0 1 1 0-5.2z"},
  structural: {word: "structural", path: "M1.5 4.8H10.5V7.2H1.5z"},
  one_to_one: {word: "one-to-one", path: "M6 1.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9z"},
  one_to_many: {word: "one-to-many", path: "M1.6 1.6H10.4V10.4H1.6z"},
};

function mark(kind) {
  const make = (tag, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  return make("svg", {class: "mark k-" + kind, viewBox: "0 0 12 12", "aria-hidden": "true"}, make("path", {d: marks[kind].path, "fill-rule": "evenodd"}));
}

const tag = (kind, text) => element("span", {class: "tag k-" + kind}, mark(kind), text ?? marks[kind].word);
const note = text => element("span", {class: "tag plain"}, text);
const code = text => element("code", null, text);

// What stands between backticks is code.
const withCode = text => String(text).split(/`([^`]*)`/).map((part, i) => i % 2 ? code(part) : part);

const grouped = new Intl.NumberFormat("en-US");
const number = value => grouped.format(value);
const plural = (value, word) => number(value) + " " + word + (value === 1 ? "" : "s");

function bytes(value) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; value >= 1000 && unit + 1 < units.length; ++unit) value /= 1000;
  return (unit && value < 100 ? value.toFixed(1) : number(Math.round(value))) + " " + units[unit];
}

function say(text) { document.getElementById("said").textContent = spelled(text); }

function copyButton(text, what) {
  const button = element("button", {type: "button", class: "small", "aria-label": "Copy " + what}, "Copy");
  button.addEventListener("click", async () => {
    const copied = await copy(text, button);
    button.textContent = copied ? "Copied" : "Not copied";
    say(copied ? what + " copied" : "The browser doesn't let the page copy");
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  return button;
}

// A page opened as a file has no clipboard everywhere.
async function copy(text, beside) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = element("textarea", {class: "unseen", readOnly: true, "aria-hidden": "true"});
    area.value = text;
    beside.after(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    beside.focus();
    return copied;
  }
}

let ids = 0;
const freshId = prefix => prefix + "-" + ++ids;

// A list of which the first `few` are made at once: the rest on request, and before printing.
function chunked(container, items, make, few, word) {
  let shown = 0;
  const more = element("button", {type: "button", class: "more small"});
  const show = upTo => {
    const next = items.slice(shown, upTo).map(make);
    container.append(...next);
    shown = Math.min(items.length, upTo);
    more.hidden = shown >= items.length;
    more.textContent = `Show all ${number(items.length)} ${word}`;
    return next;
  };
  more.addEventListener("click", () => {
    const [first] = show(items.length);
    if (first) { first.tabIndex = -1; first.focus(); }
  });
  more.showAll = () => show(items.length);
  show(few);
  return more;
}

function section(id, title, ...children) {
  return element("section", {id, "aria-labelledby": id + "-title", class: "part"}, element("h2", {id: id + "-title", tabIndex: -1}, title), ...children);
}

function field(label, control) {
  control.id = control.id || freshId("field");
  return element("span", {class: "field"}, element("label", {for: control.id}, label), control);
}

function choice(label, options, chosen) {
  const select = element("select", {onchange: () => chosen(select.value)}, options.map(([value, text]) => element("option", {value}, text)));
  return field(label, select);
}

function search(label, typed) {
  const input = element("input", {type: "search", autocomplete: "off", spellcheck: false, oninput: () => typed(input.value.trim().toLowerCase())});
  return field(label, input);
}
