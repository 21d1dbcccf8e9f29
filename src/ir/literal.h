// Constants as the notation writes them: attributes of nodes, defaults of schemas.
#pragma once

#include <string>

#include "ir/constant.h"
#include "ir/scanner.h"

namespace compatcheck::ir {

// A number, string, list, tuple, dict, `{1.}`, `<Tensor>`, a printed tensor, a type … What has no value of its own
// (a type, an object) becomes an OpaqueConstant with the words.
Constant read_literal(Scanner& scanner);

// Read as a value of that type: 1 as a bool, float or Device, `{1}` as a Half tensor, `<Tensor>` with its sizes.
Constant as_type(Constant constant, const TypeRef& type);

// `known`: the type that the reader will have at hand, so nothing need be annotated; may be null.
std::string write_literal(const Constant& constant, const TypeRef& known);

}  // namespace compatcheck::ir
