// Exported programs that nobody wrote: real archives, with the program's JSON or the bytes changed.
#pragma once

#include <string>

#include "hostile/random_calls.h"

namespace compatcheck::hostile {

// The bytes of an archive.
std::string edited_archive(Choices& choices);

// Read, checked and converted, or refused with ModelError; whatever else is thrown is a defect. Returns whether it was read.
bool convert_exported(const std::string& archive);

}  // namespace compatcheck::hostile
