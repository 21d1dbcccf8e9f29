// The data that verdicts and conversion of one graph read.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>

#include "compatcheck/complex_io.h"
#include "compatcheck/export_type.h"
#include "compatcheck/preference.h"
#include "compatcheck/quantized_io.h"
#include "conversion/forms.h"
#include "handlers/registry.h"
#include "ir/graph.h"
#include "ir/program.h"
#include "ir/watch.h"
#include "mapping/table.h"
#include "onnx/builder.h"
#include "passes/state.h"
#include "schema/schema.h"
#include "symbolic/call.h"
#include "symbolic/registry.h"

namespace compatcheck::conversion {

struct Context {
  const mapping::Table& table;
  const schema::Registry& schemas;
  const symbolic::Registry& registry;
  const handlers::Registry& handlers;
  const onnx::MovedAttributes& moved;  // from the table
  const symbolic::FactTable& facts;
  // Writes that normalization left in place, and the reason why each can't be expressed.
  const std::unordered_map<const ir::Node*, std::string>& unresolved_writes;
  const ir::Program* program = nullptr;  // holds packed parameters; null for graph text
  ir::Watch watch{};
  std::map<std::string, int, std::less<>> domain_versions{};  // --custom-opset over the tables' `domains`
  bool inline_functions = false;
  ExportType export_type = ExportType::onnx;
  ComplexIo complex_io = ComplexIo::refuse;
  QuantizedIo quantized_io = QuantizedIo::floats;
  Preference prefer = Preference::exact;
  std::span<const passes::StateAttribute> state{};  // the last inputs and outputs of the graph
  const FormTable* forms = nullptr;                 // null: every call has the form of the model's opset
};

// With the versions of its domains.
onnx::Model empty_model(const Context& context, int opset);
onnx::MovedAttributes moved_attributes(const mapping::Table& table);

}  // namespace compatcheck::conversion
