// Source: CPython's Lib/pickletools.py (opcodes and their arguments).
#include "frontend/pickle.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

namespace compatcheck::frontend {
namespace {

// How many bytes stand after an opcode: a fixed number, or a length of 1, 4 or 8 bytes and then that many, or lines.
enum class Argument : std::uint8_t { none, one, two, four, eight, counted1, counted4, counted8, line, lines2, unknown };

Argument argument_of(std::uint8_t opcode) {
  static const std::array<Argument, 256> table = [] {
    std::array<Argument, 256> table;
    table.fill(Argument::unknown);
    const auto set = [&](std::string_view opcodes, Argument argument) {
      for (const char opcode : opcodes) table[static_cast<std::uint8_t>(opcode)] = argument;
    };
    set("(.012NQRab]}deots)l\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94\x97\x98u", Argument::none);
    set("Khq\x80\x82", Argument::one);
    set("M\x83", Argument::two);
    set("Jjr\x84", Argument::four);
    set("G\x95", Argument::eight);
    set("U\x8a\x8c" "C", Argument::counted1);
    set("TX\x8b" "B", Argument::counted4);
    set("\x8d\x8e\x96", Argument::counted8);
    set("FILSVPgp", Argument::line);
    set("ci", Argument::lines2);
    return table;
  }();
  return table[opcode];
}

constexpr std::uint8_t stop = '.', global = 'c', instance = 'i', stack_global = 0x93, memoize = 0x94,
                       short_unicode = 0x8c, unicode = 'X', binput = 'q', long_binput = 'r', binget = 'h', long_binget = 'j';

class Walk {
 public:
  explicit Walk(std::span<const std::uint8_t> pickle) : pickle_(pickle) {}

  PickledNames run() {
    while (step()) {}
    names_.bytes = at_;
    return std::move(names_);
  }

 private:
  std::optional<std::uint64_t> number(std::size_t width) {
    if (pickle_.size() - at_ < width) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) value |= std::uint64_t{pickle_[at_ + i]} << 8 * i;
    at_ += width;
    return value;
  }
  std::optional<std::string_view> text(std::uint64_t size) {
    if (pickle_.size() - at_ < size) return std::nullopt;
    const std::string_view text(reinterpret_cast<const char*>(pickle_.data()) + at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return text;
  }
  std::optional<std::string_view> line() {
    const std::string_view rest(reinterpret_cast<const char*>(pickle_.data()) + at_, pickle_.size() - at_);
    const auto end = rest.find('\n');
    if (end == rest.npos) return std::nullopt;
    at_ += end + 1;
    return rest.substr(0, end);
  }
  std::optional<std::string_view> counted(std::size_t width) {
    const auto size = number(width);
    return size ? text(*size) : std::nullopt;
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

  bool step() {
    const auto opcode = number(1);
    if (!opcode) return false;
    const auto code = static_cast<std::uint8_t>(*opcode);
    if (code == stop) {
      names_.whole = true;
      return false;
    }
    if (code == global || code == instance) {
      const auto module = line();
      const auto name = module ? line() : std::nullopt;
      if (name) found(*module, *name);
      last_is_string_ = false;
      return name.has_value();
    }
    if (code == stack_global) found(before_last_, last_);
    if (code == memoize) remember(memo_next_++);
    const std::optional<std::uint64_t> fixed = take(code);
    if (!fixed) return false;
    if (code == binput || code == long_binput) remember(*fixed);
    else if (code == binget || code == long_binget) recall(*fixed);
    else if (code != memoize && code != short_unicode && code != unicode) last_is_string_ = false;
    return true;
  }

  // Passes the argument; its number where it is one. nullopt: cut short, or not a pickle.
  std::optional<std::uint64_t> take(std::uint8_t code) {
    const auto passed = [&](std::optional<std::string_view> text) -> std::optional<std::uint64_t> {
      if (!text) return std::nullopt;
      if (code == short_unicode || code == unicode) string(*text);
      return 0;
    };
    switch (argument_of(code)) {
      case Argument::none: return 0;
      case Argument::one: return number(1);
      case Argument::two: return number(2);
      case Argument::four: return number(4);
      case Argument::eight: return number(8);
      case Argument::counted1: return passed(counted(1));
      case Argument::counted4: return passed(counted(4));
      case Argument::counted8: return passed(counted(8));
      case Argument::line: return passed(line());
      default: return std::nullopt;
    }
  }

  std::span<const std::uint8_t> pickle_;
  std::size_t at_ = 0;
  std::string_view last_, before_last_;
  bool last_is_string_ = false;
  std::uint64_t memo_next_ = 0;
  std::map<std::uint64_t, std::string_view> memo_;
  PickledNames names_;
};

bool is_data(std::string_view name) {
  constexpr std::array<std::string_view, 10> prefixes = {
      "collections.", "torch._utils.", "torch._tensor.", "torch.storage.", "torch.serialization.", "torch.nn.parameter.",
      "numpy.", "_codecs.", "pathlib.", "datetime."};
  if (std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) { return name.starts_with(prefix); }))
    return true;
  if (name.starts_with("torch.")) return name.find('.', 6) == name.npos;  // torch.FloatStorage, torch.float32, torch.Size
  for (const std::string_view module : {"builtins.", "__builtin__."}) {
    if (!name.starts_with(module)) continue;
    const std::string_view type = name.substr(module.size());
    for (const std::string_view plain : {"set", "frozenset", "slice", "complex", "int", "float", "bool", "str", "list",
                                         "dict", "tuple", "bytes", "bytearray", "range", "object"})
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

}  // namespace compatcheck::frontend
