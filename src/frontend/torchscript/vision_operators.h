// torchvision's operators for the interpreter, where no library registers them: a detector can be run without torchvision.
#pragma once

namespace compatcheck::frontend::torchscript {

void register_vision_operators();    // does nothing if they are registered already
void unregister_vision_operators();  // call this before loading a library that may register them

}  // namespace compatcheck::frontend::torchscript
