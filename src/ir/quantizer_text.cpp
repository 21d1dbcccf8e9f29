#include "ir/quantizer_text.h"

#include <charconv>
#include <vector>

#include "ir/quantized.h"

namespace compatcheck::ir {
namespace {

template <class Number>
std::string number_to_text(Number number) {
  char text[64];
  const auto made = std::to_chars(text, text + sizeof text, number);
  return {text, made.ptr};
}

template <class Number>
std::string bracketed(const std::vector<Number>& numbers) {
  std::string text;
  for (const Number number : numbers) text += (text.empty() ? "" : ",") + number_to_text(number);
  return "[" + text + "]";
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// At commas outside of brackets.
std::vector<std::string_view> parted(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    depth += (text[at] == '[') - (text[at] == ']');
    if (text[at] == ',' && depth == 0) parts.push_back(text.substr(begin, at - begin)), begin = at + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

template <class Number>
std::optional<std::vector<Number>> numbers_in(std::string_view text) {
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return std::nullopt;
  std::vector<Number> numbers;
  for (const std::string_view part : parted(text.substr(1, text.size() - 2))) {
    const auto number = number_in<Number>(part);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<Quantizer> quantizer_in(std::string_view text) {
  const auto parts = parted(text);
  if (parts.size() == 2) {
    const auto scale = number_in<double>(parts[0]);
    const auto zero_point = number_in<std::int64_t>(parts[1]);
    if (!scale || !zero_point) return std::nullopt;
    return Quantizer{.scale = *scale, .zero_point = *zero_point};
  }
  if (parts.size() != 3) return std::nullopt;
  const auto scales = numbers_in<double>(parts[0]);
  const auto zero_points = numbers_in<std::int64_t>(parts[1]);
  const auto axis = number_in<std::int64_t>(parts[2]);
  if (!scales || !zero_points || !axis) return std::nullopt;
  return Quantizer{.per_channel = true, .scales = *scales, .zero_points = *zero_points, .axis = *axis};
}

}  // namespace

std::string to_string(DType dtype, const Quantizer& quantizer) {
  const std::string numbers =
      quantizer.per_channel
          ? bracketed(quantizer.scales) + "," + bracketed(quantizer.zero_points) + "," + number_to_text(quantizer.axis)
          : number_to_text(quantizer.scale) + "," + number_to_text(quantizer.zero_point);
  return std::string(name(dtype)) + "(" + numbers + ")";
}

std::optional<QuantizedDType> quantized_dtype(std::string_view text) {
  const auto open = text.find('(');
  if (open == text.npos || text.back() != ')') return std::nullopt;
  const auto dtype = dtype_from_name(text.substr(0, open));
  if (!dtype || !quantizes_to_8_bits(*dtype)) return std::nullopt;
  auto quantizer = quantizer_in(text.substr(open + 1, text.size() - open - 2));
  if (!quantizer || !fits(*quantizer, *dtype)) return std::nullopt;
  return QuantizedDType{*dtype, std::make_shared<const Quantizer>(*std::move(quantizer))};
}

}  // namespace compatcheck::ir
