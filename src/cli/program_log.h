// Where the program's log goes.
#pragma once

#include "cli/options.h"

namespace compatcheck::cli {

// To stderr as -v, -vv and --log say; to --log-file from level debug on, or as --log says.
void start_log(const Options& options);

}  // namespace compatcheck::cli
