#include "frontend/pt2/enums.h"

#include <algorithm>
#include <array>
#include <utility>

namespace compatcheck::frontend::pt2 {
namespace {

using ir::DType;

constexpr auto dtypes = std::to_array<std::pair<std::int64_t, DType>>(
    {{1, DType::u8},        {2, DType::i8},        {3, DType::i16},         {4, DType::i32},         {5, DType::i64},
     {6, DType::f16},       {7, DType::f32},       {8, DType::f64},         {9, DType::c32},         {10, DType::c64},
     {11, DType::c128},     {12, DType::boolean},  {13, DType::bf16},       {28, DType::u16},        {29, DType::f8e4m3fn},
     {30, DType::f8e5m2},   {31, DType::f8e4m3fnuz}, {32, DType::f8e5m2fnuz}, {34, DType::u32},       {35, DType::u64}});

using Codes = std::pair<std::int64_t, std::int64_t>;
// sparse COO, CSR, CSC, BSR, BSC, mkldnn, strided
constexpr auto layouts = std::to_array<Codes>({{1, 1}, {2, 2}, {3, 4}, {4, 5}, {5, 6}, {6, 3}, {7, 0}});
// contiguous, channels_last, channels_last_3d, preserve
constexpr auto memory_formats = std::to_array<Codes>({{1, 0}, {2, 2}, {3, 3}, {4, 1}});

template <class Table>
auto found_in(const Table& table, std::int64_t code) {
  const auto found = std::ranges::find(table, code, [](const auto& entry) { return entry.first; });
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::optional<DType> dtype_of(std::int64_t code) { return found_in(dtypes, code); }
std::optional<std::int64_t> layout_of(std::int64_t code) { return found_in(layouts, code); }
std::optional<std::int64_t> memory_format_of(std::int64_t code) { return found_in(memory_formats, code); }

}  // namespace compatcheck::frontend::pt2
