// Sizes that the user's --input gives names, and the same options with numbers in the place of some of them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/input_spec.h"
#include "ir/graph.h"

namespace compatcheck::analysis {

class NamedSizes {
 public:
  struct Name {
    std::string name;
    bool batch = false;                // first dimension of an input
    std::vector<std::int64_t> likely;  // numbers to try: first those of the trace
  };
  struct Stated {
    std::string input, text;  // "x", "x=f32:batch,3,16"
    bool changed = false;
  };

  // `texts` are CheckOptions::inputs, which fit the graph.
  NamedSizes(std::span<const std::string> texts, const ir::Graph& graph, Defaulted defaults);

  const std::vector<Name>& names() const { return names_; }  // each once, in the order of the options
  std::vector<Stated> with(const std::map<std::string, std::int64_t>& numbers) const;

 private:
  void add_names(const StatedSizes& spec, const ir::TypeRef& type);

  std::vector<std::string> texts_;
  std::vector<StatedSizes> stated_;  // one for each text
  std::vector<Name> names_;
};

}  // namespace compatcheck::analysis
