// GitLab's Code Quality report: https://docs.gitlab.com/ci/testing/code_quality/
#pragma once

#include <span>
#include <string>

#include "compatcheck/render.h"

namespace compatcheck::report {

// A finding of each module, but for suppressed ones: GitLab has no word for these.
std::string gitlab(std::span<const Report> reports, const RenderOptions& options);

}  // namespace compatcheck::report
