// JUnit's XML as Jenkins, GitLab and GitHub's test reporters read it.
#pragma once

#include <span>
#include <string>

#include "compatcheck/report.h"

namespace compatcheck::report {

// A suite for each opset of a model and each engine, a case for each operator. An error finding is a failure, a suppressed one
// skips its operator; what is less is printed.
std::string junit(std::span<const Report> reports);

}  // namespace compatcheck::report
