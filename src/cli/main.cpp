#include <malloc.h>

#include "cli/commands.h"

int main(int argc, char** argv) {
  ::mallopt(M_MMAP_THRESHOLD, 8 << 20);  // weights that a runtime copied go back to the system when it frees them
  return compatcheck::cli::run(argc, argv);
}
