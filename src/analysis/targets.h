// Checks the ONNX model of each opset for the requested engines (--target).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/form_choice.h"
#include "analysis/model_state.h"
#include "analysis/onnx_model.h"
#include "analysis/prepare.h"
#include "compatcheck/check.h"
#include "conversion/assess.h"
#include "engines/look.h"

namespace compatcheck::analysis {

class Targets {
 public:
  // All must outlive it. `forms`: those that the assessor's context has. Throws UsageError for an engine that isn't shipped.
  Targets(const Model::State& state, const Prepared& prepared, conversion::Assessor& assessor, conversion::FormTable& forms,
          const CheckOptions& options, const CleanUp& clean_up, const ir::Watch& watch);

  bool empty() const { return profiles_.empty(); }
  // Leaves in the table the forms of calls that the engines take at this opset; an assessment then has them.
  void choose_forms(int opset);
  // Fills the report's targets and their lowest opset; unsupported nodes go to `findings`, which count nodes of the checked
  // graph, as all findings do. Nodes that belong to no call (the model as a whole, nodes from clean-up or a plugin) have
  // findings without sites, which count nodes of the ONNX model. The forms at that opset were chosen.
  void look(Report& report, const conversion::Assessment& assessment, std::vector<Finding>& findings);

 private:
  using Origins = std::set<const ir::Node*>;
  // A target's support of the model at one opset.
  struct Seen {
    bool in_range = false;  // the model converts, and the engine supports models of its kind
    int nodes = 0;
    FormCost cost{};
    Origins blocked;  // calls with unsupported nodes
    bool all_supported() const { return in_range && cost.none(); }
  };
  struct Made {
    std::optional<onnx::Model> model;
    engines::Kept kept;                // calls that it holds as PyTorch's operators
    std::string fault;                 // reason why there is no model
    std::vector<engines::Look> looks;  // one for each target, if there is a model
  };
  // The result at one opset.
  struct Chosen {
    std::vector<ReplacedForm> replaced;
    std::vector<Conflict> conflicts;
    Made made;
  };

  Made make(const conversion::Assessment& assessment, int opset);
  Chosen choose(int opset);
  bool any_in_range(int opset) const;
  const std::vector<Seen>& at(int opset);
  void remember(int opset, const Made& made, bool converts);
  std::optional<int> best(std::size_t target, int asked);
  std::optional<int> lowest(std::size_t target);
  std::optional<int> lowest_of_all();
  bool gone(int opset, std::size_t target, const Origins& origins);
  std::optional<int> higher(int opset, std::size_t target, const Origins& origins);
  std::optional<int> lower(int opset, std::size_t target, const Origins& origins);
  TargetSummary summarize(std::size_t target, int opset, const engines::Look* look);
  void find_forms(std::size_t target, const std::map<const ir::Node*, std::uint32_t>& places, TargetSummary& summary,
                  std::vector<Finding>& findings);
  void find_conflicts(const std::map<const ir::Node*, std::uint32_t>& places, std::vector<Finding>& findings);
  void find(std::size_t target, const engines::Look& look, int opset, const std::map<const ir::Node*, std::uint32_t>& places,
            std::vector<Finding>& findings);
  std::string help(std::size_t target, const Finding& finding, const engines::Looked& node, int opset, const Origins& origins);

  const Model::State& state_;
  const Prepared& prepared_;
  conversion::Assessor& assessor_;
  conversion::FormTable& forms_;
  const CheckOptions& options_;
  CleanUp clean_up_;
  const ir::Watch& watch_;
  std::vector<engines::Profile> profiles_;
  std::optional<conversion::Context> fallthrough_context_;
  std::optional<conversion::Assessor> fallthrough_;  // for models that don't convert completely
  std::map<int, std::vector<Seen>> seen_;            // keyed by opset; one for each target
  Chosen chosen_;                                    // of the report's opset
};

}  // namespace compatcheck::analysis
