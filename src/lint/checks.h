// The single checks; lint.h calls them all.
#pragma once

#include <string>
#include <vector>

#include "lint/lint.h"

namespace compatcheck::lint {

struct Context {
  const mapping::Table& table;
  const Known& known;
  std::vector<mapping::Defect>& defects;

  // The rows of exactly this name; null if there are none.
  const mapping::OperatorRows* states(std::string_view name) const { return table.stated(name); }
  void report(const mapping::Place& place, std::string message) const { defects.push_back({place, std::move(message)}); }
};

// The overloads that a row's key speaks for: of a base name those without rows of their own. Empty if nobody knows the operator.
std::vector<const schema::Schema*> overloads_of(const Context& context, std::string_view name);

// Somebody's schema says what its arguments are; the overloads of prim::PythonOp are Python functions.
bool is_known_operator(const schema::Registry& schemas, std::string_view name);

void check_name(const Context& context, const mapping::OperatorRows& rows);       // operator, overload, alias, schema, facts
void check_history(const Context& context, const mapping::OperatorRows& rows);    // dead, shadowed and stale entries
void check_arguments(const Context& context, const mapping::OperatorRows& rows);  // names and types of arguments
void check_onnx(const Context& context, const mapping::OperatorRows& rows);       // `to`, attributes, number of inputs
void check_bodies(const Context& context, const mapping::OperatorRows& rows);     // ONNX functions written in rows
void check_functions(const Context& context, std::span<const mapping::OperatorRows* const> all);  // one name, one body
void check_onnx_changes(const Context& context);
void check_handlers(const Context& context);
void check_users_handlers(const Context& context,
                          const mapping::OperatorRows& rows);                    // rows that list other nodes than it writes
void check_variants(const Context& context, const mapping::OperatorRows& rows);  // known to the operator's handler
void check_unused_variants(const Context& context);

// The opset below which the entry holds: the next entry, a change of meaning, or one above the highest.
int end_of(const mapping::Table& table, const mapping::OperatorRows& rows, std::size_t entry);

std::string quote(std::string_view name);  // `name`

}  // namespace compatcheck::lint
