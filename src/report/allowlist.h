// The allow-list that lets all findings pass.
#pragma once

#include <span>
#include <string>

#include "compatcheck/report.h"

namespace compatcheck::report {

// An entry of compatcheck.yaml for each rule, operator and engine with errors or warnings that count, and with what else fails
// the gate. Their reasons are empty, and refused until somebody writes them.
std::string allowlist(std::span<const Report> reports);

}  // namespace compatcheck::report
