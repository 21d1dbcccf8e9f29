// Reports as text.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compatcheck/diff.h"
#include "compatcheck/inspect.h"
#include "compatcheck/reference.h"
#include "compatcheck/report.h"
#include "compatcheck/verify.h"

namespace compatcheck {

enum class Format : std::uint8_t { text, json, jsonl, sarif, junit, github, gitlab, markdown, html, allowlist_yaml };

struct RenderOptions {
  bool color = false;
  std::size_t width = 100;              // columns
  bool quiet = false;                   // only findings at or above fail_on, and the last line
  int verbosity = 0;                    // 1: every site and every operator; 2: normalization steps too
  bool as_list = false;                 // JSON: {"schema_version", "reports"} around a single report too
  bool one_of_several = false;          // text: reports of other models stand around this one, so it starts with its path and
                                        // is empty if it passes
  std::filesystem::path source_root{};  // folder of the source files that findings name: html shows their lines, sarif, github
                                        // and gitlab point at them
};

// One report is one object or page; several are {"schema_version", "reports": […], "totals": {…}, "exit_code"}, one line each, or
// one table of opsets and models. The same reports give the same bytes.
std::string render(const Report& report, Format format, const RenderOptions& options = {});
std::string render(std::span<const Report> reports, Format format, const RenderOptions& options = {});

// The HTML page of more than `most_drawn` reports is a table alone, without findings and graphs. It can be made of parts: rows of
// some reports each, then the page of all rows. The same reports give the same page as render().
inline constexpr std::size_t most_drawn = 2000;
std::string page_rows(std::span<const Report> reports);
std::string page_of_rows(std::span<const std::string> rows);

// The table of a text report of several models, for a caller that renders them one by one: its head, the line of one model, whose
// reports may be at several opsets, and the pages of models that fail the gate. Without a table (`quiet` or `verbosity`), the
// pages of all models are text reports of their own.
class TextTable {
 public:
  explicit TextTable(const RenderOptions& options);
  std::string add(std::span<const Report> model);  // the lines to print now
  std::string end() const;                         // the lines to print before render_totals()

 private:
  RenderOptions options_;
  bool begun_ = false;
  std::size_t failing_ = 0;
  std::vector<std::string> details_;
};

// The end of a text report of several models, for a caller that renders them one by one. Doesn't read the findings' sites.
std::string render_totals(std::span<const Report> reports, const RenderOptions& options = {});

// Reads JSON or JSON-lines reports that render() wrote; a run without models has none. Throws ModelError, with the line and the
// keys, for text that is no report or was cut short.
std::vector<Report> read_reports(std::string_view text);

// The findings of the text report, by section; with `quiet` only those that fail the gate. Empty: there are none.
std::string render_findings(const Report& report, const RenderOptions& options = {});

// Describes the model that convert() wrote: "opset 17 · 69 nodes · 46.8 MB", and a line each for dynamic dimensions, functions
// and external data, if the model has any. The last line has no newline.
std::string render(const WrittenModel& written);

// The formats are text, json, jsonl, junit, markdown and html; others throw UsageError.
std::string render(const Verification& verification, Format format, const RenderOptions& options = {});

// One report of the verifications of several models, which may have been made in processes of their own: the parts of the models,
// joined. The parts and the whole have the same format and options.
std::string verification_part(const Verification& verification, Format format, const RenderOptions& options = {});
std::string render_verifications(std::span<const std::string> parts, int exit_code, Format format,
                                 const RenderOptions& options = {});

std::string render(const Inspection& inspection, ReferenceFormat format, const RenderOptions& options = {});
std::string render(const Difference& difference, ReferenceFormat format, const RenderOptions& options = {});

// The JSON Schema of check's report, and of what `command` ("inspect", "diff") prints; UsageError for others.
std::string json_schema();
std::string json_schema(const std::string& command);

}  // namespace compatcheck
