// What a pickle holds, without making or calling anything: calls and objects stay what they are.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace compatcheck::files {

// Items refer to each other by number: they may share members, and even hold themselves.
using PickleItemId = std::uint32_t;

struct PickleItem {
  enum class Kind : std::uint8_t {
    none,
    boolean,
    integer,
    floating,
    text,
    tuple,
    list,
    dict,
    name,        // of a class or function: `module` and `text`
    call,        // function, tuple of arguments
    object,      // class, tuple of arguments: made by __new__
    persistent,  // an id that whoever reads the pickle resolves
    other,       // bytes, sets, integers of more than 64 bits …
  } kind = Kind::other;
  std::int64_t integer = 0;  // also of boolean
  double floating = 0;
  std::string_view text{}, module{};    // into the pickle
  std::vector<PickleItemId> members{};  // of tuple and list; dict: key, value, …; call, object, persistent: as above
  std::vector<PickleItemId> added{};    // to a call or object afterwards: list members; keys and values alternating
  bool has_state = false;               // __setstate__ was called on it, with `state`
  PickleItemId state = 0;
};

struct PickleTree {
  std::vector<PickleItem> items;
  PickleItemId root = 0;
};

// Throws ModelError for what is cut short, no pickle, of more than `most_items`, or of a protocol below 2. The pickle must
// outlive the tree.
PickleTree read_pickle(std::span<const std::uint8_t> pickle, std::size_t most_items = 100000);

}  // namespace compatcheck::files
