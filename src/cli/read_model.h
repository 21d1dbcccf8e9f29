// A model by the word on the command line: a file, or '-' for stdin.
#pragma once

#include <string>
#include <vector>

#include "compatcheck/load.h"

namespace compatcheck::cli {

Model read_model(Loader& loader, const std::string& file);
// The only one: nothing is kept for further models.
Model read_model(const LoadOptions& options, const std::string& file);
std::vector<char> read_stdin();  // throws ModelError where memory doesn't hold it

}  // namespace compatcheck::cli
