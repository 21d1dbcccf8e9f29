// The proof of a model, as a page and as JSON.
#pragma once

#include <string>

#include "compatcheck/render.h"
#include "compatcheck/verify.h"

namespace compatcheck::report {

std::string text(const Verification& verification, const RenderOptions& options);
std::string json(const Verification& verification, bool on_one_line);
std::string junit(const Verification& verification);  // a case for each output, named dimension and other finding
std::string markdown(const Verification& verification);

}  // namespace compatcheck::report
