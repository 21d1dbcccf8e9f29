// Properties of an operator's calls at every opset and in all overloads: the key `traits` of the tables, compiled in.
// docs/mappings.md says what each trait means. An in-place form and an alias have
// only the traits that they state themselves, but readers of `random` and `keeps_scale` ask for `relu` where they see `relu_`.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

namespace compatcheck::schema {

enum class Trait : std::uint8_t {
  view,
  split,
  reads_form,
  reads_second_form,
  same_tensor,
  dropout,
  contiguous,
  keeps_contiguous,
  contiguous_but_images,
  iterates,
  indices,
  distinct_indices,
  same_order,
  moves_elements,
  divides,
  keeps_scale,
  keeps_integers,
  dequantizes,
  same_scale,
  random,
  slides,
  reads_part,
  given_sizes,
  shifts_first,
  gives_bool,
  promotes,
  widens,
};

// As the tables write them, in the order of `Trait`.
inline constexpr std::string_view trait_names[] = {"view",
                                                   "split",
                                                   "reads_form",
                                                   "reads_second_form",
                                                   "same_tensor",
                                                   "dropout",
                                                   "contiguous",
                                                   "keeps_contiguous",
                                                   "contiguous_but_images",
                                                   "iterates",
                                                   "indices",
                                                   "distinct_indices",
                                                   "same_order",
                                                   "moves_elements",
                                                   "divides",
                                                   "keeps_scale",
                                                   "keeps_integers",
                                                   "dequantizes",
                                                   "same_scale",
                                                   "random",
                                                   "slides",
                                                   "reads_part",
                                                   "given_sizes",
                                                   "shifts_first",
                                                   "gives_bool",
                                                   "promotes",
                                                   "widens"};

static_assert(std::size(trait_names) == static_cast<std::size_t>(Trait::widens) + 1);

using TraitSet = std::uint32_t;  // bits, by Trait
constexpr TraitSet only(Trait trait) { return TraitSet{1} << static_cast<unsigned>(trait); }

// "aten::relu" of "aten::relu_"; other names, "aten::__and__" among them, as they are.
constexpr std::string_view without_in_place(std::string_view op) {
  return op.ends_with('_') && !op.ends_with("__") ? op.substr(0, op.size() - 1) : op;
}

// `op` is a name without an overload: "aten::select".
bool has_trait(std::string_view op, Trait trait);

}  // namespace compatcheck::schema
