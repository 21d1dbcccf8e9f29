// The facts known of a value before it is computed, whatever the opset.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/checked_vector.h"
#include "ir/constant.h"
#include "ir/dtype.h"
#include "ir/program.h"
#include "symbolic/dim.h"

namespace compatcheck::ir {
class Node;
}

namespace compatcheck::symbolic {

using Shape = ir::CheckedVector<Dim>;

inline constexpr std::size_t most_contents = 64;
inline constexpr std::size_t most_wants = 64;
// The largest fact in bytes (footprint): a list of a few thousand tensors. A larger one is dropped.
inline constexpr std::size_t most_fact = 1 << 20;

struct TensorFact {
  std::optional<ir::DType> dtype{};
  std::optional<Shape> shape{};  // absent: unknown rank
  // Elements, at most `most_contents`, in row-major order: of integer tensors, and of floating ones that hold whole numbers.
  std::optional<std::vector<Dim>> contents{};
  std::optional<double> fraction{};                  // the only element of a floating tensor, if it isn't an integer
  bool known_constant = false;                       // a prim::Constant or a parameter: its elements are known at conversion
  std::shared_ptr<const ir::Quantizer> quantizer{};  // a quantized tensor's scale and zero point; null: not known
};
struct Fact;
struct NumberFact {  // a Python int, float or bool
  enum class Kind : std::uint8_t { integer, floating, boolean } kind = Kind::integer;
  std::optional<Dim> integer{};  // kind integer; boolean as 0 and 1
  std::optional<double> floating{};
};
struct ListFact {                          // lists and tuples
  std::optional<std::vector<Fact>> items;  // absent: unknown length
  std::shared_ptr<const Fact> element{};   // fact that holds for every item, if `items` is absent; may be null
};
struct NoneFact {};
struct ConstantFact {
  ir::Constant value;
};  // strings, devices, modules …
// Packed parameters of quantized layers: their parts by name.
struct ObjectFact {
  std::shared_ptr<const std::vector<std::pair<std::string, Fact>>> parts;
};

struct Fact {
  std::variant<std::monostate /* nothing known */, TensorFact, NumberFact, ListFact, NoneFact, ConstantFact, ObjectFact> value{};
  // Model inputs from which something unknown here derives, sorted, at most `most_wants`: naming their shape or dtype may
  // settle it.
  std::vector<std::uint32_t> wants{};
  // The node, without known facts of its own, from which something unknown here derives; null if none. If
  // that node fails to convert, calls that depend on the unknown are unassessed: the fault is the node's, they get no finding.
  const ir::Node* blame = nullptr;
  // Why the arguments don't fit together, so that PyTorch refuses the call that gives this; empty otherwise. The shape is left
  // out.
  std::string impossible{};

  const TensorFact* tensor() const { return std::get_if<TensorFact>(&value); }
  const NumberFact* number() const { return std::get_if<NumberFact>(&value); }
  const ListFact* list() const { return std::get_if<ListFact>(&value); }
  bool is_none() const { return std::holds_alternative<NoneFact>(value); }
};

Fact fact_of(const ir::Constant& constant);
// Includes the contents of the program's object if it is one of a custom class: packed parameters.
Fact fact_of(const ir::Constant& constant, const ir::Program& program);
// A part of an ObjectFact; "nothing known" if it has none of that name.
const Fact& part_of(const Fact& object, std::string_view name);
// Returns the wants of both, each once; not more than a bound.
std::vector<std::uint32_t> merge_wants(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b);
// Returns the fact that holds for both: at the joins of If and Loop.
Fact join(const Fact& a, const Fact& b);
// Both say the same and leave the same open.
bool same(const Fact& a, const Fact& b);
// Roughly the memory that it takes, in bytes; of facts nested too deeply more than `most_fact`.
std::size_t footprint(const Fact& fact);
// Whole numbers that the dtype holds without rounding or wrapping around. Named sizes are far below 2²⁴.
bool holds_exactly(ir::DType dtype, const std::vector<Dim>& contents);
// The only element of a floating tensor: among its contents if it is whole.
void set_number(TensorFact& tensor, double number);
std::string to_string(const Fact& fact);  // "f32[batch, 3, 224, 224]", "int 3", "f32[*]", "?"; long lists are cut

}  // namespace compatcheck::symbolic
