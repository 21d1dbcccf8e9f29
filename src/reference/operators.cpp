// compatcheck::describe_operators: the effective table.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/boundary.h"
#include "compatcheck/check.h"
#include "compatcheck/reference.h"
#include "handlers/registry.h"
#include "reference/in_force.h"
#include "reference/operator_names.h"
#include "reference/spell.h"
#include "report/style.h"

namespace compatcheck {
namespace {

using Json = nlohmann::ordered_json;
using mapping::Lookup;
using mapping::Row;

struct Line {
  std::string op;
  std::string operator_class;  // "one-to-one", "one-to-many", "missing", "refused", "structural"
  std::string result;          // ONNX operators, or why not
  std::string when;
  int since = 0;
  std::optional<int> available_from;
  bool verified = false;  // its nodes come from a handler, or from the row alone
};

std::string class_of(const Row& row) {
  if (row.kind == Row::Kind::missing) return "missing";
  if (row.kind == Row::Kind::refuse) return "refused";
  return row.one_to_one() ? "one-to-one" : "one-to-many";
}

std::string why(const Row& row) { return row.kind == Row::Kind::mapped ? mapping::joined(row.to) : row.reason; }

void add_lines(std::vector<Line>& lines, const std::string& name, int opset, const lint::InForce& in_force) {
  const auto dot = name.find('.', name.rfind("::"));
  const std::string op = name.substr(0, dot), overload = dot == std::string::npos ? "" : name.substr(dot + 1);
  const Lookup found = in_force.table.find(op, overload, opset, in_force.schemas);
  const auto from = in_force.table.available_from(op, overload, opset, in_force.schemas);
  if (found.status == Lookup::Status::structural) {
    lines.push_back({name, "structural", "", "", 0, {}, true});
    return;
  }
  if (found.rows.empty()) {
    const bool listed = found.status != Lookup::Status::unknown;
    lines.push_back({name, "missing", listed ? "no row at this opset" : "no row", "", 0, from, false});
    return;
  }
  onnx::OpsetRange around{opset, opset};
  const bool handled = in_force.handlers.find(found.op->name) || in_force.handlers.find_overlaid(found.op->name, opset, around);
  for (const Row& row : found.rows)
    lines.push_back({name, class_of(row), why(row), reference::spell_when(row.when), found.since,
                     row.kind == Row::Kind::missing ? from : std::nullopt, handlers::is_plain(row) || handled});
}

std::string text(const std::vector<Line>& lines, int opset, const ReferenceOptions& options) {
  const report::Style style(options.color);
  std::string page = "opset " + std::to_string(opset) + "\n";
  for (const Line& line : lines) {
    const auto color = line.operator_class == "missing" || line.operator_class == "refused" ? report::Color::red
                       : line.operator_class == "one-to-many"                               ? report::Color::cyan
                                                                                            : report::Color::green;
    page += "  " + report::pad_right(line.op, 40) + " " + style(color, report::pad_right(line.operator_class, 12)) + " " +
            line.result;
    if (line.available_from) page += " (from opset " + std::to_string(*line.available_from) + ")";
    if (!line.when.empty()) page += style(report::Color::dim, "  if " + line.when);
    page += "\n";
  }
  return page;
}

std::string markdown(const std::vector<Line>& lines, int opset) {
  std::string page =
      "# Operators at opset " + std::to_string(opset) + "\n\n| operator | class | ONNX | condition |\n|---|---|---|---|\n";
  for (const Line& line : lines)
    page += "| `" + line.op + "` | " + line.operator_class + " | " + line.result +
            (line.available_from ? " (from opset " + std::to_string(*line.available_from) + ")" : "") + " | " + line.when +
            " |\n";
  return page;
}

std::string json(const std::vector<Line>& lines, int opset) {
  Json rows = Json::array();
  for (const Line& line : lines)
    rows.push_back({{"op", line.op},
                    {"class", line.operator_class},
                    {"verified", line.verified},
                    {"result", line.result},
                    {"when", line.when},
                    {"since", line.since ? Json(line.since) : Json(nullptr)},
                    {"available_from", line.available_from ? Json(*line.available_from) : Json(nullptr)}});
  return Json{{"opset", opset}, {"operators", std::move(rows)}}.dump(2) + "\n";
}

}  // namespace

std::string describe_operators(const std::vector<std::string>& operators, const ReferenceOptions& options) {
  return analysis::guarded("the operators", [&]() -> std::string {
    const auto in_force = reference::in_force(options);
    const int opset = options.opset.value_or(default_opset);
    std::vector<Line> lines;
    if (operators.empty())
      for (const auto* rows : in_force.table.operators()) add_lines(lines, rows->name, opset, in_force);
    for (const auto& name : operators) add_lines(lines, reference::full_name(name, in_force), opset, in_force);
    switch (options.format) {
      case ReferenceFormat::text: return text(lines, opset, options);
      case ReferenceFormat::json: return json(lines, opset);
      case ReferenceFormat::markdown: return markdown(lines, opset);
    }
    return {};
  });
}

}  // namespace compatcheck
