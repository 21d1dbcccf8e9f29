#include "symbolic/call.h"

namespace compatcheck::symbolic {
namespace {

const Fact nothing_known{};
const Fact none_fact{.value = NoneFact{}};

std::optional<std::int64_t> small_integer(const Fact& fact) {
  if (const auto* number = fact.number(); number && number->integer) return number->integer->number();
  return std::nullopt;
}

// The tracer passes 0-d tensors where the schema has ints.
std::optional<Dim> dim_of(const Fact& fact) {
  if (const auto* number = fact.number()) {
    if (number->kind == NumberFact::Kind::floating) return std::nullopt;
    return number->integer;
  }
  const auto* tensor = fact.tensor();
  if (tensor && tensor->contents && tensor->contents->size() == 1) return tensor->contents->front();
  return std::nullopt;
}

std::optional<double> number_of(const Fact& fact) {
  const auto* number = fact.number();
  if (number && number->kind == NumberFact::Kind::floating) return number->floating;
  if (const auto dim = dim_of(fact); dim && dim->is_number()) return static_cast<double>(*dim->number());
  return std::nullopt;
}

}  // namespace

const Fact& FactTable::of(const ir::Value* value) const {
  if (below_) {
    const auto own = above_.find(value->id());
    return own == above_.end() ? below_->of(value) : own->second;
  }
  return value->id() < facts_.size() ? facts_[value->id()] : nothing_known;
}

void FactTable::set(const ir::Value* value, Fact fact) {
  if (below_) {
    above_[value->id()] = std::move(fact);
    return;
  }
  if (value->id() >= facts_.size()) facts_.resize(value->id() + 1);
  facts_[value->id()] = std::move(fact);
}

bool Call::has(std::string_view argument) const { return node_.schema() && node_.schema()->argument_index(argument).has_value(); }

const ir::Value* Call::value(std::string_view argument) const {
  if (!node_.schema()) return nullptr;
  const auto index = node_.schema()->argument_index(argument);
  return index && *index < node_.inputs().size() ? node_.input(*index) : nullptr;
}

const Fact& Call::fact(std::string_view argument) const {
  if (const ir::Value* given = value(argument)) return facts_.of(given);
  if (!node_.schema()) return nothing_known;  // arguments have no names
  return none_fact;
}

const Fact& Call::input(std::size_t i) const { return i < node_.inputs().size() ? facts_.of(node_.input(i)) : nothing_known; }

bool Call::is_none(std::string_view argument) const { return fact(argument).is_none(); }
const TensorFact* Call::tensor(std::string_view argument) const { return fact(argument).tensor(); }

std::optional<std::size_t> Call::rank(std::string_view argument) const {
  const auto* known = tensor(argument);
  return known && known->shape ? std::optional(known->shape->size()) : std::nullopt;
}

std::optional<ir::DType> Call::dtype_of(std::string_view argument) const {
  const auto* known = tensor(argument);
  return known ? known->dtype : std::nullopt;
}

std::optional<Dim> Call::dim(std::string_view argument) const { return dim_of(fact(argument)); }

std::optional<std::int64_t> Call::integer(std::string_view argument) const {
  const auto known = dim(argument);
  return known ? known->number() : std::nullopt;
}

std::optional<double> Call::number(std::string_view argument) const { return number_of(fact(argument)); }

std::optional<bool> Call::boolean(std::string_view argument) const {
  const auto known = integer(argument);
  return known ? std::optional(*known != 0) : std::nullopt;
}

std::optional<std::string> Call::string(std::string_view argument) const {
  const auto* known = std::get_if<ConstantFact>(&fact(argument).value);
  const auto* text = known ? known->value.get<std::string>() : nullptr;
  return text ? std::optional(*text) : std::nullopt;
}

std::optional<ir::DType> Call::dtype(std::string_view argument) const {
  const auto number = small_integer(fact(argument));
  return number ? ir::dtype_from_number(*number) : std::nullopt;
}

std::optional<ir::CheckedVector<const Fact*>> Call::list(std::string_view argument) const {
  const auto* known = fact(argument).list();
  if (!known || !known->items) return std::nullopt;
  ir::CheckedVector<const Fact*> items;
  for (const Fact& item : *known->items) items.push_back(&item);
  return items;
}

std::optional<Shape> Call::dims(std::string_view argument) const {
  const Fact& given = fact(argument);
  Shape result;
  if (const auto items = list(argument)) {
    for (const Fact* item : *items) result.push_back(dim_of(*item).value_or(Dim::unknown()));
    return result;
  }
  const auto single = dim_of(given);
  if (!single || !given.number()) return std::nullopt;
  const auto index = node_.schema()->argument_index(argument);
  const auto size = node_.schema()->arguments[*index].list_size;
  return Shape(size.value_or(1), *single);
}

std::optional<ir::CheckedVector<std::int64_t>> Call::ints(std::string_view argument) const {
  const auto known = dims(argument);
  if (!known) return std::nullopt;
  ir::CheckedVector<std::int64_t> result;
  for (const Dim& dim : *known) {
    if (!dim.is_number()) return std::nullopt;
    result.push_back(*dim.number());
  }
  return result;
}

std::optional<ir::CheckedVector<double>> Call::floats(std::string_view argument) const {
  const auto items = list(argument);
  if (!items) return std::nullopt;
  ir::CheckedVector<double> result;
  for (const Fact* item : *items) {
    const auto number = number_of(*item);
    if (!number) return std::nullopt;
    result.push_back(*number);
  }
  return result;
}

}  // namespace compatcheck::symbolic
