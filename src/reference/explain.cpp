// compatcheck::explain: a rule's page, or an operator's whole history.
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/boundary.h"
#include "analysis/rules.h"
#include "compatcheck/reference.h"
#include "onnx/schema.h"
#include "reference/in_force.h"
#include "reference/operator_names.h"
#include "reference/scaffold.h"
#include "reference/spell.h"
#include "reference/targets.h"
#include "report/enumerator_names.h"
#include "report/style.h"
#include "schema/traits.h"
#include "symbolic/quantizer.h"

namespace compatcheck {
namespace {

using Json = nlohmann::ordered_json;
using mapping::OperatorRows;
using mapping::Row;

std::string rule_page(const analysis::Rule& rule, const ReferenceOptions& options) {
  if (options.format == ReferenceFormat::json)
    return Json{{"id", rule.id},
                {"name", rule.name},
                {"severity", report::word(rule.severity)},
                {"title", rule.title},
                {"page", rule.page}}
               .dump(2) +
           "\n";
  const bool markdown = options.format == ReferenceFormat::markdown;
  const report::Style style(options.color && !markdown);
  const std::string heading = std::string(rule.id) + " " + std::string(rule.name);
  return (markdown ? "# " : "") + style(report::Color::bold, heading) + " (" + std::string(report::word(rule.severity)) +
         ")\n\n" + std::string(rule.title) + "\n\n" + std::string(rule.page);
}

struct Explained {
  std::string name;                    // full name
  const OperatorRows* rows = nullptr;  // found after alias and in-place rules; null if there is none
  mapping::Validity valid;
  std::vector<std::string> schemas;
};

Explained explained(const std::string& name, const lint::InForce& in_force) {
  Explained subject{.name = reference::full_name(name, in_force), .rows = nullptr, .valid = {}, .schemas = {}};
  const auto dot = subject.name.find('.', subject.name.rfind("::"));
  const std::string op = subject.name.substr(0, dot), overload = dot == std::string::npos ? "" : subject.name.substr(dot + 1);
  subject.rows = in_force.table.find(op, overload, mapping::highest_opset, in_force.schemas).op;
  if (subject.rows) subject.valid = in_force.table.valid(*subject.rows);
  for (const auto* schema : in_force.schemas.overloads(op))
    if (overload.empty() || schema->overload == overload) subject.schemas.push_back(schema::to_string(*schema));
  return subject;
}

std::string place(const mapping::Place& place) { return place.file + ":" + std::to_string(place.line); }

std::string lines_of_row(const Row& row, const ReferenceOptions& options) {
  const report::Style style(options.color);
  const std::string indent(12, ' ');
  std::string lines = reference::spell_result(row) + style(report::Color::dim, "   " + place(row.place)) + "\n";
  if (!row.when.empty()) lines += indent + "if " + reference::spell_when(row.when) + "\n";
  if (!row.required.empty()) lines += indent + "if " + mapping::joined(row.required) + "\n";
  if (!row.lifted.empty()) lines += indent + "supports what PyTorch's exporter refuses: " + row.lifted + "\n";
  if (!row.approximate.empty()) lines += indent + "approximate: " + row.approximate + "\n";
  if (row.random) lines += indent + "random\n";
  if (!row.hint.empty()) lines += indent + "→ " + row.hint + "\n";
  return lines;
}

std::string onnx_line(const onnx::Schema& schema) {
  std::string line = std::string(schema.name) + "-" + std::to_string(schema.since) + "(";
  for (std::size_t i = 0; i < schema.inputs.size(); ++i) {
    line += (i ? ", " : "") + std::string(schema.inputs[i].name);
    if (schema.inputs[i].option == onnx::Formal::Option::optional) line += "?";
    if (schema.inputs[i].option == onnx::Formal::Option::variadic) line += "…";
  }
  line += ")";
  for (std::size_t i = 0; i < schema.attributes.size(); ++i) {
    const auto& attribute = schema.attributes[i];
    line += (i ? ", " : "  ") + std::string(attribute.name);
    if (attribute.default_value) line += "=" + std::string(*attribute.default_value);
  }
  return line;
}

// Each ONNX operator of the history, in the version in force where it first appears.
std::string onnx_schemas(const OperatorRows& rows) {
  std::set<std::string> lines;
  for (const auto& entry : rows.history)
    for (const Row& row : entry.rows)
      for (const auto& op : row.to)
        if (const auto* schema = onnx::find(op, entry.opset)) lines.insert("  " + onnx_line(*schema) + "\n");
  std::string text;
  for (const auto& line : lines) text += line;
  return text;
}

std::string history_text(const Explained& subject, const ReferenceOptions& options) {
  const report::Style style(options.color);
  std::string page = style(report::Color::bold, subject.name) + "\n";
  if (!subject.schemas.empty()) page += "\ntorch\n";
  for (const auto& schema : subject.schemas) page += "  " + schema + "\n";
  if (!subject.rows) return page + "\nno row: the operator is missing at every opset (compatcheck explain CC001)\n";
  if (subject.rows->name != subject.name) page += "\nfollows " + subject.rows->name + "\n";
  if (!subject.rows->facts.empty()) page += "\nfacts: " + subject.rows->facts + "\n";
  if (!subject.valid.when.empty()) page += "\nPyTorch accepts a call if " + reference::spell_when(subject.valid.when) + "\n";
  if (!subject.valid.required.empty()) page += "\nPyTorch accepts a call if " + mapping::joined(subject.valid.required) + "\n";
  if (schema::has_trait(subject.name.substr(0, subject.name.find('.')), schema::Trait::shifts_first))
    page += "\nquantized: " + std::string(symbolic::other_rounding) + "\n";
  page += "\nopsets\n";
  for (const auto& entry : subject.rows->history) {
    if (options.opset && *options.opset < entry.opset) break;
    std::string lead = report::pad_left(std::to_string(entry.opset), 6) + "–    ";
    for (const Row& row : entry.rows) {
      page += report::pad_right(lead, 12) + lines_of_row(row, options);
      lead.clear();
    }
  }
  if (const auto onnx = onnx_schemas(*subject.rows); !onnx.empty()) page += "\nonnx\n" + onnx;
  return page;
}

std::string history_json(const Explained& subject) {
  Json entries = Json::array();
  if (subject.rows)
    for (const auto& entry : subject.rows->history)
      for (const Row& row : entry.rows)
        entries.push_back({{"opset", entry.opset},
                           {"kind", row.kind == Row::Kind::mapped    ? "mapped"
                                    : row.kind == Row::Kind::missing ? "missing"
                                                                     : "refuse"},
                           {"to", row.to},
                           {"when", reference::spell_when(row.when)},
                           {"requires", row.required},
                           {"reason", row.reason},
                           {"hint", row.hint},
                           {"lifted", row.lifted},
                           {"place", place(row.place)}});
  return Json{{"op", subject.name},
              {"rows", subject.rows ? Json(subject.rows->name) : Json(nullptr)},
              {"schemas", subject.schemas},
              {"valid", {{"when", reference::spell_when(subject.valid.when)}, {"requires", subject.valid.required}}},
              {"history", std::move(entries)}}
             .dump(2) +
         "\n";
}

// "cc005" is CC005.
std::string with_rule_in_capitals(std::string subject) {
  const bool rule = subject.size() == 5 && (subject.starts_with("cc") || subject.starts_with("Cc")) &&
                    std::all_of(subject.begin() + 2, subject.end(), [](unsigned char c) { return std::isdigit(c); });
  return rule ? "CC" + subject.substr(2) : subject;
}

std::string page_of(const std::string& given, const ReferenceOptions& options) {
  const std::string subject = with_rule_in_capitals(given);
  if (options.scaffold != Scaffold::none && subject.starts_with("CC"))
    throw UsageError("ReferenceOptions::scaffold is for an operator (aten::foo), not for a rule");
  if (const auto* rule = analysis::find_rule(subject)) return rule_page(*rule, options);
  if (subject.size() == 5 && subject.starts_with("CC")) {
    std::string ids;
    for (const auto& rule : analysis::rules()) ids += (ids.empty() ? "" : ", ") + std::string(rule.id);
    throw UsageError("no rule " + subject + "; the rules are " + ids);
  }
  if (options.scaffold == Scaffold::none)
    if (auto page = reference::explain_target(subject, options)) return *std::move(page);
  const auto in_force = reference::in_force(options);
  if (options.scaffold != Scaffold::none) return reference::scaffold(subject, options, in_force);
  const auto found = explained(subject, in_force);
  if (options.format == ReferenceFormat::json) return history_json(found);
  const std::string page = history_text(found, options);
  return options.format == ReferenceFormat::markdown ? "```\n" + page + "```\n" : page;
}

}  // namespace

std::vector<std::string> rule_ids() {
  std::vector<std::string> ids;
  for (const auto& rule : analysis::rules()) ids.emplace_back(rule.id);
  return ids;
}

std::string explain(const std::string& subject, const ReferenceOptions& options) {
  return analysis::guarded(subject, [&] { return page_of(subject, options); });
}

}  // namespace compatcheck
