// Destinations of a run's reports: stdout and files. Reports are written as they come if the format allows it, so that a run
// over thousands of models needs no more memory than one over few.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cli/options.h"
#include "cli/output_file.h"

namespace compatcheck::cli {

class ReportStream {
 public:
  // `models` in all. Throws UsageError for a file that can't be written.
  ReportStream(const Options& options, std::size_t models);
  ~ReportStream();
  // One model's, in the order of the models.
  void add(std::span<const Report> reports);
  void finish();

 private:
  void print(std::span<const Report> reports);

  const Options& options_;
  Options rest_;           // output that is written at the end
  bool as_list_, prints_;  // prints_: stdout is written as reports come
  RenderOptions page_;
  std::vector<std::unique_ptr<OutputFile>> streams_;  // JSON lines
  std::vector<Report> kept_;                          // reports for formats that need all of them
  std::optional<TextTable> table_;
  std::vector<Report> summaries_;  // reports for the totals of the text format
};

}  // namespace compatcheck::cli
