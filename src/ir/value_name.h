// Names of values as people use them.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"

namespace compatcheck::ir {

// The variable's name in the user's source; empty where libtorch made the name up. libtorch appends numbers ("x.1") to the
// user's names, and its own are bare numbers ("9216", "_12").
std::string_view source_name(const Value& value);

// Returns the name of a graph's input in --input and in the ONNX model: its own name, or "input_0".
std::string input_name(const Value& input);

// A dictionary's key as part of a name: its text or number; empty for other keys.
std::string key_text(const Constant& key);

// "`x`", or where the source has no name for it "the result of aten::relu".
std::string described(const Value& value);

}  // namespace compatcheck::ir
