// One interpolation while it becomes nodes.
#pragma once

#include <optional>
#include <vector>

#include "handlers/emission.h"
#include "handlers/interpolation.h"

namespace compatcheck::handlers {

// One resized dimension.
struct Side {
  Dim size, places;
  std::optional<double> scale;  // the factor that the call gives and that coordinates go by
  Value factor;                 // the same, known when the model runs: f64 without dimensions
};

struct Job {
  Value input;
  Shape shape;
  Resized how;
  std::vector<Side> sides;
  Value places;  // i64 vector; made where a node needs it
  std::size_t dims() const { return sides.size(); }
};

bool is_nearest(const Job& job);
bool known(const Side& side);
bool goes_by_factor(const Side& side);
bool takes(const Job& job);  // Resize takes the dtype
Arguments resize_attributes(const Job& job);
Value no_region(Emission& e);  // Resize's second input

// Whether the kernel for small images computes the result. nullopt: that is known when the model runs.
constexpr std::int64_t small_image_places = 128;
std::optional<bool> is_small_image(const Job& job);

// Resizes one dimension, to a size or by a factor that is known when the model runs, with cells and weights that it computes.
Value nearest_at_run_time(Emission& e, const Job& job, const Value& input, std::size_t dimension);
Value by_weights(Emission& e, const Job& job, const Value& input, std::size_t dimension);
void demand_counting(Emission& e);                                               // Refusal below the opset that this needs
Value places_at(Emission& e, const Job& job, std::size_t dimension);             // size of the result, an i64 vector of one
Value step_at(Emission& e, const Job& job, std::size_t dimension, DType dtype);  // input cells for each place, a vector of one

// Resizes by factors that are known when the model runs.
Value by_factors(Emission& e, const Job& job);

}  // namespace compatcheck::handlers
