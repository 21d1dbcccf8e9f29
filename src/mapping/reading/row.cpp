#include "mapping/row.h"

#include <algorithm>

#include "ir/number_text.h"

namespace compatcheck::mapping {

namespace {

bool equal(const std::shared_ptr<const Predicate>& a, const std::shared_ptr<const Predicate>& b) {
  return a == b || (a && b && mapping::equal(*a, *b));
}

bool equal(const Predicate::Size& a, const Predicate::Size& b) {
  return a.dim == b.dim && a.known == b.known && equal(a.value, b.value);
}

bool equal(const Binding& a, const Binding& b) {
  return a.kind == b.kind && a.argument == b.argument && a.constant == b.constant && a.constant_is_list == b.constant_is_list;
}

bool equal(const std::pair<std::string, Binding>& a, const std::pair<std::string, Binding>& b) {
  return a.first == b.first && equal(a.second, b.second);
}

bool equal(const std::optional<Body>& a, const std::optional<Body>& b) {
  return a.has_value() == b.has_value() && (!a || (a->is_inlined == b->is_inlined && a->text == b->text));
}

bool equal(const std::optional<std::vector<Binding>>& a, const std::optional<std::vector<Binding>>& b) {
  return a.has_value() == b.has_value() && (!a || std::equal(a->begin(), a->end(), b->begin(), b->end(),
                                                             [](const Binding& x, const Binding& y) { return equal(x, y); }));
}

bool equal(const Condition& a, const Condition& b) {
  return a.argument == b.argument && mapping::equal(a.predicate, b.predicate);
}

template <class T>
bool all_equal(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const T& x, const T& y) { return equal(x, y); });
}

}  // namespace

bool carried_over(const OperatorRows& base, const OperatorRows& overload) {
  const Place &a = base.place, &b = overload.place;
  return a.file == b.file && a.line == b.line && a.column == b.column;
}

Place place_in(const Body& body, int line, int column) {
  return {body.place.file, body.place.line + line - 1, body.place.column + column - 1};
}

bool equal(const Predicate& a, const Predicate& b) {
  return a.any_of == b.any_of && a.equals == b.equals && equal(a.each, b.each) && equal(a.length, b.length) &&
         equal(a.elements, b.elements) && equal(a.negated, b.negated) && a.min == b.min && a.max == b.max && a.none == b.none &&
         a.constant == b.constant && a.used == b.used && a.dtype == b.dtype && a.rank_known == b.rank_known &&
         equal(a.rank, b.rank) && all_equal(a.sizes, b.sizes);
}

bool equal(const Conditions& a, const Conditions& b) { return all_equal(a, b); }

bool equal(const Row& a, const Row& b) {
  return a.kind == b.kind && a.to == b.to && a.variant == b.variant && equal(a.body, b.body) && equal(a.inputs, b.inputs) &&
         all_equal(a.attributes, b.attributes) && all_equal(a.when, b.when) && a.required == b.required && a.reason == b.reason &&
         a.hint == b.hint && a.lifted == b.lifted && a.approximate == b.approximate && a.random == b.random &&
         a.complex == b.complex;
}

bool equal(const std::vector<Row>& a, const std::vector<Row>& b) { return all_equal(a, b); }

std::pair<std::string_view, std::string_view> split_overload(std::string_view name) {
  const auto dot = name.find('.');
  if (dot == std::string_view::npos) return {name, {}};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

std::string spell(const Literal& literal) {
  if (std::holds_alternative<std::monostate>(literal)) return "None";
  if (const auto* boolean = std::get_if<bool>(&literal)) return *boolean ? "True" : "False";
  if (const auto* integer = std::get_if<std::int64_t>(&literal)) return std::to_string(*integer);
  if (const auto* floating = std::get_if<double>(&literal)) return ir::shortest(*floating);
  return "'" + std::get<std::string>(literal) + "'";
}

std::string joined(const std::vector<std::string>& names, std::string_view separator) {
  std::string text;
  for (const auto& name : names) text.append(text.empty() ? "" : separator).append(name);
  return text;
}

std::pair<std::string_view, std::string_view> split_domain(std::string_view onnx_name) {
  const auto colons = onnx_name.rfind("::");
  if (colons == std::string_view::npos) return {{}, onnx_name};
  return {onnx_name.substr(0, colons), onnx_name.substr(colons + 2)};
}

}  // namespace compatcheck::mapping
