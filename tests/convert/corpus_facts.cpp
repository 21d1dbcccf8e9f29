// The facts of every case of the operator corpus against the outputs that eager PyTorch recorded.
//   corpus_facts [FOLDER [WORD]]    FOLDER: with index.jsonl; else $COMPATCHECK_CORPUS. WORD: only cases whose name begins so,
//   verbosely.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "compatcheck/error.h"
#include "conversion/facts.h"
#include "conversion/oracle.h"
#include "frontend/load.h"
#include "ir/text.h"
#include "ir/value_name.h"
#include "passes/normalize.h"

namespace compatcheck::conversion {
namespace {

using nlohmann::json;

ir::DType dtype_of(const std::string& numpy_name) {
  static const std::map<std::string, ir::DType> names = {
      {"float16", ir::DType::f16},    {"float32", ir::DType::f32},   {"float64", ir::DType::f64},
      {"bfloat16", ir::DType::bf16},  {"int8", ir::DType::i8},       {"int16", ir::DType::i16},
      {"int32", ir::DType::i32},      {"int64", ir::DType::i64},     {"uint8", ir::DType::u8},
      {"uint16", ir::DType::u16},     {"uint32", ir::DType::u32},    {"uint64", ir::DType::u64},
      {"bool", ir::DType::boolean},   {"complex32", ir::DType::c32}, {"complex64", ir::DType::c64},
      {"complex128", ir::DType::c128}};
  return names.at(numpy_name);
}

std::vector<Actual> read_tensors(const json& entry, const std::string& prefix) {
  std::vector<Actual> tensors;
  const json &shapes = entry.at(prefix + "_shapes"), &dtypes = entry.at(prefix + "_dtypes");
  for (std::size_t i = 0; i < shapes.size(); ++i)
    tensors.push_back({dtype_of(dtypes[i]), shapes[i].get<std::vector<std::int64_t>>()});
  return tensors;
}

void flatten(const symbolic::Fact& fact, std::vector<symbolic::Fact>& into) {
  const auto* list = fact.list();
  if (!list)
    into.push_back(fact);
  else if (list->items)
    for (const symbolic::Fact& item : *list->items) flatten(item, into);
}

bool has_open_list(const symbolic::Fact& fact) {
  const auto* list = fact.list();
  if (!list) return false;
  return !list->items || std::any_of(list->items->begin(), list->items->end(), has_open_list);
}

struct Tally {
  int complete = 0, partial = 0, named = 0;
};

class Corpus {
 public:
  Corpus(std::filesystem::path folder, std::string word) : folder_(std::move(folder)), word_(std::move(word)) {}

  void check(const json& entry) {
    const std::string id = entry.at("id");
    if (!id.starts_with(word_)) return;
    try {
      check(entry, id);
    } catch (const std::exception& error) {
      report(id, error.what());
    }
  }

  int summarize() const {
    int complete = 0, named = 0, all = 0;
    for (const auto& [op, tally] : by_op_) {
      complete += tally.complete;
      named += tally.named;
      all += tally.complete + tally.partial;
      if (tally.partial)
        std::cout << op << ": " << tally.partial << " of " << tally.complete + tally.partial << " cases not wholly known\n";
    }
    std::cout << all << " cases, " << complete << " with all outputs known, " << named << " of named sizes too, " << differences_
              << " differences\n";
    return differences_ || !all ? 1 : 0;
  }

 private:
  void check(const json& entry, const std::string& id) {
    const auto path = folder_ / (id + ".pt");
    const frontend::Loaded loaded = frontend_.load(path);
    const auto& program = std::get<ir::Program>(loaded.content);
    const passes::Normalized normalized = passes::normalize(program, schemas_);
    const auto inputs = read_tensors(entry, "input"), outputs = read_tensors(entry, "output");
    symbolic::Sizes sizes;
    std::vector<InputFact> given, named;
    for (std::size_t i = 0; i < normalized.graph.inputs().size() && i < inputs.size(); ++i) {
      const std::string name = ir::input_name(*normalized.graph.inputs()[i]);
      given.push_back({name, fact_of(inputs[i])});
      named.push_back({name, with_named_sizes(inputs[i], sizes)});
    }
    const bool complete = compare_outputs(normalized.graph, given, program, {}, outputs, id);
    Tally& tally = by_op_[entry.at("op")];
    ++(complete ? tally.complete : tally.partial);
    tally.named += compare_outputs(normalized.graph, named, program, sizes, outputs, id + " with named sizes");
  }

  // Whether all outputs are known.
  bool compare_outputs(const ir::Graph& graph, const std::vector<InputFact>& given, const ir::Program& program,
                       const symbolic::Sizes& sizes, const std::vector<Actual>& outputs, const std::string& id) {
    const auto facts = state_facts(graph, given, table_, schemas_, registry_, &program);
    if (!word_.empty()) print(graph, facts);
    std::vector<symbolic::Fact> stated;
    bool open = false;
    for (const ir::Value* output : graph.outputs()) {
      flatten(facts.of(output), stated);
      open |= has_open_list(facts.of(output));
    }
    if (open || stated.size() != outputs.size()) {
      if (!open) report(id, std::to_string(stated.size()) + " outputs stated, " + std::to_string(outputs.size()) + " recorded");
      return false;
    }
    bool complete = true;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Comparison comparison = compare(evaluated(stated[i], sizes), outputs[i]);
      if (!comparison.difference.empty())
        report(id, "output " + std::to_string(i) + ": " + comparison.difference + " by " + symbolic::to_string(stated[i]));
      complete &= comparison.complete;
    }
    return complete;
  }

  void report(const std::string& id, const std::string& what) {
    ++differences_;
    std::cout << id << ": " << what << "\n";
  }

  static void print(const ir::Graph& graph, const symbolic::FactTable& facts) {
    std::cout << ir::print(graph);
    ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
      for (const ir::Value* output : node->outputs())
        std::cout << "  %" << output->name() << " " << node->op() << ": " << spell(facts.of(output)) << "\n";
    });
  }

  static frontend::LoadOptions options() {
    frontend::LoadOptions options;
    options.helper = COMPATCHECK_HELPER;
    return options;
  }

  std::filesystem::path folder_;
  std::string word_;
  frontend::Frontend frontend_{options()};
  mapping::Table table_ = mapping::Table::shipped();
  schema::Registry schemas_;
  symbolic::Registry registry_ = symbolic::shipped_registry();
  std::map<std::string, Tally> by_op_;
  int differences_ = 0;
};

}  // namespace
}  // namespace compatcheck::conversion

int main(int count, char** arguments) {
  const char* named = count > 1 ? arguments[1] : std::getenv("COMPATCHECK_CORPUS");
  const std::filesystem::path folder = named ? named : "";
  std::ifstream index(folder / "index.jsonl");
  if (!named || !index) {
    std::cout << "no corpus in " << (named ? named : "$COMPATCHECK_CORPUS, which isn't set") << "\n";
    return 1;
  }
  compatcheck::conversion::Corpus corpus(folder, count > 2 ? arguments[2] : "");
  for (std::string line; std::getline(index, line);) corpus.check(nlohmann::json::parse(line));
  return corpus.summarize();
}
