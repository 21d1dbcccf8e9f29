// The facts of every value of real models against execution on random inputs, with the inputs' sizes as numbers and as names;
// and what a whole check reports of their outputs.
//   model_facts [FOLDER [WORD]]     FOLDER: of *.pt files; else $COMPATCHECK_MODELS. WORD: only files whose name begins so,
//   verbosely.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "compatcheck/check.h"
#include "conversion/facts.h"
#include "convert/oracle.h"
#include "days.h"
#include "frontend/load.h"
#include "ir/value_name.h"
#include "passes/normalize.h"

namespace compatcheck::conversion {
namespace {

using Values = std::map<std::uint32_t, const ir::Value*>;

void collect(const ir::Block& block, Values& values) {
  for (const ir::Value* input : block.inputs()) values[input->id()] = input;
  for (const ir::Node* node : block) {
    for (const ir::Value* output : node->outputs()) values[output->id()] = output;
    for (const ir::Block* inner : node->blocks()) collect(*inner, values);
  }
}

class Models {
 public:
  explicit Models(bool verbose) : verbose_(verbose) {}

  void check(const std::filesystem::path& file) {
    const std::string name = file.stem().string();
    try {
      compare_values(file, name);
    } catch (const ModelError& error) {  // files that can't be run here; loading them is tested elsewhere
      std::cout << name << ": not run: " << std::string(error.what()).substr(0, 120) << "\n";
    } catch (const std::exception& error) {
      report(name, error.what());
    }
  }

  int summarize() const {
    std::cout << models_ << " models, " << values_ << " values, " << complete_ << " wholly known, " << named_
              << " with named sizes, " << reported_ << " outputs reported, " << quantized_ << " of quantized models, "
              << differences_ << " differences\n";
    return differences_ || !models_ || !reported_ || !quantized_ ? 1 : 0;
  }

 private:
  void compare_values(const std::filesystem::path& file, const std::string& name) {
    frontend::Loaded loaded = frontend_.load(file);
    const auto* program = std::get_if<ir::Program>(&loaded.content);
    if (!program) return;
    schema::Registry schemas;
    for (const auto& schema : program->stub_schemas) schemas.add(schema);
    const passes::Normalized normalized = passes::normalize(*program, schemas);
    Values values;
    collect(*normalized.graph.top(), values);
    const auto observed = frontend_.observe(file, normalized.graph, 1);
    std::map<std::uint32_t, Actual> inputs;
    for (const auto& tensor : observed) inputs.try_emplace(tensor.value, Actual{tensor.dtype, tensor.sizes});
    std::vector<InputFact> given;
    for (std::size_t i = 0; i < normalized.graph.inputs().size(); ++i) {
      const ir::Value* input = normalized.graph.inputs()[i];
      if (const auto found = inputs.find(input->id()); found != inputs.end())
        given.push_back({ir::input_name(*input), fact_of(found->second)});
    }
    compare_named(normalized.graph, observed, inputs, schemas, program, values, name);
    compare_report(file, normalized.graph, inputs, name);
    const auto start = std::chrono::steady_clock::now();
    const auto facts = state_facts(normalized.graph, given, table_, schemas, registry_, program);
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
    std::size_t known = 0;
    std::set<std::string> open;
    for (const auto& tensor : observed) {
      const ir::Value* value = values.at(tensor.value);
      const Comparison comparison = compare(facts.of(value), {tensor.dtype, tensor.sizes});
      const std::string op = value->producer() ? value->producer()->op() : "an input";
      if (!comparison.difference.empty()) report(name, "%" + value->name() + " of " + op + ": " + comparison.difference);
      known += comparison.complete;
      if (!comparison.complete) open.insert(op);
    }
    ++models_;
    values_ += observed.size();
    complete_ += known;
    std::cout << name << ": " << known << " of " << observed.size() << " values known, " << values.size() << " in all, "
              << spent.count() << " ms";
    for (const std::string& op : open) std::cout << " " << op;
    std::cout << "\n";
    if (verbose_)
      for (const auto& [id, value] : values)
        std::cout << "  %" << value->name() << " " << (value->producer() ? value->producer()->op() : "input")
                  << (value->producer() && !value->producer()->schema() ? " (no schema)" : "") << ": " << spell(facts.of(value))
                  << "\n";
  }

  // Every size of the inputs by a name: what is stated then has the observed value for the observed sizes.
  void compare_named(const ir::Graph& graph, const std::vector<frontend::Frontend::ObservedTensor>& observed,
                     const std::map<std::uint32_t, Actual>& inputs, const schema::Registry& schemas, const ir::Program* program,
                     const Values& values, const std::string& name) {
    std::vector<InputFact> given;
    symbolic::Sizes sizes;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
      const ir::Value* input = graph.inputs()[i];
      if (const auto found = inputs.find(input->id()); found != inputs.end())
        given.push_back({ir::input_name(*input), with_named_sizes(found->second, sizes)});
    }
    const auto facts = state_facts(graph, given, table_, schemas, registry_, program);
    for (const auto& tensor : observed) {
      const ir::Value* value = values.at(tensor.value);
      const Comparison comparison = compare(evaluated(facts.of(value), sizes), {tensor.dtype, tensor.sizes});
      named_ += comparison.complete;
      if (verbose_ && !comparison.complete)
        std::cout << "  named: " << (value->producer() ? value->producer()->op() : "an input") << " "
                  << symbolic::to_string(facts.of(value)) << "\n";
      if (!comparison.difference.empty())
        report(name, "named sizes: %" + value->name() + " of " + (value->producer() ? value->producer()->op() : "an input") +
                         ": " + comparison.difference + " by " + symbolic::to_string(facts.of(value)));
    }
  }

  // A whole check, given the inputs' sizes: facts as they are after folding, with what the program's objects hold.
  void compare_report(const std::filesystem::path& file, const ir::Graph& graph, const std::map<std::uint32_t, Actual>& seen,
                      const std::string& name) {
    CheckOptions options;
    for (const ir::Value* input : graph.inputs()) {
      const auto found = seen.find(input->id());
      if (found == seen.end()) return;  // no tensor: no --input says its sizes
      options.inputs.push_back(spell_input(found->second));
    }
    const Report report = compatcheck::check(loader_.load(file), options);
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
      const auto found = seen.find(graph.outputs()[i]->id());
      if (found == seen.end() || report.model.outputs[i].dtype == "?" || !report.model.outputs[i].shape) continue;
      ++reported_;
      quantized_ += name.starts_with("quantized");
      const std::string stated = report.model.outputs[i].dtype + ":" + join(*report.model.outputs[i].shape);
      if (!holds(report.model.outputs[i], found->second))
        this->report(name, "reported as output: " + stated + ", is " + spell_input(found->second));
    }
  }

  // Sizes that elements decide are told by a name, or not at all.
  static bool holds(const TensorInfo& stated, const Actual& seen) {
    if (stated.dtype != ir::name(seen.dtype) || stated.shape->size() != seen.sizes.size()) return false;
    for (std::size_t i = 0; i < seen.sizes.size(); ++i) {
      const std::string& size = (*stated.shape)[i];
      if (std::isdigit(static_cast<unsigned char>(size.front())) && size != std::to_string(seen.sizes[i])) return false;
    }
    return true;
  }

  static std::string join(const std::vector<std::string>& sizes) {
    std::string text;
    for (const auto& size : sizes) text += (text.empty() ? "" : ",") + size;
    return text.empty() ? "scalar" : text;
  }

  static std::string spell_input(const Actual& actual) {
    std::vector<std::string> sizes;
    for (const std::int64_t size : actual.sizes) sizes.push_back(std::to_string(size));
    return std::string(ir::name(actual.dtype)) + ":" + join(sizes);
  }

  void report(const std::string& name, const std::string& what) {
    ++differences_;
    std::cout << name << ": " << what << "\n";
  }

  static LoadOptions load_options() {
    LoadOptions options;
    options.helper = COMPATCHECK_HELPER;
    return options;
  }

  static frontend::LoadOptions options() {
    frontend::LoadOptions options;
    options.helper = COMPATCHECK_HELPER;
    return options;
  }

  bool verbose_;
  frontend::Frontend frontend_{options()};
  Loader loader_{load_options()};
  mapping::Table table_ = mapping::Table::shipped();
  symbolic::Registry registry_ = symbolic::shipped_registry();
  std::size_t models_ = 0, values_ = 0, complete_ = 0, named_ = 0, reported_ = 0, quantized_ = 0, differences_ = 0;
};

}  // namespace
}  // namespace compatcheck::conversion

int main(int count, char** arguments) {
  const char* named = count > 1 ? arguments[1] : std::getenv("COMPATCHECK_MODELS");
  if (!named || !std::filesystem::is_directory(named)) {
    std::cout << "no models in " << (named ? named : "$COMPATCHECK_MODELS, which isn't set") << "\n";
    return 1;
  }
  const std::string word = count > 2 ? arguments[2] : "";
  constexpr std::uintmax_t largest = 300'000'000;  // bigger ones have the graph of a smaller one
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(named))
    if (entry.path().extension() == ".pt" && entry.path().filename().string().starts_with(word) && entry.file_size() < largest)
      files.insert(entry.path());
  compatcheck::conversion::Models models(!word.empty());
  std::size_t number = 0;
  for (const auto& file : files)
    if (!word.empty() || compatcheck::is_of_today(++number, 2)) models.check(file);
  return models.summarize();
}
