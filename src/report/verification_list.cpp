// The proofs of several models as one report.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <vector>

#include "compatcheck/error.h"
#include "compatcheck/printable.h"
#include "report/json_parts.h"
#include "report/style.h"
#include "report/verification.h"

namespace compatcheck::report {
namespace {

constexpr std::size_t most_pages = 5;
constexpr char between = '\0';  // fields of a part, which no report contains

std::string list_head(const RenderOptions& options) {
  return Style(options.color)(Color::dim, pad_right("verdict", 16) + pad_left("runs", 6) + pad_left("outputs", 9) +
                                              pad_left("max |Δ|", 10) + pad_left("warnings", 10) + "  model") +
         "\n";
}

std::string list_line(const Verification& made, const RenderOptions& options) {
  const Style style(options.color);
  const std::string verdict_shown = style(made.passed ? Color::green : Color::red, pad_right(outcome_words(made), 16));
  if (made.error || made.report) return verdict_shown + std::string(35, ' ') + "  " + printable(made.model) + "\n";
  double most = 0;
  for (const auto& output : made.outputs) most = std::max(most, output.max_abs);
  char difference[32];
  std::snprintf(difference, sizeof difference, most == 0 ? "%.0f" : "%.1e", most);
  const auto warnings = std::ranges::count(made.findings, Severity::warning, &Finding::severity);
  return verdict_shown + pad_left(std::to_string(made.runs.size()), 6) + pad_left(std::to_string(made.outputs.size()), 9) +
         pad_left(difference, 10) + pad_left(std::to_string(warnings), 10) + "  " + printable(made.model) + "\n";
}

std::vector<std::string> fields_of(const std::string& part) {
  std::vector<std::string> fields;
  for (std::size_t start = 0; start <= part.size();) {
    const std::size_t end = std::min(part.find(between, start), part.size());
    fields.push_back(part.substr(start, end - start));
    start = end + 1;
  }
  return fields;
}

// The verdict, the line of the table, and the page where one is shown.
std::string text_part(const Verification& made, const RenderOptions& options) {
  std::string page;
  if (made.exit_code != exit_passed || options.verbosity > 0)
    page = made.error ? printable(*made.error) + "\n" : text(made, options);
  return outcome_words(made) + between + list_line(made, options) + between + page;
}

std::string joined_text(std::span<const std::string> parts, int exit_code, const RenderOptions& options) {
  std::string lines = options.quiet ? "" : list_head(options), pages;
  std::size_t verified = 0, shown = 0, hidden = 0;
  for (const std::string& part : parts) {
    const auto fields = fields_of(part);
    verified += fields[0] == "verified";
    if (!options.quiet) lines += fields[1];
    if (fields[2].empty()) continue;
    if (options.quiet || options.verbosity > 0 || shown < most_pages) {
      ++shown;
      pages += (options.quiet && pages.empty() ? "" : "\n") + fields[2];
    } else {
      ++hidden;
    }
  }
  if (hidden > 0)
    pages += "\n" + count(static_cast<long long>(hidden), "more model") + " (-q shows all of them, -v each model)\n";
  return lines + pages + "\n" + number(static_cast<long long>(verified)) + " of " +
         count(static_cast<long long>(parts.size()), "model") + " verified\nexit " + std::to_string(exit_code) + "\n";
}

std::string part_as_json(const Verification& made, bool on_one_line) {
  if (!made.error) return json(made, on_one_line);
  const Json object = {{"schema_version", Verification::schema_version},
                       {"model", made.model},
                       {"error", {{"message", *made.error}}},
                       {"exit_code", made.exit_code}};
  return object.dump(on_one_line ? -1 : 2, ' ', false, replace_bad_utf8) + "\n";
}

std::string joined_json(std::span<const std::string> parts, int exit_code) {
  Json all = Json::array();
  for (const std::string& part : parts) all.push_back(Json::parse(part));
  const Json list = {
      {"schema_version", Verification::schema_version}, {"verifications", std::move(all)}, {"exit_code", exit_code}};
  return list.dump(2, ' ', false, replace_bad_utf8) + "\n";
}

std::string joined_suites(std::span<const std::string> parts) {
  VerificationSuite all;
  for (const std::string& part : parts) {
    const auto fields = fields_of(part);
    all.tests += std::stoi(fields[0]);
    all.failures += std::stoi(fields[1]);
    all.errors += std::stoi(fields[2]);
    all.xml += fields[3];
  }
  return junit(all);
}

std::string joined_pages(std::span<const std::string> parts) {
  std::string all;
  for (const std::string& part : parts) all += (all.empty() ? "" : "\n") + part;
  return all;
}

}  // namespace

std::string part(const Verification& made, Format format, const RenderOptions& options) {
  switch (format) {
    case Format::text: return text_part(made, options);
    case Format::json:
    case Format::jsonl: return part_as_json(made, true);
    case Format::junit: {
      const VerificationSuite own = suite(made);
      return std::to_string(own.tests) + between + std::to_string(own.failures) + between + std::to_string(own.errors) + between +
             own.xml;
    }
    case Format::markdown: return markdown(page(made));
    case Format::html: return html_section(page(made));
    default: throw UsageError("a verification is written as text, json, jsonl, junit, markdown or html");
  }
}

std::string joined_parts(std::span<const std::string> parts, int exit_code, Format format, const RenderOptions& options) {
  switch (format) {
    case Format::text: return joined_text(parts, exit_code, options);
    case Format::json: return joined_json(parts, exit_code);
    case Format::junit: return joined_suites(parts);
    case Format::html: return html_of_sections("Verification", parts);
    case Format::jsonl: {
      std::string lines;
      for (const std::string& each : parts) lines += each;
      return lines;
    }
    default: return joined_pages(parts);
  }
}

}  // namespace compatcheck::report
