#include <algorithm>
#include <cctype>

#include "passes/budget.h"
#include "passes/evaluate.h"

namespace compatcheck::passes {
namespace {

using ir::Constant;
using Result = std::optional<Constant>;

const std::string* text(Arguments in, std::size_t i) { return i < in.size() ? in[i]->get<std::string>() : nullptr; }

Result concatenate(const ir::Node&, Arguments in) {
  if (in.size() != 2 || !text(in, 0) || !text(in, 1) || text(in, 0)->size() + text(in, 1)->size() > most_text)
    return std::nullopt;
  return Constant{*text(in, 0) + *text(in, 1)};
}

Result length(const ir::Node&, Arguments in) {  // bytes, as libtorch counts
  return in.size() == 1 && text(in, 0) ? Result(Constant{static_cast<std::int64_t>(text(in, 0)->size())}) : std::nullopt;
}

template <int (*letter)(int)>
Result change_case(const ir::Node&, Arguments in) {
  if (in.size() != 1 || !text(in, 0)) return std::nullopt;
  std::string changed = *text(in, 0);
  std::transform(changed.begin(), changed.end(), changed.begin(),
                 [](unsigned char c) { return static_cast<char>(c < 128 ? letter(c) : c); });
  return Constant{std::move(changed)};
}

// With the whole string only: start 0, end -1.
bool whole(Arguments in) {
  if (in.size() == 2) return true;
  const auto* from = in.size() == 4 ? in[2]->get<std::int64_t>() : nullptr;
  const auto* to = in.size() == 4 ? in[3]->get<std::int64_t>() : nullptr;
  return from && to && *from == 0 && *to == -1;
}

Result starts_with(const ir::Node&, Arguments in) {
  if (!text(in, 0) || !text(in, 1) || !whole(in)) return std::nullopt;
  return Constant{text(in, 0)->starts_with(*text(in, 1))};
}

Result ends_with(const ir::Node&, Arguments in) {
  if (!text(in, 0) || !text(in, 1) || !whole(in)) return std::nullopt;
  return Constant{text(in, 0)->ends_with(*text(in, 1))};
}

Result contains(const ir::Node&, Arguments in) {
  if (in.size() != 2 || !text(in, 0) || !text(in, 1)) return std::nullopt;
  return Constant{text(in, 0)->find(*text(in, 1)) != std::string::npos};
}

// How "{}" shows a value; floats are left alone, libtorch writes them in its own way.
std::optional<std::string> shown(const Constant& value) {
  if (const auto* string = value.get<std::string>()) return *string;
  if (const auto* number = value.get<std::int64_t>()) return std::to_string(*number);
  if (const auto* flag = value.get<bool>()) return *flag ? "True" : "False";
  return std::nullopt;
}

Result format(const ir::Node&, Arguments in) {
  if (!text(in, 0)) return std::nullopt;
  std::string result;
  std::size_t argument = 1;
  std::string_view rest = *text(in, 0);
  for (std::size_t at; (at = rest.find("{}")) != std::string_view::npos; rest.remove_prefix(at + 2)) {
    if (argument == in.size()) return std::nullopt;
    const auto part = shown(*in[argument++]);
    if (!part || result.size() + part->size() > most_text) return std::nullopt;
    result.append(rest.substr(0, at)).append(*part);
  }
  if (argument != in.size()) return std::nullopt;
  return Constant{result.append(rest)};
}

Result to_text(const ir::Node&, Arguments in) {
  const auto result = in.size() == 1 ? shown(*in[0]) : std::nullopt;
  return result ? Result(Constant{*result}) : std::nullopt;
}

Result device(const ir::Node&, Arguments in) {
  return in.size() == 1 && text(in, 0) ? Result(Constant{ir::DeviceConstant{*text(in, 0)}}) : std::nullopt;
}

}  // namespace

const Evaluators& string_evaluators() {
  static const Evaluators table = {{"aten::add", concatenate},
                                   {"aten::len", length},
                                   {"aten::lower", change_case<std::tolower>},
                                   {"aten::upper", change_case<std::toupper>},
                                   {"aten::startswith", starts_with},
                                   {"aten::endswith", ends_with},
                                   {"aten::__contains__", contains},
                                   {"aten::format", format},
                                   {"aten::str", to_text},
                                   {"aten::device", device}};
  return table;
}

}  // namespace compatcheck::passes
