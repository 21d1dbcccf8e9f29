#include <malloc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "cli/commands.h"
#include "cli/model_files.h"
#include "cli/output_file.h"
#include "cli/read_model.h"
#include "cli/report_output.h"
#include "cli/terminal.h"
#include "cli/workers.h"
#include "compatcheck/verify.h"
#include "compatcheck/words.h"

namespace compatcheck::cli {
namespace {

constexpr const char* in_runtime = "where ONNX Runtime runs the model";

void must_be_format_of_verify(Format format, const std::string& given) {
  constexpr std::array all{Format::text, Format::json, Format::jsonl, Format::junit, Format::markdown, Format::html};
  if (std::ranges::find(all, format) == all.end())
    throw UsageError("--report " + given + ": verify writes text, json, jsonl, junit, markdown and html");
}

RenderOptions on_terminal(const Options& options) {
  return {.color = use_color(options.color), .width = terminal_width(), .quiet = options.quiet, .verbosity = options.verbosity};
}

bool is_onnx_file(const std::string& file) {
  try {
    return format_of(file) == "onnx";
  } catch (const Error&) {  // reading the model reports it
    return false;
  }
}

// `onnx` is empty if the model is to be converted for this run.
Verification verified(const Options& options, const std::string& file, const std::filesystem::path& onnx,
                      ProgressLine& progress) {
  VerifyOptions settings = options.verify;
  settings.convert = convert_options(options);
  settings.convert.run.progress = [&](const Progress& at) {
    if (at.stage == "bisect")
      progress.show("bisect, run " + std::to_string(at.done + 1));
    else if (at.total > 0)
      progress.show(std::string(at.stage) + " " + std::to_string(at.done) + "/" + std::to_string(at.total));
  };
  if (is_onnx_file(file)) {
    if (onnx.empty())
      throw UsageError(file + ": that is an ONNX file: name the model that it was made of, as in `compatcheck verify model.pt " +
                       file + "`, or another ONNX file to compare with");
    return verify_onnx(file, onnx, settings);
  }
  const Model model = read_model(options.load, file);
  return onnx.empty() ? verify(model, settings) : verify(model, onnx, settings);
}

Options checked(const Options& given) {
  Options options = with_stdout(given);
  if (options.positional.empty())
    throw UsageError("no model is named; usage: compatcheck verify MODEL [FILE.onnx] (--help lists the options)");
  for (const ReportFile& report : options.reports) must_be_format_of_verify(report.format, report.file.string());
  must_be_format_of_verify(options.format, "-");
  check_report_files(options, options.positional, "the model");
  return options;
}

int verify_model(const Options& given) {
  const Options options = checked(given);
  take_at_most(2, "one model and at most one ONNX file", "verify", options);
  ProgressLine progress(options.progress);
  const Verification made =
      verified(options, options.positional.front(), options.positional.size() == 2 ? options.positional[1] : "", progress);
  progress.clear();
  for (const ReportFile& report : options.reports)
    write_file(report.file, with_flags(render(made, report.format, {.verbosity = options.verbosity})));
  write_stdout(with_flags(render(made, options.format, on_terminal(options))));  // a finding may contain the message of an error
  return made.exit_code;
}

// A report of all models: the parts of each in turn.
struct Destination {
  Format format;
  std::filesystem::path file;  // empty: stdout
  RenderOptions page;
  std::vector<std::string> parts{};
};

class FolderRun {
 public:
  explicit FolderRun(const Options& options) : options_(options), progress_(options.progress) {
    for (const ReportFile& report : options.reports)
      reports_.push_back({report.format, report.file, {.verbosity = options.verbosity}});
    reports_.push_back({options.format, {}, on_terminal(options)});
    const bool given = options.positional.size() == 2;
    for (auto& [file, onnx] : onnx_files_of(options.positional.front(), given ? options.positional[1] : "")) {
      if (is_text(file))
        write_message(file + ": skipped (a graph as text has no weights and can't be run)");
      else
        models_.push_back({std::move(file), given ? std::move(onnx) : std::filesystem::path()});
    }
    if (models_.empty()) throw UsageError(options.positional.front() + ": no model in this folder can be run");
  }

  // Each model in a process: ONNX Runtime may end it.
  int run() {
    const MakeWork make = [&]() -> Work { return [&](std::size_t model) { return answer(model); }; };
    work_apart(models_.size(), {}, make, [&](std::size_t model, const std::string& answer, const std::string& failure) {
      progress_.show(std::to_string(model + 1) + "/" + std::to_string(models_.size()));
      take(failure.empty() ? answer
                           : answer_of(failed_verification(
                                 models_[model].model, ModelError(models_[model].model + ": " + failure + ", " + in_runtime))));
    });
    progress_.clear();
    for (const Destination& report : reports_) {
      const std::string text = with_flags(render_verifications(report.parts, exit_code_, report.format, report.page));
      report.file.empty() ? write_stdout(text) : write_file(report.file, text);
    }
    return exit_code_;
  }

 private:
  static bool is_text(const std::string& file) {
    try {
      return format_of(file) == "graph_text";
    } catch (const Error&) {
      return false;
    }
  }

  std::string answer(std::size_t model) {
    const auto& [file, onnx] = models_[model];
    try {
      return answer_of(verified(options_, file, onnx, progress_));
    } catch (const std::exception& error) {  // fails only this model
      return answer_of(failed_verification(file, error));
    }
  }

  // The exit code, and the parts, each behind its length.
  std::string answer_of(const Verification& made) const {
    std::string all = std::to_string(made.exit_code) + "\n";
    for (const Destination& report : reports_) {
      const std::string part = verification_part(made, report.format, report.page);
      all += std::to_string(part.size()) + "\n" + part;
    }
    return all;
  }

  void take(const std::string& answer) {
    std::size_t at = 0;
    const auto number = [&] {
      const std::size_t end = answer.find('\n', at);
      const std::string digits = answer.substr(at, end - at);
      at = end + 1;
      return std::stoull(digits);
    };
    exit_code_ = std::max(exit_code_, static_cast<int>(number()));
    for (Destination& report : reports_) {
      const std::size_t size = number();
      report.parts.push_back(answer.substr(at, size));
      at += size;
    }
  }

  const Options& options_;
  ProgressLine progress_;
  std::vector<FolderModel> models_;
  std::vector<Destination> reports_;
  int exit_code_ = exit_passed;
};

int verify_folder(const Options& given) {
  const Options options = checked(given);
  take_at_most(2, "a folder of models and at most one folder of ONNX files", "verify", options);
  if (!options.verify.repro.empty() || !options.verify.dump.empty())
    throw UsageError("--repro and --dump need one model, not a folder");
  return FolderRun(options).run();
}

}  // namespace

int run_verify(const Options& options) {
  ::mallopt(M_MMAP_THRESHOLD, 8 << 20);  // weights that the runtime copied go back to the system when it frees them
  std::error_code error;
  if (options.positional.empty()) return verify_model(options);
  if (std::filesystem::is_directory(options.positional.front(), error)) return verify_folder(options);
  // ONNX Runtime may end its process. Running the model takes as long as it takes.
  return command_apart(
      options.positional.front(), 0, [&] { return verify_model(options); }, in_runtime);
}

}  // namespace compatcheck::cli
