// At which sizes of its named dimensions a model is run: ones that it plausibly sees, and others to show that they vary.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "symbolic/call.h"

namespace compatcheck::verification {

using Sizes = std::map<std::string, std::int64_t>;  // sizes of named dimensions

std::string spell(const Sizes& sizes);  // "batch=2, seq=3"

class SizeSearch;

class SizePlan {
 public:
  // `names` in the order of the inputs; `fixed` by the user; `seen` in the trace or in examples. `search` has the demands on
  // them, and must outlive the plan.
  SizePlan(std::vector<std::string> names, Sizes fixed, Sizes seen, const ir::Graph& graph, const symbolic::FactTable& facts,
           SizeSearch& search);

  // Sizes to begin with, the likely ones first: those that were seen; else the smallest at which windows fit, then larger ones;
  // finally, bounded in number, those from numbers in the model itself.
  std::vector<Sizes> first() const;

  // The named dimensions that the user doesn't fix.
  const std::vector<std::string>& varied() const { return varied_; }

  // Other sizes of these dimensions than `from` has, the likely ones first. `turn`: how far away, from 1.
  std::vector<Sizes> changed(const Sizes& from, const std::vector<std::string>& names, std::int64_t turn) const;

  // `from` with this size in place of all others, but for windows' and fixed ones; as near to it as what is demanded allows.
  Sizes of_size(const Sizes& from, std::int64_t size) const;

 private:
  struct Followed {  // a size in the graph that depends on named ones
    symbolic::Dim size;
    std::vector<std::string> names;
  };
  void find_windows(const ir::Graph& graph, const symbolic::FactTable& facts);
  std::int64_t plausible(const std::string& name, std::size_t place) const;
  std::int64_t step(const std::string& name, const Sizes& from) const;
  bool is_spatial(const std::string& name) const { return spatial_.contains(name); }

  std::vector<std::string> names_, varied_;
  Sizes fixed_, seen_;
  Sizes spatial_;  // the smallest plausible size of each name that determines the size of windows
  std::vector<Followed> followed_;
  SizeSearch& search_;
};

}  // namespace compatcheck::verification
