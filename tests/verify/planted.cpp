// compatcheck verify --bisect with a wrong handler: aten::atan is computed twice. For check_bisect.py, which makes the models.
//
//   planted MODEL FOLDER BYTES [INPUT...]   FOLDER: for the failing case; BYTES: of intermediate values held at a time; INPUT: as
//   --input
#include <cstdio>
#include <exception>
#include <string>

#include "analysis/model_state.h"
#include "compatcheck/render.h"
#include "compatcheck/verify.h"

namespace {

// Of the operators that the row names.
void wrong(compatcheck::handlers::Emission& e) { e.give(0, e.build.node("Atan", {e.build.node("Atan", {e.tensor("self")})})); }

}  // namespace

int main(int argc, char** argv) {
  using namespace compatcheck;
  if (argc < 4) return 2;
  try {
    const Model model = load(argv[1]);
    const_cast<Model::State&>(model.state())
        .handlers.overlay("aten::atan", {mapping::lowest_opset, mapping::highest_opset}, wrong, "planted");
    VerifyOptions options;
    options.repro = argv[2];
    options.memory = std::stoull(argv[3]);
    options.convert.timeout_seconds = 3600;  // sanitized builds take their time
    for (int i = 4; i < argc; ++i) options.convert.inputs.emplace_back(argv[i]);
    const Verification verification = verify(model, options);
    std::fputs(render(verification, Format::json).c_str(), stdout);
    return verification.exit_code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "planted: %s\n", error.what());
    return 3;
  }
}
