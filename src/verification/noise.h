// A model's sensitivity to rounding: how far its results move when the last bits of its inputs or weights change.
#pragma once

#include <optional>
#include <vector>

#include "verification/compare.h"
#include "verification/reference.h"

namespace compatcheck::verification {

struct Noise {
  double largest = 0;  // largest difference of any element in any draw
  double rms = 0;      // root mean square of the differences in the worst draw
};

// Measures each of the result's tensors, in their order, over several draws; tensors that aren't floating have no noise. Empty if
// the model has no floats there, or doesn't run with such.
std::vector<Noise> measure_noise(Reference& reference, const Expected& expected, Reference::Nudged what);

// A difference of this size is what rounding alone makes of such a model: in its largest element and on average no more than a
// few times the noise, while the noise itself is small beside the output, by the relative tolerance. An ill-conditioned model is
// not excused by its noise.
bool is_within(const Noise& noise, const Comparison& comparison, const Tolerance& tolerance);

}  // namespace compatcheck::verification
