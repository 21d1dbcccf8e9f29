#include "lint/in_force.h"

#include <algorithm>

#include "compatcheck/error.h"
#include "handlers/body_facts.h"
#include "lint/checks.h"
#include "mapping/files.h"
#include "mapping/reading/suggest.h"
#include "plugins/overlay.h"
#include "process/log.h"

namespace compatcheck::lint {
namespace {

// One that can't be read is a defect of its row.
void add_schemas(InForce& tables) {
  for (const auto& schema : tables.table.schemas()) try {
      tables.schemas.add(schema);
    } catch (const schema::ParseError&) {
    }
}

// A plugin's functions are read by argument names.
void demand_known(const plugins::Plugin& plugin, const schema::Registry& schemas) {
  const auto demand = [&](const std::string& what, const std::string& op) {
    if (!is_known_operator(schemas, op))
      throw TableError("plugin " + plugin.path + ": its " + what + " " + op + ": unknown operator" +
                       mapping::did_you_mean(op, schemas.names()) + "; state its schema, in the handler or in a row");
  };
  for (const auto& handler : plugin.handlers) demand("handler for", handler.op);
  for (const auto& facts : plugin.facts) demand("facts of", facts.name);
}

template <class Check>
std::vector<mapping::Defect> with_names(const InForce& tables, Check check) {
  const auto conditions = tables.registry.condition_names();
  const auto words = tables.registry.fact_words();
  const auto handlers = tables.handlers.names();
  return check(tables.table, {.schemas = tables.schemas,
                              .conditions = conditions,
                              .fact_words = words,
                              .handlers = handlers,
                              .variants = &tables.handlers});
}

}  // namespace

InForce read_over_shipped(std::span<const std::filesystem::path> mappings, std::span<const std::filesystem::path> plugins,
                          std::vector<mapping::Defect>& defects) {
  InForce tables;
  std::vector<plugins::Plugin> opened;
  for (const auto& library : plugins) {
    logging::info("plugin {}", library.string());
    plugins::overlay(opened.emplace_back(plugins::load(library)), tables.table, tables.registry, tables.handlers, defects);
  }
  for (const auto& file : mapping::table_files(mappings)) {
    logging::info("mapping table {}", file.string());
    auto unreadable = tables.table.overlay(file);
    std::move(unreadable.begin(), unreadable.end(), std::back_inserter(defects));
  }
  add_schemas(tables);
  if (mappings.empty() && plugins.empty()) return tables;
  auto wrong = with_names(tables, check_users);
  std::move(wrong.begin(), wrong.end(), std::back_inserter(defects));
  sort(defects);
  if (defects.empty())
    for (const auto& plugin : opened) demand_known(plugin, tables.schemas);
  return tables;
}

InForce in_force(std::span<const std::filesystem::path> mappings, std::span<const std::filesystem::path> plugins) {
  std::vector<mapping::Defect> defects;
  InForce tables = read_over_shipped(mappings, plugins, defects);
  if (defects.empty()) return tables;
  std::string messages;
  for (const auto& defect : defects) messages += (messages.empty() ? "" : "\n") + describe(tables.table, defect);
  throw TableError(messages);
}

std::vector<mapping::Defect> notes_on(const InForce& tables) {
  static const schema::Registry shipped;
  std::vector<mapping::Defect> notes;
  for (const mapping::OperatorRows* rows : tables.table.users()) {
    const auto [base, overload] = mapping::split_overload(rows->name);
    const auto is_mapped = [](const mapping::Entry& entry) {
      return std::ranges::find(entry.rows, mapping::Row::Kind::mapped, &mapping::Row::kind) != entry.rows.end();
    };
    if (!tables.table.is_users(rows->place) || shipped.contains(base) || !rows->alias.empty() ||
        std::ranges::none_of(rows->history, is_mapped))
      continue;
    if (handlers::has_body(*rows) || !tables.table.facts(base, overload, tables.schemas).empty() ||
        tables.registry.find_facts(base, overload))
      continue;
    notes.push_back(
        {rows->place, "no `facts`: calls of " + quote(rows->name) +
                          " convert only where the model states the dtype and shape of the results; add `facts: same`, "
                          "`facts: pointwise` ... (docs/mappings.md#facts)"});
  }
  sort(notes);
  return notes;
}

std::vector<mapping::Defect> check_shipped() {
  InForce tables;
  add_schemas(tables);
  return with_names(tables, check);
}

}  // namespace compatcheck::lint
