// Attributes that hold lists, dictionaries and tuples and that calls change: each tensor and number in them becomes an
// attribute of its own, or a list becomes one value of the graph.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"
#include "ir/watch.h"
#include "passes/state.h"
#include "passes/state_accesses.h"

namespace compatcheck::passes {

// The steps of one trial: open, then the passes that follow containers, then close, then attributes_to_state, then settle. If a
// step returns false, it has learnt more about an attribute (`decided`), and the trial starts again with the original graph.
class ContainerState {
 public:
  // The constructor's arguments must outlive the object.
  ContainerState(const ir::Program& program, ContainerDecisions& decided, const ir::Watch& watch)
      : whole_(program), decided_(decided), watch_(watch) {}

  // Such attributes become attributes of new objects, which begin with inputs of the graph and end as its outputs. False: there
  // are none.
  bool open(ir::Graph& graph);
  // Each input becomes a read of an attribute of program(), each value at the end a write to it.
  bool close(ir::Graph& graph);
  bool settle(ir::Graph& graph, const MadeState& made);

  // Objects and classes, with one more object for each attribute that close() has split. Without functions.
  const ir::Program& program() const { return apart_; }
  bool is_input(const std::string& name) const;  // whether open() made this input

 private:
  struct Leaf {
    std::string name;  // "0", "a.1"
    const ir::Constant* stored;
    ir::TypeRef type;
    ir::Value* input = nullptr;
    ir::Value* after = nullptr;
    ir::Node* read = nullptr;
  };
  struct Opened {
    AttributeKey key;
    std::string path;
    const ir::Constant* stored;
    ir::TypeRef type;
    bool whole = false;       // a list that is one value
    bool in_place = false;    // lists or dictionaries in it are changed in place
    bool sets_items = false;  // calls change it only by l[i] = x of lists in it, which keep their lengths
    std::vector<Leaf> leaves{};
    std::vector<std::pair<std::string, const ir::Constant*>> objects{};  // members that are objects, which have attributes
    ir::Node* object = nullptr;
    std::uint32_t held_by = 0;  // object of program() that has the leaves
  };

  std::string obstacle_of(const StateAccesses& accesses, const AttributeKey& key, const Accessed& cell) const;
  static std::string obstacle_in_file(const Accessed& cell);
  void begin(ir::Graph& graph, ir::Node* place, Opened& opened);
  ir::Value* build(ir::Graph& graph, ir::Node* place, Opened& opened, const ir::Constant& stored, const ir::TypeRef& declared,
                   const std::string& name);
  std::string match(const Aliases& aliases, ir::Node* place, Opened& opened, std::size_t& leaf, const ir::Constant& stored,
                    ir::Value* after) const;
  void describe(Opened& opened);
  void store(ir::Graph& graph, Opened& opened);

  const ir::Program& whole_;
  ContainerDecisions& decided_;
  const ir::Watch& watch_;
  ir::Program apart_{};
  std::vector<Opened> opened_;
};

}  // namespace compatcheck::passes
