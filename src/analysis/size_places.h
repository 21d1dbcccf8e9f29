// Where, at the sizes of a trace, the numbers that a tensor is reshaped to lie over its dimensions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "symbolic/evaluate.h"
#include "symbolic/fact.h"

namespace compatcheck::analysis {

// Some numbers of the new sizes, side by side, and the dimensions that they took up.
struct SizePlace {
  std::string text;                // "2", "2*4"
  symbolic::Dim size;              // the product of those dimensions: "b", "b*t", "4*h"
  std::int64_t traced = 0;         // what that was
  std::vector<std::string> names;  // in it
  bool whole = false;              // the numbers took up these dimensions and no part of others
  // The number can't be meant as one: it is the front of the dimensions, and what follows is what remains (−1). A literal number
  // of groups or of columns can't be told apart from a size elsewhere.
  bool surely = false;
};

// Only of sizes with a −1 among them, and where each named size was seen: without −1 no other size fits.
std::vector<SizePlace> size_places(const symbolic::Shape& shape, const std::vector<symbolic::Dim>& sizes,
                                   const symbolic::Sizes& traced);

}  // namespace compatcheck::analysis
