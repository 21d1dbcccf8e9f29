// Ranges and windows: facts.
#include <algorithm>
#include <cmath>

#include "symbolic/creation.h"
#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/promotion.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

bool is_whole_end(const Fact& fact) {
  const auto dtype = natural_dtype(fact);
  return dtype && (ir::is_integral(*dtype) || *dtype == DType::boolean);
}

Fact start_fact(const Call& call) { return call.has("start") ? call.fact("start") : integer_fact(0); }
Fact step_fact(const Call& call) { return call.has("step") ? call.fact("step") : integer_fact(1); }

// An integer result truncates its arguments first.
std::optional<double> range_end(const Call& call, std::string_view argument, double otherwise, bool truncate) {
  if (!call.has(argument)) return otherwise;
  const auto number = call.number(argument);
  return number && truncate ? std::trunc(*number) : number;
}

// A count that PyTorch can give.
Dim length_of(double count) { return count >= 0 && count < 9e15 ? Dim(static_cast<std::int64_t>(count)) : Dim::unknown(); }

// Returns the length of a range of integers, which may have more digits than a double.
std::optional<Dim> whole_length(const Call& call) {
  if (!is_whole_end(call.fact("end")) || !is_whole_end(start_fact(call)) || !is_whole_end(step_fact(call))) return std::nullopt;
  const auto first = call.has("start") ? call.dim("start") : Dim(0), last = call.dim("end"),
             by = call.has("step") ? call.dim("step") : Dim(1);
  if (!first || !last || !by || !by->is_number() || *by->number() == 0) return std::nullopt;
  const Dim length = *by->number() > 0 ? ceil_div(*last - *first, *by) : ceil_div(*first - *last, Dim(0) - *by);
  return length.is_number() && *length.number() < 0 ? Dim::unknown() : length;
}

Dim range_length(const Call& call, std::optional<DType> dtype) {
  if (const auto length = whole_length(call)) return *length;
  const bool truncate = dtype && ir::is_integral(*dtype);
  const auto start = range_end(call, "start", 0, truncate), end = range_end(call, "end", 0, truncate),
             step = range_end(call, "step", 1, truncate);
  return start && end && step && *step != 0 ? length_of(std::ceil((*end - *start) / *step)) : Dim::unknown();
}

// Returns the elements of a short range of integers.
std::optional<std::vector<Dim>> range_contents(const Call& call, const Dim& length) {
  const auto first = call.has("start") ? call.dim("start") : Dim(0), by = call.has("step") ? call.dim("step") : Dim(1);
  if (!first || !by || !length.is_number() || *length.number() > static_cast<std::int64_t>(most_contents)) return std::nullopt;
  std::vector<Dim> contents;
  for (std::int64_t i = 0; i < *length.number(); ++i) contents.push_back(*first + Dim(i) * *by);
  return contents;
}

// PyTorch refuses a range that steps away from its end or not at all, and bounds that its dtype doesn't hold.
void demand_order(const Call& call, std::optional<DType> dtype) {
  const auto start = range_end(call, "start", 0, false), end = range_end(call, "end", 0, false),
             step = range_end(call, "step", 1, false);
  const bool whole = dtype && ir::is_integral(*dtype);
  Demands demands;
  if (step && (*step == 0 || (whole && std::trunc(*step) == 0))) demands.broken("a range has steps of 0");
  if (start && end && step && (*end - *start) * *step < 0) demands.broken("a range steps away from its end");
  for (const auto& bound : {start, end, step})
    if (bound && (!std::isfinite(*bound) || (whole && std::abs(*bound) > 0x1p63)))
      demands.broken("a bound of a range is too large");
  demands.hold();
}

Facts arange(const Call& call) {
  std::optional<DType> dtype;
  if (!call.is_none("dtype")) {
    dtype = call.dtype("dtype");
  } else {
    const Fact start = start_fact(call), step = step_fact(call);
    const auto ends = {&start, &call.fact("end"), &step};
    if (std::all_of(ends.begin(), ends.end(), [](const Fact* fact) { return is_whole_end(*fact); }))
      dtype = DType::i64;
    else if (std::all_of(ends.begin(), ends.end(), [](const Fact* fact) { return natural_dtype(*fact).has_value(); }))
      dtype = default_float;
  }
  demand_order(call, dtype);
  TensorFact result{.dtype = dtype, .shape = Shape{range_length(call, dtype)}};
  if (dtype && ir::is_integral(*dtype)) result.contents = range_contents(call, result.shape->front());
  return {{.value = std::move(result)}};
}

// torch.range includes its end.
Facts range(const Call& call) {
  demand_order(call, std::nullopt);
  const auto start = range_end(call, "start", 0, false), end = range_end(call, "end", 0, false),
             step = range_end(call, "step", 1, false);
  const double steps = start && end && step && *step != 0 ? (*end - *start) / *step : -1;
  const Dim length = steps >= 0 ? length_of(std::trunc(steps) + 1) : Dim::unknown();
  return {tensor_fact(dtype_or(call, default_float), Shape{length})};
}

Facts dim_arange(const Call& call) {
  const TensorFact& like = tensor_of(call, "like");
  const auto index = dim_index(call, "dim", like);
  return {tensor_fact(DType::i64, Shape{index ? size_at(like, *index) : Dim::unknown()})};
}

Facts linspace(const Call& call) {
  std::optional<DType> dtype = default_float;
  for (const char* end : {"start", "end"}) {
    const auto natural = natural_dtype(call.fact(end));
    if (!natural)
      dtype.reset();
    else if (dtype && ir::is_complex(*natural))
      dtype = DType::c64;
  }
  return {tensor_fact(dtype_or(call, dtype), Shape{call.dim("steps").value_or(Dim::unknown())})};
}

Facts window(const Call& call) {
  return {tensor_fact(dtype_or(call, default_float), Shape{call.dim("window_length").value_or(Dim::unknown())})};
}

}  // namespace

void register_range(Registry& registry) {
  registry.facts("aten::arange", arange);
  registry.facts("aten::range", range);
  registry.facts("aten::_dim_arange", dim_arange);
  for (const char* op : {"aten::linspace", "aten::logspace"}) registry.facts(op, linspace);
  for (const char* op :
       {"aten::hann_window", "aten::hamming_window", "aten::blackman_window", "aten::bartlett_window", "aten::kaiser_window"})
    registry.facts(op, window);
}

}  // namespace compatcheck::symbolic
