// The proof of a model, as a page and as JSON.
#pragma once

#include <span>
#include <string>

#include "compatcheck/render.h"
#include "compatcheck/verify.h"
#include "report/page.h"

namespace compatcheck::report {

std::string text(const Verification& verification, const RenderOptions& options);
std::string json(const Verification& verification, bool on_one_line);
std::string junit(const Verification& verification);  // a case for each output, named dimension and other finding
std::string markdown(const Verification& verification);
std::string html(const Verification& verification);

// The part of one verification in a report of several, and the report.
std::string part(const Verification& verification, Format format, const RenderOptions& options);
std::string joined_parts(std::span<const std::string> parts, int exit_code, Format format, const RenderOptions& options);

std::string outcome_words(const Verification& verification);  // "not verified"
// One verification among several in a file of suites.
struct VerificationSuite {
  int tests = 0, failures = 0, errors = 0;
  std::string xml;  // the element
};
VerificationSuite suite(const Verification& verification);
std::string junit(const VerificationSuite& all);  // `xml`: the elements of all
Page page(const Verification& verification);

}  // namespace compatcheck::report
