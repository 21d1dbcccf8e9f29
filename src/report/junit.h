// JUnit's XML as Jenkins, GitLab and GitHub's test reporters read it.
#pragma once

#include <span>
#include <string>

#include "compatcheck/report.h"

namespace compatcheck::report {

// A suite for each opset of a model and each engine, a case for each operator. An error is a failure, a suppressed finding
// skips its operator; lesser findings are printed.
std::string junit(std::span<const Report> reports);

}  // namespace compatcheck::report
