#include "handlers/emission.h"

#include <algorithm>
#include <complex>

#include "compatcheck/error.h"
#include "handlers/quantized.h"
#include "handlers/sizes.h"
#include "ir/quantized.h"
#include "schema/traits.h"
#include "symbolic/emptiness.h"
#include "symbolic/quantizer.h"

namespace compatcheck::handlers {
namespace {

using symbolic::Fact;
using symbolic::Truth;

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

const Operand no_operand{None{}};

// Handlers multiply two of them without a thought.
std::int64_t usual(std::int64_t number, std::string_view argument) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (number < -most || number > most) throw Refusal{quoted(argument) + " is " + std::to_string(number) + ", more than any size"};
  return number;
}

// The form in which a call computes with quantized tensors: their integers, the steps above the zero point, or the floats that
// they stand for. An in-place form computes the same.
enum class OfQuantized : std::uint8_t { refused, integers, steps, floats };

OfQuantized of_quantized_tensors(std::string_view op) {
  const auto has = [&](schema::Trait trait) { return schema::has_trait(schema::without_in_place(op), trait); };
  return has(schema::Trait::keeps_integers) ? OfQuantized::integers
         : has(schema::Trait::keeps_scale)  ? OfQuantized::steps
         : has(schema::Trait::dequantizes)  ? OfQuantized::floats
                                            : OfQuantized::refused;
}

}  // namespace

Emission::Emission(const symbolic::Call& of, const mapping::Row* row, std::string_view facts_word, onnx::Builder& builder,
                   OperandOf operands)
    : call(of),
      build(builder),
      row_(row),
      facts_word_(facts_word),
      operands_(std::move(operands)),
      results_(of.node().outputs().size()) {
  if (row) build.carry_meaning(row->to);
}

bool Emission::variant(std::string_view name) const { return row_ && row_->variant == name; }
bool Emission::row_has(std::string_view onnx_op) const { return row_ && std::ranges::find(row_->to, onnx_op) != row_->to.end(); }

// ---- Facts

void Emission::want(const Fact& fact, std::string message) const {
  throw Wanting{{.truth = Truth::unknown, .message = std::move(message), .wants = fact.wants, .blame = fact.blame}};
}

void Emission::want(std::string_view argument, std::string_view what) const {
  const char* unknown = what.ends_with('s') ? " aren't known" : " isn't known";
  want(call.fact(argument), std::string(what) + " of " + quoted(argument) + unknown);
}

bool Emission::given(std::string_view argument) const {
  if (!call.has(argument)) return false;
  const Fact& fact = call.fact(argument);
  if (fact.is_none()) return false;
  if (std::holds_alternative<std::monostate>(fact.value)) {
    const ir::Value* value = call.value(argument);
    if (value && ir::is(value->type(), ir::TypeKind::optional)) want(argument, "whether there is a value");
  }
  return true;
}

DType Emission::dtype(std::string_view tensor) const {
  if (const auto known = call.dtype_of(tensor)) return computed_dtype(*known);
  if (const auto* number = call.fact(tensor).number())
    return number->kind == symbolic::NumberFact::Kind::floating  ? symbolic::default_float
           : number->kind == symbolic::NumberFact::Kind::boolean ? DType::boolean
                                                                 : DType::i64;
  want(tensor, "the dtype");
}

std::int64_t Emission::rank(std::string_view tensor) const {
  if (const auto known = call.rank(tensor)) return static_cast<std::int64_t>(*known);
  if (call.fact(tensor).number()) return 0;
  want(tensor, "the rank");
}

const Shape& Emission::shape(std::string_view tensor) const {
  const auto* known = call.tensor(tensor);
  if (!known || !known->shape) want(tensor, "the rank");
  return *known->shape;
}

std::optional<std::int64_t> Emission::size(std::string_view tensor, std::int64_t axis) const {
  const Shape& sizes = shape(tensor);
  if (sizes.empty()) throw Refusal{"'" + std::string(tensor) + "' has no dimension " + std::to_string(axis)};
  return sizes[static_cast<std::size_t>(wrap(axis, rank(tensor)))].number();
}

std::int64_t Emission::known_size(std::string_view tensor, std::int64_t axis) const {
  if (const auto known = size(tensor, axis)) return *known;
  want(tensor, "the size of dimension " + std::to_string(axis));
}

std::int64_t Emission::integer(std::string_view argument) const {
  if (const auto known = call.integer(argument)) return usual(*known, argument);
  want(argument, "the value");
}

std::int64_t Emission::integer(std::string_view argument, std::int64_t if_none) const {
  return given(argument) ? integer(argument) : if_none;
}

double Emission::number(std::string_view argument) const {
  if (const auto known = call.number(argument)) return *known;
  want(argument, "the value");
}

double Emission::number(std::string_view argument, double if_none) const { return given(argument) ? number(argument) : if_none; }

bool Emission::boolean(std::string_view argument) const {
  if (!given(argument)) return false;
  if (const auto known = call.boolean(argument)) return *known;
  want(argument, "the value");
}

std::string Emission::string(std::string_view argument) const {
  if (auto known = call.string(argument)) return *std::move(known);
  want(argument, "the value");
}

Ints Emission::ints(std::string_view argument) const {
  if (auto known = call.ints(argument)) {
    for (const std::int64_t one : *known) usual(one, argument);
    return *std::move(known);
  }
  want(argument, "the value");
}

Doubles Emission::floats(std::string_view argument) const {
  if (auto known = call.floats(argument)) return *std::move(known);
  want(argument, "the value");
}

std::int64_t Emission::wrap(std::int64_t dim, std::int64_t rank) const {
  const std::int64_t dims = std::max<std::int64_t>(rank, 1);
  if (dim < -dims || dim >= dims)
    throw Refusal{"dimension " + std::to_string(dim) + " is out of range for rank " + std::to_string(rank)};
  return dim < 0 ? dim + dims : dim;
}

std::int64_t Emission::few(std::int64_t count) {
  if (count < 0 || count > static_cast<std::int64_t>(Ints::most))
    throw Refusal{std::to_string(count) + " of something can't be written out one by one"};
  return count;
}

std::int64_t Emission::axis(std::string_view argument, std::string_view tensor) const {
  return wrap(integer(argument), rank(tensor));
}

Ints Emission::axes(std::string_view argument, std::string_view tensor) const {
  const std::int64_t dims = rank(tensor);
  Ints made;
  if (given(argument)) {
    const auto* number = call.fact(argument).number();
    if (number)
      made.push_back(wrap(integer(argument), dims));
    else
      for (const std::int64_t dim : ints(argument)) made.push_back(wrap(dim, dims));
  }
  if (made.empty())
    for (std::int64_t dim = 0; dim < dims; ++dim) made.push_back(dim);
  std::ranges::sort(made);
  if (std::ranges::adjacent_find(made) != made.end()) throw Refusal{"a dimension is given twice"};
  if (dims == 0) made.clear();
  return made;
}

const Fact& Emission::output_fact(std::size_t output) const { return call.facts().of(call.node().output(output)); }

DType Emission::output_dtype(std::size_t output) const {
  const Fact& fact = output_fact(output);
  if (const auto* tensor = fact.tensor(); tensor && tensor->dtype) return computed_dtype(*tensor->dtype);
  if (const auto* number = fact.number())
    return number->kind == symbolic::NumberFact::Kind::floating  ? DType::f64
           : number->kind == symbolic::NumberFact::Kind::boolean ? DType::boolean
                                                                 : DType::i64;
  want(fact, "the dtype of the result isn't known");
}

const Shape& Emission::output_shape(std::size_t output) const {
  const auto* tensor = output_fact(output).tensor();
  if (!tensor || !tensor->shape) want(output_fact(output), "the rank of the result isn't known");
  return *tensor->shape;
}

std::int64_t Emission::output_rank(std::size_t output) const { return static_cast<std::int64_t>(output_shape(output).size()); }

bool Emission::output_used(std::size_t output) const {
  return output < call.node().outputs().size() && !call.node().output(output)->unused();
}

// ---- Arguments

const Operand& Emission::operand(std::string_view argument) const {
  const ir::Value* value = call.value(argument);
  return value ? operands_(value) : no_operand;
}

const Operand& Emission::input(std::size_t i) const { return operands_(call.node().input(i)); }

Value Emission::as_tensor(const Operand& operand, std::string_view what) {
  if (const Value* tensor = operand.tensor()) return *tensor;
  if (const Number* number = operand.number()) {
    if (const Value* value = std::get_if<Value>(&number->value)) return build.size(*value);
    if (const auto* floating = std::get_if<double>(&number->value)) return build.scalar(DType::f64, *floating);
    if (const auto* boolean = std::get_if<bool>(&number->value)) return build.scalar(DType::boolean, std::int64_t{*boolean});
    return build.scalar(DType::i64, std::get<std::int64_t>(number->value));
  }
  if (const auto* vector = std::get_if<Vector>(&operand.value)) return build.size(vector->value);
  if (const auto* tensor = std::get_if<Quantized>(&operand.value)) return of_quantized(*tensor);
  if (const Complex* complex = operand.complex()) {
    if (row_ && row_->complex) return paired(*complex, rank(what), build);
    throw Refusal{std::string(call.op()) + " isn't supported with complex numbers"};
  }
  throw Refusal{quoted(what) + " is " + kind_of(operand) + ", not a tensor"};
}

DType Emission::computed_dtype(DType dtype) const {
  if (!ir::is_quantized(dtype)) return dtype;
  switch (of_quantized_tensors(call.op())) {
    case OfQuantized::refused: return dtype;
    case OfQuantized::integers: return ir::stored_dtype(dtype);
    default: return DType::f32;
  }
}

Value Emission::of_quantized(const Quantized& tensor) {
  const OfQuantized how = of_quantized_tensors(call.op());
  if (how == OfQuantized::refused)
    throw Refusal{std::string(call.op()) + " of a quantized tensor has no ONNX form", "dequantize before it"};
  if (tensor.axis)
    throw Refusal{std::string(call.op()) + " of a tensor with a scale for each channel has no ONNX form", "dequantize before it"};
  if (how == OfQuantized::steps) return units(tensor);
  if (!scaled_) scaled_ = tensor;
  if (how == OfQuantized::integers) return tensor.integers;
  const auto around = build.plumbing();
  return dequantized(*this, tensor);
}

// The steps above the zero point, as floats.
Value Emission::units(const Quantized& tensor) {
  if (!at_least(10)) throw Refusal{"ONNX has no quantized tensors before opset 10", "use opset 10"};
  scaled_ = tensor;
  const auto around = build.plumbing();
  return node("DequantizeLinear", {tensor.integers, scalar(DType::f32, 1.0), tensor.zero_point}, {}, DType::f32);
}

Value Emission::as_vector(const Operand& operand, std::string_view what) {
  if (const auto* vector = std::get_if<Vector>(&operand.value)) return cast(build.size(vector->value), DType::i64);
  if (const List* list = operand.list()) {
    if (list->items.empty()) return integers({});
    const auto joining = build.plumbing();
    Values parts;
    Ints known;  // neighbouring constants make one part
    const auto flush = [&] {
      if (!known.empty()) parts.push_back(integers(std::exchange(known, {})));
    };
    for (const Operand& item : list->items) {
      const Number* number = item.number();
      if (const auto* integer = number ? std::get_if<std::int64_t>(&number->value) : nullptr) {
        known.push_back(*integer);
        continue;
      }
      flush();
      const Value value = cast(as_tensor(item, what), DType::i64);
      parts.push_back(build.reshape(value, {1}));  // tracing passes tensors of one element as ints
    }
    flush();
    return build.concat(parts, 0);
  }
  return build.reshape(cast(as_tensor(operand, what), DType::i64), {1});
}

Value Emission::tensor(std::string_view argument) { return as_tensor(operand(argument), argument); }
Value Emission::tensor(std::string_view argument, DType dtype) { return cast(tensor(argument), dtype); }
Value Emission::tensor_of(const ir::Value* value) { return as_tensor(operands_(value), "the value"); }
Value Emission::optional_tensor(std::string_view argument) { return given(argument) ? tensor(argument) : Value{}; }

Complex Emission::complex(std::string_view argument, DType dtype) {
  const Operand& given = operand(argument);
  if (const Complex* complex = given.complex()) return {cast(complex->real, dtype), cast(complex->imag, dtype)};
  if (const auto* known = std::get_if<Known>(&given.value))
    if (const auto* number = known->value.get<std::complex<double>>())
      return {scalar(dtype, number->real()), scalar(dtype, number->imag())};
  return {number_value(argument, dtype), scalar(dtype, 0)};
}

Values Emission::tensors(std::string_view argument) {
  const Operand& given = operand(argument);
  const List* list = given.list();
  if (!list) {
    if (std::holds_alternative<Sequence>(given.value))
      throw Refusal{"how many tensors " + quoted(argument) + " holds is known only when the model runs"};
    throw Refusal{quoted(argument) + " is no list of tensors"};
  }
  Values made;
  for (const Operand& item : list->items) made.push_back(item.is_none() ? Value{} : as_tensor(item, argument));
  return made;
}

Value Emission::number_value(std::string_view argument, DType dtype) {
  if (const auto known = call.number(argument); known && call.fact(argument).number()) {
    if (const auto integer = call.integer(argument)) return build.scalar(dtype, *integer);
    return build.scalar(dtype, *known);
  }
  return cast(tensor(argument), dtype);
}

Value Emission::int_vector(std::string_view argument) {
  if (const auto known = call.ints(argument)) return integers(*known);
  return as_vector(operand(argument), argument);
}

// ---- Sizes

Value Emission::of_its_sizes(std::string_view argument) {
  const Operand& given = operand(argument);
  if (const auto* quantized = std::get_if<Quantized>(&given.value)) return quantized->integers;
  const Complex* complex = given.complex();
  return complex ? complex->real : tensor(argument);
}

Value Emission::shape_of(std::string_view argument) {
  const auto* known = call.tensor(argument);
  if (known && known->shape && std::ranges::all_of(*known->shape, [](const Dim& dim) { return dim.is_number(); })) {
    Ints sizes;
    for (const Dim& dim : *known->shape) sizes.push_back(*dim.number());
    return integers(sizes);
  }
  return node("Shape", {of_its_sizes(argument)});
}

Value Emission::size_of(std::string_view argument, std::int64_t axis) {
  if (const auto known = size(argument, axis)) return integers({*known});
  return build.gather(node("Shape", {of_its_sizes(argument)}), integers({wrap(axis, rank(argument))}), 0);
}

Value Emission::dim_value(const Dim& dim) {
  if (const auto known = dim.number()) return integers({*known});
  if (dim.is_unknown() || !call.node().schema()) return {};
  for (const auto& argument : call.node().schema()->arguments) {
    const auto* tensor = call.tensor(argument.name);
    if (tensor && tensor->shape)
      for (std::size_t i = 0; i < tensor->shape->size(); ++i)
        if (provably_equal((*tensor->shape)[i], dim)) return size_of(argument.name, static_cast<std::int64_t>(i));
    // Ints that the call itself is given.
    const Fact& fact = call.fact(argument.name);
    const auto equals = [&](const Fact& item) {
      return item.number() && item.number()->integer && provably_equal(*item.number()->integer, dim);
    };
    if (equals(fact)) return as_vector(operand(argument.name), argument.name);
    if (const auto* list = fact.list(); list && list->items)
      for (std::size_t i = 0; i < list->items->size(); ++i)
        if (const List* items = operand(argument.name).list(); items && equals((*list->items)[i]))
          return as_vector(items->items[i], argument.name);
  }
  return {};
}

namespace {

// All sizes as an i64 vector; absent if one can't be had.
Value computable(Emission& e, const Shape& dims) {
  Values parts;
  for (const Dim& dim : dims) {
    parts.push_back(e.dim_value(dim));
    if (!parts.back()) return {};
  }
  return parts.empty() ? e.integers({}) : e.build.concat(parts, 0);
}

}  // namespace

Value Emission::dims_value(const Shape& dims) {
  if (const Value made = computable(*this, dims)) return made;
  const auto missing = std::ranges::find_if(dims, [&](const Dim& dim) { return !dim_value(dim); });
  throw Refusal{"a size of the result, " + missing->to_string() + ", can't be computed from the arguments"};
}

Value Emission::reshape(const Value& value, const Shape& from, const Shape& to) {
  if (from.size() == to.size() &&
      std::equal(from.begin(), from.end(), to.begin(), [](const Dim& a, const Dim& b) { return provably_equal(a, b); }))
    return value;
  Ints constants;
  std::vector<std::size_t> open;
  bool zero = false;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (const auto number = to[i].number())
      zero |= *number == 0, constants.push_back(*number);
    else if (i < from.size() && provably_equal(from[i], to[i]))
      constants.push_back(0);
    else
      open.push_back(i), constants.push_back(-1);
  }
  // Reshape reads 0 as "unchanged": sizes that are 0 need the same position or another way.
  if (!zero && open.size() <= 1) {
    // Beside a size that is 0 when the model runs, Reshape can't find out another one.
    bool kept_empty = false;
    for (std::size_t i = 0; i < to.size(); ++i) kept_empty |= constants[i] == 0 && !provably_at_least_if_empty(to[i], 1);
    if (open.size() == 1 && kept_empty)
      if (const Value sizes = computable(*this, to)) return reshape_to(*this, value, nullptr, nullptr, [&] { return sizes; });
    return build.reshape(value, constants);
  }
  if (zero && open.empty() && at_least(14)) return build.reshape_by(value, integers(constants), {{"allowzero", 1}});
  return reshape_to(*this, value, nullptr, nullptr, [&] { return dims_value(to); });
}

// ---- Results

void Emission::give(std::size_t output, const Value& tensor) {
  if (output >= results_.size()) throw InternalError(std::string(call.op()) + " has no output " + std::to_string(output));
  const Fact& fact = output_fact(output);
  build.mark_result(tensor);
  if (const auto* number = fact.number(); number || (!fact.tensor() && call.node().output(output)->type() &&
                                                     (ir::is(call.node().output(output)->type(), ir::TypeKind::integer) ||
                                                      ir::is(call.node().output(output)->type(), ir::TypeKind::floating) ||
                                                      ir::is(call.node().output(output)->type(), ir::TypeKind::boolean)))) {
    const auto kind = call.node().output(output)->type() ? call.node().output(output)->type()->kind : ir::TypeKind::integer;
    const DType dtype = number                           ? output_dtype(output)
                        : kind == ir::TypeKind::floating ? DType::f64
                        : kind == ir::TypeKind::boolean  ? DType::boolean
                                                         : DType::i64;
    results_[output] = Operand{Number{cast(tensor, dtype)}};
    return;
  }
  if (scaled_ && fact.tensor() && fact.tensor()->dtype && ir::is_quantized(*fact.tensor()->dtype)) {
    results_[output] = quantized_result(tensor, *fact.tensor()->dtype);
    return;
  }
  if (ir::is_complex(output_dtype(output))) {
    results_[output] = Operand{parted(tensor, output_rank(output), build)};
    return;
  }
  results_[output] = Operand{cast(tensor, output_dtype(output))};
}

Operand Emission::quantized_result(const Value& made, DType dtype) {
  const auto rounding = build.plumbing();  // same role as the promotion of dtypes in other calls
  Quantized result = *scaled_;
  switch (of_quantized_tensors(call.op())) {
    case OfQuantized::integers: result.integers = made; break;
    case OfQuantized::steps: {
      // PyTorch rounds the sum with the zero point: ties go to its even neighbour.
      const Value sum = node("Add", {made, cast(result.zero_point, DType::f32)});
      result.integers = node("QuantizeLinear", {sum, scalar(DType::f32, 1.0), scalar(result.integers.dtype, 0)});
      break;
    }
    default:
      if (const auto fixed = symbolic::fixed_quantizer(call.op(), dtype))
        return {quantize(*this, made, fixed->scale, fixed->zero_point, result.integers.dtype)};
      result.integers = node("QuantizeLinear", {cast(made, DType::f32), result.scale, result.zero_point});
  }
  return {result};
}

void Emission::give_list(std::size_t output, const Values& tensors) {
  List list;
  const auto* facts = output_fact(output).list();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto* item = facts && facts->items && i < facts->items->size() ? (*facts->items)[i].tensor() : nullptr;
    const bool quantized = scaled_ && item && item->dtype && ir::is_quantized(*item->dtype);
    list.items.push_back(quantized             ? quantized_result(tensors[i], *item->dtype)
                         : item && item->dtype ? Operand{cast(tensors[i], *item->dtype)}
                                               : Operand{tensors[i]});
  }
  give_operand(output, {std::move(list)});
}

void Emission::give_vector(std::size_t output, const Value& vector) {
  const auto* facts = output_fact(output).list();
  build.mark_result(vector);
  if (!facts || !facts->items) return give_operand(output, {Vector{vector}});
  const auto parting = build.plumbing();
  List list;
  for (std::size_t i = 0; i < facts->items->size(); ++i)
    list.items.push_back({Number{build.gather(vector, build.integer(static_cast<std::int64_t>(i)), 0)}});
  give_operand(output, {std::move(list)});
}

void Emission::give_operand(std::size_t output, Operand operand) {
  if (std::holds_alternative<Unresolved>(operand.value) && ir::is(call.node().output(output)->type(), ir::TypeKind::tensor))
    throw Refusal{"the elements of a constant aren't known"};
  mark_result(operand);
  results_.at(output) = std::move(operand);
}

void Emission::mark_result(const Operand& operand) {
  if (const Value* tensor = operand.tensor()) build.mark_result(*tensor);
  if (const Number* number = operand.number())
    if (const Value* value = std::get_if<Value>(&number->value)) build.mark_result(*value);
  if (const auto* vector = std::get_if<Vector>(&operand.value)) build.mark_result(vector->value);
  if (const Complex* complex = operand.complex()) build.mark_result(complex->real), build.mark_result(complex->imag);
  if (const List* list = operand.list())
    for (const Operand& item : list->items) mark_result(item);
}

}  // namespace compatcheck::handlers
