// The join of both blocks of an If whose condition isn't known: values and containers that differ become outputs of the If.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "passes/container_walk.h"

namespace compatcheck::passes {

struct ContainerWalk::Join {
  static constexpr std::size_t ways = 2;

  ContainerWalk& walk;
  ir::Node* node;
  std::size_t cells_before;
  CellId first_result = static_cast<CellId>(cells_before);  // cells from here on join those of both blocks
  std::array<HeapChanges, ways> changes{};
  std::array<std::vector<CellId>, ways> living{};  // cells of each block that live at its end
  std::array<bool, ways> raises{};
  std::map<std::array<ir::Value*, ways>, ir::Value*> outputs{};
  std::map<std::array<CellId, ways>, CellId> merged{};
  std::deque<Abstract> kept{};
  std::array<std::array<ir::Value*, 2>, ways> truths{};  // False and True, in each way
  ir::Value* opposite = nullptr;                         // negation of the condition
  std::set<const ir::Value*> given{};                    // outputs that the If had before and that are used again
  std::deque<HeapChanges> retired{};

  // A truth at the end of a block: a bool of the graph, or a known one; nothing where the block raises.
  struct Truth {
    ir::Value* value = nullptr;
    std::optional<bool> known{};
  };

  Site site() const { return walk.site_of(node); }
  ir::Node* end_of(std::size_t way) const { return node->blocks()[way]->return_node(); }
  bool existed(CellId id) const { return walk.existed(id, *node, cells_before); }
  const Cell& state(std::size_t way, CellId id) const;
  const Abstract& keep(Abstract abstract) { return kept.emplace_back(std::move(abstract)); }
  [[noreturn]] void leave(const Abstract& a, const Abstract& b) const;

  Placements walk_blocks();

  Abstract merge(const Abstract* a, const Abstract* b);
  bool joins_none(const Abstract& a, const Abstract& b) const;
  bool joins_labels(const Abstract& a, const Abstract& b) const;
  Abstract merge_choices(const Abstract* a, const Abstract* b);
  Abstract merge_options(const Abstract* a, const Abstract* b);
  Truth merge(const Truth& a, const Truth& b);
  ir::Value* constant_in(std::size_t way, bool value);
  static bool alike(const Abstract& a, const Abstract& b);
  Abstract merge_values(const Abstract& a, const Abstract& b);
  ir::Value* output(const std::array<ir::Value*, ways>& values);

  // Runs a step on the heap as a block left it.
  template <class Step>
  auto at_end_of(std::size_t way, Step step) {
    walk.heap_.reopen(changes[way], living[way]);
    auto result = step();
    retired.push_back(std::exchange(changes[way], walk.heap_.close()));  // callers may hold a reference to a cell in it
    return result;
  }
  CellId merge_cells(std::optional<CellId> a, std::optional<CellId> b);
  Identities merge_identities(std::optional<CellId> a, std::optional<CellId> b);
  Cell merge_states(const Cell* a, const Cell* b, const ir::TypeRef& type, const std::set<Site>& sites);
  bool merge_columns(Cell& cell, const Cell* a, const Cell* b, const ir::TypeRef& type, const std::set<Site>& sites);
  Cell merge_tables(const Cell* a, const Cell* b, const ir::TypeRef& type, const std::set<Site>& sites);
  static std::optional<std::vector<ir::Constant>> in_one_order(const Cell& a, const Cell& b);
  Cell merge_dicts(const Cell& a, const Cell& b);
  ir::Value* whole(std::size_t way, const Cell& cell, const ir::TypeRef& type);
  void add_elements(CellId list, const std::array<const Cell*, ways>& states);
  void join_elements(CellId from, CellId list);
  void merge_heaps();
};

}  // namespace compatcheck::passes
