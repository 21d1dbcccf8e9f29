#include "convert/oracle.h"

namespace compatcheck::convert {

symbolic::Fact fact_of(const Actual& actual) {
  return {.value = symbolic::TensorFact{.dtype = actual.dtype, .shape = symbolic::Shape(actual.sizes.begin(), actual.sizes.end())}};
}

std::string to_string(const Actual& actual) { return symbolic::to_string(fact_of(actual)); }

std::string spell(const symbolic::Fact& fact) {
  std::string text = symbolic::to_string(fact);
  const auto* tensor = fact.tensor();
  if (tensor && tensor->contents) {
    text += " {";
    for (const auto& dim : *tensor->contents) text += " " + dim.to_string();
    text += " }";
  }
  if (tensor && tensor->fraction) text += " { " + std::to_string(*tensor->fraction) + " }";
  return text;
}

Comparison compare(const symbolic::Fact& fact, const Actual& actual) {
  Comparison result;
  const auto* tensor = fact.tensor();
  if (!tensor) {
    if (!std::holds_alternative<std::monostate>(fact.value)) result.difference = "it is a tensor";
    return result;
  }
  bool wrong = tensor->dtype && *tensor->dtype != actual.dtype;
  result.complete = tensor->dtype && tensor->shape;
  if (tensor->shape) {
    wrong |= tensor->shape->size() != actual.sizes.size();
    for (std::size_t i = 0; i < tensor->shape->size() && i < actual.sizes.size(); ++i) {
      const auto size = (*tensor->shape)[i].number();
      wrong |= size && *size != actual.sizes[i];
      result.complete &= size.has_value();
    }
  }
  if (tensor->contents) {
    std::int64_t elements = 1;
    for (const std::int64_t size : actual.sizes) elements *= size;
    wrong |= static_cast<std::int64_t>(tensor->contents->size()) != elements;
  }
  if (wrong) result.difference = symbolic::to_string(fact) + " stated, " + to_string(actual) + " computed";
  return result;
}

}  // namespace compatcheck::convert
