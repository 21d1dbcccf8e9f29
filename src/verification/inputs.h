// Inputs on which a model is run: examples, or made by dtype and by what consumes them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/example_inputs.h"
#include "ir/constant.h"
#include "ir/graph.h"
#include "symbolic/call.h"
#include "verification/decisions.h"
#include "verification/sizes.h"
#include "verification/values.h"

namespace compatcheck::verification {

// The arguments of a call, and the same as an ONNX model takes them: tensors, numbers and lists of tensors by name ("x",
// "pair.0"), None left out.
struct MadeCall {
  ir::Constants arguments;
  std::vector<std::pair<std::string, ir::Constant>> leaves;
};

// The constructor's arguments must outlive the object.
class InputMaker {
 public:
  // `given`: the graph whose inputs are the method's arguments; `prepared`: the graph in which members may replace lists and
  // dictionaries. `states`: number of inputs at the end of both graphs that are the model's state, for which no values are
  // made.
  InputMaker(const ir::Graph& given, const ir::Graph& prepared, const symbolic::FactTable& facts, std::size_t states,
             const Decisions& decisions)
      : facts_(facts),
        decisions_(decisions),
        arguments_(given.inputs().first(given.inputs().size() - states)),
        inputs_(prepared.inputs().first(prepared.inputs().size() - states)) {}

  // Names of dimensions, in the order in which inputs have them. A list that stays one in the prepared graph has a length,
  // "len(xs)", and sizes of its members that have no name in the file, "xs0".
  std::vector<std::string> named_dims() const;
  bool is_of_list(const std::string& dim) const;
  // The sizes that the file states, and those of examples, which win.
  Sizes seen_sizes(const std::vector<analysis::ExampleLeaf>& examples) const;

  // Models differ in the inputs that they refuse: integers out of range, ranks. Attempts vary unknown properties, the likely
  // ones first, and never known ones. The same arguments give the same inputs. Throws UsageError for a type without possible
  // values.
  static constexpr int attempts = 12;
  static constexpr int permuting = 2;  // the attempt whose integers are permutations
  // Examples by name, their elements repeated or cut off if `sizes` differ; other inputs are made. `other_numbers`: 0 for the
  // ints, floats and bools of the first run, otherwise the index of another choice.
  MadeCall take(const std::vector<analysis::ExampleLeaf>& examples, const Sizes& sizes, std::uint64_t seed, int attempt,
                int other_numbers = 0, Way way = Way::usual) const;
  // Whether some tensor of integers is made, of which models refuse more than of floats.
  bool makes_integers() const;
  // Some arguments are Python numbers whose value neither the file nor the options state.
  bool has_open_numbers() const;
  // Inputs at these sizes are no burden.
  bool is_small(const Sizes& sizes) const;

 private:
  const symbolic::FactTable& facts_;
  const Decisions& decisions_;
  std::span<ir::Value* const> arguments_, inputs_;  // inputs of the given graph; inputs of the prepared graph
};

}  // namespace compatcheck::verification
