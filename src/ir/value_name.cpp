#include "ir/value_name.h"

#include <charconv>
#include <utility>

namespace compatcheck::ir {

std::string_view source_name(const Value& value) {
  const std::string_view name = std::string_view(value.name()).substr(0, value.name().find('.'));
  const auto first_letter = name.find_first_not_of("_0123456789");
  const bool speaks = first_letter != name.npos && name.find_first_of("0123456789") != 0;
  return speaks ? name : std::string_view();
}

std::string input_name(const Value& input) {
  return input.name().empty() ? "input_" + std::to_string(input.index()) : input.name();
}

std::string described(const Value& value) {
  if (const auto name = source_name(value); !name.empty()) return "`" + std::string(name) + "`";
  const Node* producer = value.producer();
  if (producer && producer->is("prim::Constant")) return "a constant";
  if (producer && producer->is("prim::GetAttr")) {
    const Constant* attribute = producer->attribute("name");
    if (const auto* text = attribute ? attribute->get<std::string>() : nullptr) return "the attribute `" + *text + "`";
  }
  for (const auto& [maker, kind] : {std::pair{"prim::ListConstruct", "a list"},
                                    {"prim::TupleConstruct", "a tuple"},
                                    {"prim::DictConstruct", "a dict"},
                                    {"prim::ColumnsConstruct", "a list"},
                                    {"prim::OptionalConstruct", "an optional value"},
                                    {"aten::dict", "a dict"},
                                    {"prim::CreateObject", "an object"}})
    if (producer && producer->is(maker)) return kind;
  if (producer) return "the result of " + producer->op();
  const Node* owner = value.block() ? value.block()->owner() : nullptr;
  return owner ? "a value that " + owner->op() + " carries" : "input " + std::to_string(value.index() + 1);
}

std::string key_text(const Constant& key) {
  if (const auto* text = key.get<std::string>()) return *text;
  const auto* number = key.get<std::int64_t>();
  return number ? std::to_string(*number) : std::string();
}

std::string name_of_key(std::string_view key) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string name;
  for (const char letter : key) {
    const auto code = static_cast<unsigned char>(letter);
    const bool divides = letter == '.' || letter == '=' || letter == '%', is_control = code < 0x20 || code == 0x7F;
    if (divides || is_control)
      name.append({'%', digits[code >> 4], digits[code & 0xF]});
    else
      name += letter;
  }
  return name;
}

std::optional<std::string> key_of_name(std::string_view part) {
  std::string key;
  for (std::size_t at = 0; at < part.size(); ++at) {
    if (part[at] != '%') {
      key += part[at];
      continue;
    }
    unsigned code = 0;
    if (at + 2 >= part.size()) return std::nullopt;
    const char* const digits = part.data() + at + 1;
    if (const auto [end, error] = std::from_chars(digits, digits + 2, code, 16); error != std::errc() || end != digits + 2)
      return std::nullopt;
    key += static_cast<char>(code);
    at += 2;
  }
  return name_of_key(key) == part ? std::optional(std::move(key)) : std::nullopt;
}

std::string member_name(std::string_view whole, std::string_view key) { return std::string(whole) + "." + name_of_key(key); }

}  // namespace compatcheck::ir
