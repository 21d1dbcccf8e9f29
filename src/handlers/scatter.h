// Writing along one dimension by position: what scatter, index_add and the like become.
#pragma once

#include "handlers/sizes.h"

namespace compatcheck::handlers {

enum class Reduction { none, sum, product, mean, greatest, least };

// Element i of `source` is written at `index`[i] along `axis` of `data`. All have one rank, at least 1.
struct Writing {
  Value data, index, source;  // i64 index; the others of one dtype
  std::int64_t axis = 0;
  Shape shape{};         // shape of `data`
  Shape index_shape{};   // size of `source`, or 1 where it broadcasts
  bool fills = false;    // all dimensions but `axis`: whole rows are written
  bool no_nan = false;   // neither `data` nor `source` has one
  bool counted = false;  // the values decide how many places `axis` has
};

// The neutral element of the reduction: the least number for a maximum.
Value neutral(Emission& e, DType dtype, Reduction reduction);
// `number` by a positive number; quotients of whole numbers are rounded down.
Value divided(Emission& e, const Value& number, const Value& by);
// In which numbers of this dtype are added up where they are written.
DType summing_dtype(DType dtype);
Value written(Emission& e, const Writing& writing, Reduction reduction, bool include_data = true);

// Before ScatterElements reduces, every place is compared with every index.
bool compares(const Emission& e, Reduction reduction);
// The index, as large as the source, which the operator requires.
Value stretched_index(Emission& e, const Writing& writing, const Shape& source_shape);

}  // namespace compatcheck::handlers
