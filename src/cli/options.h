// What the command line, the environment and their defaults settle for one run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compatcheck/check.h"
#include "compatcheck/convert.h"
#include "compatcheck/extract.h"
#include "compatcheck/inspect.h"
#include "compatcheck/reference.h"
#include "compatcheck/render.h"
#include "compatcheck/verify.h"

namespace compatcheck::cli {

enum class When { automatic, always, never };

// --opset: a list must pass at each, of a range one is enough.
struct Opsets {
  std::vector<int> values{default_opset};
  bool one_is_enough = false;
};

struct ReportFile {
  Format format = Format::json;
  std::filesystem::path file;
};

struct Options {
  std::vector<std::string> positional;
  LoadOptions load;
  CheckOptions check;
  Opsets opsets;                       // of check
  ConvertOptions convert;              // but for what `check` holds: inputs
  VerifyOptions verify;                // but for its `convert`
  InspectOptions inspect;              // but for its `load`
  ExtractOptions extract;              // but for what `convert` holds: external_data
  std::filesystem::path output;        // of convert and extract
  std::optional<int> opset;            // of convert, verify, diff, ops and explain
  Format format = Format::text;        // of check and verify
  ReferenceFormat reference_format = ReferenceFormat::text;  // of ops, explain, inspect and diff
  Scaffold scaffold = Scaffold::none;                        // of explain
  std::vector<ReportFile> reports;
  When color = When::automatic;
  When progress = When::automatic;
  bool quiet = false;
  int verbosity = 0;
};

// Throw UsageError.
Opsets parse_opsets(const std::string& text);
int parse_opset(const std::string& text);
ReportFile parse_report(const std::string& text);
Format parse_format(const std::string& name);
ReferenceFormat parse_reference_format(const std::string& name);
ExportType parse_export_type(const std::string& name);
FailOn parse_fail_on(const std::string& name);

}  // namespace compatcheck::cli
