// Whether --state inputs-outputs helps where a write of an attribute is refused: it is tried.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/model_state.h"
#include "analysis/prepare.h"
#include "compatcheck/check.h"
#include "conversion/assess.h"

namespace compatcheck::analysis {

// The other advice for a written attribute.
inline constexpr std::string_view without_state =
    "compute the value in __init__, or, if no later call needs it, keep it in a local variable";

// The constructor's arguments must outlive the object. The trial is made when a finding first needs it.
class StateAdvice {
 public:
  StateAdvice(const Model::State& model, const Prepared& prepared, const CheckOptions& options, const ir::Watch& watch)
      : model_(model), prepared_(prepared), options_(options), watch_(watch) {}

  // Findings of writes that the option settles name it in their help.
  void advise(std::vector<Finding>& findings, int opset);

 private:
  bool keeps_attributes() const;
  void make_trial();

  const Model::State& model_;
  const Prepared& prepared_;
  const CheckOptions& options_;
  const ir::Watch& watch_;
  struct Tried {
    Prepared prepared;
    std::optional<conversion::Context> context{};
    std::optional<conversion::Assessor> assessor{};
  };
  bool made_ = false;
  std::unique_ptr<Tried> tried_;  // null: nothing becomes state
};

}  // namespace compatcheck::analysis
