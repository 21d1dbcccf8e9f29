#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <functional>

#include "passes/budget.h"
#include "passes/evaluate.h"

namespace compatcheck::passes {
namespace {

using ir::Constant;

const std::string* text(Arguments in, std::size_t i) { return i < in.size() ? in[i]->get<std::string>() : nullptr; }

Evaluated concatenate_texts(const ir::Node&, Arguments in) {
  if (in.size() != 2 || !text(in, 0) || !text(in, 1) || text(in, 0)->size() + text(in, 1)->size() > most_text)
    return std::nullopt;
  return Constant{*text(in, 0) + *text(in, 1)};
}

Evaluated length_of_text(const ir::Node&, Arguments in) {  // bytes, as libtorch counts
  return in.size() == 1 && text(in, 0) ? Evaluated(Constant{static_cast<std::int64_t>(text(in, 0)->size())}) : std::nullopt;
}

template <int (*letter)(int)>
Evaluated change_case(const ir::Node&, Arguments in) {
  if (in.size() != 1 || !text(in, 0)) return std::nullopt;
  std::string changed = *text(in, 0);
  std::transform(changed.begin(), changed.end(), changed.begin(),
                 [](unsigned char c) { return static_cast<char>(c < 128 ? letter(c) : c); });
  return Constant{std::move(changed)};
}

// With the whole string only: start 0, and -1 or the length for the end.
bool whole(Arguments in) {
  if (in.size() == 2) return true;
  const auto* from = in.size() == 4 ? in[2]->get<std::int64_t>() : nullptr;
  const auto* to = in.size() == 4 ? in[3]->get<std::int64_t>() : nullptr;
  return from && to && *from == 0 && (*to == -1 || *to == static_cast<std::int64_t>(text(in, 0)->size()));
}

Evaluated starts_with(const ir::Node&, Arguments in) {
  if (!text(in, 0) || !text(in, 1) || !whole(in)) return std::nullopt;
  return Constant{text(in, 0)->starts_with(*text(in, 1))};
}

Evaluated ends_with(const ir::Node&, Arguments in) {
  if (!text(in, 0) || !text(in, 1) || !whole(in)) return std::nullopt;
  return Constant{text(in, 0)->ends_with(*text(in, 1))};
}

Evaluated contains_text(const ir::Node&, Arguments in) {
  if (in.size() != 2 || !text(in, 0) || !text(in, 1)) return std::nullopt;
  return Constant{text(in, 0)->find(*text(in, 1)) != std::string::npos};
}

// As libtorch writes them: 17 digits, and whole numbers as ints with a dot.
std::string text_of_float(double number) {
  constexpr double limit = 9223372036854775808.0;  // 2^63: int64 ends below it
  if (number >= -limit && number < limit && std::trunc(number) == number)
    return std::to_string(static_cast<std::int64_t>(number)) + ".";
  std::array<char, 32> text{};
  return {text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.17g", number))};
}

std::optional<std::string> text_of(const Constant& value);

// The items between two brackets; nullopt for one without a text, and for longer texts than are computed.
std::optional<std::string> text_of_items(const ir::Constants& items, std::string text, const char* end) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto item = text_of(items[i]);
    if (!item || text.size() + item->size() > most_text) return std::nullopt;
    text.append(i ? ", " : "").append(*item);
  }
  return text + end;
}

// How str() and "{}" show a value.
std::optional<std::string> text_of(const Constant& value) {
  if (value.is_none()) return "None";
  if (const auto* device = value.get<ir::DeviceConstant>()) return device->device;
  if (const auto* list = value.get<ir::ListConstant>()) return text_of_items(list->items, "[", "]");
  if (const auto* tuple = value.get<ir::TupleConstant>())
    return text_of_items(tuple->items, "(", tuple->items.size() == 1 ? ",)" : ")");
  if (const auto* number = value.get<double>()) return text_of_float(*number);
  if (const auto* string = value.get<std::string>()) return *string;
  if (const auto* number = value.get<std::int64_t>()) return std::to_string(*number);
  if (const auto* flag = value.get<bool>()) return *flag ? "True" : "False";
  return std::nullopt;
}

Evaluated format(const ir::Node&, Arguments in) {
  if (!text(in, 0)) return std::nullopt;
  std::string result;
  std::size_t argument = 1;
  std::string_view rest = *text(in, 0);
  for (std::size_t at; (at = rest.find("{}")) != std::string_view::npos; rest.remove_prefix(at + 2)) {
    if (argument == in.size()) return std::nullopt;
    const auto part = text_of(*in[argument++]);
    if (!part || result.size() + part->size() > most_text) return std::nullopt;
    result.append(rest.substr(0, at)).append(*part);
  }
  if (argument != in.size()) return std::nullopt;
  return Constant{result.append(rest)};
}

Evaluated to_text(const ir::Node&, Arguments in) {
  const auto result = in.size() == 1 ? text_of(*in[0]) : std::nullopt;
  return result ? Evaluated(Constant{*result}) : std::nullopt;
}

ir::ListConstant texts() { return {ir::simple_type(ir::TypeKind::string), {}}; }

constexpr std::string_view white_space = " \t\n\r\v\f";

// A limit on the number of parts isn't evaluated, nor an empty separator, which raises.
Evaluated split(const ir::Node&, Arguments in) {
  const auto* most = in.size() == 3 ? in[2]->get<std::int64_t>() : nullptr;
  if (!text(in, 0) || !most || *most != -1) return std::nullopt;
  ir::ListConstant parts = texts();
  std::string_view rest = *text(in, 0);
  const auto add = [&](std::string_view part) { parts.items.push_back(Constant{std::string(part)}); };
  if (in[1]->is_none()) {  // no empty parts
    for (std::size_t at; (at = rest.find_first_not_of(white_space)) != rest.npos;) {
      rest.remove_prefix(at);
      const std::size_t end = std::min(rest.find_first_of(white_space), rest.size());
      add(rest.substr(0, end));
      rest.remove_prefix(end);
    }
    return Constant{std::move(parts)};
  }
  const std::string* separator = text(in, 1);
  if (!separator || separator->empty()) return std::nullopt;
  for (std::size_t at; (at = rest.find(*separator)) != rest.npos; rest.remove_prefix(at + separator->size()))
    add(rest.substr(0, at));
  add(rest);
  if (parts.items.size() > most_items) return std::nullopt;
  return Constant{std::move(parts)};
}

Evaluated join_texts(const ir::Node&, Arguments in) {
  const auto* list = in.size() == 2 && text(in, 0) ? in[1]->get<ir::ListConstant>() : nullptr;
  if (!list) return std::nullopt;
  std::string joined;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const auto* part = list->items[i].get<std::string>();
    if (!part || joined.size() + part->size() + text(in, 0)->size() > most_text) return std::nullopt;
    joined.append(i ? *text(in, 0) : "").append(*part);
  }
  return Constant{std::move(joined)};
}

template <bool left, bool right>
Evaluated strip(const ir::Node&, Arguments in) {
  if (in.size() != 2 || !text(in, 0) || !text(in, 1)) return std::nullopt;
  std::string_view rest = *text(in, 0);
  if (left) rest.remove_prefix(std::min(rest.find_first_not_of(*text(in, 1)), rest.size()));
  if (right) rest = rest.substr(0, rest.find_last_not_of(*text(in, 1)) + 1);
  return Constant{std::string(rest)};
}

Evaluated replace_text(const ir::Node&, Arguments in) {
  const auto* most = in.size() == 4 ? in[3]->get<std::int64_t>() : nullptr;
  if (!text(in, 0) || !text(in, 1) || !text(in, 2) || text(in, 1)->empty() || !most || *most != -1) return std::nullopt;
  std::string replaced;
  std::string_view rest = *text(in, 0);
  for (std::size_t at; (at = rest.find(*text(in, 1))) != rest.npos; rest.remove_prefix(at + text(in, 1)->size())) {
    replaced.append(rest.substr(0, at)).append(*text(in, 2));
    if (replaced.size() > most_text) return std::nullopt;
  }
  return Constant{replaced.append(rest)};
}

Evaluated find_text(const ir::Node&, Arguments in) {
  if (in.size() != 4 || !text(in, 0) || !text(in, 1) || !whole(in)) return std::nullopt;
  const std::size_t at = text(in, 0)->find(*text(in, 1));
  return Constant{at == std::string::npos ? std::int64_t{-1} : static_cast<std::int64_t>(at)};
}

Evaluated letter(const ir::Node&, Arguments in) {
  const auto* place = in.size() == 2 && text(in, 0) ? in[1]->get<std::int64_t>() : nullptr;
  if (!place) return std::nullopt;
  const auto size = static_cast<std::int64_t>(text(in, 0)->size());
  const std::int64_t at = *place < 0 ? *place + size : *place;
  if (at < 0 || at >= size) return std::nullopt;
  return Constant{text(in, 0)->substr(static_cast<std::size_t>(at), 1)};
}

// By bytes, as libtorch compares.
template <class Compare>
Evaluated compare_texts(const ir::Node&, Arguments in) {
  return in.size() == 2 && text(in, 0) && text(in, 1) ? Evaluated(Constant{Compare()(*text(in, 0), *text(in, 1))}) : std::nullopt;
}

Evaluated byte_of_letter(const ir::Node&, Arguments in) {
  if (in.size() != 1 || !text(in, 0) || text(in, 0)->size() != 1) return std::nullopt;
  return Constant{static_cast<std::int64_t>(static_cast<std::uint8_t>(text(in, 0)->front()))};
}

Evaluated device(const ir::Node&, Arguments in) {
  return in.size() == 1 && text(in, 0) ? Evaluated(Constant{ir::DeviceConstant{*text(in, 0)}}) : std::nullopt;
}

}  // namespace

const Evaluators& string_evaluators() {
  static const Evaluators table = {{"aten::add", concatenate_texts},
                                   {"aten::len", length_of_text},
                                   {"aten::lower", change_case<std::tolower>},
                                   {"aten::upper", change_case<std::toupper>},
                                   {"aten::startswith", starts_with},
                                   {"aten::endswith", ends_with},
                                   {"aten::__contains__", contains_text},
                                   {"aten::format", format},
                                   {"aten::split", split},
                                   {"aten::join", join_texts},
                                   {"aten::strip", strip<true, true>},
                                   {"aten::lstrip", strip<true, false>},
                                   {"aten::rstrip", strip<false, true>},
                                   {"aten::replace", replace_text},
                                   {"aten::find", find_text},
                                   {"aten::__getitem__", letter},
                                   {"aten::str", to_text},
                                   {"aten::lt", compare_texts<std::less<>>},
                                   {"aten::le", compare_texts<std::less_equal<>>},
                                   {"aten::gt", compare_texts<std::greater<>>},
                                   {"aten::ge", compare_texts<std::greater_equal<>>},
                                   {"aten::ord", byte_of_letter},
                                   {"aten::device", device}};
  return table;
}

}  // namespace compatcheck::passes
