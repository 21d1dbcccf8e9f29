#include "report/difference.h"

#include "compatcheck/printable.h"
#include "report/json_parts.h"

namespace compatcheck::report {
namespace {

constexpr const char* nothing = "-";

// "+" appeared, "-" went, "~" changed.
std::string sign(bool before, bool after) { return before && after ? "~" : after ? "+" : "-"; }

std::string arrow(std::uint64_t before, std::uint64_t after) { return std::to_string(before) + " → " + std::to_string(after) + (before == 1 && after == 1 ? " node" : " nodes"); }

Page& add(Page& page, const ModelDifference& model, const std::string& suffix) {
  Table properties{"model" + suffix, {"", "property", "before", "after"}, {}}, operators{"operators" + suffix, {"", "operator", "nodes"}, {}},
      findings{"findings" + suffix, {"", "rule", "operator", "nodes", "severity", "message"}, {}};
  for (const auto& change : model.properties)
    properties.rows.push_back({{sign(change.before.has_value(), change.after.has_value()), printable(change.name), printable(change.before.value_or(nothing)), "→ " + printable(change.after.value_or(nothing))}});
  for (const auto& change : model.operators) operators.rows.push_back({{sign(change.before > 0, change.after > 0), printable(change.op), arrow(change.before, change.after)}});
  for (const auto& change : model.findings)
    findings.rows.push_back({{sign(change.before > 0, change.after > 0), change.id, printable(change.op), arrow(change.before, change.after), change.severity + (change.blocks ? ", blocks" : ""), printable(change.message)}});
  for (Table* table : {&findings, &operators, &properties}) page.tables.push_back(std::move(*table));
  return page;
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
    Json properties = Json::array(), operators = Json::array(), findings = Json::array();
    for (const auto& change : model.properties) properties.push_back({{"name", change.name}, {"before", or_null(change.before)}, {"after", or_null(change.after)}});
    for (const auto& change : model.operators) operators.push_back({{"op", change.op}, {"before", change.before}, {"after", change.after}});
    for (const auto& change : model.findings)
      findings.push_back({{"id", change.id}, {"severity", change.severity}, {"op", change.op}, {"message", change.message}, {"before", change.before}, {"after", change.after}, {"blocks", change.blocks}});
    models.push_back({{"before", model.before}, {"after", model.after}, {"something_new", model.something_new}, {"properties", std::move(properties)},
                      {"operators", std::move(operators)}, {"findings", std::move(findings)}});
  }
  const Json object = {{"schema_version", Difference::schema_version}, {"before", difference.before}, {"after", difference.after}, {"models", std::move(models)},
                       {"exit_code", difference.exit_code}};
  return object.dump(2, ' ', false, replace_bad_utf8) + "\n";
}

}  // namespace compatcheck::report
