#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>

#include "cli/changed_models.h"
#include "cli/checked_models.h"
#include "cli/commands.h"
#include "cli/model_files.h"
#include "cli/report_output.h"
#include "cli/terminal.h"
#include "cli/workers.h"

namespace compatcheck::cli {
namespace {

// Those of the policy, beside settings_files().
std::vector<std::filesystem::path> policy_files(const Options& options) {
  std::vector<std::filesystem::path> files;
  for (const auto& file : {options.configuration.file, options.baseline})
    if (!file.empty()) files.push_back(file);
  return files;
}

// Removes the files that aren't models for this run, and lists them.
void skip_foreign(std::vector<std::string>& models, bool targets) {
  const std::size_t skipped = std::erase_if(models, [&](const std::string& model) {
    if (model == "-") return false;
    std::string format;
    try {
      format = format_of(model);
    } catch (const Error&) {
      return false;  // the check reports why it can't be read
    }
    constexpr std::array<std::string_view, 4> own{"torchscript", "exported_program", "graph_text", "unknown"};
    const bool foreign = std::ranges::find(own, format) == own.end() && !(format == "onnx" && targets);
    if (foreign) write_message(model + ": skipped (" + format + ")");
    return foreign;
  });
  if (models.empty())  // an error, as for a folder without models: a gate that checks nothing must not pass
    throw UsageError("no model is left to check: --skip-foreign leaves out " + std::to_string(skipped) +
                     (skipped == 1 ? " file" : " files"));
}

std::vector<std::string> models_to_check(const Options& options) {
  std::vector<std::string> words = options.positional;
  for (const auto& list : options.models_from)
    for (auto& line : listed_models(list)) words.push_back(std::move(line));
  if (words.empty()) throw UsageError("no model is named; usage: compatcheck check MODEL... (--help lists the options)");
  const bool targets = !options.check.targets.empty();
  std::vector<std::string> models = model_files(words, {.exclude = options.exclude, .onnx = targets});
  if (options.skip_foreign) skip_foreign(models, targets);
  if (!options.changed_since.empty()) {
    auto settings = settings_files(options.load, options.check);
    std::ranges::copy(policy_files(options), std::back_inserter(settings));
    models = changed_models(models, settings, options.changed_since);
  }
  std::vector<std::string> shard;
  for (std::size_t i = options.shard.index - 1; i < models.size(); i += options.shard.count) shard.push_back(models[i]);
  return shard;
}

// "[12/1000] 38 a second, 26 s left": of this run's own work, from here on.
class Rate {
 public:
  explicit Rate(std::size_t models) : models_(models) {}
  void start(std::size_t resumed) {
    resumed_ = resumed;
    start_ = std::chrono::steady_clock::now();
  }
  std::string words(std::size_t done) const {
    std::string text = "[" + std::to_string(done) + "/" + std::to_string(models_) + "]";
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (done == resumed_ || seconds < 1) return text;
    const double rate = static_cast<double>(done - resumed_) / seconds;
    const auto left = static_cast<long long>(static_cast<double>(models_ - done) / rate);
    const auto rounded = static_cast<long long>(rate * 10);
    return text + " " + std::to_string(rounded / 10) + "." + std::to_string(rounded % 10) + " a second, " +
           (left >= 60 ? std::to_string(left / 60) + " min " : "") + std::to_string(left % 60) + " s left";
  }

 private:
  std::size_t models_, resumed_ = 0;
  std::chrono::steady_clock::time_point start_;
};

class CheckRun {
 public:
  CheckRun(const Options& options, std::vector<std::string> models)
      : options_(options),
        models_(std::move(models)),
        checked_(options, models_.size()),
        loader_(options.load),
        progress_(options.progress),
        rate_(models_.size()) {
    if (!options.resume) return;
    const auto lines =
        std::ranges::find_if(options.reports, [](const ReportFile& report) { return report.format == Format::jsonl; });
    if (lines == options.reports.end()) throw UsageError("--resume goes on from a report of JSON lines: --report FILE.jsonl");
    earlier_.emplace(lines->file);
    settings_ = settings_digest(options.load, options.check, policy_files(options));
  }

  int run() {
    for (std::size_t i = 0; i < models_.size(); ++i)
      if (!resumed(i)) todo_.push_back(i);
    rate_.start(done_);
    if (!todo_.empty()) progress_.show(rate_.words(done_) + "  " + models_[todo_.front()]);
    // A plugin's code is somebody else's: it may crash or never end, too.
    if (models_.size() > 1 || !options_.load.plugins.empty())
      check_apart();
    else if (!todo_.empty())
      done(0, check_model(loader_, models_[0], options_));
    progress_.clear();
    const int exit_code = checked_.finish();
    if (earlier_) earlier_->finish();
    return exit_code;
  }

 private:
  bool resumed(std::size_t model) {
    auto reports = earlier_ ? earlier_->find(models_[model], options_.opsets.values, settings_) : std::nullopt;
    if (!reports) return false;
    ++done_;
    checked_.add(model, *std::move(reports));
    return true;
  }

  void done(std::size_t model, std::vector<Report> reports) {
    progress_.clear();
    for (auto& report : reports)
      if (earlier_) report.settings = settings_;
    if (earlier_) earlier_->add(reports);
    checked_.add(model, std::move(reports));
    if (++done_ < models_.size()) progress_.show(rate_.words(done_) + "  " + models_[model]);
  }

  // In processes: a model that crashes one, or never ends, costs that model.
  void check_apart() {
    const WorkerOptions workers{.processes = options_.jobs.value_or(processors()),
                                .seconds = 2 * options_.check.timeout_seconds + leave_seconds,
                                .memory_mb = options_.load.memory_mb};
    const MakeWork make = [&]() -> Work {
      return [&](std::size_t item) { return render(check_model(loader_, models_[todo_[item]], options_), Format::jsonl); };
    };
    work_apart(todo_.size(), workers, make, [&](std::size_t item, const std::string& answer, const std::string& failure) {
      const std::size_t model = todo_[item];
      done(model, failure.empty() ? answered(model, answer) : failed(model, failure));
    });
  }

  std::vector<Report> failed(std::size_t model, const std::string& why) const {
    const std::string name = display_name(models_[model]);
    return {failed_report(name, ModelError(name + ": " + why))};
  }

  // A plugin has written into it, perhaps.
  std::vector<Report> answered(std::size_t model, const std::string& answer) const {
    try {
      return read_reports(answer);
    } catch (const Error& error) {
      return failed(model, std::string("the answer of its process can't be read: ") + error.what());
    }
  }

  static constexpr double leave_seconds = 10;  // beyond the limits that the work itself observes

  const Options& options_;
  std::vector<std::string> models_;
  CheckedModels checked_;
  Loader loader_;
  ProgressLine progress_;
  Rate rate_;
  std::optional<EarlierRun> earlier_;
  std::string settings_;
  std::vector<std::size_t> todo_;
  std::size_t done_ = 0;
};

void check_options(const Options& options) {
  std::error_code error;
  if (!options.check.inputs_from.empty() && !std::filesystem::exists(options.check.inputs_from, error))
    throw UsageError("--inputs-from " + options.check.inputs_from.string() + ": no such file");
  if (options.prune_baseline && options.baseline.empty())
    throw UsageError("--prune-baseline needs the --baseline that it prunes");
  if (options.prune_baseline && !options.write_baseline.empty())
    throw UsageError("--prune-baseline and --write-baseline exclude each other");
}

// HTML draws the graph.
Options with_graph(Options options) {
  options.check.graph |= options.format == Format::html || std::ranges::any_of(options.reports, [](const ReportFile& report) {
                           return report.format == Format::html;
                         });
  return options;
}

// Checks the engines of --target and of allow entries.
void check_engines(const Options& options) {
  for (const auto& given : options.given) {
    if (given.name != "--target") continue;
    try {
      check_targets({given.value});
    } catch (const Error& error) {
      if (given.source == on_command_line) throw;
      throw UsageError(given.source + ": " + error.what());
    }
  }
  std::vector<std::string> targets = options.check.targets;
  for (const auto& setting : options.configuration.settings)  // whether or not this run takes them from there
    if (setting.option == "--target") targets.insert(targets.end(), setting.values.begin(), setting.values.end());
  check_allowed_targets(options.configuration, targets);
}

}  // namespace

// Elsewhere it would be a gate that lets everything pass.
bool lists_engines(const Options& options) {
  return std::ranges::any_of(options.given, [](const GivenOption& given) {
    return given.name == "--target" && given.value == "list" && given.source == on_command_line;
  });
}

int list_engines(const Options& options) {
  write_stdout(for_terminal(explain("targets", {.color = use_color(options.color), .width = terminal_width()})));
  return exit_passed;
}

int run_check(const Options& given) {
  if (lists_engines(given)) return list_engines(given);
  check_options(given);
  check_engines(given);
  const Options options = with_graph(with_stdout(given));
  auto models = models_to_check(options);
  // Reports are written nevertheless: a tool that collects them expects one from each run.
  if (models.empty())
    write_message(options.changed_since.empty() ? "no model in this shard"
                                                : "no model has changed since " + options.changed_since);
  check_report_files(options, models, "the model");
  return CheckRun(options, std::move(models)).run();
}

}  // namespace compatcheck::cli
