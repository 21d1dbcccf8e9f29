// The reports of a run on their way out: put in the order of the models, judged by the policy, written.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/earlier_run.h"
#include "cli/options.h"
#include "cli/report_stream.h"

namespace compatcheck::cli {

class CheckedModels {
 public:
  CheckedModels(const Options& options, std::size_t models);
  // Adds the reports of the model at this place, in any order.
  void add(std::size_t model, std::vector<Report> reports);
  // The run is over: the exit code.
  int finish();

 private:
  void take(std::vector<Report> reports);
  void release(std::vector<Report>& reports);
  void write_baseline() const;

  const Options& options_;
  Policy policy_;
  ReportStream output_;
  std::map<std::size_t, std::vector<Report>> early_;  // reports that wait for models before them
  std::size_t next_ = 0;
  // Reports of the last model that could be checked, and of those after it: findings about the whole run go to its last
  // report.
  std::deque<std::vector<Report>> held_;
  int exit_code_ = exit_passed;
  std::size_t models_ = 0, unread_ = 0;  // models; unread: that couldn't be checked
};

// The model's reports, or a report of the failure.
std::vector<Report> check_model(Loader& loader, const std::string& file, const Options& options);
// In place of reports, with flags in place of the library's names of options.
Report failed_report(const std::string& path, const std::exception& error);
std::string display_name(const std::string& file);  // '-' is "<stdin>"

}  // namespace compatcheck::cli
