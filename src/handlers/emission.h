// One call while it becomes ONNX nodes: what a handler reads and writes.
//
// Reads that need a fact throw Wanting where it isn't known: the call then needs input, or depends on the node to blame.
// Handlers throw onnx::Refusal{reason, hint} for a call that has no ONNX form. They give every output that is used, with the
// dtype that the facts state.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/operand.h"
#include "mapping/row.h"
#include "onnx/builder.h"
#include "symbolic/call.h"
#include "symbolic/promotion.h"
#include "symbolic/registry.h"
#include "symbolic/shapes.h"

namespace compatcheck::handlers {

using ir::DType;
using onnx::Arguments;
using onnx::Doubles;
using onnx::Ints;
using onnx::Refusal;
using symbolic::Dim;
using symbolic::Shape;

// The end of a slice that includes the last element.
inline constexpr std::int64_t to_end = std::numeric_limits<std::int64_t>::max();

struct Wanting {
  symbolic::Verdict verdict;
};

class Emission {
 public:
  using OperandOf = std::function<const Operand&(const ir::Value*)>;
  // `row` is the one that the table chose for the call; null for structural operators.
  Emission(const symbolic::Call& call, const mapping::Row* row, std::string_view facts_word, onnx::Builder& builder,
           OperandOf operands);

  const symbolic::Call& call;  // facts that may be unknown
  onnx::Builder& build;

  // ---- The row: what to emit; the handler decides how
  const mapping::Row& row() const { return *row_; }
  bool variant(std::string_view name) const;                   // the row has this `variant:`
  bool row_has(std::string_view onnx_op) const;                // the row's `to` names it; for plugins
  std::string_view facts_word() const { return facts_word_; }  // the operator's `facts:`, or empty

  // ---- Facts; Wanting where one isn't known
  bool given(std::string_view argument) const;  // the overload has it and it isn't None
  DType dtype(std::string_view tensor) const;
  std::int64_t rank(std::string_view tensor) const;
  const Shape& shape(std::string_view tensor) const;                                   // sizes may be symbolic or unknown
  std::optional<std::int64_t> size(std::string_view tensor, std::int64_t axis) const;  // nullopt: known when the model runs
  std::int64_t known_size(std::string_view tensor, std::int64_t axis) const;
  std::int64_t integer(std::string_view argument) const;  // Refusal beyond ±2³¹: it sizes or places something
  std::int64_t integer(std::string_view argument, std::int64_t if_none) const;
  double number(std::string_view argument) const;
  double number(std::string_view argument, double if_none) const;
  bool boolean(std::string_view argument) const;  // false if the overload lacks it
  std::string string(std::string_view argument) const;
  Ints ints(std::string_view argument) const;  // a single int counts as a list of the schema's length
  Doubles floats(std::string_view argument) const;
  // A dimension as an axis that isn't negative.
  std::int64_t axis(std::string_view argument, std::string_view tensor = "self") const;
  Ints axes(std::string_view argument, std::string_view tensor = "self") const;  // sorted; None or empty: all
  std::int64_t wrap(std::int64_t dim, std::int64_t rank) const;                  // Refusal if out of range
  // How often something is written out: Refusal if it is below 0 or more than a model should hold.
  static std::int64_t few(std::int64_t count);
  // Returns the dtype of one of the call's outputs.
  DType output_dtype(std::size_t output = 0) const;
  const Shape& output_shape(std::size_t output = 0) const;
  std::int64_t output_rank(std::size_t output = 0) const;
  bool output_used(std::size_t output) const;

  // ---- Arguments as values
  const Operand& operand(std::string_view argument) const;
  const Operand& operand_of(const ir::Value* value) const { return operands_(value); }
  const Operand& input(std::size_t i) const;             // for a call whose schema doesn't name arguments
  Value tensor(std::string_view argument);               // numbers become tensors without dimensions
  Value tensor(std::string_view argument, DType dtype);  // cast
  Value tensor_of(const ir::Value* value);               // the tensor of a value that was made before the call
  Value optional_tensor(std::string_view argument);      // absent if None
  // Parts in that dtype. A real tensor or number has an imaginary part of 0, without dimensions.
  Complex complex(std::string_view argument, DType part);
  Values tensors(std::string_view argument);                   // the tensors of a list; Refusal if its length is unknown
  Value number_value(std::string_view argument, DType dtype);  // a Scalar, int, float or bool, or a tensor without dimensions
  Value int_vector(std::string_view argument);                 // int[] as one i64 vector
  const onnx::TensorData* constant_of(const Value& value) const { return build.constant_of(value); }
  Value as_tensor(const Operand& operand, std::string_view what);
  Value as_vector(const Operand& operand, std::string_view what);

  // ---- Sizes when the model runs
  Value of_its_sizes(std::string_view tensor);                // itself, its real parts or its integers
  Value shape_of(std::string_view tensor);                    // i64 vector
  Value size_of(std::string_view tensor, std::int64_t axis);  // i64 vector of one
  // A size as an i64 vector of one: a constant, or that of a tensor argument which is proved to have it. Absent if none has.
  Value dim_value(const Dim& dim);
  // All sizes as an i64 vector; Wanting/Refusal if one can't be had.
  Value dims_value(const Shape& dims);
  // `value`, of `from`'s sizes, as `to`. Prefers constants: 0 for a size that stays, -1 for one open size.
  Value reshape(const Value& value, const Shape& from, const Shape& to);

  // ---- Nodes; see onnx::Builder
  Value node(std::string_view op, const Values& inputs, const Arguments& attributes = {}, std::optional<DType> dtype = {}) {
    return build.node(op, inputs, attributes, dtype);
  }
  Values nodes(std::string_view op, const Values& inputs, std::size_t outputs, const Arguments& attributes = {}) {
    return build.nodes(op, inputs, outputs, attributes);
  }
  Value cast(const Value& value, DType dtype) { return build.cast(value, dtype); }
  Value scalar(DType dtype, double value) { return build.scalar(dtype, value); }
  Value scalar(DType dtype, std::int64_t value) { return build.scalar(dtype, value); }
  Value scalar(DType dtype, int value) { return build.scalar(dtype, value); }
  Value integers(const Ints& values) { return build.ints(values); }
  bool at_least(int opset) { return build.at_least(opset); }              // which nodes the call becomes
  bool opset_at_least(int opset) { return build.opset_at_least(opset); }  // how a node is spelled

  // ---- Results
  void give(const Value& tensor) { give(0, tensor); }
  void give(std::size_t output, const Value& tensor);  // cast to the dtype that the facts state; a number if the output is one
  void give(const Complex& complex) { give_operand(0, {complex}); }
  void give_list(std::size_t output, const Values& tensors);  // Tensor[] of known length, or a tuple
  const symbolic::Fact& output_fact(std::size_t output) const;
  void give_vector(std::size_t output, const Value& vector);  // int[]: parted into numbers if its length is known
  void give_operand(std::size_t output, Operand operand);
  const std::vector<std::optional<Operand>>& results() const { return results_; }

  [[noreturn]] void want(std::string_view argument, std::string_view what) const;

 private:
  [[noreturn]] void want(const symbolic::Fact& fact, std::string message) const;
  void mark_result(const Operand& operand);  // not plumbing, even if it is computed from sizes

  Value of_quantized(const Quantized& tensor);
  Value units(const Quantized& tensor);
  Operand quantized_result(const Value& made, ir::DType dtype);
  // The dtype in which the call computes with a tensor of `dtype`. A quantized dtype becomes a plain one.
  DType computed_dtype(DType dtype) const;

  const mapping::Row* row_;
  std::string_view facts_word_;
  std::optional<Quantized> scaled_;  // the first quantized tensor that the call computes with
  OperandOf operands_;
  std::vector<std::optional<Operand>> results_;
};

}  // namespace compatcheck::handlers
