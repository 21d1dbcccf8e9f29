#include "lint/lint.h"

#include <algorithm>
#include <tuple>

#include "lint/checks.h"
#include "mapping/reading/yaml.h"

namespace compatcheck::lint {

std::string quote(std::string_view name) { return "`" + std::string(name) + "`"; }

int end_of(const mapping::Table& table, const mapping::OperatorRows& rows, std::size_t entry) {
  const int next = entry + 1 < rows.history.size() ? rows.history[entry + 1].opset : mapping::highest_opset + 1;
  const mapping::OnnxChange* const change = table.meaning_change(rows.history[entry], next - 1);
  return change ? change->to : next;
}

namespace {

void check_rows(const Context& context, const mapping::OperatorRows& rows) {
  check_name(context, rows);
  check_history(context, rows);
  check_arguments(context, rows);
  check_onnx(context, rows);
  check_bodies(context, rows);
  check_variants(context, rows);
}

}  // namespace

void sort(std::vector<mapping::Defect>& defects) {
  const auto key = [](const mapping::Defect& d) { return std::tie(d.place.file, d.place.line, d.place.column, d.message); };
  std::ranges::sort(defects, {}, key);
  const auto repeated = std::ranges::unique(defects, {}, key);
  defects.erase(repeated.begin(), repeated.end());
}

std::vector<mapping::Defect> check(const mapping::Table& table, const Known& known) {
  std::vector<mapping::Defect> defects;
  const Context context{table, known, defects};
  const auto operators = table.operators();
  for (const mapping::OperatorRows* rows : operators) check_rows(context, *rows);
  check_functions(context, operators);
  check_onnx_changes(context);
  check_handlers(context);
  check_unused_variants(context);
  sort(defects);
  return defects;
}

std::vector<mapping::Defect> check_users(const mapping::Table& table, const Known& known) {
  std::vector<mapping::Defect> defects;
  const Context context{table, known, defects};
  const auto users = table.users();
  for (const mapping::OperatorRows* rows : users) {
    check_rows(context, *rows);
    check_users_handlers(context, *rows);
  }
  check_functions(context, users);
  std::erase_if(defects,
                [&](const mapping::Defect& defect) { return !table.is_users(defect.place); });  // defects of shipped rows
  sort(defects);
  return defects;
}

std::string describe(const mapping::Table& table, const mapping::Defect& defect) {
  return mapping::yaml::describe(defect.place, defect.message, table.source_line(defect.place));
}

}  // namespace compatcheck::lint
