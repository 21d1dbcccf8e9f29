// Groups of supported nodes, as ONNX Runtime makes them.
#include <gtest/gtest.h>

#include <memory>

#include "engines/look.h"

namespace compatcheck::engines {
namespace {

// Nodes by what they read; each gives the value of its own place, from 1.
struct Drawn {
  onnx::Model model;
  std::vector<bool> supported;

  onnx::Node& add(bool fits, std::vector<onnx::ValueId> inputs) {
    onnx::Node node;
    node.op = "Relu";
    node.inputs = std::move(inputs);
    node.outputs = {model.add_value({})};
    supported.push_back(fits);
    return model.graph.nodes.emplace_back(std::move(node));
  }
  int partitions() const { return count_partitions(model, supported); }
};

TEST(Partitions, a_chain_that_is_cut_twice) {
  Drawn drawn;
  drawn.add(true, {});
  drawn.add(false, {1});
  drawn.add(true, {2});
  drawn.add(true, {3});
  drawn.add(false, {4});
  drawn.add(true, {5});
  EXPECT_EQ(drawn.partitions(), 3);
}

TEST(Partitions, all_that_can_be_reached_comes_before_the_next_unsupported_node) {
  Drawn drawn;
  drawn.add(false, {});  // both unsupported nodes run first, then all the rest
  drawn.add(true, {1});
  drawn.add(false, {});
  drawn.add(true, {3});
  drawn.add(true, {2, 4});
  EXPECT_EQ(drawn.partitions(), 1);
}

TEST(Partitions, none_and_all) {
  Drawn none, all;
  none.add(false, {});
  none.add(false, {1});
  all.add(true, {});
  all.add(true, {1});
  EXPECT_EQ(none.partitions(), 0);
  EXPECT_EQ(all.partitions(), 1);
}

// The body reads a value of the graph around it.
Drawn with_body(bool body_supported) {
  Drawn drawn;
  drawn.add(true, {});
  onnx::Node inner;
  inner.op = "Relu";
  inner.inputs = {1};
  inner.outputs = {drawn.model.add_value({})};
  const auto body = std::make_shared<onnx::Graph>();
  body->outputs = inner.outputs;
  body->nodes.push_back(std::move(inner));
  drawn.add(true, {}).attributes.push_back({"then_branch", body});
  drawn.supported.push_back(body_supported);  // after its node, as they are visited
  drawn.add(true, {3});
  return drawn;
}

TEST(Partitions, bodies_go_with_their_node_or_have_their_own) {
  EXPECT_EQ(with_body(true).partitions(), 1);
  EXPECT_EQ(with_body(false).partitions(), 2) << "before and after the If";
}

}  // namespace
}  // namespace compatcheck::engines
