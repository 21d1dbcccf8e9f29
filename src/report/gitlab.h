// GitLab's Code Quality report: https://docs.gitlab.com/ci/testing/code_quality/
#pragma once

#include <span>
#include <string>

#include "compatcheck/render.h"

namespace compatcheck::report {

// One issue for each finding and module, except suppressed findings, which GitLab can't represent.
std::string gitlab(std::span<const Report> reports, const RenderOptions& options);

}  // namespace compatcheck::report
