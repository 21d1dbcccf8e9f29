// Packed sequences: the steps of all sequences in one dimension, longest sequence first, and how many sequences each step has.
#pragma once

#include "handlers/emission.h"

namespace compatcheck::handlers {

struct Padded {
  Value steps;               // (time, batch, …)
  Value lengths;             // i64, of each sequence
  bool zero_beyond = false;  // steps after each sequence's end are 0
};

// `value` is the data of a packed sequence: from what pack() made it of, or from its batch sizes. Needs opset 9 for the latter.
Padded padded_of(Emission& e, const Value& data, const Value& batch_sizes, std::int64_t rank);
// The packed data.
Value packed_of(Emission& e, const Padded& padded, std::int64_t rank);
}  // namespace compatcheck::handlers
