#include "verify/reference.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "analysis/run.h"
#include "compatcheck/error.h"
#include "verify/nudge.h"

namespace compatcheck::verification {
namespace {

// Some models take no image of 2 × 3: sizes grow until TorchScript runs.
constexpr std::array<std::int64_t, 5> scales = {1, 4, 16, 64, 112};
constexpr std::array<std::int64_t, 2> default_sizes = {2, 3};

Sizes given_sizes(const std::vector<std::string>& dims) {
  Sizes sizes;
  for (const std::string& dim : dims) sizes[dim.substr(0, dim.find('='))] = std::stoll(dim.substr(dim.find('=') + 1));
  return sizes;
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
  if (model.program)
    for (const std::string& schema : model.program->stub_schemas) names.insert(schema.substr(0, schema.find_first_of(".(")));
  if (names.empty()) return;
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  throw UsageError(model.path + ": TorchScript can't run it without the library that registers " + text + ": --op-library");
}

}  // namespace

Reference::Reference(const Model::State& model, const VerifyOptions& options, const analysis::Prepared& prepared,
                     const ir::Watch& watch)
    : model_(model),
      options_(options),
      prepared_(prepared),
      watch_(watch),
      maker_(model.graph, prepared.graph, prepared.facts),
      frontend_(load_options(model, options)) {
  if (!options.convert.inputs_from.empty())
    examples_ = analysis::example_leaves(options.convert.inputs_from, prepared.graph, examples::Elements::read);
}

int Reference::runs() const { return examples_.empty() ? options_.runs : 1; }

// What --dim says, and what `others` say of the rest.
Sizes Reference::with_given(Sizes others) const {
  Sizes sizes = given_sizes(options_.convert.dims);
  sizes.merge(others);
  return sizes;
}

Sizes Reference::small_sizes(int index, std::int64_t scale) const {
  Sizes sizes;
  const auto names = maker_.named_dims();
  for (std::size_t i = 0; i < names.size(); ++i)
    sizes[names[i]] = scale * default_sizes[(i + static_cast<std::size_t>(index)) % default_sizes.size()];
  return with_given(std::move(sizes));
}

// Sizes to try, the likely ones first: small ones, larger ones, then those that the file was traced with and their neighbours.
// The next runs begin where the last one ran.
std::vector<Sizes> Reference::candidates(int index) const {
  const Sizes recorded = maker_.recorded_sizes();
  const auto names = maker_.named_dims();
  if (names.empty() || given_sizes(options_.convert.dims).size() >= names.size()) return {with_given({})};
  std::vector<Sizes> sizes;
  if (index == 0 || !at_recorded_)
    for (std::size_t scale = index == 0 ? 0 : first_scale_; scale < (index == 0 ? scales.size() : first_scale_ + 1); ++scale)
      sizes.push_back(small_sizes(index, scales[scale]));
  if (recorded.empty() || (index > 0 && !at_recorded_)) return sizes;
  const auto changed = [&](const auto& change) {
    Sizes other = recorded;
    for (auto& [name, size] : other) size = std::max<std::int64_t>(1, change(name, size));
    return with_given(std::move(other));
  };
  if (index == 0) sizes.push_back(with_given(recorded));
  for (std::size_t turn = 0; index > 0 && turn < names.size(); ++turn) {  // each dimension by itself, in turn
    const std::string& name = names[(turn + static_cast<std::size_t>(index) - 1) % names.size()];
    for (const std::int64_t more : {std::int64_t{1}, recorded.contains(name) ? recorded.at(name) : 2, std::int64_t{-1}})
      sizes.push_back(changed([&](const std::string& of, std::int64_t size) { return of == name ? size + more : size; }));
  }
  return sizes;
}

std::optional<Expected> Reference::expect(int index, Refused& refused) {
  refused = {};
  const std::vector<Sizes> all = candidates(index);
  // What the first run took is what the model takes: at other sizes few more are worth a try.
  const int from = index == 0 ? 0 : attempt_,
            end = index == 0 ? InputMaker::attempts : std::min(attempt_ + 2, InputMaker::attempts);
  for (int attempt = from; attempt < end; ++attempt) {
    for (std::size_t at = 0; at < all.size(); ++at) {
      watch_.look();
      Expected expected{.call = {}, .sizes = all[at], .result = {}, .again = {}};
      expected.call = maker_.take(examples_, expected.sizes, options_.seed + static_cast<std::uint64_t>(index), attempt);
      std::string failure = run(expected, index == 0);
      if (failure.empty()) {
        if (index == 0) attempt_ = attempt;
        if (index == 0) first_scale_ = std::min(at, scales.size() - 1), at_recorded_ = at >= scales.size();
        return expected;
      }
      if (refused.reason.empty()) refused.reason = index == 0 ? std::move(failure) : located(std::move(failure), expected.call);
    }
    if (!examples_.empty()) break;
  }
  if (index == 0) {
    must_be_registered(model_);
    throw ModelError(std::string("TorchScript itself doesn't run on the inputs that were ") +
                     (examples_.empty() ? "made (--inputs-from gives better ones, --dim sizes): " : "given: ") + refused.reason);
  }
  refused.sizes = all.front();
  return std::nullopt;
}

// Why TorchScript doesn't run; empty if it does. `twice`: with another seed of its generator, too.
std::string Reference::run(Expected& expected, bool twice) {
  const std::vector<ir::Constants> calls(twice ? 2 : 1, expected.call.arguments);
  auto runs = frontend_.run(*model_.file, model_.path, model_.method, calls, options_.seed);
  if (!runs[0].result && names_gpu(runs[0].failure)) {
    runs[0].result = run_on_cpu(expected.call);
    expected.on_cpu = runs[0].result.has_value();
  }
  if (!runs[0].result) return runs[0].failure.empty() ? "no reason is told" : runs[0].failure;
  expected.result = std::move(*runs[0].result);
  if (twice && runs[1].result) expected.again = std::move(runs[1].result);
  return {};
}

// With the operator that fails and its place, where the prepared graph, run operator by operator, fails as well.
std::string Reference::located(std::string reason, const MadeCall& call) {
  std::vector<const ir::Value*> wanted;
  for (const ir::Value* output : prepared_.graph.outputs())
    if (!ir::constant_of(output)) wanted.push_back(output);
  try {
    values(wanted, call);
  } catch (const ModelError& error) {
    constexpr std::string_view lead = "the graph doesn't run: ";
    const std::string text = error.what();
    if (const auto at = text.find(lead); at != text.npos) return text.substr(at + lead.size());
  }
  return reason;
}

std::optional<ir::Constant> Reference::nudged_result(const Expected& expected) {
  Expected other{.call = expected.call, .sizes = expected.sizes, .result = {}, .again = {}, .on_cpu = false};
  const bool floats = std::ranges::any_of(other.call.leaves, [](const auto& leaf) {
    const auto* view = leaf.second.template get<ir::TensorView>();
    return view && ir::is_floating(view->dtype);
  });
  if (!floats) return std::nullopt;
  for (ir::Constant& argument : other.call.arguments) argument = nudged(argument);
  for (auto& [name, leaf] : other.call.leaves) leaf = nudged(leaf);
  return run(other, false).empty() ? std::optional(std::move(other.result)) : std::nullopt;
}

// Tracing wrote the GPU into the code: the normalised graph is run instead, by libtorch's operators on the CPU.
std::optional<ir::Constant> Reference::run_on_cpu(const MadeCall& call) {
  const auto outputs = prepared_.graph.outputs();
  const std::vector<const ir::Value*> wanted(outputs.begin(), outputs.end());
  if (std::ranges::any_of(wanted, [](const ir::Value* output) { return ir::constant_of(output) != nullptr; }))
    return std::nullopt;
  try {
    auto results = values(wanted, call);
    if (!results) return std::nullopt;
    if (results->size() == 1) return std::move(results->front());
    return ir::Constant{ir::TupleConstant{nullptr, std::move(*results)}};
  } catch (const ModelError&) {
    return std::nullopt;  // the first failure tells more
  }
}

std::optional<ir::Constants> Reference::values(const std::vector<const ir::Value*>& wanted, const MadeCall& call) {
  auto inner = frontend_.inner_values(*model_.file, model_.path, prepared_.graph, prepared_arguments(call), options_.seed,
                                      {{.block = prepared_.graph.top(), .first = 0, .end = 1, .values = wanted}},
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
    if (leaf != call.leaves.end())
      made.push_back(leaf->second);
    else if (given != model_.graph.inputs().end())
      made.push_back(call.arguments[static_cast<std::size_t>(given - model_.graph.inputs().begin())]);
    else
      made.emplace_back();
  }
  return made;
}

}  // namespace compatcheck::verification
