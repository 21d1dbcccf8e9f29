#include <malloc.h>

#include <algorithm>
#include <array>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/read_model.h"
#include "cli/report_output.h"
#include "cli/terminal.h"
#include "cli/workers.h"
#include "compatcheck/verify.h"
#include "compatcheck/words.h"

namespace compatcheck::cli {
namespace {

void must_be_format_of_verify(Format format, const std::string& given) {
  constexpr std::array all{Format::text, Format::json, Format::jsonl, Format::junit, Format::markdown};
  if (std::ranges::find(all, format) == all.end())
    throw UsageError("--report " + given + ": verify writes text, json, jsonl, junit and markdown");
}

int verify_model(const Options& given) {
  const Options options = with_stdout(given);
  if (options.positional.empty())
    throw UsageError("no model is named; usage: compatcheck verify MODEL [FILE.onnx] (--help lists the options)");
  take_at_most(2, "one model and at most one ONNX file", "verify", options);
  for (const ReportFile& report : options.reports) must_be_format_of_verify(report.format, report.file.string());
  must_be_format_of_verify(options.format, "-");
  check_report_files(options, options.positional, "the model");
  ProgressLine progress(options.progress);
  VerifyOptions settings = options.verify;
  settings.convert = convert_options(options);
  settings.convert.run.progress = [&](const Progress& at) {
    if (at.stage == "bisect")
      progress.show("bisect, run " + std::to_string(at.done + 1));
    else if (at.total > 0)
      progress.show(std::string(at.stage) + " " + std::to_string(at.done) + "/" + std::to_string(at.total));
  };
  const Model model = read_model(options.load, options.positional.front());
  const Verification made =
      options.positional.size() == 2 ? verify(model, options.positional[1], settings) : verify(model, settings);
  progress.clear();
  for (const ReportFile& report : options.reports)
    write_file(report.file, with_flags(render(made, report.format, {.verbosity = options.verbosity})));
  write_stdout(with_flags(render(  // a finding may contain the message of an error
      made, options.format,
      {.color = use_color(options.color), .width = terminal_width(), .quiet = options.quiet, .verbosity = options.verbosity})));
  return made.exit_code;
}

}  // namespace

int run_verify(const Options& options) {
  ::mallopt(M_MMAP_THRESHOLD, 8 << 20);  // weights that the runtime copied go back to the system when it frees them
  if (options.positional.empty()) return verify_model(options);
  // ONNX Runtime may end its process. Running the model takes as long as it takes.
  return command_apart(
      options.positional.front(), 0, [&] { return verify_model(options); }, "where ONNX Runtime runs the model");
}

}  // namespace compatcheck::cli
