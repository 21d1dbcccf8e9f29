// compatcheck verify --dump with little memory. For check_dump.py, which makes the models.
//
//   dumped MODEL ONNX INPUTS FOLDER BYTES   INPUTS: as --inputs-from; BYTES: of values held at a time
#include <cstdio>
#include <exception>
#include <string>

#include "compatcheck/verify.h"

int main(int argc, char** argv) {
  using namespace compatcheck;
  if (argc != 6) return 2;
  try {
    VerifyOptions options;
    options.convert.inputs_from = argv[3];
    options.dump = argv[4];
    options.memory = std::stoull(argv[5]);
    options.runs = 1;
    const Verification verification = verify(load(argv[1]), argv[2], options);
    std::fputs(verification.note.c_str(), stderr);
    return verification.exit_code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dumped: %s\n", error.what());
    return 3;
  }
}
