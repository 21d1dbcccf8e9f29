#include "plugins/overlay.h"

#include <algorithm>
#include <set>

#include "compatcheck/error.h"
#include "plugins/bridge.h"

namespace compatcheck::plugins {
namespace {

std::string quoted(const std::string& text) {  // quotes the text for YAML
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    made += c == '\n' ? ' ' : c;
  }
  return made + "\"";
}

// The opsets at which an entry begins: the handler answers what ONNX operators come to mean.
std::set<int> entries_of(const Handler& handler, const mapping::Table& table) {
  std::set<int> opsets{handler.opsets.from};
  for (const auto& change : table.onnx_changes()) {
    const bool emitted = std::ranges::find(handler.emits, change.op) != handler.emits.end();
    if (emitted && change.change == mapping::Change::meaning && change.to > handler.opsets.from && change.to <= handler.opsets.to)
      opsets.insert(change.to);
  }
  return opsets;
}

// One line, which `explain` and the defects of a handler's description show.
std::string implied_row(const Handler& handler, const mapping::Table& table) {
  std::string line = handler.op + ": {";
  if (!handler.schema.empty()) line += "schema: " + quoted(handler.schema) + ", ";
  if (!handler.facts.empty()) line += "facts: " + quoted(handler.facts) + ", ";
  std::string to;
  for (const std::string& name : handler.emits) to += (to.empty() ? "" : ", ") + quoted(name);
  std::string entries;
  for (const int opset : entries_of(handler, table))
    entries += (entries.empty() ? "" : ", ") + std::to_string(opset) + ": {to: [" + to + "]}";
  return line + entries + "}\n";
}

std::string text_of(const Plugin& plugin, const std::string& part) { return plugin.path + "(" + part + ")"; }

// Rejects a handler whose own rows demand something of calls: its row would replace them.
void demand_one_statement(const Plugin& plugin, const Handler& handler, const mapping::Table& table) {
  const auto* rows = table.stated(handler.op);
  for (std::size_t i = 0; rows && i < rows->history.size(); ++i) {
    const mapping::Entry& entry = rows->history[i];
    const bool over = i + 1 < rows->history.size() && rows->history[i + 1].opset <= handler.opsets.from;
    if (entry.opset > handler.opsets.to || over || !entry.place.file.starts_with(plugin.path + "(rows")) continue;
    for (const mapping::Row& row : entry.rows)
      if (!row.required.empty())
        throw TableError("plugin " + plugin.path + ": the row of " + handler.op + " in " + row.place.file + ":" +
                         std::to_string(row.place.line) + " requires " + mapping::joined(row.required) +
                         ", and the handler for " + handler.op +
                         " says what it emits, which takes the row's place; leave `emits` out of the handler");
  }
}

void lay_rows(const Plugin& plugin, mapping::Table& table, std::vector<mapping::Defect>& defects) {
  const auto take = [&](std::vector<mapping::Defect> wrong) { std::ranges::move(wrong, std::back_inserter(defects)); };
  for (std::size_t i = 0; i < plugin.rows.size(); ++i)
    take(table.overlay_text(plugin.rows[i], text_of(plugin, i ? "rows " + std::to_string(i + 1) : "rows")));
  for (const Handler& handler : plugin.handlers) {
    if (handler.emits.empty()) continue;
    demand_one_statement(plugin, handler, table);
    const std::string from = handler.opsets.from > mapping::lowest_opset ? " from " + std::to_string(handler.opsets.from) : "";
    take(table.overlay_text(implied_row(handler, table), text_of(plugin, handler.op + from), handler.opsets.to));
  }
}

bool maps(const mapping::OperatorRows& rows, onnx::OpsetRange opsets) {
  for (std::size_t i = 0; i < rows.history.size(); ++i) {
    const mapping::Entry& entry = rows.history[i];
    const bool over = i + 1 < rows.history.size() && rows.history[i + 1].opset <= opsets.from;
    if (entry.opset <= opsets.to && !over &&
        std::ranges::any_of(entry.rows, [](const mapping::Row& row) { return row.kind == mapping::Row::Kind::mapped; }))
      return true;
  }
  return false;
}

// A handler alone doesn't say what a call becomes.
void demand_rows(const Plugin& plugin, const mapping::Table& table) {
  for (const Handler& handler : plugin.handlers) {
    if (!handler.emits.empty()) continue;
    const auto* rows = table.stated(handler.op);
    if (!rows) rows = table.stated(mapping::split_overload(handler.op).first);
    if (rows && !rows->alias.empty()) rows = table.stated(rows->alias);
    if (!rows || !maps(*rows, handler.opsets))
      throw TableError("plugin " + plugin.path + ": its handler for " + handler.op + " at opset " +
                       std::to_string(handler.opsets.from) + ": no row maps that operator; say which ONNX operators it emits");
  }
}

}  // namespace

void overlay(const Plugin& plugin, mapping::Table& table, symbolic::Registry& registry, handlers::Registry& handlers,
             std::vector<mapping::Defect>& defects) {
  const std::size_t before = defects.size();
  lay_rows(plugin, table, defects);
  if (defects.size() == before) demand_rows(plugin, table);
  // A base name comes first: it speaks for its overloads but for those that the plugin names.
  for (const bool overloads : {false, true})
    for (const Handler& handler : plugin.handlers)
      if (overloads == (handler.op.find('.') != std::string::npos))
        handlers.overlay(handler.op, handler.opsets, handler_of(handler.function), plugin.path);
  const auto words = plugin.facts.empty() ? nullptr : std::make_shared<const symbolic::Registry>(symbolic::shipped_registry());
  for (const bool overloads : {false, true})
    for (const Named& facts : plugin.facts)
      if (overloads == (facts.name.find('.') != std::string::npos))
        registry.replace_facts(facts.name, facts_of(facts.function, facts.name, words));
  for (const Named& condition : plugin.conditions) {
    if (registry.find_condition(condition.name))
      throw TableError("plugin " + plugin.path + ": a condition " + condition.name + " is there already");
    registry.condition(condition.name, condition_of(condition.function, condition.name));
  }
}

}  // namespace compatcheck::plugins
