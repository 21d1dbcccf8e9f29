// Where reports go: stdout, files, and what GitHub shows of a step.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/options.h"

namespace compatcheck::cli {

// '-' among the files is stdout, in place of what would go there unasked. Throws UsageError for two reports there.
Options with_stdout(Options options);

// Every report must have a file of its own that isn't an input ("the model"). Throws UsageError.
void check_report_files(const Options& options, const std::vector<std::string>& inputs, const std::string& input_is);

enum class Stdout { written, left_out };

// Writes to the destinations of --format, --output and --report, stdout last, so that the exit code in it is right; with
// --format github also to the file in $GITHUB_STEP_SUMMARY.
void write_reports(std::span<const Report> reports, const Options& options, bool as_list, Stdout to_stdout = Stdout::written);

}  // namespace compatcheck::cli
