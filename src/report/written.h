// Describes the model that convert() wrote.
#pragma once

#include <cstddef>
#include <string>

#include "compatcheck/report.h"

namespace compatcheck::report {

std::string text(const WrittenModel& written);

// "images: f32[1,3,224,224] → boxes: f32[n,4], scores: f32[n]", and a line for each batch that only the trace fixed. The lines
// have this indent; the last one has no newline.
std::string text(const Signature& signature, std::size_t width, std::size_t indent);

}  // namespace compatcheck::report
