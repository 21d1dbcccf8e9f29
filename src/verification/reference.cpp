#include "verification/reference.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "analysis/asserting_graph.h"
#include "analysis/exported_inputs.h"
#include "analysis/input_spec.h"
#include "analysis/onnx_model.h"
#include "analysis/run.h"
#include "analysis/site.h"
#include "compatcheck/error.h"
#include "conversion/fact_rules.h"
#include "examples/elements.h"
#include "inference/fitting.h"
#include "ir/literal.h"
#include "ir/value_name.h"
#include "verification/frozen.h"
#include "verification/match.h"
#include "verification/members.h"
#include "verification/narrowest.h"
#include "verification/nudge.h"

namespace compatcheck::verification {
namespace {

// Those of options, and of ranges with one size beyond 1 at most: others would broadcast.
Sizes given_sizes(const std::vector<std::string>& dims) {
  Sizes sizes;
  for (const auto& [name, range] : analysis::named_ranges(dims))
    if (range.most && *range.most <= std::max<std::int64_t>(range.least.value_or(0), 2)) sizes[name] = *range.most;
  for (const std::string& dim : dims)
    if (const auto [name, size] = analysis::named_size(dim); analysis::is_number(size)) sizes[name] = std::stoll(size);
  return sizes;
}

// Why not to run at these sizes; empty if every one is in its range.
std::string out_of_range(const Sizes& sizes, const symbolic::NamedRanges& ranges) {
  for (const auto& [name, range] : ranges)
    if (const auto size = sizes.find(name); size != sizes.end() && !range.contains(size->second))
      return "the size " + name + " is " + std::to_string(size->second) + ", and must be in " + analysis::to_string(range);
  return {};
}

bool names_gpu(const std::string& failure) {
  return failure.find("CUDA") != failure.npos || failure.find("NVIDIA") != failure.npos;
}

frontend::LoadOptions load_options(const Model::State& model, const VerifyOptions& options) {
  auto load = model.load;
  load.cancelled = analysis::cancelled_of(options.convert.run);
  return load;
}

// A stub has a schema, and nothing to run.
void must_be_registered(const Model::State& model) {
  std::set<std::string> names;
  if (model.program && !model.load.run_in_process)
    for (const std::string& schema : model.program->stub_schemas) names.insert(schema.substr(0, schema.find_first_of(".(")));
  if (names.empty()) return;
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  throw UsageError(model.path + ": PyTorch can't run it without the library that registers " + text +
                   ": LoadOptions::op_libraries, or LoadOptions::op_modules for a module of Python");
}

void add_demands(const Model::State& model, const analysis::Prepared& prepared, const ir::Watch& watch,
                 std::vector<inference::Heard>& demands) {
  std::vector<conversion::InputFact> inputs;
  for (const ir::Value* input : prepared.graph.inputs()) inputs.push_back({ir::input_name(*input), prepared.facts.of(input)});
  conversion::FactTrials trials(prepared.graph, model.table, model.schemas, model.registry,
                                model.program ? &*model.program : nullptr, watch);
  trials.state(inputs);
  const auto heard = inference::demands_of(prepared.graph, {model.table, model.schemas, model.registry, watch}, trials);
  demands.insert(demands.end(), heard.begin(), heard.end());
}

// Includes the model's assertions, which the prepared graph lacks.
SizeSearch search_of(const Model::State& model, const VerifyOptions& options, const analysis::Prepared& prepared,
                     const ir::Watch& watch) {
  std::vector<inference::Heard> demands;
  std::vector<std::int64_t> numbers;
  if (analysis::has_asserting_graph(model)) try {
      const analysis::Prepared asserting = analysis::prepare_asserting(model, prepared, watch, analysis::Keeping::all);
      add_demands(model, asserting, watch, demands);
      add_numbers(asserting.graph, numbers);
    } catch (const ModelError&) {  // with its branches the graph may exceed a limit that it doesn't exceed without them
      watch.look();
    }
  if (demands.empty()) add_demands(model, prepared, watch, demands);
  for (const auto& range : analysis::stated_ranges(model, analysis::check_options(options.convert)))
    demands.push_back({.demand = range, .reader = nullptr, .for_sure = true});
  add_numbers(prepared.graph, numbers);
  return {demands, std::move(numbers), watch};
}

// A call that runs whatever the inputs hold, and that no choice of named sizes makes fit. Facts in a user's row say nothing about
// PyTorch.
std::string refused_call(const analysis::Prepared& prepared, const mapping::Table& table) {
  for (const ir::Node* node : *prepared.graph.top()) {
    if (conversion::users_facts(node->op(), node->overload(), table)) continue;
    for (const ir::Value* output : node->outputs())
      if (const std::string& why = prepared.facts.of(output).impossible; !why.empty())
        return "PyTorch refuses " + analysis::place_text(*node) + ": " + why;
  }
  return {};
}

// The interpreter's message, "%y = aten::add at model.py:3: sizes differ", with the user's own line instead of torch's;
// unchanged if nodes of several lines may be meant.
std::string at_own_line(const std::string& message, const ir::Graph& graph) {
  const auto equals = message.starts_with("%") ? message.find(" = ") : message.npos;
  const std::string reason = equals == message.npos ? message : message.substr(equals + 3);
  const std::string name = equals == message.npos ? "" : message.substr(1, std::min(equals, message.find(',')) - 1);
  std::set<std::string> own_lines;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    const std::string place = interpreter_place(*node);
    const bool named = name.empty() || (!node->outputs().empty() && node->outputs()[0]->name() == name);
    if (named && reason.starts_with(place + ":")) own_lines.insert(analysis::place_text(*node) + reason.substr(place.size()));
  });
  return own_lines.size() == 1 ? *own_lines.begin() : reason;
}

// Later attempts differ in what tensors hold.
constexpr int attempts_at_all_sizes = 2;
constexpr int most_crashes = 4;  // crashes in a row; after each the helper restarts and loads the model again
constexpr std::size_t sizes_of_other_attempts = 15;

// The number of calls of a model that keeps state; each has its own inputs.
constexpr std::uint64_t calls_of_sequence = 3, seeds_apart = 1'000'003;
constexpr int tries_of_numbers = 4;
constexpr int first_positive = InputMaker::attempts / 2;  // later attempts make the same whole numbers
constexpr double seconds_of_other_values = 10;            // for a run with unusual values, which may let a loop run on and on
constexpr int draws_of_values = 4, first_draw = 1000;     // seeds that no run has

std::vector<std::string> paths_of(const std::vector<passes::StateAttribute>& state) {
  std::vector<std::string> paths;
  for (const passes::StateAttribute& attribute : state) paths.push_back(attribute.path);
  return paths;
}

std::vector<std::optional<ir::DType>> narrow_in(const analysis::Prepared& prepared) {
  const NarrowFloats narrow = narrow_floats(prepared.graph, prepared.facts);
  std::vector<std::optional<ir::DType>> by_leaf;
  for (const ir::Value* leaf : leaves_of(prepared.graph)) {
    const auto found = narrow.find(leaf);
    by_leaf.push_back(found == narrow.end() ? std::nullopt : std::optional(found->second));
  }
  return by_leaf;
}

// With what the model's assertions compare, which the prepared graph lacks.
Decisions decisions_in(const Model::State& model, const analysis::Prepared& prepared, const ir::Watch& watch) {
  Decisions made = decisions_of(prepared.graph);
  made.asserts = analysis::has_asserting_graph(model);
  if (made.asserts) try {
      for (const double number : decisions_of(analysis::asserting_graph(model, watch)).compared)
        if (std::ranges::find(made.compared, number) == made.compared.end()) made.compared.push_back(number);
    } catch (const ModelError&) {  // beyond a bound
      watch.look();
    }
  return made;
}

}  // namespace

Reference::Reference(const Model::State& model, const VerifyOptions& options, const analysis::Prepared& prepared,
                     const ir::Watch& watch)
    : model_(model),
      options_(options),
      prepared_(prepared),
      watch_(watch),
      state_(paths_of(prepared.state)),
      exported_(model.exported ? std::optional<ExportedRun>(std::in_place, model, state_) : std::nullopt),
      ranges_(analysis::named_ranges(options.convert.dims)),
      narrow_(narrow_in(prepared)),
      decisions_(decisions_in(model, prepared, watch)),
      maker_(model.graph, prepared.graph, prepared.facts, prepared.state.size(), decisions_),
      frontend_(load_options(model, options)),
      examples_(options.convert.inputs_from.empty()
                    ? std::vector<analysis::ExampleLeaf>()
                    : analysis::example_leaves(options.convert.inputs_from, model.graph, examples::Elements::read)),
      samples_(exported_ && options.convert.inputs_from.empty() ? exported_->samples() : std::vector<analysis::ExampleLeaf>()),
      search_(maker_.named_dims().empty() ? SizeSearch({}, {}) : search_of(model, options, prepared, watch)),
      plan_(maker_.named_dims(), given_sizes(options.convert.dims), maker_.seen_sizes(samples_.empty() ? examples_ : samples_),
            prepared.graph, prepared.facts, search_) {}

std::optional<FixedTie> Reference::fixed_tie(const std::string& name, const Sizes& from, const std::vector<Sizes>& others) const {
  if (model_.exported) return std::nullopt;  // torch.export proves what ties sizes
  std::vector<inference::Heard> heard;
  add_demands(model_, prepared_, watch_, heard);
  for (const auto& [demand, reader, for_sure] : heard) {
    const bool fixed = demand.size.is_number() != demand.other.is_number();
    if (!for_sure || !fixed || demand.relation != symbolic::SizeDemand::Relation::equal) continue;
    const symbolic::Dim &size = demand.size.is_number() ? demand.other : demand.size,
                        &number = demand.size.is_number() ? demand.size : demand.other;
    const auto names = symbolic::names_in(size);
    if (names.size() < 2 || std::ranges::find(names, name) == names.end()) continue;
    const auto holds = [&](const Sizes& sizes) {
      const auto is = symbolic::evaluate(size, sizes);
      return is == number.number() || (demand.may_stretch && (is == 1 || number.number() == 1));
    };
    if (holds(from) && std::ranges::none_of(others, holds))
      return FixedTie{size.to_string() + " must be " + number.to_string(), reader};
  }
  return std::nullopt;
}

std::optional<Expected> Reference::first() {
  std::vector<Sizes> all = plan_.first();
  if (has_examples()) all.resize(1);  // examples have sizes of their own
  std::erase_if(all, [&](const Sizes& sizes) { return sizes != all.front() && !maker_.is_small(sizes); });
  const std::vector<Sizes> likely(all.begin(),
                                  all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), sizes_of_other_attempts)));
  std::string reason;
  if (!samples_.empty())
    if (auto expected = expect({all.front()}, 0, sampled, true, reason)) return expected;
  // Large tables may take wrong indices that small ones refuse: permutations come before larger sizes.
  if (examples_.empty() && (decisions_.branches || decisions_.asserts) && maker_.makes_integers())
    for (const int attempt : {0, InputMaker::permuting})
      if (attempt_ = attempt; auto expected = expect({all.front()}, 0, attempt, true, reason)) return expected;
  for (attempt_ = 0; attempt_ < (examples_.empty() ? InputMaker::attempts : 1); ++attempt_)
    if (auto expected = expect(attempt_ < attempts_at_all_sizes ? all : likely, 0, attempt_, true, reason)) return expected;
  must_be_registered(model_);
  if (attempt_ = 0; examples_.empty() && (decisions_.branches || decisions_.asserts))
    if (auto expected = in_any_way({all.front()}, 0, true)) return expected;
  find_misfits(all.front());
  if (!misfits_.empty()) return std::nullopt;
  fail(all, reason);
}

void Reference::find_misfits(const Sizes& tried) {
  const Sizes traced = has_examples() ? Sizes() : maker_.seen_sizes({});
  Sizes fitting = tried;
  for (const auto& [name, fixed] : given_sizes(options_.convert.dims))
    if (const auto seen = traced.find(name); seen != traced.end()) fitting[name] = seen->second;
  std::string reason;
  attempt_ = crashes_ = 0;
  if (fitting == tried || !at({fitting}, 1, reason)) return;
  for (const auto& [name, size] : fitting) {
    Sizes other = fitting;
    other[name] = tried.at(name);
    if (std::string why; other != fitting && !at({other}, 1, why)) misfits_.push_back({name, tried.at(name), size, why});
  }
}

void Reference::fail(const std::vector<Sizes>& tried, const std::string& reason) const {
  if (const auto refused = has_examples() ? std::string() : refused_call(prepared_, model_.table); !refused.empty())
    throw ModelError(onnx_.empty()
                         ? refused + "; CheckOptions::inputs or CheckOptions::inputs_from states sizes that the model accepts"
                         : "with the inputs of " + onnx_ + " " + refused +
                               "; that file isn't a conversion of this model: verify the model that it was made from, or "
                               "convert this one again");
  std::string text = "PyTorch itself doesn't run on the inputs that were ", dims;
  if (has_examples()) throw ModelError(text + "given: " + reason);
  for (const std::string& name : plan_.varied())
    if (!maker_.is_of_list(name)) dims += " CheckOptions::dims " + name + "=N";
  text += "made";
  const std::size_t others = tried.size() - 1;
  if (!tried.front().empty())
    text +=
        ", at " + spell(tried.front()) +
        (others ? " and " + std::to_string(others) + (others == 1 ? " other choice of sizes" : " other choices of sizes") : "");
  throw ModelError(text + ": " + reason + "; add CheckOptions::inputs_from FILE, with an example that the model accepts" +
                   (dims.empty() ? "" : ", or" + dims + ", with sizes that the model accepts"));
}

std::optional<Expected> Reference::at(const std::vector<Sizes>& candidates, int run, std::string& reason, bool vary_numbers) {
  // The model accepts the values of the first run, so at other sizes few more are tried.
  const int end = std::min(attempt_ + 2, examples_.empty() ? InputMaker::attempts : attempt_ + 1);
  // A model may refuse some numbers, so those of the first run come last.
  const int numbers = vary_numbers ? tries_of_numbers : 0;
  for (int attempt = attempt_; attempt < end; ++attempt)
    for (int other = numbers; other >= 0; --other)
      if (auto expected = expect(candidates, run, attempt, false, reason, other)) return expected;
  // It may have accepted them by chance, where few values are possible.
  for (int attempt = end; maker_.makes_integers() && !has_examples() && attempt < first_positive; ++attempt)
    if (auto expected = expect(candidates, run, attempt, false, reason)) {
      attempt_ = attempt;
      return expected;
    }
  return samples_.empty() ? std::nullopt : expect(candidates, run, sampled, false, reason);
}

std::optional<Expected> Reference::in_way(Way way, const Sizes& sizes, int run, bool twice) {
  if (runs_on_) return std::nullopt;
  frontend_.set_timeout(std::min(seconds_of_other_values, model_.load.timeout_seconds));
  std::optional<Expected> expected;
  try {
    std::string ignored;
    for (const int attempt : {attempt_, 0})
      if (!expected && crashes_ == 0) expected = expect({sizes}, run, attempt, twice, ignored, run, way);
  } catch (const Cancelled&) {
    throw;
  } catch (const ModelError&) {
    runs_on_ = true;
  }
  frontend_.set_timeout(model_.load.timeout_seconds);
  return expected;
}

std::optional<Expected> Reference::in_any_way(const std::vector<Sizes>& candidates, int run, bool twice) {
  constexpr std::array ways = {Way::distinct, Way::rising, Way::falling, Way::on_constants, Way::near_constants, Way::repeated};
  for (const Sizes& sizes : candidates)
    for (const Way way : ways)
      if (auto expected = in_way(way, sizes, run, twice)) return expected;
  return std::nullopt;
}

bool Reference::refuses_values(const Sizes& sizes) {
  if (!maker_.makes_integers() && !decisions_.branches && !decisions_.asserts) return false;
  std::string ignored;
  for (const int attempt : {attempt_, 0, 1})
    for (int draw = 0; draw < draws_of_values && crashes_ == 0; ++draw)
      if (!expect({sizes}, first_draw + draw, attempt, false, ignored)) return true;
  return false;
}

std::optional<Expected> Reference::expect(const std::vector<Sizes>& candidates, int index, int attempt, bool twice,
                                          std::string& reason, int other_numbers, Way way) {
  std::vector<Sizes> refused;
  std::string refusal;
  for (const Sizes& sizes : candidates) {
    watch_.look();
    if (crashes_ >= most_crashes) {
      if (reason.empty()) reason = "PyTorch crashed at the sizes that were tried before";
      break;
    }
    if (std::string out = out_of_range(sizes, ranges_); !out.empty()) {
      if (reason.empty()) reason = std::move(out);
      continue;
    }
    Expected expected{.call = {}, .sizes = sizes, .result = {}, .again = {}, .way = way};
    const std::uint64_t seed = options_.seed + static_cast<std::uint64_t>(index);
    const auto take = [&](std::uint64_t i) {
      return maker_.take(examples_of(attempt), sizes, seed + i * seeds_apart, attempt, other_numbers, way);
    };
    expected.call = take(0);
    for (std::uint64_t i = 1; !state_.empty() && i < calls_of_sequence; ++i)
      expected.later.push_back({.call = take(i), .sizes = sizes, .result = {}, .again = {}, .way = way});
    std::string failure = run(expected, twice);
    if (failure.empty()) {
      expected.refused = std::move(refused);
      expected.refusal = std::move(refusal);
      return expected;
    }
    refused.push_back(sizes);
    if (refusal.empty()) refusal = failure;
    if (reason.empty()) reason = index == 0 ? std::move(failure) : located(std::move(failure), expected.call);
  }
  return std::nullopt;
}

// "; this run has n=0: …", for a run that was stopped.
std::string Reference::values_that_may_not_end(const MadeCall& call) const {
  std::string values, options;
  for (const auto& [name, value] : call.leaves) {
    if (!value.get<bool>() && !value.get<std::int64_t>() && !value.get<double>()) continue;
    const std::string text = ir::write_literal(value, nullptr);
    values += (values.empty() ? "" : ", ") + name + "=" + text + (text.ends_with('.') ? "0" : "");
    options += " CheckOptions::inputs " + name + "=…";
  }
  if (has_examples()) return values.empty() ? values : "; the example has " + values;
  return (values.empty() ? "; " : "; this run has " + values + ": state values with which it ends by" + options + ", or ") +
         "add CheckOptions::inputs_from FILE, with an example for which the model ends";
}

// Why PyTorch doesn't run; empty if it does. `twice`: with another seed of its generator, too.
std::string Reference::run(Expected& expected, bool twice, std::uint64_t nudge) {
  std::vector<MadeCall*> sequence;
  for (MadeCall& call : expected.before) sequence.push_back(&call);
  sequence.push_back(&expected.call);
  for (Expected& next : expected.later) sequence.push_back(&next.call);
  std::vector<ir::Constants> calls;
  for (const MadeCall* call : sequence) calls.push_back(call->arguments);
  const bool in_one = twice && state_.empty();  // calls without state can't influence later ones
  if (in_one) calls.push_back(expected.call.arguments);
  const std::size_t own = expected.before.size();
  for (const MadeCall* call : sequence)
    if (std::string why = exported_ ? exported_->refusal(*call) : ""; !why.empty()) return why;
  if (exported_ && nudge) return "the weights of an exported program can't be changed";
  const auto generate = [&](std::uint64_t seed) {
    if (exported_) return exported_->run(frontend_, calls, seed);
    try {
      return frontend_.run(*model_.file, model_.path, model_.method, calls, seed, nudge, state_);
    } catch (const ModelError& error) {
      if (!frontend_.timed_out()) throw;
      throw ModelError(error.what() + values_that_may_not_end(expected.call));
    }
  };
  auto runs = generate(options_.seed);
  crashes_ = runs[0].crashed ? crashes_ + 1 : 0;
  if (!runs[0].result && names_gpu(runs[0].failure)) {
    expected.on_cpu = run_on_cpu(sequence, runs);
    for (Expected& next : expected.later) next.on_cpu = expected.on_cpu;
  }
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    if (!runs[i].result && i > own) {  // a cache is full: the calls before this one are compared
      expected.later.resize(i - own - 1);
      break;
    }
    if (!runs[i].result)
      return (i > 0 ? "in call " + std::to_string(i + 1) + ": " : "") +
             (runs[i].failure.empty() ? "no reason is known" : runs[i].failure);
    for (std::size_t state = 0; state < state_.size(); ++state)
      set_leaf(*sequence[i], prepared_.state[state].input, runs[i].before[state]);
  }
  expected.result = with_state(runs[own]);
  for (std::size_t i = 0; i < expected.later.size(); ++i) {
    Expected& next = expected.later[i];
    next.result = with_state(runs[own + 1 + i]);
    next.before = i == 0 ? expected.before : expected.later[i - 1].before;
    next.before.push_back(i == 0 ? expected.call : expected.later[i - 1].call);
  }
  if (in_one && runs[1].result) expected.again = with_state(runs[1]);
  if (!twice || in_one || expected.on_cpu) return {};
  auto others = generate(options_.seed + calls.size());
  if (others[own].result) expected.again = with_state(others[own]);
  return {};
}

void Reference::set_leaf(MadeCall& call, const std::string& name, ir::Constant value) {
  const auto leaf = std::ranges::find(call.leaves, name, &std::pair<std::string, ir::Constant>::first);
  if (leaf == call.leaves.end())
    call.leaves.emplace_back(name, std::move(value));
  else
    leaf->second = std::move(value);
}

// The result in the form of the ONNX model's outputs, complex tensors as pairs, and then the attributes' values after the
// call.
ir::Constant Reference::with_state(frontend::Frontend::Run& run) {
  const auto outputs = prepared_.graph.outputs();
  ir::Constant result =
      outputs.size() == state_.size() + 1 ? in_columns(std::move(*run.result), outputs[0]) : std::move(*run.result);
  if (run.after.empty()) return in_pairs(std::move(result));
  ir::TupleConstant all{nullptr, {std::move(result)}};
  all.items.insert(all.items.end(), run.after.begin(), run.after.end());
  return in_pairs(ir::Constant{std::move(all)});
}

// With the operator that fails and its place, where the prepared graph, run operator by operator, fails as well.
std::string Reference::located(std::string reason, const MadeCall& call) {
  if (decisions_.branches && decisions_.asserts) return reason;  // without its assertions it may run on and on
  std::vector<const ir::Value*> requested;
  for (const ir::Value* output : prepared_.graph.outputs())
    if (!ir::constant_of(output)) requested.push_back(output);
  try {
    values(requested, call);
  } catch (const ModelError& error) {
    constexpr std::string_view lead = "the graph doesn't run: ";
    const std::string text = error.what();
    if (const auto at = text.find(lead); at != text.npos) {
      return at_own_line(text.substr(at + lead.size()), prepared_.graph);
    }
  }
  return reason;
}

std::optional<ir::DType> Reference::narrow_of(std::size_t output, std::size_t outputs) const {
  return narrow_.size() == outputs ? narrow_[output] : std::nullopt;
}

std::optional<ir::Constant> Reference::nudged_result(const Expected& expected, Nudged what, std::uint64_t draw) {
  Expected other{.call = expected.call, .sizes = expected.sizes, .result = {}, .again = {}, .before = expected.before};
  if (what == Nudged::weights) {
    if (expected.on_cpu) return std::nullopt;  // the file's own method doesn't run
    return run(other, false, draw + 1).empty() ? std::optional(std::move(other.result)) : std::nullopt;
  }
  const bool floats = std::ranges::any_of(other.call.leaves, [](const auto& leaf) {
    const auto* view = leaf.second.template get<ir::TensorView>();
    return view && ir::is_floating(view->dtype);
  });
  if (!floats) return std::nullopt;
  std::optional<ir::DType> narrow;
  if (what == Nudged::inputs_in_half)
    for (const auto& each : narrow_)
      if (each && narrow != ir::DType::bf16) narrow = each;
  for (ir::Constant& argument : other.call.arguments) argument = nudged(argument, draw, narrow);
  for (auto& [name, leaf] : other.call.leaves) leaf = nudged(leaf, draw, narrow);
  for (MadeCall& call : other.before)
    for (ir::Constant& argument : call.arguments) argument = nudged(argument, draw, narrow);
  return run(other, false).empty() ? std::optional(std::move(other.result)) : std::nullopt;
}

// Tracing wrote the GPU into the code: the normalized graph is run instead, by libtorch's operators on the CPU. `runs` gets what
// each call gives. False if it doesn't run.
bool Reference::run_on_cpu(const std::vector<MadeCall*>& sequence, std::vector<frontend::Frontend::Run>& runs) {
  const auto outputs = prepared_.graph.outputs();
  const std::vector<const ir::Value*> requested(outputs.begin(), outputs.end());
  if (std::ranges::any_of(requested, [](const ir::Value* output) { return ir::constant_of(output) != nullptr; })) return false;
  try {
    ir::Constants held = runs[0].before;
    for (std::size_t i = 0; i < sequence.size(); ++i) {
      runs[i].before = held;
      for (std::size_t state = 0; state < state_.size(); ++state)
        set_leaf(*sequence[i], prepared_.state[state].input, held[state]);
      auto results = values(requested, *sequence[i]);
      if (!results) return false;
      held.assign(results->end() - std::ssize(state_), results->end());
      results->resize(results->size() - state_.size());
      runs[i].after = held;
      runs[i].result =
          results->size() == 1 ? std::move(results->front()) : ir::Constant{ir::TupleConstant{nullptr, std::move(*results)}};
    }
  } catch (const ModelError&) {
    return false;  // the first failure is the more useful one
  }
  return true;
}

std::optional<ir::Constants> Reference::values(const std::vector<const ir::Value*>& requested, const MadeCall& call) {
  auto inner = frontend_.inner_values(*model_.file, model_.path, prepared_.graph, prepared_arguments(call), options_.seed,
                                      {{.block = prepared_.graph.top(), .first = 0, .end = 1, .values = requested}},
                                      std::numeric_limits<std::uint64_t>::max());
  return inner.values.front().empty() ? std::nullopt : std::optional(std::move(inner.values.front().front()));
}

std::optional<ir::Constant> Reference::value(const ir::Value* value, const MadeCall& call) {
  if (value->block() != prepared_.graph.top()) return std::nullopt;
  auto held = values({value}, call);
  return held ? std::optional(std::move(held->front())) : std::nullopt;
}

ir::Constants Reference::prepared_arguments(const MadeCall& call) const {
  ir::Constants made;
  for (const ir::Value* input : prepared_.graph.inputs()) {
    const auto leaf = std::ranges::find(call.leaves, input->name(), &std::pair<std::string, ir::Constant>::first);
    const auto given = std::ranges::find(model_.graph.inputs(), input->name(), &ir::Value::name);
    const auto state = std::ranges::find(prepared_.state, input->name(), &passes::StateAttribute::input);
    if (leaf != call.leaves.end())
      made.push_back(leaf->second);
    else if (state != prepared_.state.end())  // the call didn't run
      made.push_back(state->initial);
    else if (given != model_.graph.inputs().end())
      made.push_back(call.arguments[static_cast<std::size_t>(given - model_.graph.inputs().begin())]);
    else
      made.emplace_back();
  }
  return made;
}

}  // namespace compatcheck::verification
