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
  std::int64_t traced = 0;         // the product in the trace
  std::vector<std::string> names;  // names in the product
  bool whole = false;              // the numbers stand for complete dimensions
  // The number must stand for a size: it replaces the first dimensions, and −1 the remaining ones. A literal number
  // of groups or columns can't be distinguished from a size elsewhere.
  bool surely = false;
};

// Only of sizes with a −1 among them, and where each named size was seen: without −1 no other size fits.
std::vector<SizePlace> size_places(const symbolic::Shape& shape, const std::vector<symbolic::Dim>& sizes,
                                   const symbolic::Sizes& traced);

}  // namespace compatcheck::analysis
