// The order of a program's objects, which the TorchScript helper program counts, too: each before those that its attributes
// hold, in the order of the attributes.
#pragma once

#include "ir/program.h"

namespace compatcheck::frontend::native {

// Moves the objects and renames them in each other and in `constants`. Those that the root doesn't reach come last.
void order_objects(ir::Program& program, std::vector<ir::Constant*> constants);

}  // namespace compatcheck::frontend::native
