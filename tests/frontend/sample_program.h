// A program and a graph with one of everything.
#pragma once

#include "ir/program.h"

namespace compatcheck::frontend::testing {

ir::Graph sample_graph();
ir::Program sample_program();

}  // namespace compatcheck::frontend::testing
