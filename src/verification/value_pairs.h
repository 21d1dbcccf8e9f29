// Which values of an ONNX file hold the same as which values of a graph.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "verification/bisect.h"
#include "verification/inner_values.h"
#include "verification/repro.h"

namespace compatcheck::verification {

// Dtype and shape, and elements at a few places: what differs here isn't the same.
struct Sketch {
  ir::DType dtype{};
  std::vector<std::int64_t> sizes;
  std::vector<double> elements;
  std::uint64_t bytes = 0;  // size of all elements
  double largest = 0;       // absolute, of these
  bool is_even = false;     // all elements are equal, so that they identify nothing
};
Sketch sketch_of(const ir::TensorView& tensor);

class ValuePairs {
 public:
  // The constructor's arguments must outlive the object. Both sides are run, with no more than `in.memory` bytes of values at a
  // time.
  ValuePairs(const BisectInput& in, const NamedValues& inputs);

  // The tensors that nodes of the graph's top block make, in order, without constants.
  const std::vector<const ir::Value*>& values() const { return values_; }
  bool is_paired(const ir::Value* value) const { return names_.contains(value); }
  bool is_even(const ir::Value* value) const;
  // The values of the file's main graph, in order. Values that the runtime fails to compute, and values that aren't tensors, have
  // no sketch.
  const std::vector<std::string>& names() const { return order_; }
  const Sketch* sketch(const std::string& name) const;
  const Sketch* sketch(const ir::Value* value) const;
  const std::set<std::string>& paired_names() const { return paired_; }
  const std::vector<const ir::Value*>* partners(const std::string& name) const;

  bool agree(const ir::TensorView& expected, const ir::TensorView& found) const;
  bool may_agree(const Sketch& expected, const Sketch& found) const;
  // TorchScript's value; nullopt if it is no tensor.
  std::optional<ir::TensorView> value_of(const ir::Value* value);
  // Some values of the file, where others are given. Those that are no tensors are left out.
  using Tensors = std::map<std::string, ir::TensorView>;
  Tensors run(const std::vector<std::string>& names, const Tensors& given) const;
  std::optional<ir::Constant> input(const std::string& name) const;  // the file's input

  std::uint64_t runs() const { return inner_.runs(); }
  std::uint64_t bytes() const { return inner_.bytes(); }

 private:
  void sketch_values();
  void sketch_file();
  std::uint64_t sketch_names(const std::vector<std::string>& requested);
  void pair();
  void pair_if_alike(const ir::Value* value, const InnerValues::Values& held, const std::string& name, const Tensors& file);
  std::vector<std::vector<const ir::Value*>> portions_of_values() const;  // groups that each fit into memory

  const BisectInput& in_;
  const NamedValues& inputs_;
  std::vector<const ir::Value*> values_;
  InnerValues inner_;
  std::vector<std::string> order_;
  std::unordered_map<const ir::Value*, Sketch> of_values_;
  std::map<std::string, Sketch> of_file_;
  std::unordered_map<const ir::Value*, std::vector<std::string>> names_;
  std::map<std::string, std::vector<const ir::Value*>> partners_;
  std::set<std::string> paired_;
  int failures_left_;  // failures of the runtime on single values
};

// Tensors that the graph's top block makes, in order.
std::vector<const ir::Value*> made_tensors(const ir::Graph& graph);

}  // namespace compatcheck::verification
