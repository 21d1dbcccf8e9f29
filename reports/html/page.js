// The page: which report is shown, theme, printing.

const main = document.getElementById("main");
let shown = {parts: [], key: null};

function reportParts(model, report) {
  if (report.error) return [verdictPart(report)];
  const findings = findingsPart(report, report.findings.some(({sites}) => sites.length) ? index => graph?.showNode(index) : null);
  const reveal = place => findings.reveal(place);
  const graph = graphPart(report, reveal);
  return [verdictPart(report, reveal), matrixPart(model, report), findings, operatorsPart(report, reveal), graph, modelPart(report)].filter(Boolean);
}

// "#/MODEL/REPORT", places in the page's lists; "#/" is the overview, or the only model.
function asked() {
  const [, model, report] = (/^#\/(\d+)(?:\/(\d+))?$/.exec(location.hash) ?? []).map(Number);
  if (models[model] === undefined) return models.length === 1 ? [models[0], models[0].best] : [null, null];
  return [models[model], models[model].reports[report] ?? models[model].best];
}

function show() {
  if (location.hash === "#main" && shown.key !== null) return;   // the way past the header
  const [model, report] = asked();
  if (shown.key === (report ?? "overview")) return;
  const again = shown.key !== null;
  const parts = report ? reportParts(model, report) : overview().filter(Boolean);
  shown = {parts, key: report ?? "overview"};
  const back = report && models.length > 1 && element("nav", {class: "back", "aria-label": "Models"}, element("a", {href: "#/"}, `All ${plural(models.length, "model")}`));
  main.replaceChildren(...[back, ...parts].filter(Boolean));
  for (const part of parts) part.mounted?.();
  document.title = (report ? `${model.name}: ${verdicts[verdictOf(report)].word.toLowerCase()}` : convertedWords(data.totals)) + " · compatcheck";
  listSections(parts);
  if (again) {
    scrollTo(0, 0);
    main.focus({preventScroll: true});
    say(document.title);
  }
}

function listSections(parts) {
  const links = parts.filter(part => part.id !== "verdict").map(part => {
    const title = part.querySelector("h2");
    return element("button", {type: "button", class: "link", onclick: () => { part.scrollIntoView({block: "start"}); title.focus({preventScroll: true}); }}, title.textContent);
  });
  document.getElementById("sections").replaceChildren(...links);
}

// Paper shows everything that the report on the page holds.
function showAll() { for (const part of shown.parts) part.showAll?.(); }

const {name, version} = data.reports[0]?.tool ?? {name: "compatcheck", version: ""};
document.getElementById("about").textContent = spelled(`Made by ${name} ${version}. The page holds everything that it shows, and asks nothing of any network.`);

theme(() => { for (const part of shown.parts) part.view?.drawing?.repaint(); });
show();
addEventListener("hashchange", show);
addEventListener("beforeprint", showAll);
