// Tensors made from sizes and numbers: facts.
#include <algorithm>
#include <cmath>
#include <complex>

#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/promotion.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

// torch.tensor's choice for a Python number; a tensor keeps its own.
std::optional<DType> natural_dtype(const Fact& fact) {
  if (const auto* tensor = fact.tensor()) return tensor->dtype;
  if (const auto* number = fact.number())
    return number->kind == NumberFact::Kind::floating  ? default_float
           : number->kind == NumberFact::Kind::boolean ? DType::boolean
                                                       : DType::i64;
  const auto* constant = std::get_if<ConstantFact>(&fact.value);
  return constant && constant->value.get<std::complex<double>>() ? std::optional(DType::c64) : std::nullopt;
}

std::optional<Shape> size_argument(const Call& call) {
  auto sizes = call.dims("size");
  return sizes ? std::optional<Shape>(std::move(*sizes)) : std::nullopt;
}

template <DType otherwise>
Facts sized(const Call& call) {
  return {tensor_fact(dtype_or(call, otherwise), size_argument(call))};
}

Facts full(const Call& call) {
  return {tensor_fact(dtype_or(call, natural_dtype(call.fact("fill_value"))), size_argument(call))};
}

Facts like_self(const Call& call) {
  const TensorFact& self = tensor_of(call, "self");
  return {tensor_fact(dtype_or(call, self.dtype), self.shape)};
}

Facts new_sized(const Call& call) { return {tensor_fact(dtype_or(call, call.dtype_of("self")), size_argument(call))}; }

// ---- Ranges

bool is_integer(const Fact& fact) {
  const auto dtype = natural_dtype(fact);
  return dtype && (ir::is_integral(*dtype) || *dtype == DType::boolean);
}

Fact start_of(const Call& call) { return call.has("start") ? call.fact("start") : integer_fact(0); }
Fact step_of(const Call& call) { return call.has("step") ? call.fact("step") : integer_fact(1); }

// An integer result truncates its arguments first.
std::optional<double> range_end(const Call& call, std::string_view argument, double otherwise, bool truncate) {
  if (!call.has(argument)) return otherwise;
  const auto number = call.number(argument);
  return number && truncate ? std::trunc(*number) : number;
}

// A count that PyTorch can give.
Dim length_of(double count) { return count >= 0 && count < 9e15 ? Dim(static_cast<std::int64_t>(count)) : Dim::unknown(); }

// Of integers, which may have more digits than a double.
std::optional<Dim> whole_length(const Call& call) {
  if (!is_integer(call.fact("end")) || !is_integer(start_of(call)) || !is_integer(step_of(call))) return std::nullopt;
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

// What a short range of integers holds.
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
    const Fact start = start_of(call), step = step_of(call);
    const auto ends = {&start, &call.fact("end"), &step};
    if (std::all_of(ends.begin(), ends.end(), [](const Fact* fact) { return is_integer(*fact); }))
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

Facts frequencies(const Call& call) {
  const Dim n = call.dim("n").value_or(Dim::unknown());
  const bool half = call.op() == "aten::fft_rfftfreq";
  return {tensor_fact(dtype_or(call, default_float), Shape{half ? floor_div(n, 2) + Dim(1) : n})};
}

Facts eye(const Call& call) {
  const Dim n = call.dim("n").value_or(Dim::unknown());
  return {tensor_fact(dtype_or(call, default_float), Shape{n, call.has("m") ? call.dim("m").value_or(Dim::unknown()) : n})};
}

template <bool lower>
Facts triangle_indices(const Call& call) {
  const auto rows = call.integer("row"), columns = call.integer("col"), offset = call.integer("offset");
  constexpr std::int64_t most = 1 << 30;
  const auto is_small = [](const std::optional<std::int64_t>& number) { return number && *number >= -most && *number <= most; };
  Dim count = Dim::unknown();
  if (is_small(rows) && is_small(columns) && is_small(offset) && *rows >= 0 && *columns >= 0) {
    // Elements with column − row ≤ offset: row i has i + width of them, not less than 0 nor more than there are columns.
    const std::int64_t width = (lower ? *offset : *offset - 1) + 1;  // for the upper triangle one diagonal less, and the rest
    const std::int64_t first = std::clamp<std::int64_t>(1 - width, 0, *rows),
                       full = std::clamp<std::int64_t>(*columns - width, first, *rows);
    const std::int64_t growing = (first + width + full - 1 + width) * (full - first) / 2;
    const std::int64_t below = growing + (*rows - full) * *columns;
    count = lower ? below : *rows * *columns - below;
  }
  return {tensor_fact(dtype_or(call, DType::i64), Shape{2, count})};
}

Facts window(const Call& call) {
  return {tensor_fact(dtype_or(call, default_float), Shape{call.dim("window_length").value_or(Dim::unknown())})};
}

Facts random_permutation(const Call& call) {
  return {tensor_fact(dtype_or(call, DType::i64), Shape{call.dim("n").value_or(Dim::unknown())})};
}

// ---- From numbers

std::optional<std::vector<Dim>> contents_of(const Fact& fact) {
  const auto* number = fact.number();
  if (!number || number->kind == NumberFact::Kind::floating || !number->integer) return std::nullopt;
  return std::vector<Dim>{*number->integer};
}

Fact scalar(std::optional<DType> dtype, const Fact& number) {
  TensorFact tensor{.dtype = dtype, .shape = Shape{}};
  if (dtype && (ir::is_integral(*dtype) || *dtype == DType::boolean)) tensor.contents = contents_of(number);
  const auto* given = number.number();
  if (dtype == DType::f64 && given && given->floating) set_number(tensor, *given->floating);
  return {.value = std::move(tensor)};
}

Facts scalar_tensor(const Call& call) { return {scalar(dtype_or(call, default_float), call.fact("s"))}; }

// A Python float becomes f64 here, unlike torch.tensor's default.
Facts number_to_tensor(const Call& call) {
  const auto dtype = natural_dtype(call.input(0));
  if (call.input(0).tensor()) return {call.input(0)};
  return {scalar(dtype == default_float ? DType::f64 : dtype == DType::c64 ? DType::c128 : dtype, call.input(0))};
}

// Nested lists: their lengths, and their elements if they are few.
bool read_nested(const Fact& fact, std::size_t depth, Shape& shape, std::vector<Dim>& contents, std::optional<DType>& dtype) {
  const auto* list = fact.list();
  if (!list) {
    dtype = natural_dtype(fact);
    const auto element = contents_of(fact);
    contents.push_back(element ? element->front() : Dim::unknown());
    return true;
  }
  if (!list->items) return false;
  if (shape.size() <= depth) shape.emplace_back(static_cast<std::int64_t>(list->items->size()));
  return std::all_of(list->items->begin(), list->items->end(),
                     [&](const Fact& item) { return read_nested(item, depth + 1, shape, contents, dtype); });
}

std::optional<DType> element_dtype(ir::TypeRef type) {
  while (type && type->kind == ir::TypeKind::list) type = type->elements.front();
  if (!type) return std::nullopt;
  switch (type->kind) {
    case ir::TypeKind::integer: return DType::i64;
    case ir::TypeKind::floating: return default_float;
    case ir::TypeKind::boolean: return DType::boolean;
    default: return std::nullopt;
  }
}

// The rank that nested lists of this type have.
std::size_t depth_of(ir::TypeRef type) {
  std::size_t depth = 0;
  for (; type && type->kind == ir::TypeKind::list; type = type->elements.front()) ++depth;
  return depth;
}

Facts tensor(const Call& call) {
  const char* argument = call.has("data") ? "data" : "t";
  const Fact& data = call.fact(argument);
  if (const auto* given = data.tensor()) {
    TensorFact result{.dtype = dtype_or(call, given->dtype), .shape = given->shape};
    return {{.value = std::move(result)}};
  }
  const ir::Value* value = call.value(argument);
  const auto natural = element_dtype(value->type());
  Shape shape;
  std::vector<Dim> contents;
  std::optional<DType> element;
  if (!read_nested(data, 0, shape, contents, element))
    return {tensor_fact(dtype_or(call, natural), unknown_sizes(depth_of(value->type())))};
  TensorFact result{.dtype = dtype_or(call, natural ? natural : element), .shape = std::move(shape)};
  const bool known = std::none_of(contents.begin(), contents.end(), [](const Dim& dim) { return dim.is_unknown(); });
  if (known && contents.size() <= most_contents && result.dtype && ir::is_integral(*result.dtype))
    result.contents = std::move(contents);
  return {{.value = std::move(result)}};
}

// theta (N, 2, 3) or (N, 3, 4) and the size of the image: a grid of coordinates.
Facts affine_grid(const Call& call) {
  const auto size = call.dims("size");
  if (!size || size->size() < 4) return {tensor_fact(call.dtype_of("theta"), std::nullopt)};
  Shape shape{size->front()};
  shape.insert(shape.end(), size->begin() + 2, size->end());
  shape.emplace_back(static_cast<std::int64_t>(size->size()) - 2);
  return {tensor_fact(call.dtype_of("theta"), std::move(shape))};
}

// ---- Random numbers

Facts normal(const Call& call) {
  if (call.has("size")) return sized<default_float>(call);
  const auto &mean = tensor_of(call, "mean"), &deviation = tensor_of(call, "std");
  if (call.fact("std").number()) return {like(mean)};
  if (call.fact("mean").number()) return {like(deviation)};
  return {tensor_fact(mean.dtype, broadcast(mean.shape, deviation.shape))};
}

// One for each element of what is filled.
Verdict probabilities_expand(const Call& call) {
  Demands demands;
  const auto &self = tensor_of(call, "self").shape, &p = tensor_of(call, "p").shape;
  if (self && p) demands.broadcasts(*p, *self, "p");
  return demands.verdict();
}

Facts multinomial(const Call& call) {
  const TensorFact& self = tensor_of(call, "self");
  if (!self.shape || self.shape->empty()) return {tensor_fact(DType::i64, std::nullopt)};
  Shape shape = *self.shape;
  const Dim samples = call.dim("num_samples").value_or(Dim::unknown());
  Demands demands;
  demands.at_least(samples, 1, "num_samples");
  if (call.boolean("replacement") == false) demands.at_most(samples, shape.back(), "num_samples without replacement");
  demands.hold();
  shape.back() = samples;
  return {tensor_fact(DType::i64, std::move(shape))};
}

Facts one_hot(const Call& call) {
  const TensorFact& self = tensor_of(call, "self");
  if (!self.shape) return {tensor_fact(DType::i64, std::nullopt)};
  Shape shape = *self.shape;
  const auto classes = call.dim("num_classes");
  Demands demands;
  for (const Dim& index : self.contents.value_or(std::vector<Dim>{})) {
    demands.at_least(index, 0, "a class");
    if (classes && provably_at_least(*classes, 0)) demands.at_least(*classes - index, 1, "num_classes beyond a class");
  }
  if (classes && classes->number() == -1 && product(shape).number() == 0)
    demands.broken("without elements num_classes must be given");
  demands.hold();
  shape.push_back(!classes || classes->number() == -1 ? Dim::unknown() : *classes);
  return {tensor_fact(DType::i64, std::move(shape))};
}

}  // namespace

void register_creation(Registry& registry) {
  for (const char* op :
       {"aten::zeros", "aten::ones", "aten::empty", "aten::rand", "aten::randn", "aten::empty_permuted", "aten::empty_strided"})
    registry.facts(op, sized<default_float>);
  registry.facts("aten::randint", sized<DType::i64>);
  registry.facts("aten::full", full);
  for (const char* op : {"aten::zeros_like", "aten::ones_like", "aten::empty_like", "aten::full_like", "aten::rand_like",
                         "aten::randn_like", "aten::randint_like"})
    registry.facts(op, like_self);
  for (const char* op : {"aten::new_zeros", "aten::new_ones", "aten::new_empty", "aten::new_full", "aten::new_empty_strided"})
    registry.facts(op, new_sized);
  registry.facts("aten::arange", arange);
  registry.facts("aten::range", range);
  registry.facts("aten::_dim_arange", dim_arange);
  registry.facts("aten::linspace", linspace);
  registry.facts("aten::logspace", linspace);
  registry.facts("aten::eye", eye);
  registry.facts("aten::fft_fftfreq", frequencies);
  registry.facts("aten::tril_indices", triangle_indices<true>);
  registry.facts("aten::triu_indices", triangle_indices<false>);
  for (const char* op :
       {"aten::hann_window", "aten::hamming_window", "aten::blackman_window", "aten::bartlett_window", "aten::kaiser_window"})
    registry.facts(op, window);
  registry.facts("aten::randperm", random_permutation);
  registry.facts("aten::scalar_tensor", scalar_tensor);
  registry.facts("prim::NumToTensor", number_to_tensor);
  registry.facts("aten::tensor", tensor);
  registry.facts("aten::as_tensor", tensor);
  registry.facts("aten::affine_grid_generator", affine_grid);
  registry.facts("aten::normal", normal);
  registry.condition("probabilities_expand", probabilities_expand);
  registry.facts("aten::multinomial", multinomial);
  registry.facts("aten::one_hot", one_hot);
}

}  // namespace compatcheck::symbolic
