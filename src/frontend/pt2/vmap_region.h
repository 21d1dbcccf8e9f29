// Regions of torch.vmap, which torch.export leaves in a program: nodes that don't see a batch dimension, between nodes that add
// it to tensors and nodes that remove it. Source: torch/_functorch/predispatch.py and vmap.py (torch 2.13).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/pt2/json.h"

namespace compatcheck::frontend::pt2 {

class GraphReader;

// The regions among the nodes of a graph.
class VmapRegions {
 public:
  explicit VmapRegions(std::span<const Json> nodes);

  // The place behind the region that begins with the i-th node; 0 if none begins there.
  std::size_t end_of(std::size_t i) const;
  // Whether a node behind the region from `first` to `end`, or an output of the graph, reads a value of the region that the
  // region doesn't give as a result.
  bool is_open(std::size_t first, std::size_t end, const Json& graph);

 private:
  std::span<const Json> nodes_;
  std::unordered_map<std::size_t, std::size_t> ends_;
  std::unordered_map<std::string_view, std::size_t> last_read_;  // by name, the last node that reads it
};

// Reads the region with explicit batch dimensions, else as a loop, else as calls that nothing converts.
void read_vmap_region(GraphReader& reader, std::size_t first, std::size_t end);

// Reads a node by which torch.vmap begins, ends, adds or removes a batch dimension. False: no region is open for it.
bool read_vmap_node(GraphReader& reader, const Json& node, std::string_view target);

}  // namespace compatcheck::frontend::pt2
