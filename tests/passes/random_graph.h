// Random graphs that run: views, writes in place, lists, tuples, branches and loops.
#pragma once

#include <cstdint>
#include <string>

namespace compatcheck::passes {

// Inputs: two tensors, two by two, a bool, an int from 0 to 3. Outputs: the tensors first. For tiny::run.
std::string random_graph(std::uint32_t seed);

}  // namespace compatcheck::passes
