// Containers and objects as numbers.
#pragma once

#include <cstdint>

#include "ir/graph.h"
#include "ir/watch.h"
#include "schema/schema.h"

namespace compatcheck::passes {

enum class Numbered : std::uint8_t { objects, all };

// Makes numbers of the objects, and of the lists and dictionaries that others hold: the place of each among all that the program
// makes of its kind. What they hold then stands in lists, so two names of one object are equal numbers wherever the program keeps
// them: in lists that loops fill, in dictionaries, in attributes of other objects. What the model gets, or gives to an operator
// that needs its contents whole, stays as it is. False if there is nothing to number; the graph is unchanged then.
bool number_references(ir::Graph& graph, Numbered which, const schema::Registry& registry, const ir::Watch& watch = {});

// Whether it makes objects, or containers that others may hold.
bool has_references(const ir::Graph& graph, Numbered which);

}  // namespace compatcheck::passes
