// Sizes that the user's --input gives names, and the same options with numbers in the place of some of them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace compatcheck::analysis {

class NamedSizes {
 public:
  struct Name {
    std::string name;
    bool batch = false;                // it is an input's first dimension
    std::vector<std::int64_t> likely;  // numbers to try: what the model was traced with first
  };
  struct Said {
    std::string input, text;  // "x", "x=f32:batch,3,16"
    bool changed = false;
  };

  // `texts` are CheckOptions::inputs, which fit the graph.
  NamedSizes(std::span<const std::string> texts, const ir::Graph& graph);

  const std::vector<Name>& names() const { return names_; }  // each once, in the order of the options
  std::vector<Said> with(const std::map<std::string, std::int64_t>& numbers) const;

 private:
  struct Spec {
    std::string input, lead;        // "x", "x=f32:"
    std::vector<std::string> dims;  // empty where nothing has a name
    std::string text;
  };
  void add_names(const Spec& spec, const ir::TypeRef& type);

  std::vector<Spec> specs_;
  std::vector<Name> names_;
};

}  // namespace compatcheck::analysis
