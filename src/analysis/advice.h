// The advice for a call that doesn't convert: an opset, a row, a change of the model.
#pragma once

#include <string>
#include <string_view>

#include "compatcheck/report.h"
#include "conversion/attempt.h"
#include "conversion/context.h"
#include "ir/program.h"
#include "onnx/schema.h"

namespace compatcheck::analysis {

// No row helps: no ONNX operator has lists of lists, dictionaries, strings, objects or their members as inputs or outputs, and
// control flow has no row.
bool is_beyond_rows(const ir::Node& node);

// The row to paste; empty if none would help. `counterpart`: the ONNX operator of the same name, or null.
// `inlined`: an operator without a counterpart gets a row of ONNX text from this opset on, because an engine is to run the model.
std::string row_for(const conversion::Outcome& outcome, std::string_view rule, const onnx::Schema* counterpart,
                    const conversion::Context& context, std::optional<int> inlined = {});

// The advice of a finding of `rule` at the opset; `row`: what row_for gives.
std::string help_of(const conversion::Outcome& outcome, std::string_view rule, const onnx::Schema* counterpart,
                    const std::string& row, const conversion::Context& context, int opset);

// A hint of a table without the opset that it names ("use opset 16, or …"): the opset that was tried is more reliable.
std::string without_opset(const std::string& hint);

// Rewrites the advice of a finding whose report has several rows.
void put_into_one_file(Finding& finding);

// Operators that draw numbers in training mode alone.
bool is_for_training(const ir::Node& node);
std::string stop_training(const ir::Program* program);
// Whether a normalization that keeps running statistics normalizes by those of the batch, as in training.
bool normalizes_as_in_training(const ir::Node& node);

}  // namespace compatcheck::analysis
