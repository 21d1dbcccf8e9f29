// The ONNX form of a TorchScript value while nodes are emitted. Which form a value has follows from its type and facts alone,
// never from how its producer was converted: so a single call can be tried at any opset without the rest of its graph.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/program.h"
#include "onnx/builder.h"
#include "symbolic/fact.h"

namespace compatcheck::handlers {

inline constexpr std::string_view unknown_tensor_dtype = "the dtype of a tensor isn't known";

using onnx::Value;
using onnx::Values;

struct Operand;
struct DictEntry;

struct None {};
// A Python int (i64), float (f64) or bool: known while converting, or a value without dimensions.
struct Number {
  std::variant<std::int64_t, double, bool, Value> value;
  ir::DType dtype() const;
};
struct List {
  ir::CheckedVector<Operand> items;
};  // a list or tuple of known length
struct Vector {
  Value value;
};  // a list of ints, floats or bools of unknown length, as a tensor
struct Sequence {
  Value value;
};  // a list of tensors of unknown length
struct Dict {
  std::vector<DictEntry> items;
};
struct Known {
  ir::Constant value;
};  // strings, devices, modules …
// Packed parameters of quantized layers; `program` holds the objects in it.
struct Object {
  const ir::Class* type = nullptr;
  const ir::Object* object = nullptr;
  const ir::Program* program = nullptr;
};
// A tensor of PyTorch's quantized dtypes: its integers, scale and zero point. Per channel if `axis` is set.
struct Quantized {
  Value integers, scale, zero_point;
  std::optional<std::int64_t> axis;
};
// A complex tensor: two real ones of its shape.
struct Complex {
  Value real, imag;
};
struct Uninitialized {};  // the value of a path that is never executed: any value will do
struct Unresolved {
  std::string type{};  // type that no ONNX value has; empty: not known
};

struct Operand {
  std::variant<None, Value /* a tensor */, Number, List, Vector, Sequence, Dict, Known, Object, Quantized, Complex, Uninitialized,
               Unresolved>
      value;

  bool is_none() const { return std::holds_alternative<None>(value); }
  const Value* tensor() const { return std::get_if<Value>(&value); }
  const Number* number() const { return std::get_if<Number>(&value); }
  const Complex* complex() const { return std::get_if<Complex>(&value); }
  const List* list() const { return std::get_if<List>(&value); }
};
struct DictEntry {
  ir::Constant key;
  Operand value;
};

// The form of a value with these facts and this type; `fresh` makes each ONNX value in it. Throws Wanting where a tensor's
// dtype isn't known.
using FreshValue = std::function<Value(ir::DType, bool sequence)>;
Operand operand_of(const symbolic::Fact& fact, const ir::TypeRef& type, const FreshValue& fresh);

// Returns the operand of a constant of the graph: a tensor becomes an initializer. `program` (may be null) holds the objects.
Operand operand_of(const ir::Constant& constant, const ir::Program* program, onnx::Builder& builder);

// The elements of a tensor: whole where the bytes came along, else a place in the file.
onnx::TensorData data_of(const ir::TensorView& view);

// "a number", "a Dict(str, Tensor)"
std::string kind_of(const Operand& operand);

// Returns the operand's own form, except that a known number becomes a value.
Operand value_form(const Operand& operand);
// The ONNX values of `given` in the form of `form`: numbers become values, lists become sequences. Throws Refusal where that
// can't be.
void spill(const Operand& given, const Operand& form, onnx::Builder& builder, Values& into);
// The inverse of spill(): an operand of that form, with the next values of `values` in order.
Operand refill(const Operand& form, const Values& values, std::size_t& at);
// Real and imaginary parts in a last dimension of 2, as ONNX's DFT holds them, and PyTorch's view_as_real; and back.
Value paired(const Complex& complex, std::int64_t rank, onnx::Builder& builder);
Complex parted(const Value& pairs, std::int64_t rank, onnx::Builder& builder);
// One dimension of ints, floats or bools.
Value vector_of(const List& list, ir::DType dtype, onnx::Builder& builder);

}  // namespace compatcheck::handlers
