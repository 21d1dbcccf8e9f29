// One call: its row, and its nodes. The dry run of `check` and the conversion both come here.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conversion/context.h"
#include "handlers/emission.h"

namespace compatcheck::conversion {

// The table's rows of an operator at every opset; looked up once for each.
class Lookups {
 public:
  explicit Lookups(const Context& context) : context_(context) {}
  const mapping::Lookup& find(const ir::Node& node, int opset);
  // The opsets around `opset` with the same answer.
  onnx::OpsetRange range(const ir::Node& node, int opset);

 private:
  using History = std::array<mapping::Lookup, mapping::highest_opset + 1>;
  const History& history(const ir::Node& node);
  const Context& context_;
  std::map<std::pair<std::string, std::string>, History> histories_;
};

// The first row that applies to the call; null if none does, or if it isn't known whether one does.
const mapping::Row* applying_row(const mapping::Lookup& found, const symbolic::Call& call, const Context& context);

// How a row becomes nodes at an opset: a handler, the row alone, or nothing yet.
class RowEmitter {
 public:
  RowEmitter(const symbolic::Call& call, const mapping::Row& row, const mapping::OperatorRows& rows, const Context& context,
             int opset);
  bool exists() const { return handler_ || plain_; }
  bool by_row_alone() const { return !handler_ && plain_; }
  bool by_plugin() const { return by_plugin_; }
  onnx::OpsetRange opsets() const { return opsets_; }  // opsets at which the emitter is the same, if the row is
  void emit(handlers::Emission& emission) const;

 private:
  const handlers::Handler* handler_ = nullptr;
  const mapping::ComplexForm* form_ = nullptr;  // set for a call with complex tensors
  bool plain_ = false, by_plugin_ = false;
  onnx::OpsetRange opsets_{mapping::lowest_opset, mapping::highest_opset};
};

// Returns the outputs of a call where facts alone decide them: numbers, small integer tensors, tensors without elements.
std::optional<std::vector<handlers::Operand>> known_results(const symbolic::Call& call, const mapping::Row& row,
                                                            onnx::Builder& builder);

// One of the schemas, as text, is of the operator.
bool states_schema_of(const std::vector<std::string>& schemas, const std::string& op);

// The overload takes and gives Python's numbers alone.
bool is_on_numbers(const schema::Schema& schema);

}  // namespace compatcheck::conversion
