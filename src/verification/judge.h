// The outputs of both sides, compared; what differs becomes findings.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/prepare.h"
#include "compatcheck/verify.h"
#include "verification/match.h"
#include "verification/noise.h"
#include "verification/reference.h"

namespace compatcheck::verification {

Finding& add_finding(Verification& made, const std::string& id, Severity severity, std::string message, std::string help = {});
const char* id_of(const Comparison& comparison);  // the rule of a difference
void note_metrics(OutputVerification& output, const Comparison& comparison);
// The dtype and sizes of an input of a run; members of a list by "name.0".
void note_input(const std::string& name, const ir::Constant& value, RunInputs& run);
// One more sentence of the last finding's help.
void advise(Verification& made, const std::string& text);

// The run is the first one at its sizes, and not the first of all.
bool is_resized(const Verification& made, const Expected& expected);

// The constructor's arguments must outlive the object.
class Judge {
 public:
  Judge(const VerifyOptions& options, const analysis::Prepared& prepared, Reference& reference, Verification& made)
      : options_(options), prepared_(prepared), reference_(reference), made_(made) {}

  Tolerance tolerance(ir::DType dtype) const;

  // Compares TorchScript with itself: outputs that differ can't be compared with anything, and a finding reports them.
  bool is_random(const Expected& expected);

  // All outputs of a run; false if one doesn't pass. `plain`: the outputs of the runtime without its graph optimizations,
  // requested if these may be at fault; nullopt if it doesn't run without them.
  using Plain = std::function<std::optional<std::vector<Pair>>()>;
  bool judge(const std::vector<Pair>& pairs, const Expected& expected, const Plain& plain);

  // A note of each output that was None in every run.
  void report_nones();

 private:
  void report_random(const std::string& difference);
  OutputVerification& output_of(const Pair& pair);
  // `leaf`: the index among the outputs of this run that aren't None.
  bool judge_output(std::size_t index, std::size_t leaf, const Pair& pair, const Expected& expected, std::size_t outputs);
  bool ties(std::size_t index, const Pair& pair, const MadeCall& call, std::size_t outputs);
  // Returns the tolerance of half precision where the output depends on it: an f32 result was then rounded to less on the way.
  Tolerance tolerance_of_output(std::size_t index, std::size_t outputs, ir::DType dtype) const;
  const Noise* noise_of(std::size_t leaf, const Expected& expected, Reference::Nudged what);
  bool passes(const Comparison& comparison) const;
  bool reaches_cosine(const Comparison& comparison) const;
  void blame(const std::vector<Pair>& pairs, const Plain& plain);
  void report_noise();

  const VerifyOptions& options_;
  const analysis::Prepared& prepared_;
  Reference& reference_;
  Verification& made_;
  std::vector<double> own_;                    // TorchScript's own differences from call to call, one for each output
  std::optional<std::vector<Noise>> noise_;    // noise of this run, once measured
  bool of_weights_ = false;                    // the weights' noise is in it, too
  std::optional<std::vector<Noise>> in_half_;  // noise for inputs that are rounded to half precision
};

}  // namespace compatcheck::verification
