// TorchScript's values inside a graph.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/load.h"
#include "verification/bisect.h"

namespace compatcheck::verification {

// All values of a graph where they fit into memory: then it is run twice, once to learn their sizes. Else it is run for each
// request.
class InnerValues {
 public:
  using Values = std::unordered_map<const ir::Value*, const ir::Constant*>;  // values in one execution of a block
  class Executions {
   public:
    const std::vector<Values>& each() const { return each_; }

   private:
    friend InnerValues;
    frontend::Frontend::Inner held_;  // owns the values, unless all are held
    std::vector<Values> each_;
  };

  // `requested`: all values that may be requested.
  InnerValues(const BisectInput& input, const std::unordered_set<const ir::Value*>& requested);

  bool holds_all() const { return !survey_.too_many; }
  std::uint64_t executions_of(const ir::Block& block) const { return survey_.executions.at(&block); }
  std::uint64_t bytes_of(const ir::Value* value) const;  // bytes in one execution of the value's block
  std::uint64_t bytes() const;                           // bytes of all intermediate values
  std::uint64_t runs() const { return runs_; }           // number of runs of the graph

  // The values of a block and those around it, in the block's executions from `first` to before `end`.
  Executions of(const ir::Block& block, std::uint64_t first, std::uint64_t end, const std::vector<const ir::Value*>& values);

 private:
  using InnerRequest = frontend::Frontend::InnerRequest;

  void collect(const ir::Block& block, const std::unordered_set<const ir::Value*>& requested,
               std::vector<const ir::Value*> values);
  std::uint64_t bytes_of(const std::vector<InnerRequest>& requested) const;
  frontend::Frontend::Inner observe(const std::vector<InnerRequest>& requested, std::uint64_t most_bytes);

  const BisectInput& in_;
  std::vector<InnerRequest> all_;                             // one entry for each block
  std::unordered_map<const ir::Block*, std::size_t> places_;  // index of each block in all_
  frontend::Frontend::Inner survey_;
  std::uint64_t runs_ = 0;
};

}  // namespace compatcheck::verification
