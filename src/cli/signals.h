// The handling of Ctrl-C.
#pragma once

namespace compatcheck::cli {

// From here on SIGINT, SIGTERM and SIGHUP end the program with one line on stderr and exit code 130, and leave behind neither
// unfinished files nor processes. A signal that was ignored before (nohup) stays so.
void end_at_signals();

}  // namespace compatcheck::cli
