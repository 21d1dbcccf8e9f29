// The report as a page to be read: in two seconds whether the model goes, in ten what to do.
#pragma once

#include <span>
#include <string>

#include "compatcheck/render.h"

namespace compatcheck::report {

std::string text(const Report& report, const RenderOptions& options);
// Opsets of one model, and several models, as tables; then what blocks each model at the opset that comes closest.
std::string text(std::span<const Report> reports, const RenderOptions& options);

}  // namespace compatcheck::report
