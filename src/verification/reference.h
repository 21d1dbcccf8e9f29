// The model as PyTorch runs it: at which sizes, on what inputs, with what result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/example_inputs.h"
#include "analysis/prepare.h"
#include "compatcheck/verify.h"
#include "frontend/load.h"
#include "verification/exported_run.h"
#include "verification/inputs.h"
#include "verification/size_search.h"
#include "verification/sizes.h"

namespace compatcheck::verification {

struct Expected {
  MadeCall call;
  Sizes sizes;  // sizes of named dimensions
  ir::Constant result;
  std::optional<ir::Constant> again;  // result with another seed of PyTorch's generator
  bool on_cpu = false;                // its code names a GPU: the prepared graph was run, operator by operator
  std::vector<Sizes> refused{};       // sizes that PyTorch refused before these
  std::string refusal{};              // its reason at the first of them
  Way way = Way::usual;               // how its inputs were made
  // For a model that keeps state: the calls before this one, of which the first finds the state that the file holds, and the
  // calls after it. The state is among the call's leaves, and behind the result.
  std::vector<MadeCall> before{};
  std::vector<Expected> later{};
};

// A size that the user fixed and that PyTorch refuses, beside the one that the model was traced with, which it takes.
struct Misfit {
  std::string name;
  std::int64_t fixed = 0, traced = 0;
  std::string reason;
};

// An equation that ties a named size to others by a number: "24*b*seq must be 288".
struct FixedTie {
  std::string text;
  const ir::Node* reader = nullptr;  // node of the prepared graph
};

// The constructor's arguments must outlive the object.
class Reference {
 public:
  Reference(const Model::State& model, const VerifyOptions& options, const analysis::Prepared& prepared, const ir::Watch& watch);

  const SizePlan& plan() const { return plan_; }
  const SizeSearch& demands() const { return search_; }
  // The length of a list, or a size of its members, which the ONNX file leaves open without a name.
  bool is_of_list(const std::string& dim) const { return maker_.is_of_list(dim); }
  // The first that holds at `from` and breaks where `name` alone has each of these other sizes. The model's assertions, and
  // equations of sizes alone, are the model's own and don't count.
  std::optional<FixedTie> fixed_tie(const std::string& name, const Sizes& from, const std::vector<Sizes>& others) const;
  // The user's own inputs: values in them are never made.
  bool has_examples() const { return !examples_.empty(); }

  // Inputs that PyTorch accepts, at likely sizes, and its result. nullopt: it accepts none at the sizes that the user fixed,
  // but some at others (misfits). Throws ModelError if it accepts none.
  std::optional<Expected> first();
  const std::vector<Misfit>& misfits() const { return misfits_; }

  // The same at one of these sizes, the first that PyTorch takes; nullopt: it takes none, `reason` is that at the first.
  // Inputs differ with `run`.
  // `vary_numbers`: with ints, floats and bools that aren't those of the first run, if the model takes any.
  std::optional<Expected> at(const std::vector<Sizes>& candidates, int run, std::string& reason, bool vary_numbers = false);
  bool has_open_numbers() const { return maker_.has_open_numbers(); }
  // The same with values of another kind; nullopt where PyTorch refuses them, or doesn't end soon.
  std::optional<Expected> in_way(Way way, const Sizes& sizes, int run, bool twice = false);
  // In the first way that PyTorch accepts, of those that fit what some models need: values that rise, differ, or are compared
  // with.
  std::optional<Expected> in_any_way(const std::vector<Sizes>& candidates, int run, bool twice = false);
  // Whether PyTorch refuses some values at sizes at which it took others: then a refusal at other sizes says nothing about these.
  bool refuses_values(const Sizes& sizes);
  const Decisions& decisions() const { return decisions_; }

  // The same call with inputs, or weights, that are rounded differently: the change of the result is the model's own rounding
  // noise. nullopt: it doesn't run, or it has no float inputs.
  enum class Nudged : std::uint8_t { inputs, weights, inputs_in_half };
  std::optional<ir::Constant> nudged_result(const Expected& expected, Nudged what, std::uint64_t draw);

  // The narrowest float that a node gives on which this output of so many depends, if that is half precision.
  std::optional<ir::DType> narrow_of(std::size_t output, std::size_t outputs) const;

  static void set_leaf(MadeCall& call, const std::string& name, ir::Constant value);

  // The arguments of the prepared graph: some are members of the method's.
  ir::Constants prepared_arguments(const MadeCall& call) const;
  // A value of the prepared graph's top block in that call; nullopt if it has none.
  std::optional<ir::Constant> value(const ir::Value* value, const MadeCall& call);
  frontend::Frontend& frontend() { return frontend_; }

  // The inputs are those of the user's ONNX file, because the options state no others.
  void inputs_of(std::string onnx) { onnx_ = std::move(onnx); }

 private:
  const std::vector<analysis::ExampleLeaf>& examples_of(int attempt) const { return attempt == sampled ? samples_ : examples_; }
  std::optional<Expected> expect(const std::vector<Sizes>& candidates, int run, int attempt, bool twice, std::string& reason,
                                 int other_numbers = 0, Way way = Way::usual);
  std::string values_that_may_not_end(const MadeCall& call) const;
  std::string run(Expected& expected, bool twice, std::uint64_t nudge = 0);
  ir::Constant with_state(frontend::Frontend::Run& run);
  [[noreturn]] void fail(const std::vector<Sizes>& tried, const std::string& reason) const;
  void find_misfits(const Sizes& tried);
  std::string located(std::string reason, const MadeCall& call);
  bool run_on_cpu(const std::vector<MadeCall*>& sequence, std::vector<frontend::Frontend::Run>& runs);
  std::optional<ir::Constants> values(const std::vector<const ir::Value*>& values, const MadeCall& call);

  static constexpr int sampled = InputMaker::attempts;  // the attempt with the file's own inputs

  const Model::State& model_;
  const VerifyOptions& options_;
  const analysis::Prepared& prepared_;
  const ir::Watch& watch_;
  std::vector<std::string> state_;  // the attributes that are inputs and outputs of the prepared graph
  std::optional<ExportedRun> exported_;
  symbolic::NamedRanges ranges_;                  // that options and files state
  std::vector<std::optional<ir::DType>> narrow_;  // one for each output
  Decisions decisions_;
  InputMaker maker_;
  frontend::Frontend frontend_;
  std::vector<analysis::ExampleLeaf> examples_, samples_;  // the user's; the file's own
  SizeSearch search_;
  SizePlan plan_;
  std::vector<Misfit> misfits_;
  std::string onnx_;      // the file that inputs are those of
  int crashes_ = 0;       // consecutive crashes of PyTorch
  bool runs_on_ = false;  // it didn't end on unusual values: no others are tried
  int attempt_ = 0;       // the attempt whose inputs PyTorch accepted first
};

}  // namespace compatcheck::verification
