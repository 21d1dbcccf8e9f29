#include "cli/commands.h"

int main(int argc, char** argv) { return compatcheck::cli::run(argc, argv); }
