// Decides whether a model fails at all sizes, or only because sizes of its inputs were assumed to vary, and which option names a
// list's members.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/example_inputs.h"
#include "analysis/loop_counts.h"
#include "analysis/model_state.h"
#include "analysis/named_sizes.h"
#include "analysis/prepare.h"
#include "compatcheck/check.h"
#include "conversion/assess.h"

namespace compatcheck::analysis {

class DecidingSizes {
 public:
  // The arguments must outlive this object. `opsets`: those that calls are assessed at.
  DecidingSizes(const Model::State& model, const CheckOptions& options, const Prepared& prepared, std::span<const int> opsets,
                const ir::Watch& watch)
      : model_(model),
        options_(options),
        prepared_(prepared),
        opsets_(opsets),
        watch_(watch),
        watch_of_tries_(watch.within(std::max(least_steps_of_tries, most_tries_as_long * watch.steps()))),
        given_(options.inputs, model.graph, model.defaults),
        counts_(loop_counts(prepared.graph, prepared.facts)) {}

  // A call that fails for named sizes and converts for numbers needs input, whether the names were assumed or given by the user.
  void leave_to_inputs(conversion::Assessment& assessment, int opset);

  // For a list whose members are needed: the option that names one, derived from how the model reads it.
  void suggest_members(conversion::Assessment& assessment, int opset);

  // For numbers, lists of numbers and Optionals that are needed: the options that decide the call. The call is refused where only
  // a value could decide it.
  void suggest_values(conversion::Assessment& assessment, int opset);

  // For calls that fail, whatever the sizes are, and convert if numbers or lists of numbers among the inputs are constants:
  // Outcome::option says so. The verdict stays.
  void suggest_constants(conversion::Assessment& assessment, int opset);

  static void append_option(std::string& options, const std::string& stated);

 private:
  const std::vector<std::string>& options_of_members(const ir::Value& input);
  using Call = std::tuple<std::string, ir::LocationRef, std::string>;  // operator, place, module
  using Calls = std::set<Call>;
  struct Try {                                                    // one choice of sizes
    std::string option;                                           // "--input x=f32:x0,3,16,16 with your sizes instead of 16"
    std::vector<std::uint32_t> inputs;                            // inputs that the option states
    std::map<int, Calls> failing, converting;                     // keyed by opset
    std::set<int> open;                                           // opsets at which an output's rank stays open
    std::map<int, std::map<Call, std::set<std::string>>> asking;  // the inputs that calls still need
    bool of_given = false;                                        // numbers replace names from the user's options
    std::vector<std::string> larger;  // all options, with larger numbers where they decide how often loops run; may be empty

    // `before`: what failed without the try.
    bool breaks_nothing(int opset, const Calls& before) const;
    // Whether the call no longer fails with the try. A call that the try removes counts only if the try breaks no other call.
    bool settles(const Call& call, int opset, const Calls& before) const;
    // Whether all that the call and new failures still need are other inputs.
    bool asks_for_others(const Call& call, const std::string& than, int opset, const Calls& before) const;
  };
  struct Group {  // one input, or several that tries state together
    std::set<std::uint32_t> inputs;
    std::vector<conversion::Outcome*> outcomes;
    std::vector<const Try*> tries;  // one for each outcome
  };
  struct Constants {
    std::vector<std::string> options;  // "k.0=3"
    bool exact = false;                // the values of the user's example
  };
  struct Suggested {
    std::string option;  // "if 'n' has the same value in each call, state it as a constant: --input n=1 with your own value"
    std::vector<const Try*> tries;  // with different values
  };
  struct MemberOption {
    std::string text;            // "--input xs.0=f32:3,h,w and one such option for each member of the list"
    const Try* tried = nullptr;  // with two such members; null: they don't fit the model
  };
  static Call call_of(const ir::Node& node);
  static Calls calls_with(const conversion::Assessment& assessment, bool converting);
  void suggest(conversion::Outcome& outcome, const Try& settled_by, int opset, const Calls& before);
  std::string limit_of(const Try& settled_by, const Call& call, int opset, const Calls& before);
  std::vector<Group> choose_tries(conversion::Assessment& assessment, int opset, const Calls& before) const;
  const Try* settling(const std::vector<conversion::Outcome*>& outcomes, int opset, const Calls& before) const;
  void try_all(const conversion::Assessment& assessment);
  // (name, text of --input); the remark follows the options. `made_up`: the numbers that the options don't take from the model.
  void try_with(const std::vector<std::pair<std::string, std::string>>& inputs, const std::string& remark,
                const std::set<std::string>& made_up = {});
  bool counts_loops(const std::string& size) const;  // a name from the user's options
  void try_given();                                  // names from the user's options
  void try_given(const std::map<std::string, std::int64_t>& numbers);
  void add_input(Try& made, const std::string& input, const std::string& option) const;
  const Try* try_options(Try made, const std::vector<std::string>& inputs);  // null: they don't fit the model
  std::optional<Try> assess(Try made, const std::vector<std::string>& inputs, const ir::Watch& watch, bool& gave_up) const;
  MemberOption option_of_member(const ir::Value& list, const std::string& named, const Call& call, int opset);
  bool has_open_members(const ir::Value& input) const;  // a list of tensors of unknown length
  void leave_to_members(conversion::Assessment& assessment, int opset);
  const std::vector<const Try*>& tries_of_value(const ir::Value& input);
  const std::vector<StatedSizes>& stated();  // by the user's options
  std::vector<std::string> options_without(const std::vector<std::string>& inputs);
  bool is_stated_by_option(const std::string& input);
  bool is_stated(const std::string& input);
  const ir::Constant* example_of(const std::string& input);
  std::optional<Constants> constants_of(const ir::Value& input, int variant);
  void try_constants(const std::vector<const ir::Value*>& inputs);
  void try_constants();
  bool has_named_inputs() const;
  bool is_large() const;                                     // each try prepares and assesses the model once more
  static bool fails_at(const conversion::Outcome& outcome);  // whatever the inputs are
  std::optional<std::uint32_t> index_of(const std::string& name) const;

  const Model::State& model_;
  const CheckOptions& options_;
  const Prepared& prepared_;
  std::span<const int> opsets_;
  // Numbers may make a graph of any size of loops, whose tries may be given up: usual models need less than a million steps, and
  // a detector of lists of images as many as its preparation.
  static constexpr std::uint64_t least_steps_of_tries = 4'000'000, most_tries_as_long = 4;
  static constexpr std::uint64_t most_steps_of_large = 1'000'000;
  static constexpr std::int64_t large_number = 1000;  // too large for a loop that must be unrolled
  const ir::Watch& watch_;
  ir::Watch watch_of_tries_;
  bool gave_up_ = false;  // a try exceeded a limit
  NamedSizes given_;
  LoopCounts counts_;
  bool given_settled_ = false;                                    // nothing fails with numbers instead of these names
  std::vector<const Try*> tries_;                                 // tries for the current assessment
  std::map<std::vector<std::string>, std::optional<Try>> tried_;  // keyed by all options; nullopt: they don't fit the model
  std::map<std::vector<std::string>, std::pair<std::optional<Try>, bool>> tried_larger_;  // and whether it exceeded a limit
  std::map<const ir::Value*, std::vector<const Try*>> of_values_;
  std::optional<std::vector<StatedSizes>> stated_;
  std::optional<std::vector<ExampleLeaf>> examples_;  // of the user's file; nullopt: not read yet
  bool tried_constants_ = false;
  std::vector<Suggested> constants_;
  std::map<const ir::Value*, std::vector<std::string>> members_;  // "xs.0=f32:3,h,w"; a tuple has all; empty: not inferred
};

}  // namespace compatcheck::analysis
