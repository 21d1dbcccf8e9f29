// Where the program's log goes.
#pragma once

#include "cli/options.h"

namespace compatcheck::cli {

// Logs to stderr at the level of -v, -vv and --log; to --log-file at level debug, or that of --log.
void start_log(const Options& options);

}  // namespace compatcheck::cli
