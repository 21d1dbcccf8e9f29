// Inputs for a case of the operator corpus: those that were recorded, and others that no conversion saw.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/constant.h"

namespace compatcheck::corpus {

// negatives: other order, sign and magnitude; ties: rounded; special: NaN, infinities and -0 here and there. Integers take other
// values within the range of the recorded ones, so that indices stay indices.
enum class InputSet : std::uint8_t { recorded, negatives, ties, special };
inline constexpr std::array input_sets = {InputSet::recorded, InputSet::negatives, InputSet::ties, InputSet::special};
std::string_view name(InputSet set);

// How inputs become others.
struct Variation {
  std::vector<std::vector<double>> specials;  // what each input gets in the special set
  std::set<std::size_t> kept;                 // inputs that stay as recorded
  std::uint64_t seed = 0;                     // the same gives the same
};

// Tensors that carry their elements.
ir::Constants make_inputs(const ir::Constants& recorded, InputSet set, const Variation& variation);

// f16 and bf16 as single precision.
ir::Constants widened(const ir::Constants& inputs);

// An array of an .npz file in the dtype that the case states: .npz files hold bfloat16 as single precision.
ir::Constant as_recorded(const ir::Constant& array, std::string_view dtype);

}  // namespace compatcheck::corpus
