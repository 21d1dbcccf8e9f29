// Changes of a list as expressions that give the changed list: l.append(x) → l + [x].
#pragma once

#include "ir/graph.h"
#include "schema/schema.h"

namespace compatcheck::passes {

bool has_list_form(const ir::Node& change);

// The changed list. The node goes; pop becomes the reading of the item it takes.
ir::Value* take_list_form(ir::Node* change, ir::Value* current, const schema::Registry& registry);

}  // namespace compatcheck::passes
