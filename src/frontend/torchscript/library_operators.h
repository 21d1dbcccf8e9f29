// Operators of torchvision and transformers for the interpreter, where no library registers them: a detector can be run without
// torchvision, a mixture of experts without transformers.
#pragma once

namespace compatcheck::frontend::torchscript {

void register_library_operators();    // does nothing if they are registered already
void unregister_library_operators();  // call this before loading a library that may register them

}  // namespace compatcheck::frontend::torchscript
