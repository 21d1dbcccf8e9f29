// The JSON report. Keys stand in the order of the schema, without time stamps: the same report gives the same bytes.
#pragma once

#include <span>
#include <string>

#include "compatcheck/report.h"

namespace compatcheck::report {

// One object, or {"schema_version", "reports", "totals", "exit_code"} around several or `as_list`; indented.
std::string json(std::span<const Report> reports, bool as_list);
std::string json_lines(std::span<const Report> reports);  // one object on each line

}  // namespace compatcheck::report
