#include "cli/checked_models.h"

#include <algorithm>

#include "cli/model_files.h"
#include "cli/output_file.h"
#include "cli/read_model.h"
#include "cli/terminal.h"
#include "compatcheck/check_onnx.h"
#include "compatcheck/words.h"

namespace compatcheck::cli {
namespace {

// Returns the baseline that --write-baseline replaces. An empty file counts as none.
Baseline replaced_baseline(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) || std::filesystem::file_size(file, error) == 0) return {};
  try {
    return read_baseline(file);
  } catch (const UsageError& wrong) {
    throw UsageError("--write-baseline keeps what other runs found, but " + std::string(wrong.what()) +
                     "; fix the file or delete it");
  }
}

Baseline given_baseline(const std::filesystem::path& file) {
  try {
    return read_baseline(file);
  } catch (const UsageError& wrong) {
    std::error_code error;
    if (std::filesystem::symlink_status(file, error).type() != std::filesystem::file_type::not_found) throw;
    throw UsageError(std::string(wrong.what()) + "; --write-baseline " + file.string() + " creates it");
  }
}

PolicyOptions policy_options(const Options& options) {
  PolicyOptions policy{.configuration = options.configuration,
                       .partial = options.shard.count > 1 || !options.changed_since.empty(),
                       .exit_zero = options.check.exit_zero};
  if (!options.baseline.empty()) policy.baseline = given_baseline(options.baseline);
  policy.accept_all = !options.write_baseline.empty();
  if (policy.accept_all) policy.replaced = replaced_baseline(options.write_baseline);
  policy.baseline_source = (policy.accept_all ? options.write_baseline : options.baseline).string();
  return policy;
}

}  // namespace

std::string display_name(const std::string& file) { return file == "-" ? "<stdin>" : file; }

std::vector<Report> check_model(Loader& loader, const std::string& file, const Options& options) {
  try {
    if (is_onnx(file))
      return check_onnx(file, is_given(options, "--opset") ? options.opsets.values : std::vector<int>{}, options.check);
    return check(read_model(loader, file), options.opsets.values, options.check);
  } catch (const std::exception& error) {
    return {failed_report(display_name(file), error)};
  }
}

Report failed_report(const std::string& path, const std::exception& error) {
  Report report = failure_report(path, error);
  report.error = with_flags(*report.error);
  return report;
}

CheckedModels::CheckedModels(const Options& options, std::size_t models)
    : options_(options), policy_(policy_options(options)), output_(options, models) {}

void CheckedModels::add(std::size_t model, std::vector<Report> reports) {
  early_[model] = std::move(reports);
  for (auto found = early_.find(next_); found != early_.end(); found = early_.find(++next_)) {
    take(std::move(found->second));
    early_.erase(found);
  }
}

void CheckedModels::take(std::vector<Report> reports) {
  ++models_;
  unread_ += reports.front().error.has_value();
  if (reports.front().error)
    write_message(*reports.front().error);
  else
    for (const auto& warning : reports.front().model.warnings)
      write_message(reports.front().model.path + ": warning: " + warning);
  for (auto& report : reports) {
    report.gate.fail_on = options_.check.fail_on;
    report.gate.max_missing = options_.check.max_missing;
    report.gate.one_opset_is_enough = options_.opsets.one_is_enough && reports.size() > 1;
    policy_.apply(report);
  }
  if (!reports.front().error) {
    for (auto& waiting : held_) release(waiting);
    held_.clear();
  } else if (held_.empty()) {
    return release(reports);
  }
  held_.push_back(std::move(reports));
}

void CheckedModels::release(std::vector<Report>& reports) {
  exit_code_ = std::max(exit_code_, exit_code_of(reports));
  output_.add(reports);
}

void CheckedModels::write_baseline() const {
  const auto& file = options_.prune_baseline ? options_.baseline : options_.write_baseline;
  if (file.empty()) return;
  if (models_ > 0 && unread_ == models_) return write_message(file.string() + " isn't written: no model could be checked");
  write_file(file, to_json(policy_.baseline_of_run()));
}

int CheckedModels::finish() {
  if (!held_.empty()) policy_.finish(held_.front());
  for (auto& waiting : held_) release(waiting);
  held_.clear();
  write_baseline();
  output_.finish();  // last, because the output states the exit code
  return exit_code_;
}

}  // namespace compatcheck::cli
