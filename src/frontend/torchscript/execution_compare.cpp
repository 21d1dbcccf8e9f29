#include "frontend/torchscript/execution_compare.h"

#include <ATen/ATen.h>
#include <ATen/core/class_type.h>

#include <cmath>
#include <set>
#include <sstream>

namespace compatcheck::frontend::torchscript {
namespace {

using c10::IValue;

constexpr double relative = 1e-5;

class Flatten {
 public:
  void visit(const std::string& path, const IValue& value) {
    if (value.isList())
      visit_all(path, value.toListRef());
    else if (value.isTuple())
      visit_all(path, value.toTupleRef().elements());
    else if (value.isGenericDict())
      visit_dict(path, value);
    else if (value.isObject())
      visit_object(path, value);
    else
      add(path, value);
  }
  std::vector<Leaf> take() && { return std::move(all_); }

 private:
  void add(const std::string& path, const IValue& value) { all_.push_back({path, value}); }
  static std::string join(const std::string& path, const std::string& name) { return path.empty() ? name : path + "." + name; }
  template <class Items>
  void visit_all(const std::string& path, const Items& items) {
    std::size_t i = 0;
    for (const IValue& item : items) visit(join(path, std::to_string(i++)), item);
  }
  void visit_dict(const std::string& path, const IValue& value) {
    for (const auto& entry : value.toGenericDict()) {
      std::ostringstream key;
      key << entry.key();
      visit(join(path, key.str()), entry.value());
    }
  }
  void visit_object(const std::string& path, const IValue& value) {
    const auto object = value.toObject();
    if (!seen_.insert(object.get()).second) return;
    for (std::size_t i = 0; i < object->type()->numAttributes(); ++i)
      visit(join(path, object->type()->getAttributeName(i)), object->getSlot(i));
  }
  std::vector<Leaf> all_;
  std::set<const void*> seen_;
};

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

std::string compare_values(const at::Tensor& expected, const at::Tensor& found) {
  if (expected.is_quantized()) {
    if (!found.is_quantized()) return "is not quantized";
    if (expected.qscheme() != found.qscheme()) return "is quantized by another scheme";
    return compare_values(expected.int_repr(), found.int_repr());
  }
  if (expected.numel() == 0) return {};
  const bool exact = !expected.is_floating_point() && !expected.is_complex();
  const at::Tensor wide =
      expected.is_complex() ? at::view_as_real(expected.to(at::kComplexDouble).resolve_conj()) : expected.to(at::kDouble);
  const at::Tensor other =
      found.is_complex() ? at::view_as_real(found.to(at::kComplexDouble).resolve_conj()) : found.to(at::kDouble);
  const at::Tensor finite = wide.masked_select(at::isfinite(wide));
  const double largest = finite.numel() ? finite.abs().max().item<double>() : 0;
  const double precision = expected.scalar_type() == at::kHalf ? 1e-2 : expected.scalar_type() == at::kBFloat16 ? 5e-2 : relative;
  const at::Tensor close = at::isclose(wide, other, exact ? 0 : precision, exact ? 0 : precision * std::max(largest, 1e-3), true);
  const auto wrong = close.logical_not().sum().item<std::int64_t>();
  if (wrong == 0) return {};
  return text(wrong, " of ", expected.numel(), " values differ, the largest by ",
              (wide - other).abs().nan_to_num(HUGE_VAL, HUGE_VAL).max().item<double>(), " (values up to ", largest, ")");
}

std::string compare_tensors(const at::Tensor& expected, const at::Tensor& found) {
  if (expected.sizes() != found.sizes()) return text("has sizes ", found.sizes(), " instead of ", expected.sizes());
  if (expected.scalar_type() != found.scalar_type())
    return text("is ", found.scalar_type(), " instead of ", expected.scalar_type());
  return compare_values(expected, found);
}

std::string compare(const IValue& expected, const IValue& found) {
  if (expected.isTensor() != found.isTensor()) return text("is ", found.tagKind(), " instead of ", expected.tagKind());
  if (expected.isTensor()) return compare_tensors(expected.toTensor(), found.toTensor());
  if (expected.isDouble() && found.isDouble()) {
    const double a = expected.toDouble(), b = found.toDouble();
    const bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= relative * std::abs(a);
    return same ? std::string() : text("is ", b, " instead of ", a);
  }
  if (expected.tagKind() == found.tagKind() && text(expected) == text(found)) return {};
  return text("is ", found, " instead of ", expected);
}

}  // namespace

std::vector<Leaf> leaves(const std::vector<IValue>& values) {
  Flatten flatten;
  for (std::size_t i = 0; i < values.size(); ++i) flatten.visit(std::to_string(i), values[i]);
  return std::move(flatten).take();
}

std::string difference(const std::string& what, const std::vector<IValue>& expected, const std::vector<IValue>& found) {
  const auto expected_leaves = leaves(expected), got = leaves(found);
  if (expected_leaves.size() != got.size()) return text(got.size(), " ", what, " values instead of ", expected_leaves.size());
  for (std::size_t i = 0; i < expected_leaves.size(); ++i)
    if (const std::string unequal = compare(expected_leaves[i].value, got[i].value); !unequal.empty())
      return what + " " + expected_leaves[i].path + " " + unequal;
  return {};
}

}  // namespace compatcheck::frontend::torchscript
