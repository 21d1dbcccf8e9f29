// Which values may share memory: inclusion-based points-to analysis over the schemas' alias annotations. Ignores the
// order of nodes, so what it says holds at every place of the graph.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"
#include "ir/watch.h"

namespace compatcheck::passes {

using LocationId = std::uint32_t;

// A piece of memory: what one node makes, one graph input, a constant's storage, an attribute's value, an object.
struct MemoryLocation {
  enum class Kind : std::uint8_t { fresh, input, constant, attribute, object, anything };
  Kind kind = Kind::fresh;
  const ir::Node* maker = nullptr;   // for `fresh`
  std::string name;                  // of the input or attribute, for messages
  std::vector<LocationId> contents;  // what a list, dict, tuple or object may hold; sorted
  std::vector<LocationId> parts;     // pieces that don't overlap: the results of one split
  const ir::Node* split = nullptr;   // the node that unpacks `parts`
};

// It may return its argument, or a view of it, though its schema doesn't say so.
bool is_undeclared_view(const ir::Node& node);

class Aliases : public ir::Analysis {
 public:
  // `program` (may be null) holds the objects that prim::GetAttr reads. If the graph writes nothing, nothing is analysed and
  // every query below answers "no". If too many values share memory, one location, `anything`, stands for all memory.
  Aliases(const ir::Graph& graph, const ir::Program* program, const ir::Watch& watch = {});

  // The same, cached in the graph for all callers until the graph changes. The result for a const graph isn't cached, because
  // several threads may read that graph.
  static std::shared_ptr<const Aliases> of(ir::Graph& graph, const ir::Program* program, const ir::Watch& watch = {});
  static std::shared_ptr<const Aliases> of(const ir::Graph& graph, const ir::Program* program, const ir::Watch& watch = {});

  bool any_writes() const { return !writers_.empty(); }
  std::span<ir::Node* const> writers() const { return writers_; }  // in program order

  // The locations that the value is, or is a view of; sorted.
  std::span<const LocationId> locations(const ir::Value* value) const;
  // The same, and everything that can be reached from there; sorted.
  std::vector<LocationId> reach(const ir::Value* value) const;
  const MemoryLocation& location(LocationId id) const { return locations_[id]; }
  std::size_t location_count() const { return locations_.size(); }

  bool written(const ir::Value* value) const;        // some node writes the value's own memory
  bool reach_written(const ir::Value* value) const;  // … or what can be reached from it
  std::span<ir::Node* const> writers_of(LocationId id) const;

  // Values from which the location can be reached.
  std::span<ir::Value* const> observers(LocationId id) const { return observers_[id]; }

  // `value`, made after the analysis, is what `like` is.
  void add(ir::Value* value, const ir::Value* like);

 private:
  using Set = std::vector<LocationId>;
  void collect(const ir::Block& block);
  void solve(const ir::Graph& graph);
  void observe();
  bool close_contents();
  std::size_t close(const std::vector<LocationId>& members);
  std::span<const LocationId> reach(const ir::Value* value,
                                    Set& made) const;  // `made`: where it is put together, if it has to be
  void take_for_one();
  void flow(const ir::Block& block);
  void flow(const ir::Node& node);
  void flow_prim(const ir::Node& node);
  void flow_schema(const ir::Node& node);
  void flow_attribute(const ir::Node& node);
  void flow_branch(const ir::Node& node);
  void flow_loop(const ir::Node& node);
  void find_writers();

  static bool is_container(const ir::TypeRef& type);
  bool insert(Set& set, LocationId id);  // whether it is new

  Set& set_of(const ir::Value* value);
  void assign(const ir::Value* to, const ir::Value* from);
  void assign_all_inputs(const ir::Node& node, const ir::Value* to);
  void merge(Set& to, const Set& from);
  LocationId fresh(const ir::Value* value);
  void put(const ir::Value* container, const ir::Value* item);
  void get(const ir::Value* to, const ir::Value* container);
  bool get_parts(const ir::Node& unpack);
  void add_parts(Set& set);
  void constant(const ir::Value* value, const ir::Constant& constant);
  LocationId location_of(const ir::Constant& constant, const void* identity);
  LocationId object_location(std::uint32_t object);
  std::vector<LocationId>& cell(std::uint32_t object, const std::string& attribute);
  LocationId add_location(MemoryLocation location);

  const ir::Program* program_;
  ir::Watch watch_;
  std::vector<ir::Node*> writers_;
  std::vector<Set> sets_;           // indexed by value id
  std::vector<ir::Value*> values_;  // all values that hold memory
  std::vector<MemoryLocation> locations_;
  static constexpr std::uint32_t leaf = ~std::uint32_t{0};  // index of a location that holds nothing
  std::vector<Set> closed_;                         // locations reachable from each group of locations that reach each other
  std::vector<std::uint32_t> closed_of_;            // location -> index in `closed_`, or `leaf`
  std::vector<std::vector<ir::Node*>> writers_of_;  // indexed by location
  std::vector<std::vector<ir::Value*>> observers_;  // indexed by location
  std::vector<bool> reach_written_;                 // indexed by value id
  std::unordered_map<const ir::Value*, LocationId> made_;              // fresh value -> its location
  std::unordered_map<const void*, LocationId> constants_;              // storage or constant -> its location
  std::unordered_map<ir::ContainerIdentity, const void*> containers_;  // container in the file -> its first constant
  std::map<std::uint32_t, LocationId> objects_;
  std::unordered_map<LocationId, std::uint32_t> object_of_;
  std::map<std::pair<std::uint32_t, std::string>, Set> cells_;
  std::optional<LocationId> unknown_attribute_;  // without a program all attributes may be one
  std::size_t entries_ = 0;                      // total size of all sets
  bool changed_ = false;
};

}  // namespace compatcheck::passes
