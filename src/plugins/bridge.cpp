#include "plugins/bridge.h"

#include "compatcheck/error.h"
#include "mapping/table.h"
#include "plugins/host_call.h"

namespace compatcheck::plugins {
namespace {

using symbolic::Truth;

// The model's report says it in one line; who wrote the plugin mends it.
std::string failure(const Function& function, std::string_view doing, const std::string& problem) {
  return "plugin " + function.plugin() + " failed in " + std::string(doing) + ": " + problem;
}

// Runs it; what isn't ok is thrown as if no plugin stood between.
void run(const Function& function, compatcheck_call& call, std::string_view doing) {
  std::string thrown;
  const compatcheck_status status = function(call, thrown);
  if (status == compatcheck_ok && call.lost.empty()) return;
  if (status == compatcheck_ok) throw Misuse{failure(function, doing, call.lost)};
  // Its author throws it: no read tells what.
  if (status == compatcheck_unknown && !call.pending[compatcheck_unknown])
    throw handlers::Wanting{{.truth = Truth::unknown,
                             .message = "plugin " + function.plugin() + ": " + std::string(doing) +
                                        " says that something isn't known, and not what"}};
  if (status == compatcheck_unknown || status == compatcheck_refused) {
    if (const auto pending = call.pending[static_cast<std::size_t>(status)]) std::rethrow_exception(pending);
    thrown = "it doesn't say why the call is refused";
  }
  if (thrown.empty()) thrown = call.problem.empty() ? "status " + std::to_string(status) : call.problem;
  throw Misuse{failure(function, doing, thrown)};
}

// An Emission that reads a call and makes no nodes.
class Reading {
 public:
  explicit Reading(const symbolic::Call& call)
      : builder_(model_, moved_, {mapping::lowest_opset, mapping::highest_opset}),
        emission_(call, nullptr, {}, builder_,
                  [](const ir::Value*) -> const handlers::Operand& { throw Misuse{"nodes are made by handlers"}; }),
        crossing(emission_, false) {}

 private:
  onnx::Model model_;
  onnx::MovedAttributes moved_;
  onnx::Builder builder_;
  handlers::Emission emission_;

 public:
  compatcheck_call crossing;
};

void emit(const Function& function, handlers::Emission& e) {
  const std::string doing = "its handler of " + std::string(e.call.op());
  const std::string hint = "fix the plugin, or run without it";
  try {
    compatcheck_call call(e, true);
    run(function, call, doing);
  } catch (const Misuse& misuse) {
    throw onnx::Refusal{misuse.reason, hint};
  } catch (const onnx::Refusal& refusal) {
    throw onnx::Refusal{refusal.reason + " (plugin " + function.plugin() + ")", refusal.hint};
  }
  for (std::size_t i = 0; i < e.results().size(); ++i)
    if (e.output_used(i) && !e.results()[i])
      throw onnx::Refusal{failure(function, doing, "it gave no output " + std::to_string(i)), hint};
}

// Returns the facts that the plugin states; none where it needs a fact that isn't known. A refusal counts as PyTorch's.
std::vector<symbolic::Fact> stated_by_plugin(const Function& function, const std::string& op, const symbolic::Registry& words,
                                             const symbolic::Call& call) {
  Reading reading(call);
  compatcheck_call& crossing = reading.crossing;
  crossing.states = true;
  crossing.words = &words;
  crossing.stated.resize(call.node().outputs().size());
  try {
    run(function, crossing, "its facts of " + op);
  } catch (const handlers::Wanting&) {
    crossing.stated.clear();
  } catch (const onnx::Refusal& refusal) {
    throw symbolic::Impossible{refusal.reason};
  } catch (const Misuse& misuse) {
    throw TableError(misuse.reason);
  }
  return std::move(crossing.stated);
}

symbolic::Verdict hold(const Function& function, const std::string& name, const symbolic::Call& call) {
  Reading reading(call);
  try {
    run(function, reading.crossing, "its condition " + name);
    return {.truth = Truth::yes};
  } catch (const handlers::Wanting& wanting) {
    return wanting.verdict;
  } catch (const onnx::Refusal& refusal) {
    return {.truth = Truth::no, .message = refusal.reason};
  } catch (const symbolic::Impossible& arguments) {
    return {.truth = Truth::no, .message = arguments.reason};
  } catch (const Misuse& misuse) {
    return {.truth = Truth::no, .message = misuse.reason};
  }
}

}  // namespace

handlers::Handler handler_of(FunctionRef function) {
  return [function = std::move(function)](handlers::Emission& emission) { emit(*function, emission); };
}

symbolic::FactFunction facts_of(FunctionRef function, std::string op, std::shared_ptr<const symbolic::Registry> words) {
  return [function = std::move(function), op = std::move(op), words = std::move(words)](const symbolic::Call& call) {
    return stated_by_plugin(*function, op, *words, call);
  };
}

symbolic::ConditionFunction condition_of(FunctionRef function, std::string name) {
  return [function = std::move(function), name = std::move(name)](const symbolic::Call& call) {
    return hold(*function, name, call);
  };
}

}  // namespace compatcheck::plugins
