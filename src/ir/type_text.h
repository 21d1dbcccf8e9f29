// Types inside a longer text.
#pragma once

#include "ir/scanner.h"
#include "ir/type.h"

namespace compatcheck::ir {

TypeRef read_type(Scanner& scanner);

// "int", "Device", "Tensor" …: the kinds that are one word, also Python's spelling ("number"); null if it isn't one.
TypeRef type_of_word(std::string_view word);

}  // namespace compatcheck::ir
