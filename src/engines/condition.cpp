#include "engines/condition.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

namespace compatcheck::engines {
namespace {

using mapping::Literal;
using mapping::Predicate;

std::string spell(const Literal& literal) {
  if (std::holds_alternative<std::monostate>(literal)) return "absent";
  if (const auto* boolean = std::get_if<bool>(&literal)) return *boolean ? "true" : "false";
  if (!std::holds_alternative<std::string>(literal)) return mapping::spell(literal);
  return std::get<std::string>(literal);
}

template <class Items>
std::string spell(const Items& items, const char* separator) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : separator) + spell(item);
  return text;
}

std::optional<double> number(const Literal& literal) {
  if (const auto* boolean = std::get_if<bool>(&literal)) return *boolean ? 1 : 0;
  if (const auto* integer = std::get_if<std::int64_t>(&literal)) return static_cast<double>(*integer);
  if (const auto* floating = std::get_if<double>(&literal)) return *floating;
  return std::nullopt;
}

bool same(const Literal& a, const Literal& b) {
  const auto x = number(a), y = number(b);
  return x && y ? *x == *y : a == b;
}

Fit no(std::string message) { return {Support::no, std::move(message), {}}; }
Fit open(std::string message, SettledBy settled_by) { return {Support::unknown, std::move(message), settled_by}; }

// All of several: a broken one decides, then an open one.
void combine(Fit& total, Fit next) {
  if (total.support == Support::no || next.support == Support::yes) return;
  if (next.support == Support::no || total.support == Support::yes) total = std::move(next);
}

// The subject of a condition: an attribute's value, an input or an output.
struct Subject {
  std::string name;
  bool given = true;
  const Operand* operand = nullptr;              // null: an attribute, or a number
  std::optional<std::vector<Literal>> values{};  // absent: not known
  std::optional<bool> used{};                    // if other than `given`: a default isn't used
};

Subject number_subject(std::string name, double value) { return {.name = std::move(name), .values = {{value}}}; }

class Test {
 public:
  explicit Test(const Subject& subject) : subject_(subject) {}

  Fit operator()(const Predicate& predicate) const {
    if (predicate.used && *predicate.used != subject_.used.value_or(subject_.given))
      return no(subject_.name + (*predicate.used ? " must be used" : " must not be used"));
    if (predicate.none && *predicate.none == subject_.given)
      return no(subject_.name + (*predicate.none ? " must be left out" : " must be given"));
    if (!subject_.given) return {};
    Fit total;
    if (predicate.any_of) combine(total, any_of(*predicate.any_of));
    if (predicate.equals) combine(total, equals(*predicate.equals));
    if (predicate.constant) combine(total, *predicate.constant ? constant() : computed());
    if (predicate.min || predicate.max) combine(total, in_range(predicate));
    if (predicate.each) combine(total, each(*predicate.each));
    if (predicate.length) combine(total, length(*predicate.length));
    if (!predicate.dtype.empty()) combine(total, dtype(predicate.dtype));
    if (predicate.rank || predicate.rank_known) combine(total, rank(predicate));
    for (const auto& size : predicate.sizes) combine(total, this->size(size));
    if (predicate.elements) combine(total, elements(*predicate.elements));
    if (predicate.negated) combine(total, negated(*predicate.negated));
    return total;
  }

 private:
  Fit must_be(const std::string& needed, bool holds) const {
    return holds ? Fit{} : no(subject_.name + " must be " + needed + ", but is " + values_text());
  }
  Fit not_known() const {
    const bool computed = subject_.operand && !subject_.operand->constant && !subject_.operand->folds;
    return open(subject_.name + " isn't known", computed ? SettledBy::values : SettledBy::nothing);
  }
  std::string values_text() const {
    return subject_.values->size() == 1 ? spell(subject_.values->front()) : "[" + spell(*subject_.values, ", ") + "]";
  }

  Fit any_of(const std::vector<Literal>& literals) const {
    if (literals.size() == 1 && std::holds_alternative<std::monostate>(literals.front()))
      return no(subject_.name + " must be left out");
    if (!subject_.values) return not_known();
    const bool holds = subject_.values->size() == 1 &&
                       std::ranges::any_of(literals, [&](const Literal& one) { return same(one, subject_.values->front()); });
    return must_be(spell(literals, " or "), holds);
  }

  Fit equals(const std::vector<Literal>& literals) const {
    if (!subject_.values) return not_known();
    return must_be("[" + spell(literals, ", ") + "]", std::ranges::equal(*subject_.values, literals, same));
  }

  Fit constant() const {
    if (!subject_.operand || subject_.operand->constant) return {};
    if (subject_.operand->folds)
      return open(subject_.name + " must be a constant, but is computed from constants, which the engine may do in advance",
                  SettledBy::nothing);
    return no(subject_.name + " must be a constant, but is computed");
  }

  Fit computed() const {
    if (!subject_.operand || !(subject_.operand->constant || subject_.operand->folds)) return {};
    if (subject_.operand->folds && !subject_.operand->constant)
      return open(subject_.name + " is computed from constants, which the engine may do in advance", SettledBy::nothing);
    return no(subject_.name + " must not be a constant");
  }

  Fit in_range(const Predicate& predicate) const {
    if (!subject_.values) return not_known();
    const std::string needed = predicate.min && predicate.max ? "from " + spell(*predicate.min) + " to " + spell(*predicate.max)
                               : predicate.min                ? "at least " + spell(*predicate.min)
                                                              : "at most " + spell(*predicate.max);
    const auto value = subject_.values->size() == 1 ? number(subject_.values->front()) : std::nullopt;
    return must_be(needed, value && (!predicate.min || *value >= *predicate.min) && (!predicate.max || *value <= *predicate.max));
  }

  Fit each(const Predicate& predicate) const {
    if (!subject_.values) return not_known();
    Fit total;
    for (const Literal& value : *subject_.values)
      combine(total, Test({.name = "each of " + subject_.name, .values = {{value}}})(predicate));
    return total;
  }

  Fit length(const Predicate& predicate) const {
    if (!subject_.values) return not_known();
    return Test(number_subject("the length of " + subject_.name, static_cast<double>(subject_.values->size())))(predicate);
  }

  Fit dtype(const std::vector<std::string>& words) const {
    if (subject_.operand && !subject_.operand->other_type.empty())
      return no("the dtype of " + subject_.name + " is " + std::string(subject_.operand->other_type));
    if (!subject_.operand || !subject_.operand->dtype)
      return open("the dtype of " + subject_.name + " isn't known", if_operand());
    const ir::DType dtype = *subject_.operand->dtype;
    const bool holds = std::ranges::any_of(words, [&](const std::string& word) {
      return word == ir::name(dtype) || (word == "floating" && ir::is_floating(dtype)) ||
             (word == "integral" && ir::is_integral(dtype)) || (word == "complex" && ir::is_complex(dtype));
    });
    if (holds) return {};
    std::string needed;
    for (const auto& word : words) needed += (needed.empty() ? "" : " or ") + word;
    return no("the dtype of " + subject_.name + " must be " + needed + ", but is " + std::string(ir::name(dtype)));
  }

  SettledBy if_operand() const { return subject_.operand ? SettledBy::inputs : SettledBy::nothing; }
  const std::vector<onnx::Dimension>* shape() const {
    return subject_.operand && subject_.operand->shape ? &*subject_.operand->shape : nullptr;
  }

  Fit rank(const Predicate& predicate) const {
    if (!shape()) return open("the rank of " + subject_.name + " isn't known", if_operand());
    return predicate.rank
               ? Test(number_subject("the rank of " + subject_.name, static_cast<double>(shape()->size())))(*predicate.rank)
               : Fit{};
  }

  Fit size(const Predicate::Size& size) const {
    const std::string name = "dimension " + std::to_string(size.dim) + " of " + subject_.name;
    if (!shape()) return open(name + " isn't known", if_operand());
    const auto rank = static_cast<std::int64_t>(shape()->size());
    const std::int64_t dim = size.dim < 0 ? size.dim + rank : size.dim;
    if (dim < 0 || dim >= rank) return no(subject_.name + " has no dimension " + std::to_string(size.dim));
    const onnx::Dimension& stated = (*shape())[static_cast<std::size_t>(dim)];
    if (!stated.size && size.known && !stated.name.empty()) return no(name + " must be fixed, but is " + stated.name);
    if (!stated.size) return open(name + " isn't known", if_operand());
    return size.value ? Test(number_subject(name, static_cast<double>(*stated.size)))(*size.value) : Fit{};
  }

  Fit elements(const Predicate& predicate) const {
    const std::string name = "the number of elements of " + subject_.name;
    if (!shape()) return open(name + " isn't known", if_operand());
    double count = 1;
    const bool asks_for_none =
        predicate.any_of && predicate.any_of->size() == 1 && same(predicate.any_of->front(), Literal(std::int64_t{0}));
    if (predicate.any_of && predicate.any_of->size() == 1 && predicate.any_of->front() == Literal(std::string("unknown")))
      return std::ranges::all_of(*shape(), [](const auto& dim) { return dim.size.has_value(); }) ? no(name + " is known") : Fit{};
    if (asks_for_none) {  // a size that isn't known counts as one that isn't 0
      const bool empty = std::ranges::any_of(*shape(), [](const auto& dim) { return dim.size && *dim.size == 0; });
      return empty ? Fit{} : no(name + " must be 0");
    }
    for (const auto& dim : *shape()) {
      if (!dim.size) return open(name + " isn't known", if_operand());
      count *= static_cast<double>(*dim.size);
    }
    return Test(number_subject(name, count))(predicate);
  }

  Fit negated(const Predicate& predicate) const {
    const Fit fit = (*this)(predicate);
    if (fit.support == Support::unknown) return fit;
    if (fit.support == Support::no) return {};
    return no(subject_.name + " can't be " + (subject_.values ? values_text() : "so"));
  }

  const Subject& subject_;
};

Subject of_attribute(const Attribute& attribute) {
  Subject made{.name = attribute.name};
  if (!attribute.opaque) made.values = attribute.values;
  return made;
}

Subject of_operand(std::string name, const Operand* operand) {
  Subject made{.name = std::move(name), .given = operand && operand->given, .operand = operand};
  if (!operand || !operand->elements) return made;
  made.values.emplace();
  for (const double element : *operand->elements) {
    const bool whole = element == std::floor(element) && std::abs(element) < 9e15;
    made.values->push_back(whole ? Literal(static_cast<std::int64_t>(element)) : Literal(element));
  }
  return made;
}

const Operand* at(const std::vector<Operand>& operands, std::size_t index) {
  return index < operands.size() ? &operands[index] : nullptr;
}

// Each operand of a variadic formal is checked.
Fit side_fits(const mapping::Condition& condition, std::span<const onnx::Formal> formals, const std::vector<Operand>& operands) {
  Fit total;
  for (std::size_t i = 0; i < formals.size(); ++i) {
    if (formals[i].name != condition.argument) continue;
    const std::size_t end = formals[i].option == onnx::Formal::Option::variadic ? std::max(operands.size(), i + 1) : i + 1;
    for (std::size_t k = i; k < end; ++k)
      combine(total, Test(of_operand(condition.argument, at(operands, k)))(condition.predicate));
  }
  return total;
}

bool has(std::span<const onnx::Formal> formals, std::string_view name) {
  return std::ranges::find(formals, name, &onnx::Formal::name) != formals.end();
}

Fit fits(const mapping::Condition& condition, const Node& node) {
  if (const Attribute* set = node.attribute(condition.argument)) return Test(of_attribute(*set))(condition.predicate);
  if (!node.schema) return open("the value of " + condition.argument + " of " + node.name() + " isn't known", SettledBy::nothing);
  if (const auto* attribute = node.schema->attribute(condition.argument)) {
    if (attribute->default_value) {
      Subject subject = of_attribute(default_of(*attribute));
      subject.used = false;
      return Test(subject)(condition.predicate);
    }
    return Test({.name = condition.argument, .given = false})(condition.predicate);
  }
  if (has(node.schema->inputs, condition.argument)) return side_fits(condition, node.schema->inputs, node.inputs);
  return side_fits(condition, node.schema->outputs, node.outputs);
}

Fit fits(const mapping::Conditions& conditions, const Node& node) {
  Fit total;
  for (const auto& condition : conditions) combine(total, fits(condition, node));
  return total;
}

Literal literal(std::string_view text) {
  if (text.starts_with('"')) return std::string(text.substr(1, text.size() - 2));
  std::int64_t integer = 0;
  if (const auto whole = std::from_chars(text.data(), text.data() + text.size(), integer); whole.ptr == text.data() + text.size())
    return integer;
  double floating = 0;
  std::from_chars(text.data(), text.data() + text.size(), floating);
  return floating;
}

}  // namespace

Attribute default_of(const onnx::Attribute& attribute) {
  std::string_view text = attribute.default_value.value_or(std::string_view());
  Attribute made{.name = std::string(attribute.name), .list = text.starts_with('[')};
  if (!made.list) {
    made.values = {literal(text)};
    return made;
  }
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(", "), text.size());
    made.values.push_back(literal(text.substr(0, end)));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return made;
}

Fit fits(const std::vector<mapping::Conditions>& when, const Node& node) {
  std::optional<Fit> best;
  for (const auto& conditions : when) {
    Fit fit = fits(conditions, node);
    if (fit.support == Support::yes) return fit;
    if (!best || (best->support == Support::no && fit.support == Support::unknown)) best = std::move(fit);
  }
  return best.value_or(Fit{});
}

}  // namespace compatcheck::engines
