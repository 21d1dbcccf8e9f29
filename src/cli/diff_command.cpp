#include "cli/commands.h"
#include "cli/terminal.h"

namespace compatcheck::cli {

int run_diff(const Options& options) {
  take_at_most(2, "two models or two reports", "diff", options);
  if (options.positional.size() < 2)
    throw UsageError(
        "two files are needed; usage: compatcheck diff A B, two models or two saved JSON reports (--help lists the options)");
  const Difference found = diff(options.positional[0], options.positional[1], {.load = options.load, .opset = options.opset});
  write_stdout(render(found, options.reference_format, {.color = use_color(options.color), .width = terminal_width()}));
  return found.exit_code;
}

}  // namespace compatcheck::cli
