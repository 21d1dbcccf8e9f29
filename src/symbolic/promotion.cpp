#include "symbolic/promotion.h"

#include <utility>

namespace compatcheck::symbolic {
namespace {

using ir::DType;

bool is_unsigned_wide(DType dtype) { return dtype == DType::u16 || dtype == DType::u32 || dtype == DType::u64; }

// Ranks within a kind: the greater holds the smaller.
int float_rank(DType dtype) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16: return 1;
    case DType::f32: return 2;
    case DType::f64: return 3;
    default: return 0;
  }
}

DType complex_of_rank(int rank) { return rank == 1 ? DType::c32 : rank == 2 ? DType::c64 : DType::c128; }

// No complex dtype has bf16's precision.
DType complex_of(DType floating) { return complex_of_rank(floating == DType::bf16 ? 2 : std::max(1, float_rank(floating))); }

int complex_rank(DType dtype) { return dtype == DType::c32 ? 1 : dtype == DType::c64 ? 2 : 3; }

std::optional<DType> promote_integers(DType a, DType b) {
  if ((a == DType::u8 && b == DType::i8) || (a == DType::i8 && b == DType::u8)) return DType::i16;
  return ir::element_bytes(a) >= ir::element_bytes(b) ? (a == DType::u8 ? b : a) : b;
}

std::optional<DType> promote_floats(DType a, DType b) {
  if (float_rank(a) == 0 || float_rank(b) == 0) return std::nullopt;  // 8-bit floats
  if (float_rank(a) == float_rank(b)) return DType::f32;              // f16 with bf16
  return float_rank(a) > float_rank(b) ? a : b;
}

std::optional<DType> promote_complex(DType complex, DType other) {
  if (ir::is_complex(other)) return complex_of_rank(std::max(complex_rank(complex), complex_rank(other)));
  if (!ir::is_floating(other)) return complex;
  if (other == DType::bf16 && complex == DType::c32) return DType::c64;
  return complex_of_rank(std::max(complex_rank(complex), float_rank(other)));
}

bool is_kind_above(DType dtype, DType than) {
  const auto kind = [](DType d) { return ir::is_complex(d) ? 3 : ir::is_floating(d) ? 2 : ir::is_integral(d) ? 1 : 0; };
  return kind(dtype) > kind(than);
}

// c10's combine_categories: a lower category counts only for its kind.
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (ir::is_quantized(*higher)) return higher;
  if (ir::is_complex(*higher)) return higher;
  if (ir::is_floating(*higher)) return ir::is_complex(*lower) ? std::optional(complex_of(*higher)) : higher;
  if (!is_kind_above(*lower, *higher)) return higher;
  return ir::is_integral(*lower) ? promote_types(*higher, *lower) : lower;
}

}  // namespace

std::optional<DType> promote_types(DType a, DType b) {
  if (a == b) return a;
  if (ir::is_quantized(a) || ir::is_quantized(b)) return std::nullopt;
  if (is_unsigned_wide(a) || is_unsigned_wide(b)) {
    const DType other = is_unsigned_wide(a) ? b : a;
    return ir::is_floating(other) ? std::optional(other) : std::nullopt;
  }
  if (ir::is_complex(a)) return promote_complex(a, b);
  if (ir::is_complex(b)) return promote_complex(b, a);
  if (ir::is_floating(a) && ir::is_floating(b)) return promote_floats(a, b);
  if (ir::is_floating(a)) return a;
  if (ir::is_floating(b)) return b;
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  return promote_integers(a, b);
}

DType to_float(DType dtype) { return ir::is_floating(dtype) || ir::is_complex(dtype) ? dtype : default_float; }

DType real_part(DType dtype) {
  switch (dtype) {
    case DType::c32: return DType::f16;
    case DType::c64: return DType::f32;
    case DType::c128: return DType::f64;
    default: return dtype;
  }
}

std::optional<DType> as_float(std::optional<DType> dtype) { return dtype ? std::optional(to_float(*dtype)) : std::nullopt; }

std::optional<DType> as_real(std::optional<DType> dtype) { return dtype ? std::optional(real_part(*dtype)) : std::nullopt; }

std::optional<DType> as_complex(std::optional<DType> dtype) {
  if (!dtype || ir::is_complex(*dtype)) return dtype;
  switch (to_float(*dtype)) {
    case DType::f16: return DType::c32;
    case DType::f32: return DType::c64;
    case DType::f64: return DType::c128;
    default: return std::nullopt;
  }
}

Fact real_fact(const TensorFact& tensor) { return {.value = TensorFact{.dtype = as_real(tensor.dtype), .shape = tensor.shape}}; }

Fact part_of(Fact fact) {
  if (auto* tensor = std::get_if<TensorFact>(&fact.value); tensor && tensor->dtype && ir::is_complex(*tensor->dtype))
    *tensor = {.dtype = real_part(*tensor->dtype), .shape = std::move(tensor->shape)};
  else if (auto* list = std::get_if<ListFact>(&fact.value); list && list->items)
    for (Fact& item : *list->items) item = part_of(std::move(item));
  return fact;
}

void Promotion::add(std::optional<DType>& category, DType dtype) {
  if (!category) {
    category = dtype;
    return;
  }
  category = promote_types(*category, dtype);
  unknown_ |= !category.has_value();
}

void Promotion::add(const Fact& operand) {
  if (operand.is_none()) return;
  if (const auto* number = operand.number()) {
    add(wrapped_, number->kind == NumberFact::Kind::floating  ? default_float
                  : number->kind == NumberFact::Kind::boolean ? DType::boolean
                                                              : DType::i64);
    return;
  }
  if (const auto* constant = std::get_if<ConstantFact>(&operand.value); constant && constant->value.get<std::complex<double>>()) {
    add(wrapped_, DType::c64);
    return;
  }
  const auto* tensor = operand.tensor();
  if (!tensor || !tensor->dtype || (!tensor->shape && unranked_ && *unranked_ != *tensor->dtype)) {
    unknown_ = true;
    return;
  }
  if (!tensor->shape) {
    unranked_ = tensor->dtype;
    return;
  }
  add(tensor->shape->empty() ? zero_dimensional_ : dimensioned_, *tensor->dtype);
}

std::optional<DType> Promotion::result() const {
  if (unknown_) return std::nullopt;
  if (!unranked_) return combine(combine(dimensioned_, zero_dimensional_), wrapped_);
  // Known if it is the same whatever their ranks are.
  std::optional<DType> same;
  for (const auto& [dimensioned, zero_dimensional] : {std::pair{true, false}, {false, true}, {true, true}}) {
    Promotion ranked = *this;
    ranked.unranked_.reset();
    if (dimensioned) ranked.add(ranked.dimensioned_, *unranked_);
    if (zero_dimensional) ranked.add(ranked.zero_dimensional_, *unranked_);
    const auto made = ranked.result();
    if (!made || (same && *same != *made)) return std::nullopt;
    same = made;
  }
  return same;
}

}  // namespace compatcheck::symbolic
