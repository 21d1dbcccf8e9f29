// Facts of a user's operators whose rows are ONNX text (`function`, `inline`) and state none: ONNX infers the types of the nodes.
#pragma once

#include "mapping/table.h"
#include "onnx/builder.h"
#include "schema/schema.h"
#include "symbolic/registry.h"

namespace compatcheck::handlers {

// Whether a mapped row of the operator is ONNX text.
bool has_body(const mapping::OperatorRows& rows);
// Registers them for operators that have no other facts.
void infer_facts_of_bodies(const mapping::Table& table, const schema::Registry& schemas, const onnx::MovedAttributes& moved,
                           symbolic::Registry& registry);

}  // namespace compatcheck::handlers
