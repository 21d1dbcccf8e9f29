// Every long call ends when its caller wants, or when its time is up.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "compatcheck/check.h"
#include "conversion/assess.h"
#include "conversion/facts.h"
#include "ir/text.h"
#include "mapping/table.h"
#include "passes/normalize.h"

namespace compatcheck {
namespace {

using Clock = std::chrono::steady_clock;

Model load_text(const std::string& text, const LoadOptions& options = {}) {
  return Loader(options).load(std::as_bytes(std::span(text)), "graph.ir");
}

// Writes, branches and arithmetic, so that every pass has something to do.
std::string ordinary(int blocks) {
  std::string text =
      "graph(%x0 : Float(*, 3), %c : bool):\n  %one : int = prim::Constant[value=1]()\n  %zero : int = "
      "prim::Constant[value=0]()\n";
  for (int i = 0; i < blocks; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    text += "  %s" + n + " : int = aten::size(%x" + n + ", %one)\n  %t" + n + " : int = aten::add(%s" + n + ", %one)\n  %r" + n +
            " : Tensor = aten::relu(%x" + n + ")\n  %w" + n + " : Tensor = aten::add_(%r" + n + ", %t" + n + ", %one)\n  %x" +
            next + " : Tensor = prim::If(%c)\n    block0():\n      %a" + n + " : Tensor = aten::neg(%w" + n + ")\n      -> (%a" +
            n + ")\n    block1():\n      -> (%w" + n + ")\n";
  }
  return text + "  return (%x" + std::to_string(blocks) + ")\n";
}

// Takes minutes: values go round in a loop, and what they share is followed from each to all.
std::string endless() {
  constexpr int carried = 2000;
  std::string inputs = "%n : int, %t : bool", outputs, given, body = "%i : int", turned = "%t";
  for (int i = 0; i < carried; ++i) {
    const std::string n = std::to_string(i), next = std::to_string((i + 1) % carried);
    inputs += ", %a" + n + " : Tensor";
    outputs += (i ? ", %r" : "%r") + n + " : Tensor";
    given += ", %a" + n;
    body += ", %b" + n + " : Tensor";
    turned += ", %b" + next;
  }
  return "graph(" + inputs + "):\n  " + outputs + " = prim::Loop(%n, %t" + given + ")\n    block0(" + body +
         "):\n      %w : Tensor = aten::relu_(%b0)\n      -> (" + turned + ")\n  return (%r0)\n";
}

// Calls `work` with watches that are cancelled at the first look, the second … until it comes to its end.
template <class Work>
int looks_of(Work&& work) {
  for (int allowed = 0;; ++allowed) {
    int looks = 0;
    const ir::Watch watch([&] { return looks++ == allowed; }, 1e9);
    try {
      work(watch);
      return looks;
    } catch (const Cancelled&) {
      EXPECT_EQ(looks, allowed + 1) << "went on after it was cancelled";
    }
  }
}

TEST(Watch, NormalisingLooksInsideOfPasses) {
  const std::string text = ordinary(60);
  const schema::Registry schemas;
  EXPECT_GT(looks_of([&](const ir::Watch& watch) {
              passes::NormalizeOptions options;
              options.watch = watch;
              passes::normalize(ir::parse_graph(text), schemas, options);
            }),
            60);
}

TEST(Watch, FactsAndVerdictsLook) {
  const schema::Registry schemas;
  const auto registry = symbolic::shipped_registry();
  const auto table = mapping::Table::shipped();
  ir::Graph graph = ir::parse_graph(ordinary(300));
  schema::resolve(graph, schemas);
  const auto facts = conversion::state_facts(graph, {}, table, schemas, registry);
  EXPECT_GT(
      looks_of([&](const ir::Watch& watch) { conversion::state_facts(graph, {}, table, schemas, registry, nullptr, watch); }), 5);
  EXPECT_GT(looks_of([&](const ir::Watch& watch) {
              ir::Graph copy = graph.clone();
              conversion::fold_with_facts(copy, facts, schemas, watch);
            }),
            5);
  const auto handlers = handlers::shipped_handlers();
  const auto moved = conversion::moved_attributes(table);
  const std::unordered_map<const ir::Node*, std::string> writes;
  EXPECT_GT(looks_of([&](const ir::Watch& watch) {
              const conversion::Context context{table, schemas, registry, handlers, moved, facts, writes, nullptr, watch};
              conversion::Assessor assessor(graph, context);
              assessor.assess(17);
              assessor.lowest_opset();
            }),
            5);
}

TEST(Watch, AnotherThreadCancelsLoading) {
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  LoadOptions options;
  options.run.cancel = cancel;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    *cancel = true;
  });
  const auto start = Clock::now();
  EXPECT_THROW(load_text(endless(), options), Cancelled);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));
  other.join();
}

TEST(Watch, CancelledAtAnyProgressCall) {
  const std::string text = ordinary(3);
  constexpr int opsets[] = {9, 11, 17};
  for (int allowed = 0;; ++allowed) {
    const auto cancel = std::make_shared<std::atomic<bool>>(false);
    int calls = 0;
    RunOptions run{.progress =
                       [&](const Progress&) {
                         if (calls++ == allowed) *cancel = true;
                       },
                   .cancel = cancel};
    LoadOptions load_options;
    load_options.run = run;
    CheckOptions check_options;
    check_options.run = run;
    try {
      check(load_text(text, load_options), opsets, check_options);
      EXPECT_EQ(calls, allowed);
      EXPECT_EQ(calls, 5);  // load, normalize, an opset each
      break;
    } catch (const Cancelled&) {
      EXPECT_EQ(calls, allowed + 1);
    }
  }
}

std::string reason(const std::function<void()>& work) {
  try {
    work();
  } catch (const ModelError& error) {
    return error.what();
  }
  return "none";
}

TEST(Watch, TimeIsBounded) {
  LoadOptions short_load;
  short_load.timeout_seconds = 0.25;
  EXPECT_EQ(reason([&] { load_text(endless(), short_load); }),
            "graph.ir: working through the model's graph was stopped after 0.25 s (CheckOptions::timeout_seconds gives it more)");
  CheckOptions no_time;
  no_time.timeout_seconds = 0;
  const Model model = load_text(ordinary(10));
  EXPECT_EQ(reason([&] { check(model, no_time); }),
            "graph.ir: working through the model's graph was stopped after 0 s (CheckOptions::timeout_seconds gives it more)");
}

}  // namespace
}  // namespace compatcheck
