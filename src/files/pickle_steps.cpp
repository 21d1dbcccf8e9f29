// Source: CPython's Lib/pickletools.py (opcodes and their arguments).
#include "files/pickle_steps.h"

#include <array>

namespace compatcheck::files {
namespace {

// How many bytes stand after an opcode: a fixed number, or a length of 1, 4 or 8 bytes and then that many, or lines.
enum class OpcodeArgument : std::uint8_t { none, one, two, four, eight, counted1, counted4, counted8, line, lines2, unknown };

OpcodeArgument argument_of(std::uint8_t opcode) {
  static const std::array<OpcodeArgument, 256> table = [] {
    std::array<OpcodeArgument, 256> arguments;
    arguments.fill(OpcodeArgument::unknown);
    const auto set = [&](std::string_view opcodes, OpcodeArgument argument) {
      for (const char each : opcodes) arguments[static_cast<std::uint8_t>(each)] = argument;
    };
    set(".(012NQRab]}deots)l\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94\x97\x98u", OpcodeArgument::none);
    set("Khq\x80\x82", OpcodeArgument::one);
    set("M\x83", OpcodeArgument::two);
    set("Jjr\x84", OpcodeArgument::four);
    set("G\x95", OpcodeArgument::eight);
    set("U\x8a\x8c"
        "C",
        OpcodeArgument::counted1);
    set("TX\x8b"
        "B",
        OpcodeArgument::counted4);
    set("\x8d\x8e\x96", OpcodeArgument::counted8);
    set("FILSVPgp", OpcodeArgument::line);
    set("ci", OpcodeArgument::lines2);
    return arguments;
  }();
  return table[opcode];
}

}  // namespace

bool PickleSteps::number(std::size_t width, std::uint64_t& value) {
  if (pickle_.size() - at_ < width) return false;
  value = 0;
  for (std::size_t i = 0; i < width; ++i) value |= std::uint64_t{pickle_[at_ + i]} << 8 * i;
  at_ += width;
  return true;
}

bool PickleSteps::counted(std::size_t width, std::string_view& text) {
  std::uint64_t size = 0;
  if (!number(width, size) || pickle_.size() - at_ < size) return false;
  text = {reinterpret_cast<const char*>(pickle_.data()) + at_, static_cast<std::size_t>(size)};
  at_ += text.size();
  return true;
}

bool PickleSteps::line(std::string_view& text) {
  const std::string_view rest(reinterpret_cast<const char*>(pickle_.data()) + at_, pickle_.size() - at_);
  const auto end = rest.find('\n');
  if (end == rest.npos) return false;
  text = rest.substr(0, end);
  at_ += end + 1;
  return true;
}

std::optional<PickleStep> PickleSteps::next() {
  PickleStep step;
  std::uint64_t opcode = 0;
  if (!number(1, opcode)) return std::nullopt;
  step.opcode = static_cast<std::uint8_t>(opcode);
  bool whole = false;
  switch (argument_of(step.opcode)) {
    case OpcodeArgument::none: whole = true; break;
    case OpcodeArgument::one: whole = number(1, step.number); break;
    case OpcodeArgument::two: whole = number(2, step.number); break;
    case OpcodeArgument::four: whole = number(4, step.number); break;
    case OpcodeArgument::eight: whole = number(8, step.number); break;
    case OpcodeArgument::counted1: whole = counted(1, step.text); break;
    case OpcodeArgument::counted4: whole = counted(4, step.text); break;
    case OpcodeArgument::counted8: whole = counted(8, step.text); break;
    case OpcodeArgument::line: whole = line(step.text); break;
    case OpcodeArgument::lines2: whole = line(step.text) && line(step.second); break;
    case OpcodeArgument::unknown: break;
  }
  return whole ? std::optional(step) : std::nullopt;
}

}  // namespace compatcheck::files
