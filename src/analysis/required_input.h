// The facts of an input that the user still has to state, and the option that states them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "conversion/assess.h"
#include "ir/graph.h"
#include "symbolic/call.h"

namespace compatcheck::analysis {

struct RequiredInput {
  std::string what;         // "the rank of input 'x'"
  std::string option;       // "--input x=f32:x0,x1 with its dtype instead of f32"
  bool only_scale = false;  // everything about a quantized input is known except its scale
};

// Says why no option can state an input of this type, and what to change in the model instead; nullopt if an option can.
std::optional<std::string> instead_of_option(const std::string& name, const ir::TypeRef& type);

// Refuses calls that depend on such an input: they don't convert, whatever is stated. `states`: number of inputs at the end
// that are the model's state.
void refuse_what_no_option_states(conversion::Assessment& assessment, const ir::Graph& graph, std::size_t states);

// The advice to make constants of these inputs, or of the inputs of which they are members: "set 'n' in __init__, …".
std::string text_option(const std::string& name);  // "--input mode=TEXT with your own text"
std::string set_in_init(const std::vector<std::string>& inputs);

// The argument whose value a call lacks, if this is why it fails; null if it is not one number or text.
const ir::Value* lacked_number(const conversion::Outcome& outcome, const symbolic::FactTable& facts);

// Calls that are refused because an argument must be known while converting, and follows from numbers among the inputs: which
// inputs to set in the model instead.
void advise_constants(conversion::Assessment& assessment, const symbolic::FactTable& facts);

RequiredInput required_input(const ir::Graph& graph, std::uint32_t input, const symbolic::FactTable& facts);

}  // namespace compatcheck::analysis
