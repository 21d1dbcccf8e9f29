// A pickle's opcodes one after the other, each with its argument. Nothing is made or called.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace compatcheck::files {

struct PickleStep {
  std::uint8_t opcode = 0;
  std::uint64_t number = 0;       // fixed-width argument, little-endian; 0 for arguments that are lines or counted texts
  std::string_view text, second;  // counted bytes, or the first and second line
};

class PickleSteps {
 public:
  explicit PickleSteps(std::span<const std::uint8_t> pickle) : pickle_(pickle) {}

  // nullopt: cut short, or no opcode. STOP is a step like others.
  std::optional<PickleStep> next();
  std::size_t passed() const { return at_; }  // bytes

 private:
  bool number(std::size_t width, std::uint64_t& value);
  bool counted(std::size_t width, std::string_view& text);
  bool line(std::string_view& text);

  std::span<const std::uint8_t> pickle_;
  std::size_t at_ = 0;
};

// Those that our readers tell apart. Source: CPython's Lib/pickletools.py.
namespace pickle_opcode {
inline constexpr std::uint8_t proto = 0x80, frame = 0x95, stop = '.', mark = '(', pop = '0', pop_mark = '1', dup = '2', put = 'q',
                              long_put = 'r', get = 'h', long_get = 'j', memoize = 0x94, none = 'N', newtrue = 0x88,
                              newfalse = 0x89, binint = 'J', binint1 = 'K', binint2 = 'M', long1 = 0x8a, long4 = 0x8b,
                              binfloat = 'G', binunicode = 'X', short_binunicode = 0x8c, binunicode8 = 0x8d, binstring = 'T',
                              short_binstring = 'U', binbytes = 'B', short_binbytes = 'C', binbytes8 = 0x8e, bytearray8 = 0x96,
                              empty_tuple = ')', tuple1 = 0x85, tuple2 = 0x86, tuple3 = 0x87, tuple = 't', empty_list = ']',
                              list = 'l', append = 'a', appends = 'e', empty_dict = '}', dict = 'd', setitem = 's',
                              setitems = 'u', empty_set = 0x8f, additems = 0x90, frozenset = 0x91, global = 'c', inst = 'i',
                              stack_global = 0x93, reduce = 'R', build = 'b', newobj = 0x81, newobj_ex = 0x92, binpersid = 'Q';
}

}  // namespace compatcheck::files
