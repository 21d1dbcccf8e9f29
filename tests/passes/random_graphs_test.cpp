// Random graphs give the same outputs, and leave the same in their inputs, before and after every pass.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "passes/normalize.h"
#include "passes/random_graph.h"
#include "passes/tiny_machine.h"

namespace compatcheck::passes {
namespace {

std::string outcome(const ir::Graph& graph, bool flag, std::int64_t number) {
  tiny::Items inputs{tiny::tensor({1, 2, 3, 4}), tiny::tensor({50, 60, 70, 80}), {flag}, {number}};
  try {
    const tiny::Items outputs = tiny::run(graph, inputs);
    return tiny::show(outputs) + " inputs " + tiny::show(inputs);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

// The first pass that changes what the graph gives; empty if none does.
std::string culprit(const std::string& text, const schema::Registry& registry, std::size_t& resolved) {
  const ir::Graph original = ir::parse_graph(text);
  std::string found;
  NormalizeOptions options;
  options.verify_between = true;
  options.after_pass = [&](const ir::Graph& graph, std::string_view pass) {
    for (const bool flag : {false, true})
      for (const std::int64_t number : {0, 1, 3}) {
        if (!found.empty()) return;
        const std::string before = outcome(original, flag, number);
        const std::string after = outcome(graph, flag, number);
        if (before != after)
          found = std::string(pass) + " with " + (flag ? "true, " : "false, ") + std::to_string(number) + "\n" + before +
                  "\n" + after + "\n" + text + ir::print(graph);
      }
  };
  resolved += normalize(ir::parse_graph(text), registry, options).unresolved_writes.empty();
  return found;
}

TEST(RandomGraphs, GiveTheSameAfterEveryPass) {
  const schema::Registry registry;
  std::size_t resolved = 0;
  constexpr std::uint32_t graphs = 400;
  for (std::uint32_t seed = 0; seed < graphs; ++seed) {
    const std::string found = culprit(random_graph(seed), registry, resolved);
    ASSERT_EQ(found, "") << "seed " << seed;
  }
  // Enough of them are free of writes in the end for the test to say something of those that were.
  EXPECT_GT(resolved, graphs / 10);
}

TEST(RandomGraphs, Run) {
  std::size_t ran = 0;
  for (std::uint32_t seed = 0; seed < 100; ++seed)
    ran += outcome(ir::parse_graph(random_graph(seed)), true, 3).starts_with("[");
  EXPECT_GT(ran, 90u);
}

}  // namespace
}  // namespace compatcheck::passes
