#include "symbolic/pointwise.h"

#include <algorithm>

#include "schema/traits.h"
#include "symbolic/emptiness.h"
#include "symbolic/promotion.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

bool is_kind(const ir::TypeRef& type, ir::TypeKind kind) {
  return type->kind == kind || (type->kind == ir::TypeKind::optional && type->elements.front()->kind == kind);
}

}  // namespace

Operands pointwise_operands(const Call& call) {
  Operands operands;
  Promotion promotion;
  const auto& arguments = call.node().schema()->arguments;
  for (std::size_t i = 0; i < arguments.size() && i < call.node().inputs().size(); ++i) {
    const auto& argument = arguments[i];
    const Fact& fact = call.input(i);
    if (argument.name == "alpha" || argument.name == "value" || (argument.written && argument.keyword_only) || fact.is_none())
      continue;
    const bool tensor = is_kind(argument.type, ir::TypeKind::tensor);
    if (!tensor && !is_kind(argument.type, ir::TypeKind::number)) continue;
    promotion.add(fact);
    const bool number = fact.number() || std::holds_alternative<ConstantFact>(fact.value);  // ConstantFact: a complex number
    if (tensor && !number) operands.shape = broadcast(operands.shape, fact.tensor() ? fact.tensor()->shape : std::nullopt);
  }
  operands.dtype = promotion.result();
  return operands;
}

// ---- Contents

namespace {

using Contents = std::vector<Dim>;

std::optional<Contents> contents_of(const Fact& fact) {
  if (const auto* tensor = fact.tensor()) return tensor->contents;
  const auto* number = fact.number();
  if (!number) return std::nullopt;
  if (number->integer) return Contents{*number->integer};
  TensorFact whole;
  if (number->floating) set_number(whole, *number->floating);
  return whole.contents;
}

// The only element, of a number too.
std::optional<double> single(const Fact& fact) {
  if (const auto* number = fact.number(); number && number->floating) return number->floating;
  if (const auto* tensor = fact.tensor(); tensor && tensor->fraction) return tensor->fraction;
  const auto contents = contents_of(fact);
  if (!contents || contents->size() != 1 || !contents->front().is_number()) return std::nullopt;
  return static_cast<double>(*contents->front().number());
}

using Operation = Dim (*)(const Dim&, const Dim&);

Dim sum(const Dim& a, const Dim& b) { return a + b; }
Dim difference(const Dim& a, const Dim& b) { return a - b; }
Dim swapped_difference(const Dim& a, const Dim& b) { return b - a; }
Dim times(const Dim& a, const Dim& b) { return a * b; }
// Rounded to zero, which is down where nothing is negative.
Dim truncated_quotient(const Dim& a, const Dim& b) {
  if (provably_at_least(a, 0) && provably_at_least(b, 1)) return floor_div(a, b);
  if (a.is_number() && b.is_number() && b.number() != 0 && b.number() != -1) return Dim(*a.number() / *b.number());
  return Dim::unknown();
}
Operation operation_of(const Call& call) {
  const std::string_view op = schema::without_in_place(call.op());
  if (op == "aten::add") return sum;
  if (op == "aten::sub") return difference;
  if (op == "aten::rsub") return swapped_difference;
  if (op == "aten::mul") return times;
  if (op == "aten::floor_divide") return floor_div;
  if (op == "aten::remainder") return modulo;
  if (op == "aten::maximum" || op == "aten::max") return larger;
  if (op == "aten::minimum" || op == "aten::min") return smaller;
  if (op != "aten::div") return nullptr;
  const auto rounding = call.has("rounding_mode") ? call.string("rounding_mode") : std::nullopt;
  return rounding == "floor" ? floor_div : rounding == "trunc" ? truncated_quotient : nullptr;
}

std::optional<Contents> computed_contents(const Call& call) {
  const Operation operation = operation_of(call);
  if (!operation || !call.has("self") || !call.has("other")) return std::nullopt;
  auto a = contents_of(call.fact("self")), b = contents_of(call.fact("other"));
  if (!a || !b || (a->size() != b->size() && a->size() != 1 && b->size() != 1)) return std::nullopt;
  if (!call.is_none("alpha")) {
    const auto alpha = call.dim("alpha");
    if (!alpha) return std::nullopt;
    for (Dim& dim : operation == swapped_difference ? *a : *b) dim = dim * *alpha;
  }
  const std::size_t count = a->size() == 1 ? b->size() : a->size();
  Contents result;
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back(operation((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]));
    if (result.back().is_unknown()) return std::nullopt;
  }
  return result;
}

template <class Float>
std::optional<double> computed(std::string_view op, double x, double y) {
  const auto a = static_cast<Float>(x), b = static_cast<Float>(y);
  if (op == "aten::add") return a + b;
  if (op == "aten::sub") return a - b;
  if (op == "aten::rsub") return b - a;
  if (op == "aten::mul") return a * b;
  return op == "aten::div" && b != 0 ? std::optional<double>(a / b) : std::nullopt;
}

// Arithmetic on single floats, in the precision of the result.
std::optional<double> computed_number(const Call& call, DType dtype) {
  if (!call.has("self") || !call.has("other") || !call.is_none("rounding_mode")) return std::nullopt;
  if (!call.is_none("alpha") && call.number("alpha") != 1) return std::nullopt;
  const auto a = single(call.fact("self")), b = single(call.fact("other"));
  if (!a || !b) return std::nullopt;
  return dtype == DType::f32 ? computed<float>(call.op(), *a, *b) : computed<double>(call.op(), *a, *b);
}

bool are_exact(const Contents& contents) {
  constexpr std::int64_t most = 16'777'216;
  return std::all_of(contents.begin(), contents.end(),
                     [](const Dim& dim) { return !dim.is_number() || (*dim.number() >= -most && *dim.number() <= most); });
}

}  // namespace

Fact pointwise_fact(const Call& call, Operands operands) {
  TensorFact result{.dtype = operands.dtype, .shape = std::move(operands.shape)};
  if (!result.shape || result.shape->size() > 1 || !result.dtype) return {.value = std::move(result)};
  const bool floats = *result.dtype == DType::f32 || *result.dtype == DType::f64;
  if (!floats && !ir::is_integral(*result.dtype)) return {.value = std::move(result)};
  result.contents = computed_contents(call);
  if (floats && result.contents && !are_exact(*result.contents)) result.contents.reset();
  if (floats && !result.contents && product(*result.shape).number() == 1)
    if (const auto number = computed_number(call, *result.dtype)) set_number(result, *number);
  return {.value = std::move(result)};
}

}  // namespace compatcheck::symbolic
