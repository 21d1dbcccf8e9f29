// Whether a model fails for good, or for sizes of inputs alone that were assumed to vary.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/prepare.h"
#include "compatcheck/check.h"
#include "convert/assess.h"

namespace compatcheck::analysis {

class DecidingSizes {
 public:
  // What it is given must outlive it.
  DecidingSizes(const Model::State& model, const CheckOptions& options, const Prepared& prepared, const ir::Watch& watch)
      : model_(model), options_(options), prepared_(prepared), watch_(watch) {}

  // A call that fails where assumed sizes have but a name, and converts where they are numbers, needs input.
  void leave_to_inputs(conversion::Assessment& assessment, int opset);

 private:
  using Call = std::tuple<std::string, const ir::Location*, std::string>;  // operator, place, module
  using Calls = std::set<Call>;
  struct Try;  // one choice of numbers
  static Call call_of(const ir::Node& node);
  static Calls failing(const conversion::Assessment& assessment);
  void prepare_tries();
  std::vector<std::uint32_t> named_inputs() const;

  const Model::State& model_;
  const CheckOptions& options_;
  const Prepared& prepared_;
  const ir::Watch& watch_;
  std::vector<std::shared_ptr<Try>> tries_;
};

}  // namespace compatcheck::analysis
