// Objects of scripted classes as numbers.
#pragma once

#include "ir/graph.h"
#include "ir/watch.h"
#include "schema/schema.h"

namespace compatcheck::passes {

// Makes a number of each object: its place among the objects of its class. What the objects' attributes hold then stands in
// lists, one for each attribute, so two names of one object are equal numbers wherever the program keeps them: in lists that
// loops fill, in dictionaries, in attributes of other objects. A class stays as it is if an operator needs more of its objects
// than to move them, or if the model gets or returns one. Returns how many classes it numbered; the graph is unchanged if none.
std::size_t number_objects(ir::Graph& graph, const schema::Registry& registry, const ir::Watch& watch = {});

bool creates_objects(const ir::Graph& graph);

}  // namespace compatcheck::passes
