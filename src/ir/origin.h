// Whose code a place of the source is.
#pragma once

#include <cstdint>

#include "ir/location.h"

namespace compatcheck::ir {

// As far as the place's path tells.
enum class Origin : std::uint8_t {
  user,
  library,  // an installed package: timm, torchvision
  torch,    // torch or Python itself
  tracer,   // torch.jit.trace: what called it is the script that made the file, not the model
  archive,  // the code that the archive itself holds, which nobody wrote; or no file at all
};
Origin origin_of(const Location& place);

}  // namespace compatcheck::ir
