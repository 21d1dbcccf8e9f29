// Names of values as people use them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace compatcheck::ir {

// The variable's name in the user's source; empty where libtorch made the name up. libtorch appends numbers ("x.1") to the
// user's names, and its own are bare numbers ("9216", "_12").
std::string_view source_name(const Value& value);

// Returns the name of a graph's input in --input and in the ONNX model: its own name, or "input_0".
std::string input_name(const Value& input);

// A dictionary's key: its text or number; empty for other keys.
std::string key_text(const Constant& key);

// The key as part of a name such as "past.low%2Ek", whose parts are divided at dots: '.', '=', '%' and control characters become
// "%" and two digits.
std::string name_of_key(std::string_view key);
// The key that such a part names; nullopt if name_of_key gives it for no key.
std::optional<std::string> key_of_name(std::string_view part);
// The name of the member with this key.
std::string member_name(std::string_view whole, std::string_view key);

// "`x`", or where the source has no name for it "the result of aten::relu".
std::string described(const Value& value);

}  // namespace compatcheck::ir
