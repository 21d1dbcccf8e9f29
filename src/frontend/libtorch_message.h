// The part of libtorch's error messages that users see.
#pragma once

#include <string>
#include <string_view>

namespace compatcheck::frontend {

// The first sentence: without TorchScript's traceback, the stack of C++ frames and the dispatcher's list of backends. Where it
// points at code that follows ("… here:"), with the file and line. Empty if the message says nothing.
std::string first_sentence(std::string_view message);

}  // namespace compatcheck::frontend
