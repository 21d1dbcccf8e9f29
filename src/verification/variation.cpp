#include "verification/variation.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "inference/infer.h"
#include "verification/frozen.h"
#include "verification/judge.h"

namespace compatcheck::verification {
namespace {

using Variation = NamedDimension::Variation;
using Names = std::vector<std::string>;

// More runs of a program that branches: other values may take it other ways. Size 0 stands for those of the first run.
struct Extra {
  Way way;
  std::int64_t size;
};
constexpr std::array extras = {
    Extra{Way::usual, 7},          Extra{Way::near_constants, 0},  Extra{Way::near_constants, 7}, Extra{Way::on_constants, 7},
    Extra{Way::repeated, 5},       Extra{Way::near_constants, 12}, Extra{Way::rising, 5},         Extra{Way::falling, 5},
    Extra{Way::wide, 7},           Extra{Way::on_constants, 12},   Extra{Way::small, 5},          Extra{Way::repeated, 12},
    Extra{Way::near_constants, 1}, Extra{Way::on_constants, 1},    Extra{Way::wide, 0},           Extra{Way::up_to_constant, 5},
    Extra{Way::near_constants, 7}, Extra{Way::on_constants, 12},   Extra{Way::repeated, 0},       Extra{Way::near_constants, 12},
    Extra{Way::up_to_constant, 2}, Extra{Way::on_constants, 0},    Extra{Way::small, 2},          Extra{Way::near_constants, 1},
    Extra{Way::on_constants, 5},   Extra{Way::near_constants, 5},  Extra{Way::on_constants, 7},   Extra{Way::up_to_constant, 7}};

constexpr std::int64_t least_numbers = 2;  // runs with other ints, floats and bools than the first

// Names a dimension as the user knows it: an assumed name stands for a dimension of an input.
std::string spell_dimension(const std::string& name, const Reference& reference, const analysis::Prepared& prepared) {
  const auto spell = [](std::size_t dim, const std::string& input) {
    return "dimension " + std::to_string(dim) + " of " + input;
  };
  for (const AssumedInput& input : prepared.assumed)
    for (std::size_t dim = 0; input.tensor.shape && dim < input.tensor.shape->size(); ++dim) {
      if ((*input.tensor.shape)[dim] == name) return spell(dim, "input '" + input.tensor.name + "' (" + name + ")");
      if (reference.is_of_list(name) && inference::dimension_name(input.tensor.name, dim) == name)
        return spell(dim, "each member of input '" + input.tensor.name + "'");
    }
  return reference.is_of_list(name) ? name : "the dimension '" + name + "'";
}

void report_frozen(Verification& made, std::string message, Frozen frozen) {
  Finding& finding = add_finding(made, "CC205", Severity::error, std::move(message), std::move(frozen.help));
  finding.nodes = static_cast<int>(frozen.sites.size());
  finding.sites = std::move(frozen.sites);
}

class Varying {
 public:
  Varying(Reference& reference, const VerifyOptions& options, const analysis::Prepared& prepared, Verification& made,
          const std::function<bool(const Expected&)>& compare)
      : reference_(reference), options_(options), prepared_(prepared), made_(made), compare_(compare) {}

  void run(Expected first) {
    for (const auto& [name, size] : first.sizes)
      made_.dimensions.push_back({.name = name, .variation = Variation::fixed, .sizes = {size}, .reason = {}});
    const Sizes from = first.sizes;
    ran_.push_back(from);
    const bool goes_on = compare_(first);
    first = {};  // frees the result, which may be large
    const Names& names = reference_.plan().varied();
    for (const std::string& name : names) dimension(name).variation = Variation::none;
    if (!goes_on || (!names.empty() && !vary(from, names))) return;
    // Other numbers at the first sizes: what differs there is no fault of a size.
    const bool numbers = reference_.has_open_numbers();
    const std::int64_t needed =
        numbers ? std::max<std::int64_t>(options_.runs, std::ssize(made_.runs) + least_numbers) : options_.runs;
    while (!reference_.has_examples() && std::ssize(made_.runs) < needed) {
      std::string reason;
      const Sizes& sizes = numbers ? ran_.front() : ran_[made_.runs.size() % ran_.size()];
      auto expected = reference_.at({sizes}, ++runs_, reason, numbers);
      if (!expected) expected = reference_.in_any_way({sizes}, runs_);
      if (!expected) break;
      if (!compare_(*expected)) return;
    }
    const Decisions& decisions = reference_.decisions();
    if (!reference_.has_examples() && decisions.branches && !decisions.quantizes) go_other_ways();
  }

 private:
  void go_other_ways() {
    // The iterations of loops in each other multiply.
    const int nesting = reference_.decisions().nesting;
    const std::int64_t largest = nesting < 3 ? 12 : nesting == 3 ? 5 : 3;
    for (const Extra& extra : extras) {
      const Sizes sizes = extra.size == 0 ? ran_.front() : reference_.plan().of_size(ran_.front(), std::min(extra.size, largest));
      const auto expected = reference_.in_way(extra.way, sizes, ++runs_);
      if (expected && !compare_(*expected)) return;
    }
  }

  enum class Outcome : std::uint8_t { ran, refused, differs };

  NamedDimension& dimension(const std::string& name) { return *std::ranges::find(made_.dimensions, name, &NamedDimension::name); }

  // False where the runs end.
  bool vary(const Sizes& from, const Names& names) {
    std::string reason;
    const Outcome together = change(from, names, 1, reason);
    if (together == Outcome::differs) return false;
    if (names.size() == 1) {
      if (together == Outcome::refused) report_frozen(names.front(), from, reason);
      return true;
    }
    Names alone;
    for (const std::string& name : names) {
      std::string why;
      const Outcome by_itself = change(from, {name}, 2, why);
      if (by_itself == Outcome::differs) return false;
      if (by_itself == Outcome::ran)
        alone.push_back(name);
      else if (together == Outcome::ran)
        report_tied(name, from, why);
      else
        report_frozen(name, from, why);
    }
    if (together == Outcome::ran) return true;
    if (alone.size() > 1 && alone.size() < names.size()) return change(from, alone, 1, reason) != Outcome::differs;
    if (alone.size() == names.size())
      add_finding(made_, "CC205", Severity::warning, "named dimensions can change one by one, but not together: " + reason);
    return true;
  }

  // By the user or in the file: not assumed here.
  bool is_stated(const std::string& name) const {
    return std::ranges::none_of(prepared_.assumed, [&](const AssumedInput& input) {
      return input.tensor.shape && std::ranges::find(*input.tensor.shape, name) != input.tensor.shape->end();
    });
  }

  Outcome change(const Sizes& from, const Names& names, std::int64_t turn, std::string& reason) {
    const auto candidates = reference_.plan().changed(from, names, turn);
    auto expected = reference_.at(candidates, ++runs_, reason);
    if (!expected && refuses_values(from)) expected = reference_.in_any_way(candidates, runs_);
    if (!expected) {
      reason = "at " + spell(candidates.front()) + " PyTorch itself fails: " + reason;
      return Outcome::refused;
    }
    for (const std::string& name : names) {
      NamedDimension& each = dimension(name);
      each.variation = names.size() == 1 || each.variation == Variation::alone ? Variation::alone : Variation::together;
      if (std::ranges::find(each.sizes, expected->sizes.at(name)) == each.sizes.end())
        each.sizes.push_back(expected->sizes.at(name));
    }
    ran_.push_back(expected->sizes);
    return compare_(*expected) ? Outcome::ran : Outcome::differs;
  }

  std::string place_of(const std::string& name) const { return spell_dimension(name, reference_, prepared_); }

  // If PyTorch refuses some values at sizes that it accepts, a refusal at other sizes may be due to the made values, too.
  bool depends_on_values(const std::string& name, const Sizes& from, const std::string& reason) {
    if (!refuses_values(from)) return false;
    add_finding(
        made_, "CC205", Severity::warning,
        place_of(name) + " isn't varied by itself, because no values were found that PyTorch accepts at other sizes: " + reason,
        "PyTorch also refuses some values at " + spell(from) +
            ", so this need not be a fault of the size; CheckOptions::inputs_from FILE gives an example that the model "
            "accepts");
    return true;
  }

  bool refuses_values(const Sizes& from) {
    if (!refuses_values_) refuses_values_ = !reference_.has_examples() && reference_.refuses_values(from);
    return *refuses_values_;
  }

  void report_frozen(const std::string& name, const Sizes& from, const std::string& reason) {
    if (reference_.is_of_list(name)) {  // the file promises nothing
      add_finding(
          made_, "CC205", Severity::note,
          place_of(name) + " stays " + std::to_string(from.at(name)) + " in all runs, because other lengths fail: " + reason);
      dimension(name).reason = reason;
      return;
    }
    if (depends_on_values(name, from, reason)) return;
    dimension(name).reason = place_of(name) + " can't change: " + reason;
    verification::report_frozen(made_, dimension(name).reason, explain_frozen(reason, name, from.at(name), prepared_));
  }

  void report_tied(const std::string& name, const Sizes& from, const std::string& reason) {
    if (reference_.is_of_list(name) || depends_on_values(name, from, reason)) return;
    if (is_stated(name))
      if (const auto fixed = reference_.fixed_tie(name, from, reference_.plan().changed(from, {name}, 2))) {
        NamedDimension& each = dimension(name);
        each.variation = Variation::none;
        each.sizes = {from.at(name)};
        each.reason = place_of(name) + " can't change, because " + fixed->text + ": " + reason;
        verification::report_frozen(made_, each.reason, explain_frozen(reason, name, from.at(name), prepared_, fixed));
        return;
      }
    const std::string tie = reference_.demands().tie_of(name);
    const bool is_one_size = std::ranges::any_of(from, [&](const auto& other) {
      return other.first != name && !reference_.is_of_list(other.first) &&
             std::ranges::all_of(ran_, [&](const Sizes& sizes) { return sizes.at(name) == sizes.at(other.first); });
    });
    add_finding(made_, "CC205", Severity::warning,
                place_of(name) + " changes only together with others" + (tie.empty() ? "" : ", because " + tie) + ": " + reason,
                is_one_size ? "sizes that must be equal should have one name in --input" : "");
  }

  Reference& reference_;
  const VerifyOptions& options_;
  const analysis::Prepared& prepared_;
  Verification& made_;
  const std::function<bool(const Expected&)>& compare_;
  std::vector<Sizes> ran_;
  std::optional<bool> refuses_values_;
  int runs_ = 0;
};

}  // namespace

void vary(Reference& reference, const VerifyOptions& options, Expected first, const analysis::Prepared& prepared,
          Verification& made, const std::function<bool(const Expected&)>& compare) {
  Varying(reference, options, prepared, made, compare).run(std::move(first));
}

void report_misfits(const Reference& reference, const analysis::Prepared& prepared, Verification& made) {
  for (const auto& [name, fixed, traced, reason] : reference.misfits())
    report_frozen(
        made,
        spell_dimension(name, reference, prepared) + " can't be " + std::to_string(fixed) + ": PyTorch itself fails: " + reason,
        explain_frozen(reason, name, traced, prepared));
}

}  // namespace compatcheck::verification
