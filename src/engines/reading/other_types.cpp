#include "engines/reading/other_types.h"

#include <algorithm>
#include <iterator>

namespace compatcheck::engines {
namespace {

struct OtherType {
  std::int64_t number;
  std::string_view name;
};

// The numbers of TensorProto.DataType; an optional isn't one of them.
constexpr OtherType other_types[] = {{-1, "optional"}, {8, "string"},  {21, "u4"}, {22, "i4"},
                                     {23, "f4e2m1"},   {24, "f8e8m0"}, {25, "u2"}, {26, "i2"}};

}  // namespace

std::string_view other_type_from_data_type(std::int64_t number) {
  const auto* found = std::ranges::find(other_types, number, &OtherType::number);
  return found == std::end(other_types) ? std::string_view() : found->name;
}

bool is_other_type(std::string_view name) {
  return std::ranges::find(other_types, name, &OtherType::name) != std::end(other_types);
}

}  // namespace compatcheck::engines
