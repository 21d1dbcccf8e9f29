// The model as TorchScript runs it: at which sizes, on what inputs, with what result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/example_inputs.h"
#include "analysis/prepare.h"
#include "compatcheck/verify.h"
#include "frontend/load.h"
#include "verify/inputs.h"

namespace compatcheck::verification {

struct Expected {
  MadeCall call;
  Sizes sizes;  // of named dimensions
  ir::Constant result;
  std::optional<ir::Constant> again;  // with another seed of TorchScript's generator
  bool on_cpu = false;                // its code names a GPU: the prepared graph was run, operator by operator
};

// What it is given must outlive it.
class Reference {
 public:
  Reference(const Model::State& model, const VerifyOptions& options, const analysis::Prepared& prepared, const ir::Watch& watch);

  int runs() const;  // examples are the user's own: they are run once

  // Inputs that TorchScript takes, and what it makes of them. nullopt: it takes none at the sizes that this run tries first,
  // `refused`, for this reason. Throws ModelError where already the first run finds none.
  struct Refused {
    Sizes sizes;
    std::string reason;
  };
  std::optional<Expected> expect(int run, Refused& refused);

  // The same call on inputs that are rounded differently: how far its result moves is what the model makes of rounding. nullopt:
  // that doesn't run, or it takes no floats.
  std::optional<ir::Constant> nudged_result(const Expected& expected);

  // The arguments of the prepared graph: some are members of the method's.
  ir::Constants prepared_arguments(const MadeCall& call) const;
  // A value of the prepared graph's top block in that call; nullopt if it has none.
  std::optional<ir::Constant> value(const ir::Value* value, const MadeCall& call);
  frontend::Frontend& frontend() { return frontend_; }

 private:
  Sizes with_given(Sizes others) const;
  Sizes small_sizes(int run, std::int64_t scale) const;
  std::vector<Sizes> candidates(int run) const;
  std::string run(Expected& expected, bool twice);
  std::string located(std::string reason, const MadeCall& call);
  std::optional<ir::Constant> run_on_cpu(const MadeCall& call);
  std::optional<ir::Constants> values(const std::vector<const ir::Value*>& values, const MadeCall& call);

  const Model::State& model_;
  const VerifyOptions& options_;
  const analysis::Prepared& prepared_;
  const ir::Watch& watch_;
  InputMaker maker_;
  frontend::Frontend frontend_;
  std::vector<analysis::ExampleLeaf> examples_;
  std::size_t first_scale_ = 0;  // at which the first run succeeded
  bool at_recorded_ = false;     // or at the sizes that the file records
  int attempt_ = 0;              // with such inputs
};

}  // namespace compatcheck::verification
