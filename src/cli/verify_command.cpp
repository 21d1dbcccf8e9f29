#include "cli/commands.h"
#include "cli/read_model.h"
#include "cli/terminal.h"
#include "cli/workers.h"
#include "compatcheck/verify.h"

namespace compatcheck::cli {
namespace {

int verify_model(const Options& options) {
  if (options.positional.empty())
    throw UsageError("which model? usage: compatcheck verify MODEL [FILE.onnx] (--help lists the options)");
  if (options.positional.size() > 2)
    throw UsageError("verify takes one model and at most one ONNX file, and '" + options.positional[2] + "' is a third");
  ProgressLine progress(options.progress);
  VerifyOptions asked = options.verify;
  asked.convert = convert_options(options);
  asked.convert.run.progress = [&](const Progress& at) {
    if (at.stage == "bisect")
      progress.show("bisect, run " + std::to_string(at.done + 1));
    else if (at.total > 0)
      progress.show(std::string(at.stage) + " " + std::to_string(at.done) + "/" + std::to_string(at.total));
  };
  const Model model = read_model(options.load, options.positional.front());
  const Verification made = options.positional.size() == 2 ? verify(model, options.positional[1], asked) : verify(model, asked);
  progress.clear();
  write_stdout(render(
      made, options.format,
      {.color = use_color(options.color), .width = terminal_width(), .quiet = options.quiet, .verbosity = options.verbosity}));
  return made.exit_code;
}

}  // namespace

int run_verify(const Options& options) {
  if (options.load.plugins.empty() || options.positional.empty()) return verify_model(options);
  return command_apart(options.positional.front(), 0,
                       [&] { return verify_model(options); });  // running the model takes as long as it takes
}

}  // namespace compatcheck::cli
