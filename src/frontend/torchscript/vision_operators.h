// torchvision's operators for the interpreter, where no library registers them: a detector can be run without torchvision.
#pragma once

namespace compatcheck::frontend::torchscript {

void register_vision_operators();    // does nothing if a library has registered them, or they are there
void unregister_vision_operators();  // before a library is loaded that may register them

}  // namespace compatcheck::frontend::torchscript
