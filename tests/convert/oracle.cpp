#include "conversion/oracle.h"

namespace compatcheck::conversion {

symbolic::Fact fact_of(const Actual& actual) {
  return {.value =
              symbolic::TensorFact{.dtype = actual.dtype, .shape = symbolic::Shape(actual.sizes.begin(), actual.sizes.end())}};
}

symbolic::Fact with_named_sizes(const Actual& actual, symbolic::Sizes& sizes) {
  symbolic::TensorFact tensor{.dtype = actual.dtype, .shape = symbolic::Shape{}};
  for (const std::int64_t size : actual.sizes) {
    const std::string symbol = "s" + std::to_string(sizes.size());
    tensor.shape->push_back(size < 1 ? symbolic::Dim(size) : symbolic::Dim::symbol(symbol));  // named sizes are at least 1
    sizes[symbol] = size;
  }
  return {.value = std::move(tensor)};
}

symbolic::Fact evaluated(symbolic::Fact fact, const symbolic::Sizes& sizes) {
  if (auto* tensor = std::get_if<symbolic::TensorFact>(&fact.value); tensor && tensor->shape)
    for (symbolic::Dim& dim : *tensor->shape)
      if (const auto number = symbolic::evaluate(dim, sizes)) dim = *number;
  return fact;
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

}  // namespace compatcheck::conversion
