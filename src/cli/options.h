// The settings of one run, from the command line, the environment and their defaults.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compatcheck/check.h"
#include "compatcheck/convert.h"
#include "compatcheck/extract.h"
#include "compatcheck/inspect.h"
#include "compatcheck/log.h"
#include "compatcheck/policy.h"
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

// A shard of a list: every `count`th model, beginning with the `index`th, from 1.
struct Shard {
  std::size_t index = 1, count = 1;
};

// An option that isn't at its default.
inline constexpr std::string_view on_command_line = "command line";
struct GivenOption {
  std::string name, value, source;  // "--opset", "11", "compatcheck.yaml:3"
};

struct Options {
  std::vector<std::string> positional;
  std::vector<GivenOption> given;
  Configuration configuration;  // for check, convert, verify, ops and explain
  bool no_configuration = false, print_configuration = false;
  LoadOptions load;
  CheckOptions check;
  Opsets opsets;                                             // for check
  ConvertOptions convert;                                    // except what `check` holds; see convert_options()
  VerifyOptions verify;                                      // except its `convert`
  InspectOptions inspect;                                    // except its `load`
  ExtractOptions extract;                                    // except external_data, which is in `convert`
  std::filesystem::path output;                              // for convert, extract and render
  std::optional<int> opset;                                  // for convert, verify, diff, ops and explain
  Format format = Format::text;                              // for check, verify and render
  ReferenceFormat reference_format = ReferenceFormat::text;  // for ops, explain, inspect and diff
  Scaffold scaffold = Scaffold::none;                        // for explain
  std::vector<ReportFile> reports;
  std::filesystem::path baseline, write_baseline;  // these and the following are for check, unless stated otherwise
  bool prune_baseline = false;
  std::vector<std::filesystem::path> models_from;  // lists of models
  std::vector<std::string> exclude;                // globs
  bool skip_foreign = false;
  std::string changed_since;  // a git revision
  Shard shard;
  std::optional<std::size_t> jobs;  // processes that check several models
  bool resume = false;
  std::string ray = "auto";           // for scan: auto, local, or a cluster's address
  bool list_commands = false;         // for man
  std::filesystem::path source_root;  // for check and render
  When color = When::automatic;
  When progress = When::automatic;
  bool quiet = false;
  int verbosity = 0;
  std::optional<std::optional<LogLevel>> log;  // absent: depends on `verbosity`; empty: off
  std::filesystem::path log_file;
};

bool is_given(const Options& options, std::string_view name);  // "--format": set by any source
ConvertOptions convert_options(const Options& options);        // `convert` with the options that `check` holds

// Throw UsageError.
Shard parse_shard(const std::string& text);
Opsets parse_opsets(const std::string& text);
int parse_opset(const std::string& text);
ReportFile parse_report(const std::string& text);
Format parse_format(const std::string& name);
std::optional<Format> format_by_ending(const std::string& file);  // ".sarif.json", ".xml"; nullopt for other endings
Format parse_verify_format(const std::string& name);
ReferenceFormat parse_reference_format(const std::string& name);
ExportType parse_export_type(const std::string& name);
StateMode parse_state(const std::string& name);
ComplexIo parse_complex_io(const std::string& name);
QuantizedIo parse_quantized_io(const std::string& name);
FrontendKind parse_frontend(const std::string& name);
Preference parse_preference(const std::string& name);
FailOn parse_fail_on(const std::string& name);
VerifyFailOn parse_verify_fail_on(const std::string& name);
std::optional<LogLevel> parse_log_level(const std::string& name);

}  // namespace compatcheck::cli
