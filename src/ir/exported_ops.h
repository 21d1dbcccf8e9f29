// Operators that an exported program's graph has for what its reader can't express. No row converts them.
#pragma once

#include <string_view>

namespace compatcheck::ir::exported_ops {

// "higher_order::flex_attention": an operator on subgraphs.
inline constexpr std::string_view higher_order = "higher_order::";
// "python::math.cos": a function of Python.
inline constexpr std::string_view python = "python::";
// "autocast::aten::mul": a call in a region of torch.autocast whose casts aren't known.
inline constexpr std::string_view autocast = "autocast::";

// The attribute of a call that says why nothing converts it.
inline constexpr std::string_view reason = "reason";

// "higher_order::with_effects(torch.ops.my.op)": the operator in parentheses isn't known, so decomposing doesn't help.
inline bool wraps_unknown(std::string_view op) { return op.starts_with(higher_order) && op.ends_with(')'); }

}  // namespace compatcheck::ir::exported_ops
