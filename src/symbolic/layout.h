// Where a value's elements lie in memory when PyTorch runs the graph: what as_strided reads by.
//
// Stated where it follows with certainty. A model's inputs lie in order, as ONNX's tensors do; constants as the file has them.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "symbolic/call.h"
#include "symbolic/strides.h"

namespace compatcheck::symbolic {

struct Layout {
  const ir::Value* memory = nullptr;  // value whose elements fill it without gaps; the value itself if the memory is new
  Dim offset = 0;                     // position of the first element in the storage, in elements
  Shape strides{};                    // empty if the rank isn't known
  bool in_order = false;              // Tensor::is_contiguous(), also if sizes aren't known
  bool exact = false;                 // strides of dimensions of size 1 are PyTorch's, too: `exact_strides`
};

struct Placement {
  std::optional<Layout> layout{};
  const ir::Value* unknown = nullptr;  // if the layout is unknown: the value that determines it
};

// Returns the numbers that Tensor::stride() gives; unknown where a dimension may have size 1 and its stride isn't PyTorch's.
Shape exact_strides(const Layout& layout, const Shape& sizes);

class Layouts {
 public:
  // `moved`: whether a write may give the tensor other strides than those that it is made with.
  explicit Layouts(const FactTable& facts, std::function<bool(const ir::Value*)> moved = {})
      : facts_(facts), moved_(std::move(moved)) {}
  const Placement& of(const ir::Value* value);

 private:
  Placement state(const ir::Value* value);
  const Placement& state_as(const ir::Value* value, Placement placement);
  std::optional<Placement> joined(const ir::Value* value);
  Placement constant(const ir::Value* value) const;
  Placement part(const ir::Value* value, const ir::Node& list, std::size_t place);
  Placement written(const ir::Value* value);
  Placement called(const ir::Value* value);
  Placement view(const ir::Value* value, const Call& call);
  Placement reshaped(const ir::Value* value, const Call& call);
  Placement in_order(const ir::Value* value, const Call& call);
  Placement copied(const ir::Value* value, const Call& call);
  Placement iterated(const ir::Value* value);
  Placement kept(const ir::Value* value);
  Placement made_of_operands(const ir::Value* value);

  const Shape* sizes(const ir::Value* value) const;
  std::optional<ir::DType> dtype(const ir::Value* value) const;
  std::optional<Strided> strided(const ir::Value* value);  // nullopt if layout or rank is unknown
  std::vector<const ir::Value*> tensors(const ir::Node& node) const;
  Placement fresh(const ir::Value* value) const;  // contiguous in the order of its sizes
  Placement fresh(const ir::Value* value, const std::optional<Shape>& strides) const;

  const FactTable& facts_;
  std::function<bool(const ir::Value*)> moved_;
  std::unordered_map<const ir::Value*, Placement> stated_;
  std::vector<const ir::Value*> order_;  // values in the order in which they were stated
  int depth_ = 0, assumptions_ = 0;
};

}  // namespace compatcheck::symbolic
