#include "files/pickle.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "files/pickle_steps.h"

namespace compatcheck::files {
namespace {

class Walk {
 public:
  explicit Walk(std::span<const std::uint8_t> pickle) : steps_(pickle) {}

  PickledNames run() {
    while (const auto step = steps_.next()) {
      if (step->opcode == pickle_opcode::stop) {
        names_.whole = true;
        break;
      }
      take(*step);
    }
    names_.bytes = steps_.passed();
    return std::move(names_);
  }

 private:
  void take(const PickleStep& step) {
    switch (step.opcode) {
      case pickle_opcode::short_binunicode:
      case pickle_opcode::binunicode: return string(step.text);
      case pickle_opcode::put:
      case pickle_opcode::long_put: return remember(step.number);
      case pickle_opcode::memoize: return remember(memo_next_++);
      case pickle_opcode::get:
      case pickle_opcode::long_get: return recall(step.number);
      case pickle_opcode::global:
      case pickle_opcode::inst: found(step.text, step.second); break;
      case pickle_opcode::stack_global: found(before_last_, last_); break;
      default: break;
    }
    last_is_string_ = false;
  }

  void found(std::string_view module, std::string_view name) {
    std::string full = std::string(module) + '.' + std::string(name);
    if (std::find(names_.classes.begin(), names_.classes.end(), full) == names_.classes.end())
      names_.classes.push_back(std::move(full));
  }

  // STACK_GLOBAL takes module and name from the stack: nearly always the last two strings, fresh or from the memo.
  void string(std::string_view text) {
    before_last_ = last_;
    last_ = text;
    last_is_string_ = true;
  }
  void remember(std::uint64_t place) {
    if (last_is_string_) memo_[place] = last_;
  }
  void recall(std::uint64_t place) {
    if (const auto known = memo_.find(place); known != memo_.end()) string(known->second);
  }

  PickleSteps steps_;
  std::string_view last_, before_last_;
  bool last_is_string_ = false;
  std::uint64_t memo_next_ = 0;
  std::map<std::uint64_t, std::string_view> memo_;
  PickledNames names_;
};

bool is_data(std::string_view name) {
  constexpr std::array<std::string_view, 10> prefixes = {
      "collections.",        "torch._utils.", "torch._tensor.", "torch.storage.", "torch.serialization.",
      "torch.nn.parameter.", "numpy.",        "_codecs.",       "pathlib.",       "datetime."};
  if (std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) { return name.starts_with(prefix); }))
    return true;
  if (name.starts_with("torch.")) return name.find('.', 6) == name.npos;  // torch.FloatStorage, torch.float32, torch.Size
  for (const std::string_view module : {"builtins.", "__builtin__."}) {
    if (!name.starts_with(module)) continue;
    const std::string_view type = name.substr(module.size());
    for (const std::string_view plain : {"set", "frozenset", "slice", "complex", "int", "float", "bool", "str", "list", "dict",
                                         "tuple", "bytes", "bytearray", "range", "object"})
      if (type == plain) return true;
  }
  return false;
}

}  // namespace

PickledNames names_in_pickle(std::span<const std::uint8_t> pickle) { return Walk(pickle).run(); }

std::string foreign_class(const PickledNames& names) {
  const auto found = std::find_if_not(names.classes.begin(), names.classes.end(), is_data);
  return found == names.classes.end() ? std::string() : *found;
}

}  // namespace compatcheck::files
