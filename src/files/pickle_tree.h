// The contents of a pickle, without making or calling anything: calls and objects stay as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace compatcheck::files {

// Items refer to each other by number: they may share members, and even hold themselves.
using PickleItemId = std::uint32_t;

// The members of an item. They stand in the tree.
class PickleMembers {
 public:
  const PickleItemId* begin() const { return first_; }
  const PickleItemId* end() const { return first_ + size_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  PickleItemId operator[](std::size_t place) const { return first_[place]; }
  PickleItemId front() const { return first_[0]; }
  PickleItemId at(std::size_t place) const {
    if (place >= size_) throw std::out_of_range("a pickle's item has fewer members");
    return first_[place];
  }

 private:
  friend class PickleArena;
  PickleItemId* first_ = nullptr;
  std::uint32_t size_ = 0, room_ = 0;
};

// Holds members, which stay where they are.
class PickleArena {
 public:
  // A pickle of many small tuples has one allocation for thousands.
  void append(PickleMembers& members, std::span<const PickleItemId> more);

 private:
  PickleItemId* allocate(std::size_t count);
  std::vector<std::unique_ptr<PickleItemId[]>> blocks_;
  PickleItemId* end_ = nullptr;  // end of the last block
  std::size_t free_ = 0;         // unused items before end_
};

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
    name,        // name of a class or function: `module` and `text`
    call,        // function, tuple of arguments
    object,      // class, tuple of arguments: made by __new__
    persistent,  // an id that the reader of the pickle resolves
    other,       // bytes, sets, integers of more than 64 bits …
  } kind = Kind::other;
  bool has_state = false;  // __setstate__ was called on it, with `state`
  PickleItemId state = 0;
  std::int64_t integer = 0;  // value of a boolean, too
  double floating = 0;
  std::string_view text{}, module{};  // views of the pickle
  PickleMembers members{};            // items of a tuple or list; dict: key, value, …; call, object, persistent: see Kind
  PickleMembers added{};              // added to a call or object afterwards: list members; keys and values alternating
};

struct PickleTree {
  std::vector<PickleItem> items;
  PickleArena arena;
  PickleItemId root = 0;
};

// Throws ModelError for data that isn't a pickle, is cut short, has more than `most_items`, or a protocol below 2. The pickle
// must outlive the tree.
PickleTree read_pickle(std::span<const std::uint8_t> pickle, std::size_t most_items = 100000);

}  // namespace compatcheck::files
