// Kinds of arguments, held against the types of what they are given to and taken from.
#pragma once

#include <string>
#include <vector>

#include "mapping/row.h"
#include "onnx/schema.h"
#include "schema/schema.h"

namespace compatcheck::lint {

// Why a row's binding can't be an ONNX attribute of that type; empty if it can. `what` names the attribute: "attribute `alpha`
// of Elu".
std::string attribute_misfit(const mapping::Binding& binding, const std::string& what, onnx::AttributeType type,
                             const std::vector<const schema::Schema*>& overloads);
// Why the binding can't be a tensor that is an input.
std::string input_misfit(const mapping::Binding& binding, const std::vector<const schema::Schema*>& overloads);

}  // namespace compatcheck::lint
