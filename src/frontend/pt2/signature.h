// The kinds of inputs and outputs of an exported program's graph: parameters, state, the user's own, by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/pt2/json.h"

namespace compatcheck::frontend::pt2 {

// Nested containers of a user's arguments or results; leaves are values or None.
struct Tree {
  enum class Kind : std::uint8_t { leaf, sequence, dictionary } kind = Kind::leaf;
  std::vector<std::string> keys;  // keys of a dictionary or named tuple
  std::vector<Tree> members;
};

struct InputSpec {
  enum class Kind : std::uint8_t { user, parameter, buffer, constant, fixed, object, token } kind = Kind::user;
  std::string value{};   // name in the graph; empty if the input isn't a value
  std::string target{};  // the state_dict's name; the class of an object
  std::string name{};    // user, fixed: "x", "batch.mask"
};

struct OutputSpec {
  enum class Kind : std::uint8_t { user, state, written_input, token } kind = Kind::user;
  std::string target{};  // state: the state_dict's name; written_input: the input's value
};

struct Signature {
  std::vector<InputSpec> inputs;    // one for each of the graph's inputs
  std::vector<OutputSpec> outputs;  // one for each of the graph's outputs
  std::optional<Tree> results;      // tree of the user's outputs; absent if the file states none, or one that doesn't fit
};

// `graph_module`: of the program. Throws ModelError for what doesn't fit the graph, and for training graphs.
Signature read_signature(const Json& graph_module);

}  // namespace compatcheck::frontend::pt2
