// compatcheck::verify_onnx: two ONNX files run in ONNX Runtime on the same inputs.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include "analysis/boundary.h"
#include "analysis/example_inputs.h"
#include "analysis/input_spec.h"
#include "analysis/run.h"
#include "compatcheck/verify.h"
#include "ir/value_name.h"
#include "verification/conclusion.h"
#include "verification/inputs.h"
#include "verification/judge.h"
#include "verification/onnx_graph.h"
#include "verification/runtime.h"

namespace compatcheck {
namespace {

using verification::OnnxGraph;
using verification::Sizes;
using Variation = NamedDimension::Variation;

// Windows, heads and strides may need the others.
constexpr std::array<std::int64_t, 9> first_sizes = {4, 8, 16, 32, 64, 128, 224, 1, 2};
constexpr std::array<std::int64_t, 4> changed_by = {1, 8, 32, 64};

std::string listed_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text.empty() ? "none" : text;
}

// The places in `second` of the names in `first`: by name, else in order. Throws UsageError for lists that can't be paired.
std::vector<std::size_t> places_of_names(const std::vector<std::string>& first, const std::vector<std::string>& second,
                                         const std::string& what) {
  if (first.size() != second.size())
    throw UsageError("the two ONNX files have different " + what + ": " + listed_names(first) + ", and " + listed_names(second));
  std::vector<std::size_t> places;
  for (const std::string& name : first)
    if (const auto found = std::ranges::find(second, name); found != second.end())
      places.push_back(static_cast<std::size_t>(found - second.begin()));
  if (places.size() == first.size()) return places;
  places.resize(first.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  return places;
}

std::vector<std::string> names_of(const std::vector<OnnxGraph::Given>& inputs) {
  std::vector<std::string> names;
  for (const auto& input : inputs) names.push_back(input.name);
  return names;
}

// A word that may name a size: letters, digits and underscores.
std::string as_name(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return !std::isalnum(c); }, '_');
  return analysis::is_name(text) ? text : "n" + text;
}

// A graph of the file's inputs alone, so that options and examples can state them. The part behind a dot would name a member.
ir::Graph graph_of(const std::vector<OnnxGraph::Given>& inputs) {
  ir::Graph graph;
  for (const auto& input : inputs) {
    if (!input.dtype || input.sequence)
      throw UsageError("input '" + input.name + "' of the ONNX file is no tensor; two ONNX files are compared on tensors only");
    ir::TensorType type;
    type.dtype = input.dtype;
    const bool plain = input.name.find('.') == input.name.npos;
    graph.top()->add_input(ir::tensor_type(type), plain ? input.name : "input_" + std::to_string(graph.inputs().size()));
  }
  return graph;
}

// Sizes without a name get one for each input and dimension.
symbolic::Fact fact_of(const OnnxGraph::Given& input) {
  symbolic::TensorFact tensor{.dtype = input.dtype};
  if (input.shape) tensor.shape.emplace();
  for (std::size_t dim = 0; input.shape && dim < input.shape->size(); ++dim) {
    const auto& [size, name] = (*input.shape)[dim];
    const std::string own = input.name + std::to_string(dim);
    tensor.shape->push_back(size ? symbolic::Dim(*size) : symbolic::Dim::symbol(as_name(name.empty() ? own : name)));
  }
  return {.value = std::move(tensor)};
}

struct Run {
  Sizes sizes;
  ir::Constants inputs, expected;
};

class ComparingFiles {
 public:
  ComparingFiles(const std::filesystem::path& reference, const std::filesystem::path& onnx, const VerifyOptions& options)
      : options_(options),
        watch_(analysis::watch_of(options.convert.run, options.convert.timeout_seconds)),
        given_(inputs_of(reference)),
        others_(inputs_of(onnx)),
        graph_(graph_of(given_)),
        runtime_(options.ort_library, options.ort_custom_ops,
                 {options.convert.timeout_seconds, analysis::cancelled_of(options.convert.run)}),
        maker_(graph_, graph_, facts_, 0, decisions_),
        first_(runtime_.open(reference)) {
    made_.model = reference.string();
    made_.onnx = onnx.string();
    made_.runtime = runtime_.version();
    made_.seed = options.seed;
    made_.fail_on = options.fail_on;
    to_second_ = places_of_names(names_of(given_), names_of(others_), "inputs");
    for (std::size_t i = 0; i < given_.size(); ++i) facts_.set(graph_.inputs()[i], fact_of(given_[i]));
    for (const auto& [name, fact] : analysis::match_inputs(with_names_of_graph(options.convert.inputs), graph_))
      for (const ir::Value* input : graph_.inputs())
        if (input->name() == name) facts_.set(input, stated(fact, facts_.of(input)));
    if (!options.convert.inputs_from.empty())
      examples_ = analysis::example_leaves(options.convert.inputs_from, graph_, examples::Elements::read);
    fix_sizes();
  }

  Verification run(const std::filesystem::path& onnx) {
    if (!same_inputs()) return finish();
    try {
      second_.emplace(runtime_.open(onnx));
    } catch (const ModelError& error) {
      add("CC201", "ONNX Runtime " + runtime_.version() + " can't load the second file: " + error.what());
      return finish();
    }
    outputs_ = places_of_names(first_.outputs(), second_->outputs(), "outputs");
    auto begin = first_run();
    const Sizes from = begin.sizes;
    for (const auto& [name, size] : from)
      made_.dimensions.push_back(
          {.name = name, .variation = fixed_.contains(name) ? Variation::fixed : Variation::none, .sizes = {size}, .reason = {}});
    if (!compare(begin) || !vary(from)) return finish();
    while (static_cast<int>(made_.runs.size()) < options_.runs && examples_.empty()) {
      const auto next = at(from);
      if (!next || !compare(*next)) break;
    }
    return finish();
  }

 private:
  std::vector<OnnxGraph::Given> inputs_of(const std::filesystem::path& file) const {
    const OnnxGraph graph(file, watch_);
    graph.must_be_whole();
    return graph.inputs();
  }

  std::vector<std::string> with_names_of_graph(std::vector<std::string> texts) const {
    for (std::string& text : texts)
      for (std::size_t i = 0; i < given_.size(); ++i)
        if (text.starts_with(given_[i].name + "=")) text = graph_.inputs()[i]->name() + text.substr(given_[i].name.size());
    return texts;
  }

  static symbolic::Fact stated(const symbolic::Fact& by_option, const symbolic::Fact& of_file) {
    symbolic::Fact made = of_file;
    if (by_option.tensor() && by_option.tensor()->shape)
      std::get<symbolic::TensorFact>(made.value).shape = by_option.tensor()->shape;
    return made;
  }

  void fix_sizes() {
    names_ = maker_.named_dims();
    for (const std::string& text : options_.convert.dims) {
      const auto [name, size] = analysis::named_size(text);
      const auto number = analysis::number_in(size);
      if (std::ranges::find(names_, name) == names_.end() || !number || *number < 1)
        throw UsageError("CheckOptions::dims " + text + ": expected NAME=N with one of the names " + listed_names(names_));
      fixed_[name] = *number;
    }
    for (const auto& [name, size] : maker_.seen_sizes(examples_)) seen_[name] = size;
  }

  void add(const std::string& id, std::string message, std::string help = {}) {
    verification::add_finding(made_, id, Severity::error, std::move(message), std::move(help));
  }

  bool same_inputs() {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      const auto& [first, second] = std::pair(given_[i], others_[to_second_[i]]);
      const bool ranks_differ = first.shape && second.shape && first.shape->size() != second.shape->size();
      if (first.dtype == second.dtype && !ranks_differ) continue;
      add(ranks_differ ? "CC203" : "CC204",
          "input '" + first.name + "' has another " + (ranks_differ ? "rank" : "dtype") + " in the second file");
    }
    return made_.findings.empty();
  }

  // The results of the reference at these sizes; nullopt where it refuses all values that were tried.
  std::optional<Run> at(const Sizes& sizes) {
    const int most = examples_.empty() ? verification::InputMaker::attempts : 1;
    for (int attempt = 0; attempt < most; ++attempt) {
      watch_.look();
      const auto call = maker_.take(examples_, sizes, options_.seed + static_cast<std::uint64_t>(runs_++), attempt);
      try {
        return Run{sizes, call.arguments, first_.run(call.arguments)};
      } catch (const ModelError& error) {
        refusal_ = error.what();
      }
    }
    return std::nullopt;
  }

  Run first_run() {
    for (const std::int64_t size : first_sizes) {
      Sizes sizes;
      for (const std::string& name : names_) sizes[name] = is_batch(name) ? 2 : size;
      for (const auto& [name, known] : seen_) sizes[name] = known;
      for (const auto& [name, known] : fixed_) sizes[name] = known;
      if (auto run = at(sizes)) return *std::move(run);
      if (names_.empty()) break;
    }
    throw ModelError(made_.model + ": ONNX Runtime fails with all values that were tried: " + refusal_ +
                     "; CheckOptions::inputs_from FILE gives inputs that the model accepts");
  }

  // The name stands at dimension 0 only.
  bool is_batch(const std::string& name) const {
    for (const ir::Value* input : graph_.inputs()) {
      const auto& shape = facts_.of(input).tensor()->shape;
      for (std::size_t dim = 1; shape && dim < shape->size(); ++dim)
        if (const auto names = symbolic::names_in((*shape)[dim]); std::ranges::find(names, name) != names.end()) return false;
    }
    return true;
  }

  // All together, then each by itself. False where the files differ.
  bool vary(const Sizes& from) {
    std::vector<std::string> varied;
    for (const std::string& name : names_)
      if (!fixed_.contains(name)) varied.push_back(name);
    std::vector<std::vector<std::string>> choices;
    if (varied.size() > 1) choices.push_back(varied);
    for (const std::string& name : varied) choices.push_back({name});
    for (const auto& names : choices)
      if (!vary(from, names)) return false;
    return true;
  }

  bool vary(const Sizes& from, const std::vector<std::string>& names) {
    for (const std::int64_t more : changed_by) {
      Sizes sizes = from;
      for (const std::string& name : names) sizes[name] += more;
      const auto run = at(sizes);
      if (!run) continue;
      for (const std::string& name : names) {
        NamedDimension& dimension = *std::ranges::find(made_.dimensions, name, &NamedDimension::name);
        dimension.sizes.push_back(sizes[name]);
        if (dimension.variation != Variation::alone)
          dimension.variation = names.size() == 1 ? Variation::alone : Variation::together;
      }
      return compare(*run);
    }
    if (names.size() > 1) return true;
    NamedDimension& dimension = *std::ranges::find(made_.dimensions, names.front(), &NamedDimension::name);
    if (dimension.variation == Variation::none) dimension.reason = "the first file fails at other sizes: " + refusal_;
    return true;
  }

  bool compare(const Run& run) {
    note_run(run);
    ir::Constants inputs(run.inputs.size()), found;
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[to_second_[i]] = run.inputs[i];
    const bool resized = made_.runs.size() > 1 && run.sizes != made_.runs.front().sizes;
    const std::string where = resized ? " at " + verification::spell(run.sizes) : "";
    try {
      found = second_->run(inputs);
    } catch (const ModelError& error) {
      add(resized ? "CC205" : "CC201", "the second file fails" + where + ": " + error.what());
      return false;
    }
    bool all = true;
    for (std::size_t i = 0; i < run.expected.size(); ++i)
      all &= compare(first_.outputs()[i], run.expected[i], found[outputs_[i]], resized, where);
    if (all || !is_random(run)) return all;
    made_.findings.clear();
    add("CC008", "the first file's own result differs from run to run, so nothing can be compared");
    return false;
  }

  bool is_random(const Run& run) const {
    const auto again = first_.run(run.inputs);
    for (std::size_t i = 0; i < again.size(); ++i) {
      const auto *first = run.expected[i].get<ir::TensorView>(), *second = again[i].get<ir::TensorView>();
      if (first && second && !verification::compare(*first, *second, tolerance(first->dtype)).passed()) return true;
    }
    return false;
  }

  bool compare(const std::string& name, const ir::Constant& expected, const ir::Constant& found, bool resized,
               const std::string& where) {
    const auto *list = expected.get<ir::ListConstant>(), *other = found.get<ir::ListConstant>();
    if (list && other && list->items.size() == other->items.size()) {
      bool all = true;
      for (std::size_t i = 0; i < list->items.size(); ++i)
        all &= compare(name + "." + std::to_string(i), list->items[i], other->items[i], resized, where);
      return all;
    }
    const auto *view = expected.get<ir::TensorView>(), *seen = found.get<ir::TensorView>();
    if (expected.is_none() && found.is_none()) return true;
    if (!view || !seen) {
      add("CC203", "output '" + name + "' is a tensor, a list or None in one file only, or a list of another length" + where);
      return false;
    }
    auto place = std::ranges::find(made_.outputs, name, &OutputVerification::name);
    if (place == made_.outputs.end()) {
      place = made_.outputs.emplace(place);
      place->name = name;
      place->dtype = ir::name(view->dtype);
      place->shape = view->sizes;
    }
    const auto comparison = verification::compare(*view, *seen, tolerance(view->dtype));
    verification::note_metrics(*place, comparison);
    const bool similar = !options_.least_cosine || comparison.cosine >= *options_.least_cosine;
    if (comparison.passed() && similar) return true;
    place->mismatched += comparison.mismatched;
    const std::string difference =
        comparison.passed() ? "the cosine is " + std::to_string(comparison.cosine) : verification::describe(comparison);
    if (std::exchange(place->passed, false)) place->difference = difference;
    add(resized && comparison.same_form() ? "CC205" : verification::id_of(comparison),
        "output '" + name + "': " + difference + where);
    return false;
  }

  verification::Tolerance tolerance(ir::DType dtype) const {
    return verification::tolerance_of(dtype, options_.rtol, options_.atol);
  }

  void note_run(const Run& run) {
    RunInputs noted{.sizes = run.sizes, .inputs = {}};
    for (std::size_t i = 0; i < given_.size(); ++i) verification::note_input(given_[i].name, run.inputs[i], noted);
    made_.runs.push_back(std::move(noted));
  }

  Verification finish() {
    verification::conclude(made_);
    return std::move(made_);
  }

  const VerifyOptions& options_;
  ir::Watch watch_;
  std::vector<OnnxGraph::Given> given_, others_;
  ir::Graph graph_;
  symbolic::FactTable facts_;
  verification::Decisions decisions_;
  verification::Runtime runtime_;
  verification::InputMaker maker_;
  verification::Session first_;
  std::optional<verification::Session> second_;
  std::vector<std::size_t> to_second_, outputs_;
  std::vector<analysis::ExampleLeaf> examples_;
  std::vector<std::string> names_;
  Sizes fixed_, seen_;
  std::string refusal_;
  int runs_ = 0;
  Verification made_;
};

}  // namespace

Verification verify_onnx(const std::filesystem::path& reference, const std::filesystem::path& onnx,
                         const VerifyOptions& options) {
  return analysis::guarded(reference.string(), [&] {
    if (options.runs < 1) throw UsageError("verify: at least 1 run is needed, not " + std::to_string(options.runs));
    if (options.bisect || !options.repro.empty() || !options.dump.empty())
      throw UsageError("two ONNX files are compared by their outputs: bisect, repro and dump need the PyTorch model");
    std::error_code ignored;
    for (const auto& file : {reference, onnx})
      if (!std::filesystem::is_regular_file(file, ignored)) throw ModelError(file.string() + ": there is no such file");
    return ComparingFiles(reference, onnx, options).run(onnx);
  });
}

}  // namespace compatcheck
