// Infers facts of a model's inputs that neither the file nor the caller states, from their readers.
//
// Nothing here says what an operator demands: facts and the tables' conditions do. An input is supposed to have each dtype and
// each rank in turn; what its readers refuse is out (fitting.h). Sizes that nobody states get names, and what facts and
// conditions demand to be equal tells which of these are numbers, or each other (sizes.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conversion/facts.h"
#include "inference/leaves.h"
#include "ir/graph.h"
#include "ir/program.h"
#include "ir/watch.h"
#include "mapping/table.h"
#include "schema/schema.h"
#include "symbolic/registry.h"

namespace compatcheck::inference {

// All members must outlive the object.
struct Sources {
  const mapping::Table& table;
  const schema::Registry& schemas;
  const symbolic::Registry& registry;
  const ir::Watch& watch;
};

// A conclusion from a reader: "f32", "rank 4", "3 in dimension 1". A null reader: all readers accept it.
struct Reason {
  std::string what;
  const ir::Node* reader = nullptr;
};

// The assumption about an input, or about a member of a tuple; for a list, it holds for each member.
struct Assumption {
  Leaf leaf;
  symbolic::Fact fact;  // the stated facts, and those that are assumed
  std::vector<Reason> reasons;
  bool open_rank = false;  // whether readers accept other ranks as well
};

// A size that only has a name. `spatial`: stands behind batch and channels; without other evidence such sizes are assumed to be
// those of a square picture.
struct FreeSize {
  std::string name;
  bool spatial = false;
};

struct Inferred {
  std::vector<conversion::InputFact> facts;  // facts of whole inputs, for conversion::state_facts
  std::vector<Assumption> assumptions;       // in the order of the inputs
  std::vector<FreeSize> free{};              // sizes that readers may still settle
};

// `facts`: facts of the graph, with those that are given and inferred; afterwards also those found by this call. `inferred`:
// what was found before for the same inputs, in a graph that has been folded since. Returns whether more was found.
bool infer(const ir::Graph& graph, conversion::FactTrials& facts, const std::vector<conversion::InputFact>& given,
           const Sources& sources, Inferred& inferred);

// Names a dimension that has no name yet: "x0" of x.
std::string dimension_name(const std::string& input, std::size_t dim);

// As --input says it: "f32:x0,3,224"; sizes that aren't known have no name.
std::string spell(const symbolic::TensorFact& tensor);

}  // namespace compatcheck::inference
