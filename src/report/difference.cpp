#include "report/difference.h"

#include "compatcheck/printable.h"
#include "report/json_parts.h"

namespace compatcheck::report {
namespace {

constexpr const char* nothing = "-";

// "+" appeared, "-" went, "~" changed.
std::string sign(bool before, bool after) { return before && after ? "~" : after ? "+" : "-"; }

std::string arrow(std::uint64_t before, std::uint64_t after) {
  return std::to_string(before) + " → " + std::to_string(after) + (before == 1 && after == 1 ? " node" : " nodes");
}

// A long table's end in text is of no use to anyone; JSON has all.
constexpr std::size_t most_rows = 30;

void add_row(Table& table, std::size_t number, std::size_t all, TableRow row) {
  if (number < most_rows)
    table.rows.push_back(std::move(row));
  else if (number == most_rows)
    table.rows.push_back({{"", "… " + std::to_string(all - most_rows) + " more"}});
}

std::string place_column(const std::string& scope, const std::string& name) {
  return printable((scope.empty() ? "" : scope + "/") + name);
}

Table nodes_of(const ModelDifference& model, const std::string& suffix) {
  Table table{"nodes" + suffix, {"", "node", "operator", "changes"}, {}};
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    const NodeChange& change = model.nodes[i];
    TableRow row{{sign(change.before, change.after), place_column(change.scope, change.name), printable(change.op)}};
    for (const auto& each : change.what)
      row.details.push_back(printable(each.name + ": " + each.before.value_or(nothing) + " → " + each.after.value_or(nothing)));
    add_row(table, i, model.nodes.size(), std::move(row));
  }
  return table;
}

Table weights_of(const ModelDifference& model, const std::string& suffix) {
  Table table{"weights" + suffix, {"", "weight", "before", "after", "elements"}, {}};
  for (std::size_t i = 0; i < model.weights.size(); ++i) {
    const WeightChange& change = model.weights[i];
    const std::string elements = !change.problem.empty() ? change.problem
                                 : change.elements > 0
                                     ? std::to_string(change.changed) + " of " + std::to_string(change.elements) + " changed"
                                     : "";
    add_row(
        table, i, model.weights.size(),
        {{sign(change.before.has_value(), change.after.has_value()), place_column(change.scope, change.name),
          printable(change.before.value_or(nothing)), "→ " + printable(change.after.value_or(nothing)), printable(elements)}});
  }
  return table;
}

Page& add(Page& page, const ModelDifference& model, const std::string& suffix) {
  Table properties{"model" + suffix, {"", "property", "before", "after"}, {}},
      operators{"operators" + suffix, {"", "operator", "nodes"}, {}},
      findings{"findings" + suffix, {"", "rule", "operator", "nodes", "severity", "message"}, {}};
  for (const auto& change : model.properties)
    properties.rows.push_back({{sign(change.before.has_value(), change.after.has_value()), printable(change.name),
                                printable(change.before.value_or(nothing)), "→ " + printable(change.after.value_or(nothing))}});
  for (const auto& change : model.operators)
    operators.rows.push_back(
        {{sign(change.before > 0, change.after > 0), printable(change.op), arrow(change.before, change.after)}});
  for (const auto& change : model.findings)
    findings.rows.push_back(
        {{sign(change.before > 0, change.after > 0), change.id, printable(change.op), arrow(change.before, change.after),
          change.severity + (change.blocks ? ", blocks" : ""), printable(change.message)}});
  for (Table* table : {&findings, &operators, &properties}) page.tables.push_back(std::move(*table));
  page.tables.push_back(nodes_of(model, suffix));
  page.tables.push_back(weights_of(model, suffix));
  return page;
}

Json json_of(const std::vector<PropertyChange>& changes) {
  Json list = Json::array();
  for (const auto& change : changes)
    list.push_back({{"name", change.name}, {"before", or_null(change.before)}, {"after", or_null(change.after)}});
  return list;
}

Json json_of(const NodeChange& change) {
  return {{"scope", change.scope},   {"name", change.name},   {"op", change.op},
          {"before", change.before}, {"after", change.after}, {"what", json_of(change.what)}};
}

Json json_of(const WeightChange& change) {
  Json made = {{"scope", change.scope},          {"name", change.name},         {"before", or_null(change.before)},
               {"after", or_null(change.after)}, {"elements", change.elements}, {"changed", change.changed}};
  if (!change.problem.empty()) made["problem"] = change.problem;
  return made;
}

std::string label(const ModelDifference& model) {
  if (model.before.empty()) return model.after + ", which is new";
  if (model.after.empty()) return model.before + ", which is gone";
  return model.before == model.after ? model.after : model.before + " → " + model.after;
}

}  // namespace

Page page(const Difference& difference) {
  Page page;
  page.title = printable(difference.before) + " → " + printable(difference.after);
  std::size_t changed = 0;
  for (const auto& model : difference.models) {
    if (model.empty()) continue;
    ++changed;
    add(page, model, difference.models.size() > 1 ? " of " + printable(label(model)) : "");
  }
  page.lines.push_back(changed == 0 ? "no difference" : difference.exit_code ? "something new" : "nothing new that blocks");
  return page;
}

std::string json(const Difference& difference) {
  Json models = Json::array();
  for (const auto& model : difference.models) {
    Json operators = Json::array(), findings = Json::array(), nodes = Json::array(), weights = Json::array();
    for (const auto& change : model.operators)
      operators.push_back({{"op", change.op}, {"before", change.before}, {"after", change.after}});
    for (const auto& change : model.findings)
      findings.push_back({{"id", change.id},
                          {"severity", change.severity},
                          {"op", change.op},
                          {"message", change.message},
                          {"before", change.before},
                          {"after", change.after},
                          {"blocks", change.blocks}});
    for (const auto& change : model.nodes) nodes.push_back(json_of(change));
    for (const auto& change : model.weights) weights.push_back(json_of(change));
    models.push_back({{"before", model.before},
                      {"after", model.after},
                      {"something_new", model.something_new},
                      {"properties", json_of(model.properties)},
                      {"operators", std::move(operators)},
                      {"findings", std::move(findings)},
                      {"nodes", std::move(nodes)},
                      {"weights", std::move(weights)}});
  }
  const Json object = {{"schema_version", Difference::schema_version},
                       {"before", difference.before},
                       {"after", difference.after},
                       {"models", std::move(models)},
                       {"exit_code", difference.exit_code}};
  return object.dump(2, ' ', false, replace_bad_utf8) + "\n";
}

}  // namespace compatcheck::report
