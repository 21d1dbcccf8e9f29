#include "onnx/computation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "onnx/moves.h"

namespace compatcheck::onnx {
namespace {

using ir::DType;
using Dims = std::vector<std::int64_t>;
using Tensors = std::span<const TensorData* const>;
using Result = std::optional<Computation>;

// A node with what is known of its operands.
struct Call {
  const Node& node;
  std::span<const Operand* const> operands;

  bool has(std::size_t i) const { return i < operands.size() && operands[i]; }
  const Dims& dims(std::size_t i = 0) const { return operands[i]->dims; }
  DType dtype(std::size_t i = 0) const { return operands[i]->dtype; }
  std::int64_t rank(std::size_t i = 0) const { return static_cast<std::int64_t>(dims(i).size()); }

  std::optional<Dims> values(std::size_t i) const {
    return has(i) && operands[i]->value ? as_ints(*operands[i]->value) : std::nullopt;
  }
  template <class T>
  const T* attribute(std::string_view name) const {
    const NodeAttribute* found = node.attribute(name);
    return found ? std::get_if<T>(&found->value) : nullptr;
  }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    const auto* found = attribute<std::int64_t>(name);
    return found ? *found : otherwise;
  }
  // An attribute in early opsets, input `i` later; `otherwise` if neither is given; null if it isn't known.
  std::optional<Dims> ints(std::string_view name, std::size_t i, Dims otherwise) const {
    if (const auto* found = attribute<Dims>(name)) return *found;
    return has(i) ? values(i) : std::optional(std::move(otherwise));
  }
};

bool has_negative(const Dims& dims) {
  return std::ranges::any_of(dims, [](std::int64_t dim) { return dim < 0; });
}

// From 0 on, each once, in order.
std::optional<Dims> axes_in(Dims axes, std::int64_t rank) {
  for (std::int64_t& axis : axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
  }
  std::ranges::sort(axes);
  return std::ranges::adjacent_find(axes) == axes.end() ? std::optional(std::move(axes)) : std::nullopt;
}

// Visits the elements of `dims` in order: their places by several other strides.
template <std::size_t N, class Visit>
void walk(const Dims& dims, const std::array<Dims, N>& strides, Visit&& visit) {
  Dims at(dims.size(), 0);
  std::array<std::size_t, N> places{};
  const std::int64_t total = TensorData{.dims = dims, .bytes = {}}.elements();
  for (std::int64_t i = 0; i < total; ++i) {
    visit(static_cast<std::size_t>(i), places);
    for (std::size_t d = dims.size(); d-- > 0;) {
      for (std::size_t n = 0; n < N; ++n) places[n] += static_cast<std::size_t>(strides[n][d]);
      if (++at[d] < dims[d]) break;
      for (std::size_t n = 0; n < N; ++n) places[n] -= static_cast<std::size_t>(strides[n][d] * dims[d]);
      at[d] = 0;
    }
  }
}

// Strides of an array of dims `own` within a result of dims `to`: 0 where it stretches.
Dims stretched(const Dims& own, const Dims& to) {
  Dims strides(to.size(), 0);
  const Dims packed = row_major(own);
  const std::size_t lead = to.size() - own.size();
  for (std::size_t i = 0; i < own.size(); ++i)
    if (own[i] != 1) strides[lead + i] = packed[i];
  return strides;
}

std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  Dims made(std::max(a.size(), b.size()), 1);
  for (const Dims* dims : {&a, &b})
    for (std::size_t i = 0; i < dims->size(); ++i) {
      std::int64_t& to = made[made.size() - dims->size() + i];
      if (to == 1)
        to = (*dims)[i];
      else if ((*dims)[i] != 1 && (*dims)[i] != to)
        return std::nullopt;
    }
  return made;
}

template <class T>
std::vector<T> numbers(const TensorData& data) {
  if constexpr (std::is_same_v<T, double>)
    return as_floats(data).value();
  else
    return as_ints(data).value();
}

bool is_whole(DType dtype) {
  return dtype == DType::i64 || dtype == DType::i32 || dtype == DType::i16 || dtype == DType::i8 || dtype == DType::u8;
}
bool is_real(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

// Wraps, as machines do.
template <class Operation>
std::int64_t wrapped(std::int64_t a, std::int64_t b, Operation&& operation) {
  return static_cast<std::int64_t>(operation(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}

template <class T>
using Binary = std::optional<T> (*)(T, T);
struct BinaryOperator {
  Binary<double> floats = nullptr;
  Binary<std::int64_t> whole = nullptr;
  bool gives_bool = false, takes_bool = false;
};

// The modulo with the sign of the divisor.
std::int64_t modulo(std::int64_t a, std::int64_t b) {
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// Machines differ in what they make of NaN.
std::optional<double> larger(double a, double b) { return std::isunordered(a, b) ? std::optional<double>() : std::max(a, b); }
std::optional<double> smaller(double a, double b) { return std::isunordered(a, b) ? std::optional<double>() : std::min(a, b); }

const BinaryOperator* binary_operator(std::string_view op) {
  using D = double;
  using I = std::int64_t;
  using OptD = std::optional<double>;
  using OptI = std::optional<I>;
  static constexpr auto can_divide = [](I a, I b) { return b != 0 && !(b == -1 && a == std::numeric_limits<I>::min()); };
  static const std::map<std::string_view, BinaryOperator> operators = {
      {"Add", {[](D a, D b) -> OptD { return a + b; }, [](I a, I b) -> OptI { return wrapped(a, b, std::plus<>()); }}},
      {"Sub", {[](D a, D b) -> OptD { return a - b; }, [](I a, I b) -> OptI { return wrapped(a, b, std::minus<>()); }}},
      {"Mul", {[](D a, D b) -> OptD { return a * b; }, [](I a, I b) -> OptI { return wrapped(a, b, std::multiplies<>()); }}},
      {"Div", {[](D a, D b) -> OptD { return a / b; }, [](I a, I b) { return can_divide(a, b) ? OptI(a / b) : OptI(); }}},
      {"Max", {&larger, [](I a, I b) -> OptI { return std::max(a, b); }}},
      {"Min", {&smaller, [](I a, I b) -> OptI { return std::min(a, b); }}},
      {"Mod", {nullptr, [](I a, I b) { return can_divide(a, b) ? OptI(modulo(a, b)) : OptI(); }}},
      {"Equal", {[](D a, D b) -> OptD { return a == b; }, [](I a, I b) -> OptI { return a == b; }, true, true}},
      {"Less", {[](D a, D b) -> OptD { return a < b; }, [](I a, I b) -> OptI { return a < b; }, true}},
      {"LessOrEqual", {[](D a, D b) -> OptD { return a <= b; }, [](I a, I b) -> OptI { return a <= b; }, true}},
      {"Greater", {[](D a, D b) -> OptD { return a > b; }, [](I a, I b) -> OptI { return a > b; }, true}},
      {"GreaterOrEqual", {[](D a, D b) -> OptD { return a >= b; }, [](I a, I b) -> OptI { return a >= b; }, true}},
      {"And", {nullptr, [](I a, I b) -> OptI { return a && b; }, true, true}},
      {"Or", {nullptr, [](I a, I b) -> OptI { return a || b; }, true, true}},
  };
  const auto found = operators.find(op);
  return found == operators.end() ? nullptr : &found->second;
}

template <class T>
std::optional<TensorData> combined(Binary<T> function, DType dtype, const Dims& dims, Tensors operands) {
  const std::vector<T> a = numbers<T>(*operands[0]), b = numbers<T>(*operands[1]);
  std::vector<T> made(static_cast<std::size_t>(TensorData{.dims = dims, .bytes = {}}.elements()));
  bool defined = true;
  walk<2>(dims, {stretched(operands[0]->dims, dims), stretched(operands[1]->dims, dims)}, [&](std::size_t i, const auto& at) {
    const std::optional<T> result = function(a[at[0]], b[at[1]]);
    defined = defined && result;
    made[i] = result.value_or(T{});
  });
  return defined ? std::optional(make_tensor(dtype, dims, made)) : std::nullopt;
}

Result binary(const Call& call) {
  const BinaryOperator& chosen = *binary_operator(call.node.op);
  if (call.operands.size() != 2 || !call.has(0) || !call.has(1) || call.dtype(0) != call.dtype(1)) return std::nullopt;
  if (call.integer("fmod", 0) != 0 || call.attribute<std::int64_t>("axis")) return std::nullopt;  // Add-6 names an axis
  const auto dims = broadcast(call.dims(0), call.dims(1));
  if (!dims) return std::nullopt;
  const DType from = call.dtype(), dtype = chosen.gives_bool ? DType::boolean : from;
  if (is_real(from) && chosen.floats)
    return Computation{dtype, *dims, [&chosen, dtype, dims](Tensors all) { return combined(chosen.floats, dtype, *dims, all); }};
  if ((is_whole(from) || (from == DType::boolean && chosen.takes_bool)) && chosen.whole)
    return Computation{dtype, *dims, [&chosen, dtype, dims](Tensors all) { return combined(chosen.whole, dtype, *dims, all); }};
  return std::nullopt;
}

Result unary(const Call& call) {
  using Function = double (*)(double);
  static const std::map<std::string_view, Function> functions = {
      {"Neg", [](double x) { return -x; }},
      {"Abs", [](double x) { return std::abs(x); }},
      {"Sqrt", [](double x) { return std::sqrt(x); }},
      {"Reciprocal", [](double x) { return 1 / x; }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Log", [](double x) { return std::log(x); }},
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"Softplus", [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }},
  };
  const std::string_view op = call.node.op;
  if (is_real(call.dtype()))
    return Computation{call.dtype(), call.dims(), [function = functions.at(op)](Tensors all) {
                         std::vector<double> made = numbers<double>(*all[0]);
                         std::ranges::transform(made, made.begin(), function);
                         return make_tensor(all[0]->dtype, all[0]->dims, made);
                       }};
  if (!is_whole(call.dtype()) || (op != "Neg" && op != "Abs")) return std::nullopt;
  return Computation{call.dtype(), call.dims(), [negates = op == "Neg"](Tensors all) {
                       std::vector<std::int64_t> made = numbers<std::int64_t>(*all[0]);
                       for (std::int64_t& number : made)
                         if (negates || number < 0) number = wrapped(0, number, std::minus<>());
                       return make_tensor(all[0]->dtype, all[0]->dims, made);
                     }};
}

Result logical_not(const Call& call) {
  return Computation{DType::boolean, call.dims(), [](Tensors all) {
                       std::vector<std::int64_t> made = numbers<std::int64_t>(*all[0]);
                       for (std::int64_t& number : made) number = !number;
                       return make_tensor(DType::boolean, all[0]->dims, made);
                     }};
}

Result casting(const Call& call) {
  const auto to = dtype_from_data_type(call.integer("to", 0));
  const DType from = call.dtype();
  const auto known = [](DType dtype) {
    return is_real(dtype) || is_whole(dtype) || dtype == DType::boolean || dtype == DType::f16;
  };
  if (!to || !known(from) || !known(*to)) return std::nullopt;
  return Computation{*to, call.dims(), [from, to = *to](Tensors all) -> std::optional<TensorData> {
                       if (!ir::is_floating(from)) return make_tensor(to, all[0]->dims, numbers<std::int64_t>(*all[0]));
                       const std::vector<double> made = numbers<double>(*all[0]);
                       const auto fits = [](double x) { return std::abs(x) < 128; };  // machines may differ on larger ones
                       if (is_whole(to) && to != DType::i64 && !std::ranges::all_of(made, fits)) return std::nullopt;
                       if (to == DType::i64 && !std::ranges::all_of(made, [](double x) { return std::abs(x) < 0x1p62; }))
                         return std::nullopt;
                       return make_tensor(to, all[0]->dims, made);
                     }};
}

Result where(const Call& call) {
  if (!call.has(0) || !call.has(1) || !call.has(2) || call.dtype(1) != call.dtype(2)) return std::nullopt;
  const auto chosen = broadcast(call.dims(1), call.dims(2));
  const auto dims = chosen ? broadcast(call.dims(0), *chosen) : std::nullopt;
  if (!dims) return std::nullopt;
  return Computation{call.dtype(1), *dims, [dims = *dims](Tensors all) {
                       const std::size_t width = ir::element_bytes(all[1]->dtype);
                       TensorData made{.dtype = all[1]->dtype, .dims = dims, .bytes = {}, .view = {}};
                       walk<3>(dims,
                               {stretched(all[0]->dims, dims), stretched(all[1]->dims, dims), stretched(all[2]->dims, dims)},
                               [&](std::size_t, const auto& at) {
                                 const std::size_t side = all[0]->bytes[at[0]] ? 1 : 2;
                                 const std::uint8_t* from = all[side]->bytes.data() + at[side] * width;
                                 made.bytes.insert(made.bytes.end(), from, from + width);
                               });
                       return made;
                     }};
}

// The elements at strides and an offset of the operand.
Computation viewed(const Call& call, Dims dims, Dims strides, std::int64_t offset = 0) {
  return {call.dtype(), dims,
          [dims, strides = std::move(strides), offset](Tensors all) { return window(*all[0], dims, strides, offset); }};
}

Computation with_dims(const Call& call, Dims dims) {
  return {call.dtype(), dims,
          [dims](Tensors all) { return TensorData{.dtype = all[0]->dtype, .dims = dims, .bytes = all[0]->bytes, .view = {}}; }};
}

Result transposing(const Call& call) {
  Dims permutation(call.dims().size());
  std::iota(permutation.rbegin(), permutation.rend(), 0);
  if (const auto* given = call.attribute<Dims>("perm")) permutation = *given;
  if (has_negative(permutation) || permutation.size() != call.dims().size() || !axes_in(permutation, call.rank()))
    return std::nullopt;
  const Dims own = row_major(call.dims());
  Dims dims, strides;
  for (const std::int64_t axis : permutation) {
    dims.push_back(call.dims()[static_cast<std::size_t>(axis)]);
    strides.push_back(own[static_cast<std::size_t>(axis)]);
  }
  return viewed(call, std::move(dims), std::move(strides));
}

Result reshape(const Call& call) {
  const auto to = call.ints("shape", 1, {});
  if (!to || call.integer("allowzero", 0) != 0) return std::nullopt;
  auto dims = reshaped_dims(call.dims(), *to);
  return dims ? Result(with_dims(call, std::move(*dims))) : std::nullopt;
}

Result unsqueeze(const Call& call) {
  const auto given = call.ints("axes", 1, {});
  const auto axes = given ? axes_in(*given, call.rank() + static_cast<std::int64_t>(given->size())) : std::nullopt;
  if (!axes) return std::nullopt;
  Dims dims = call.dims();
  for (const std::int64_t axis : *axes) dims.insert(dims.begin() + axis, 1);
  return with_dims(call, std::move(dims));
}

Result squeeze(const Call& call) {
  const auto given = call.ints("axes", 1, {});
  const auto axes = given ? axes_in(*given, call.rank()) : std::nullopt;
  if (!axes || axes->empty()) return std::nullopt;
  Dims dims;
  for (std::int64_t i = 0; i < call.rank(); ++i) {
    const std::int64_t size = call.dims()[static_cast<std::size_t>(i)];
    if (!std::ranges::binary_search(*axes, i))
      dims.push_back(size);
    else if (size != 1)
      return std::nullopt;
  }
  return with_dims(call, std::move(dims));
}

Result expand(const Call& call) {
  const auto to = call.values(1);
  const auto dims = to && !has_negative(*to) ? broadcast(call.dims(), *to) : std::nullopt;
  return dims ? Result(viewed(call, *dims, stretched(call.dims(), *dims))) : std::nullopt;
}

Result slice(const Call& call) {
  const auto starts = call.ints("starts", 1, {}), ends = call.ints("ends", 2, {});
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  Dims every(starts->size());
  std::iota(every.begin(), every.end(), 0);
  const auto axes = call.ints("axes", 3, every);
  const auto steps = call.ints("steps", 4, Dims(starts->size(), 1));
  if (!axes || !steps || axes->size() != starts->size() || steps->size() != starts->size() || !axes_in(*axes, call.rank()))
    return std::nullopt;
  Dims dims = call.dims(), strides = row_major(dims);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = static_cast<std::size_t>((*axes)[i] < 0 ? (*axes)[i] + call.rank() : (*axes)[i]);
    const std::int64_t step = (*steps)[i], size = dims[axis];
    if (step <= 0) return std::nullopt;
    const auto bound = [size](std::int64_t place) { return std::clamp<std::int64_t>(place < 0 ? place + size : place, 0, size); };
    const std::int64_t start = bound((*starts)[i]), end = std::max(start, bound((*ends)[i]));
    offset += start * strides[axis];
    dims[axis] = (end - start) / step + ((end - start) % step != 0);
    strides[axis] *= step;
  }
  return viewed(call, std::move(dims), std::move(strides), offset);
}

Result gather(const Call& call) {
  const auto axes = axes_in({call.integer("axis", 0)}, call.rank());
  auto places = call.values(1);
  if (!axes || !places) return std::nullopt;
  const std::int64_t axis = axes->front(), size = call.dims()[static_cast<std::size_t>(axis)];
  for (std::int64_t& place : *places) {
    if (place < 0) place += size;
    if (place < 0 || place >= size) return std::nullopt;
  }
  Dims dims = call.dims();
  dims.erase(dims.begin() + axis);
  dims.insert(dims.begin() + axis, call.dims(1).begin(), call.dims(1).end());
  return Computation{call.dtype(), std::move(dims),
                     [places = std::move(*places), axis](Tensors all) { return gathered(*all[0], places, all[1]->dims, axis); }};
}

Result concat(const Call& call) {
  const auto axes = axes_in({call.integer("axis", 0)}, call.rank());
  if (!axes) return std::nullopt;
  const std::int64_t axis = axes->front();
  Dims dims = call.dims();
  dims[static_cast<std::size_t>(axis)] = 0;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    if (!call.has(i) || call.rank(i) != call.rank()) return std::nullopt;
    dims[static_cast<std::size_t>(axis)] += call.dims(i)[static_cast<std::size_t>(axis)];
  }
  return Computation{call.dtype(), std::move(dims), [axis](Tensors all) { return joined(all, axis); }};
}

Result shape(const Call& call) {
  if (!call.node.attributes.empty()) return std::nullopt;  // a part of it
  const Dims dims = call.dims();
  return Computation{DType::i64, {call.rank()}, [dims](Tensors) {
                       return make_tensor(DType::i64, {static_cast<std::int64_t>(dims.size())}, dims);
                     }};
}

Result constant_of_shape(const Call& call) {
  const auto dims = call.values(0);
  if (!dims || has_negative(*dims)) return std::nullopt;
  const auto* value = call.attribute<TensorData>("value");
  const TensorData element = value ? *value : make_tensor(DType::f32, {1}, std::vector<double>{0});
  if (element.view || element.elements() != 1) return std::nullopt;
  return Computation{element.dtype, *dims,
                     [element, dims = *dims](Tensors) { return window(element, dims, Dims(dims.size(), 0), 0); }};
}

template <class T>
T reduced_by(std::string_view op, T a, T b) {
  if constexpr (std::is_same_v<T, double>)
    return a + (op == "ReduceL2" || op == "ReduceSumSquare" ? b * b : b);
  else
    return op == "ReduceMax" ? std::max(a, b) : op == "ReduceMin" ? std::min(a, b) : wrapped(a, b, std::plus<>());
}

template <class T>
TensorData reduced(std::string_view op, const TensorData& data, const Dims& kept, const Dims& dims) {
  const std::vector<T> elements = numbers<T>(data);
  std::vector<T> made(static_cast<std::size_t>(TensorData{.dims = kept, .bytes = {}}.elements()));
  if (op == "ReduceMax") std::ranges::fill(made, std::numeric_limits<T>::lowest());
  if (op == "ReduceMin") std::ranges::fill(made, std::numeric_limits<T>::max());
  walk<1>(data.dims, {stretched(kept, data.dims)},
          [&](std::size_t i, const auto& at) { made[at[0]] = reduced_by(op, made[at[0]], elements[i]); });
  if constexpr (std::is_same_v<T, double>) {
    const auto count = static_cast<double>(elements.size()) / static_cast<double>(made.size());
    for (double& number : made) number = op == "ReduceMean" ? number / count : op == "ReduceL2" ? std::sqrt(number) : number;
  }
  return make_tensor(data.dtype, dims, made);
}

Result reduce(const Call& call) {
  const std::string_view op = call.node.op;
  const bool extreme = op == "ReduceMax" || op == "ReduceMin";
  if (is_real(call.dtype()) ? extreme : !is_whole(call.dtype()) || (!extreme && op != "ReduceSum")) return std::nullopt;
  const auto given = call.ints("axes", 1, {});
  auto axes = given ? axes_in(*given, call.rank()) : std::nullopt;
  if (!axes || (axes->empty() && call.node.attribute("noop_with_empty_axes"))) return std::nullopt;
  if (axes->empty()) {
    axes->resize(call.dims().size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  Dims kept = call.dims(), dims;
  for (std::int64_t i = 0; i < call.rank(); ++i) {
    const bool goes = std::ranges::binary_search(*axes, i);
    if (goes) kept[static_cast<std::size_t>(i)] = 1;
    if (!goes || call.integer("keepdims", 1) != 0) dims.push_back(kept[static_cast<std::size_t>(i)]);
  }
  if (TensorData{.dims = call.dims(), .bytes = {}}.elements() == 0) return std::nullopt;
  return Computation{call.dtype(), dims, [op, kept, dims](Tensors all) {
                       return is_real(all[0]->dtype) ? reduced<double>(op, *all[0], kept, dims)
                                                     : reduced<std::int64_t>(op, *all[0], kept, dims);
                     }};
}

using Planner = Result (*)(const Call&);

Planner planner_of(std::string_view op) {
  static const std::map<std::string_view, Planner> planners = {
      {"Neg", unary},
      {"Abs", unary},
      {"Sqrt", unary},
      {"Reciprocal", unary},
      {"Exp", unary},
      {"Log", unary},
      {"Tanh", unary},
      {"Sigmoid", unary},
      {"Softplus", unary},
      {"Not", logical_not},
      {"Cast", casting},
      {"Where", where},
      {"Transpose", transposing},
      {"Reshape", reshape},
      {"Unsqueeze", unsqueeze},
      {"Squeeze", squeeze},
      {"Expand", expand},
      {"Slice", slice},
      {"Gather", gather},
      {"Concat", concat},
      {"Shape", shape},
      {"ReduceL2", reduce},
      {"ReduceSum", reduce},
      {"ReduceSumSquare", reduce},
      {"ReduceMean", reduce},
      {"ReduceMax", reduce},
      {"ReduceMin", reduce},
      {"ConstantOfShape", constant_of_shape},
  };
  if (binary_operator(op)) return binary;
  const auto found = planners.find(op);
  return found == planners.end() ? nullptr : found->second;
}

}  // namespace

std::optional<Computation> computation_of(const Node& node, std::span<const Operand* const> operands) {
  if (!node.domain.empty() || node.outputs.size() != 1 || operands.empty() || !operands[0]) return std::nullopt;
  const Planner planner = planner_of(node.op);
  return planner ? planner({node, operands}) : std::nullopt;
}

}  // namespace compatcheck::onnx
