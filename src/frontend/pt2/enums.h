// The numbers that stand for dtypes, layouts and memory formats in exported programs. They are not c10's, which graphs hold.
// Source: torch/_export/serde/schema.py (torch 2.13).
#pragma once

#include <cstdint>
#include <optional>

#include "ir/dtype.h"

namespace compatcheck::frontend::pt2 {

std::optional<ir::DType> dtype_of(std::int64_t code);
// c10's numbers; nullopt for a code that isn't known.
std::optional<std::int64_t> layout_of(std::int64_t code);
std::optional<std::int64_t> memory_format_of(std::int64_t code);

inline constexpr std::int64_t strided_layout = 7;  // the code

}  // namespace compatcheck::frontend::pt2
