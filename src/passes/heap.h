// Python's objects while a graph is walked: what lists, dictionaries and objects hold at one place of the program. Two names of
// one list lead to the same cell, so a write through either name is seen through both.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace compatcheck::passes {

struct Layout;

using CellId = std::uint32_t;
using Site = std::uint64_t;  // identifies where a container is created; the same in every copy of a graph

// One of: a value of the graph, a reference to a cell, a tuple, which has parts and no identity, an Optional of which
// only the running model knows whether it is None, or a choice: a text, an enum's member, a device, or a number that follows from
// such, of which only the running model knows which one of several it is.
struct Abstract {
  ir::Value* value = nullptr;
  std::optional<CellId> cell{};
  std::shared_ptr<const std::vector<Abstract>> parts{};  // an Optional has one: what it is if it isn't None
  ir::TypeRef type{};                                    // type of a tuple
  ir::Value* present = nullptr;                          // of an Optional: a bool
  ir::Value* code = nullptr;                             // of a choice: an int, the index among the parts, which are constants
  bool holds_cells = false;                              // whether a part holds a cell
  Site site = 0;                                         // where an Optional or a choice is created

  static Abstract of(ir::Value* value) { return {.value = value}; }
  static Abstract of_cell(CellId cell) { return {.cell = cell}; }
  // `made` is the tuple in the graph, if there is one.
  static Abstract of_parts(std::vector<Abstract> parts, ir::TypeRef type, ir::Value* made = nullptr) {
    bool cells = false;
    for (const Abstract& part : parts) cells = cells || part.cell || part.holds_cells;
    return {.value = made,
            .parts = std::make_shared<const std::vector<Abstract>>(std::move(parts)),
            .type = std::move(type),
            .holds_cells = cells};
  }
  static Abstract of_option(ir::Value* present, Abstract inner, Site site) {
    Abstract made = of_parts({std::move(inner)}, nullptr);
    made.present = present;
    made.site = site;
    return made;
  }
  static Abstract of_choice(ir::Value* code, std::vector<Abstract> options, Site site) {
    Abstract made = of_parts(std::move(options), nullptr);
    made.type = made.parts->front().value->type();
    made.code = code;
    made.site = site;
    return made;
  }
  bool followed() const { return cell || parts; }
  bool is_tuple() const { return parts && !present && !code; }
  bool is_none() const;
};

// A constant that ONNX has no value of, but a number among the others that it may be.
bool is_label_constant(const ir::Constant& constant);
bool is_label(const Abstract& abstract);
// Null if it's null or undefined: the result of a branch that raises, or of a return that wasn't reached.
const Abstract* defined(const Abstract* abstract);
bool is_undefined_label(const Abstract& abstract);
inline bool is_choice(const Abstract& abstract) {
  return is_label(abstract) || (abstract.code && is_label(abstract.parts->front()));
}

// Returns the value that isn't None; null if it is None.
const Abstract* content(const Abstract& abstract);

// The same value, the same cell, equal constants, or tuples of such.
bool same(const Abstract& a, const Abstract& b);

struct Cell {
  enum class Kind : std::uint8_t { list, dict, object };
  Kind kind = Kind::list;
  // The `made` value or the columns of a list are known, not its items. A dict has one list of its keys and one of its values.
  bool whole = false;
  bool untouched = false;            // holds an attribute, which may be as it was when the call began
  std::vector<ir::Constant> keys{};  // keys of a dict; attribute names of an object
  std::vector<Abstract> items{};
  std::vector<ir::Value*> present{};       // for a dict with keys that may be absent: a bool per key; null: it is present
  bool unordered = false;                  // the order of a dict's keys isn't known
  ir::Value* made = nullptr;               // a value that holds the current contents, if there is one
  std::shared_ptr<const Layout> layout{};  // layout of a list that is kept in columns
  std::vector<ir::Value*> columns{};
  std::uint64_t version = 0;  // changes with each write that may move items, or change one under another name

  bool is_table() const { return kind == Kind::dict && whole; }
  const Abstract* find(const ir::Constant& key) const;
  void set(const ir::Constant& key, Abstract item);  // at the end, if the key is new
  void erase(std::size_t place);                     // for dicts
  void be_there(std::size_t place);
  ir::Value* presence(const Abstract* item) const;  // null: the item is present
  bool is_settled() const { return present.empty() && !unordered; }

 private:
  void forget_presence();  // clears `present` if every key is present
};

bool same_keys(const std::vector<ir::Constant>& a, const std::vector<ir::Constant>& b);  // in the same order

using Identity = std::uint32_t;

// Whether a cell is a certain object of the running program: always, where a bool of the graph is true, or under a condition that
// isn't known.
struct Sameness {
  ir::Value* when = nullptr;  // null: always, or not known
  bool known = true;

  bool is_known_in(const ir::Block* block) const;
};
using Identities = std::map<Identity, Sameness>;

// The properties of a cell that never change.
struct CellOrigin {
  ir::TypeRef type;
  std::set<Site> sites;
  std::string input{};               // the graph's input that the cell is
  const ir::Value* value = nullptr;  // the graph's value that it was before it was followed
};

// The contents that some cells have at the end of a block.
using HeapChanges = std::map<CellId, std::shared_ptr<Cell>>;

class Heap {
 public:
  CellId add(Cell cell, CellOrigin origin);
  const Cell& at(CellId id) const { return *cells_[id]; }
  const CellOrigin& origin(CellId id) const { return origins_[id]; }
  std::size_t size() const { return cells_.size(); }

  Cell& change(CellId id);  // valid until the next call

  // A block's changes to the heap: open() before it is walked; close() undoes and returns them.
  void open() { frames_.push_back({.first = size()}); }
  HeapChanges close();
  // Puts back what a block that was closed has left, until close(). `living`: the cells that `living_since` gave for the block.
  void reopen(const HeapChanges& after, const std::vector<CellId>& living = {});
  std::vector<CellId> living_since(CellId first) const;  // cells from `first` on that haven't ended
  std::size_t open_frames() const { return frames_.size(); }

  // Not created in a block that was closed. What such a cell was lives on in a cell that joins both blocks.
  const std::vector<CellId>& not_ended() const { return not_ended_; }

  // The objects of the running program that a cell may be: its own, or those of the cells that were joined to it. Two cells that
  // share one may be the same list under two names.
  const Identities& identities(CellId id) const { return identities_[id]; }
  void set_identities(CellId id, Identities identities);
  Identity new_identity() { return next_identity_++; }
  const std::vector<CellId>& cells_of(Identity identity) const;
  std::vector<CellId> sharing(CellId id) const;  // other cells that share one and haven't ended

  // The objects that items of a list in columns may be, beside objects that only the list holds.
  void add_elements(CellId list, const std::set<Identity>& identities);
  const std::set<Identity>& elements(CellId list) const;
  std::vector<CellId> lists_that_may_hold(CellId id) const;  // lists that haven't ended

  // One object may stand in two places of the list.
  bool repeats(CellId list) const { return repeating_.contains(list); }
  void set_repeats(CellId list) { repeating_.insert(list); }

 private:
  std::vector<std::shared_ptr<Cell>> cells_;
  std::vector<CellOrigin> origins_;
  struct Frame {
    std::size_t first = 0;        // first cell that the block created
    HeapChanges before{};         // the changed cells' contents before the block
    std::vector<CellId> again{};  // cells of a closed block that live until this frame is closed
  };
  std::vector<Frame> frames_;
  std::vector<bool> ended_;
  std::vector<CellId> not_ended_;
  std::vector<Identities> identities_;
  std::vector<std::vector<CellId>> cells_of_;  // indexed by identity
  std::map<CellId, std::set<Identity>> elements_;
  std::set<CellId> repeating_;
  Identity next_identity_ = 0;
};

}  // namespace compatcheck::passes
