#include "cli/commands.h"
#include "cli/read_model.h"
#include "cli/terminal.h"

namespace compatcheck::cli {

int run_inspect(const Options& options) {
  if (options.positional.empty())
    throw UsageError("no model is named; usage: compatcheck inspect MODEL (--help lists the options)");
  take_at_most(1, "one model", "inspect", options);
  InspectOptions settings = options.inspect;
  settings.load = options.load;
  const std::string& file = options.positional.front();
  const auto stdin_bytes = file == "-" ? read_stdin() : std::vector<char>();
  const Inspection found =
      file == "-" ? inspect(std::as_bytes(std::span(stdin_bytes)), "<stdin>", settings) : inspect(file, settings);
  write_stdout(render(found, options.reference_format,
                      {.color = use_color(options.color), .width = terminal_width(), .quiet = options.quiet}));
  return exit_passed;
}

}  // namespace compatcheck::cli
