// How a list keeps items whose number only the running model knows: in columns, one list for each number or tensor of an item.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "passes/heap.h"

namespace compatcheck::passes {

inline constexpr std::size_t most_options = 16;  // most options of a choice

struct Column {
  ir::TypeRef type;                      // a list of numbers or of tensors
  std::optional<std::size_t> lengths{};  // for items of inner lists: the place of the column with the lengths of these lists
};

// The places of an item. A list of numbers within an item is kept as a vector.
struct Layout {
  enum class Kind : std::uint8_t { value, numbers, list, tuple, dict, table, object, choice };
  Kind kind = Kind::value;
  ir::TypeRef type{};                // type of an item
  std::vector<ir::Constant> keys{};  // keys of a dict; attribute names of an object
  std::vector<Layout> parts{};       // a table has its keys and its values, a list one part for all its items
  std::vector<Abstract> options{};   // options of a choice

  // For a value that isn't followed; nullopt if it can't be kept in columns.
  static std::optional<Layout> of_type(const ir::TypeRef& type);
  // For a dictionary whose keys and values are numbers that only the running model knows; nullopt for other dictionaries.
  static std::optional<Layout> of_table(const ir::TypeRef& dict);

  // Makes it one that also holds what `other` holds. False if there is none; then its state is undefined.
  bool widen(const Layout& other);
  // Returns a layout for both, in which codes of `other` stay as they are if those of both can't.
  std::optional<Layout> widened(const Layout& other) const;
  // Whether columns in this layout are also valid columns in layout `wide`.
  bool keeps_codes(const Layout& wide) const;

  std::vector<Column> columns() const;
  bool has_identity() const;  // whether an item may hold an object that has other names
  bool has_lists() const;     // lists of tensors or tuples, in lists
  bool has_names() const;  // whether an output can have it: its keys can be names, and it has no choices, tables or inner lists
};

// Whether ONNX has no list of such items: neither numbers nor tensors.
bool needs_columns(const ir::TypeRef& list);

}  // namespace compatcheck::passes
