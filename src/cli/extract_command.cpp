#include "cli/commands.h"
#include "cli/terminal.h"
#include "compatcheck/extract.h"
#include "process/spell_count.h"

namespace compatcheck::cli {
namespace {

std::string names_of(const std::vector<TensorInfo>& tensors) {
  constexpr std::size_t most = 6;
  std::string text;
  for (std::size_t i = 0; i < tensors.size() && i < most; ++i) text += (i ? ", " : "") + tensors[i].name;
  return tensors.size() > most ? text + " and " + std::to_string(tensors.size() - most) + " more" : text;
}

}  // namespace

int run_extract(const Options& options) {
  take_at_most(1, "one model", "extract", options);
  if (options.positional.empty())
    throw UsageError(
        "no model is named; usage: compatcheck extract MODEL.onnx -o FILE --from V,... --to V,... (--help lists the options)");
  const std::string& model = options.positional.front();
  if (options.output.empty()) throw UsageError("no output file: compatcheck extract " + model + " -o FILE");
  if (options.extract.from.empty() && options.extract.to.empty() && options.extract.add_outputs.empty())
    throw UsageError("no part is named: --from and --to name values or modules, --add-outputs values that become outputs");
  ProgressLine progress(options.progress);
  ExtractOptions settings = options.extract;
  settings.external_data = options.convert.external_data;
  settings.timeout_seconds = options.load.timeout_seconds;
  settings.run.progress = [&](const Progress& at) {
    if (at.total > 0) progress.show(std::string(at.stage) + " " + std::to_string(at.done * 100 / at.total) + " %");
  };
  const Extraction made = extract(model, options.output, settings);
  progress.clear();
  for (const auto& warning : made.warnings) write_message(model + ": warning: " + warning);
  if (!options.quiet)
    write_message(options.output.string() + ": written, " + std::to_string(made.nodes) + " of " +
                  spell_count(made.nodes_before, "node") + ", from " + names_of(made.inputs) + " to " + names_of(made.outputs));
  return exit_passed;
}

}  // namespace compatcheck::cli
