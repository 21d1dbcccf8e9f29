// Converts cases of the operator corpus and runs them in ONNX Runtime against TorchScript.
//   corpus_cases HELPER OUT < lines of JSON: an entry of index.jsonl, with "model", "inputs" (files), "opsets", "specials",
//   "kept_inputs", "skip_sets", "ties"; "specs": the inputs as --input has them, and "refused": PyTorch refuses these;
//   "oracle": the TorchScript file whose outputs count, where "model" is another form of it
// writes to stdout, for each line, {id, results: [{opset, outcome, detail}]}. Outcomes: match, wrong, runtime (exported, but the
// runtime doesn't take or run it), refused, needs_input, disagree (check and convert, or the reported class and the nodes of the
// file), no_oracle, error.
#include <fcntl.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/model_state.h"
#include "compatcheck/convert.h"
#include "corpus/class_check.h"
#include "examples/examples.h"
#include "input_sets.h"
#include "ir/number_text.h"
#include "verification/compare.h"
#include "verification/runtime.h"

namespace compatcheck::corpus {
namespace {

using nlohmann::json;

struct Expected {
  InputSet set{};
  ir::Constants inputs, outputs;
};

// What the corpus calls a match.
verification::Tolerance tolerance_of(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::f16:
    case ir::DType::bf16: return {1e-2, 1e-2};
    case ir::DType::f32:
    case ir::DType::f64:
    case ir::DType::c64:
    case ir::DType::c128: return {1e-3, 1e-5};
    default: return {};
  }
}

template <class T>
T element(const ir::TensorView& view, std::int64_t index) {
  T value;
  std::memcpy(&value, view.storage->data.data() + static_cast<std::size_t>(index) * sizeof value, sizeof value);
  return value;
}

double number_at(const ir::TensorView& view, std::int64_t index) {
  switch (view.dtype) {
    case ir::DType::f16: return ir::from_half(element<std::uint16_t>(view, index));
    case ir::DType::bf16: return ir::from_bfloat(element<std::uint16_t>(view, index));
    case ir::DType::f32: return element<float>(view, index);
    default: return element<double>(view, index);
  }
}

// In magnitude.
double greatest(const ir::TensorView& floats) {
  double most = 0;
  for (std::int64_t i = 0; i < floats.elements(); ++i) most = std::max(most, std::abs(number_at(floats, i)));
  return most;
}

// PyTorch rounds and overflows to half precision after each step, at which the runtime keeps single precision: then no element
// that differs is further from what PyTorch gives in single precision than PyTorch's own half.
bool is_no_further(const ir::TensorView& found, const ir::TensorView& expected, const ir::TensorView& single) {
  if (!ir::is_floating(single.dtype) || !ir::is_floating(expected.dtype) || single.sizes != expected.sizes) return false;
  const auto tolerance = tolerance_of(expected.dtype);
  const auto close = [&](double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance.absolute + tolerance.relative * std::abs(b);
  };
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double f = number_at(found, i), e = number_at(expected, i);
    const double whole = number_at(single, i),
                 exact = expected.dtype == ir::DType::f16 ? ir::from_half(ir::to_half(whole)) : whole;
    const bool overflowed = std::isnan(e) && !std::isnan(exact) && close(f, exact);
    if (!close(f, e) && !overflowed && !(std::abs(f - exact) <= std::abs(e - exact))) return false;
  }
  return true;
}

bool holds_halves(const ir::Constants& inputs) {
  return std::ranges::any_of(inputs, [](const ir::Constant& input) {
    const auto* tensor = input.get<ir::TensorView>();
    return tensor && (tensor->dtype == ir::DType::f16 || tensor->dtype == ir::DType::bf16);
  });
}

void flatten(const ir::Constant& value, ir::Constants& into) {
  if (const auto* list = value.get<ir::ListConstant>())
    for (const auto& item : list->items) flatten(item, into);
  else if (const auto* tuple = value.get<ir::TupleConstant>())
    for (const auto& item : tuple->items) flatten(item, into);
  else
    into.push_back(value);
}

class Cases {
 public:
  Cases(const std::filesystem::path& helper, std::filesystem::path out)
      : loader_({.helper = helper}), frontend_(load_options(helper)), out_(std::move(out)) {}

  json run(const json& entry) {
    json results = json::array();
    const auto add = [&](int opset, const std::string& outcome, const std::string& detail) {
      results.push_back({{"opset", opset}, {"outcome", outcome}, {"detail", detail}});
    };
    try {
      const Model model = loader_.load(std::filesystem::path(entry.at("model").get<std::string>()));
      const auto opsets = entry.at("opsets").get<std::vector<int>>();
      CheckOptions options;
      options.inputs = entry.value("specs", std::vector<std::string>());
      const auto reports = check(model, opsets, options);
      const Model oracle =
          entry.contains("oracle") ? loader_.load(std::filesystem::path(entry.at("oracle").get<std::string>())) : model;
      std::optional<std::vector<Expected>> expected;
      for (std::size_t i = 0; i < opsets.size(); ++i) {
        const auto [outcome, detail] = convert_and_run(entry, model, oracle, reports[i], opsets[i], expected);
        add(opsets[i], outcome, detail);
      }
    } catch (const std::exception& error) {
      add(0, "error", error.what());
    }
    return {{"id", entry.at("id")}, {"results", results}};
  }

 private:
  static frontend::LoadOptions load_options(const std::filesystem::path& helper) {
    frontend::LoadOptions options;
    options.helper = helper;
    return options;
  }

  struct Outcome {
    std::string outcome, detail;
  };

  Outcome convert_and_run(const json& entry, const Model& model, const Model& oracle, const Report& checked, int opset,
                          std::optional<std::vector<Expected>>& expected) {
    const auto file = out_ / (entry.at("id").get<std::string>() + "@" + std::to_string(opset) + ".onnx");
    Outcome outcome;
    try {
      outcome = convert_one(entry, model, checked, opset, file);
      if (entry.contains("refused")) {
        outcome = of_refused(outcome, entry.at("refused").get<std::string>());
      } else if (outcome.outcome.empty()) {
        if (!expected) expected = expectations(entry, oracle);
        outcome = run_one(entry, oracle, file, *expected);
      }
    } catch (const std::exception& error) {
      outcome = {"error", error.what()};
    }
    std::error_code ignored;
    if (!entry.contains("keep")) std::filesystem::remove(file, ignored);
    return outcome;
  }

  // Of a call that PyTorch refuses.
  static Outcome of_refused(const Outcome& outcome, const std::string& reason) {
    if (outcome.outcome == "refused") return {"match", ""};
    return outcome.outcome.empty() ? Outcome{"wrong", "PyTorch refuses this call: " + reason} : outcome;
  }

  // Empty if it converted as the check said.
  static Outcome convert_one(const json& entry, const Model& model, const Report& checked, int opset,
                             const std::filesystem::path& file) {
    ConvertOptions options;
    options.opset = opset;
    options.inputs = entry.value("specs", std::vector<std::string>());
    const Report report = convert(model, file, options);
    if (report.convertible() != checked.convertible() || report.convertible() != std::filesystem::exists(file))
      return {"disagree", "check and convert"};
    if (!report.convertible()) {
      std::string reason;
      for (const auto& finding : report.findings)
        if (finding.severity == Severity::error && reason.empty())
          reason = finding.id + " " + finding.op + ": " + finding.message;
      return {report.verdict == Verdict::needs_input ? "needs_input" : "refused", reason};
    }
    if (const std::string why = class_disagreement(checked, file); !why.empty()) return {"disagree", why};
    return {};
  }

  std::vector<Expected> expectations(const json& entry, const Model& oracle) {
    const auto examples = examples::read(std::filesystem::path(entry.at("inputs").get<std::string>()), examples::Elements::read);
    const auto& arrays = *examples.value.get<ir::DictConstant>();
    ir::Constants recorded;
    for (std::size_t i = 0; i < entry.at("input_dtypes").size(); ++i)
      recorded.push_back(as_recorded(array(arrays, "in_" + std::to_string(i)), entry.at("input_dtypes")[i].get<std::string>()));
    Variation variation{.specials = {},
                        .kept = entry.at("kept_inputs").get<std::set<std::size_t>>(),
                        .seed = std::hash<std::string>{}(entry.at("id"))};
    for (const auto& input : entry.at("specials")) {
      auto& specials = variation.specials.emplace_back();
      for (const auto& special : input) specials.push_back(std::stod(special.get<std::string>()));
    }
    std::vector<Expected> made;
    std::vector<ir::Constants> calls;
    for (const InputSet set : input_sets) {
      const auto skipped = entry.at("skip_sets").get<std::set<std::string>>();
      if (skipped.contains(std::string(name(set)))) continue;
      made.push_back({set, make_inputs(recorded, set, variation), {}});
      calls.push_back(made.back().inputs);
    }
    const auto runs = frontend_.run(*oracle.state().file, oracle.path(), "forward", calls, 0);
    for (std::size_t i = runs.size(); i-- > 0;) {
      if (runs[i].result)
        flatten(*runs[i].result, made[i].outputs);
      else
        made.erase(made.begin() + static_cast<std::ptrdiff_t>(i));  // PyTorch itself refuses these
    }
    return made;
  }

  static ir::Constant array(const ir::DictConstant& arrays, const std::string& name) {
    for (const auto& [key, value] : arrays.items)
      if (*key.get<std::string>() == name) return value;
    throw ModelError("has no array " + name);
  }

  Outcome run_one(const json& entry, const Model& oracle, const std::filesystem::path& file,
                  const std::vector<Expected>& expected) {
    std::optional<verification::Session> session;
    try {
      session = runtime_.open(file);
    } catch (const ModelError& error) {
      return {"runtime", error.what()};
    }
    if (expected.empty()) return {"no_oracle", "TorchScript takes none of the inputs"};
    for (const Expected& oracle_run : expected) {
      ir::Constants given, got;
      for (const std::string& input : session->inputs())
        given.push_back(oracle_run.inputs.at(std::stoul(input.substr(input.find('_') + 1))));
      try {
        got = session->run(given);
      } catch (const ModelError& error) {
        return {"runtime", std::string(name(oracle_run.set)) + ": " + error.what()};
      }
      ir::Constants flat;
      for (const auto& value : got) flatten(value, flat);
      if (const std::string difference = compare(entry, oracle, oracle_run, flat); !difference.empty())
        return {"wrong", std::string(name(oracle_run.set)) + ": " + difference};
    }
    return {"match", ""};
  }

  std::string compare(const json& entry, const Model& oracle, const Expected& oracle_run, const ir::Constants& got) {
    if (got.size() != oracle_run.outputs.size())
      return std::to_string(got.size()) + " outputs for " + std::to_string(oracle_run.outputs.size());
    const bool random = !entry.at("nondeterministic").get<std::string>().empty();
    const auto open = entry.at(oracle_run.set == InputSet::recorded ? "ties" : "open_outputs").get<std::set<std::size_t>>();
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto *expected = oracle_run.outputs[i].get<ir::TensorView>(), *found = got[i].get<ir::TensorView>();
      if (!expected || !found) return "output " + std::to_string(i) + " is no tensor";
      auto tolerance = tolerance_of(expected->dtype);
      if (entry.value("by_scale", false)) tolerance.absolute *= std::max(1.0, greatest(*expected));
      const auto comparison = verification::compare(*expected, *found, tolerance);
      const bool passed = random || open.contains(i) ? comparison.same_form() : comparison.passed();
      if (!passed && !(comparison.same_form() && holds_halves(oracle_run.inputs) && is_rounding(oracle, oracle_run, i, *found)))
        return "output " + std::to_string(i) + ": " + verification::describe(comparison);
    }
    return {};
  }

  bool is_rounding(const Model& oracle, const Expected& oracle_run, std::size_t output, const ir::TensorView& found) {
    const auto runs = frontend_.run(*oracle.state().file, oracle.path(), "forward", {widened(oracle_run.inputs)}, 0);
    ir::Constants outputs;
    if (runs.at(0).result) flatten(*runs[0].result, outputs);
    const auto* single = output < outputs.size() ? outputs[output].get<ir::TensorView>() : nullptr;
    return single && is_no_further(found, *oracle_run.outputs[output].get<ir::TensorView>(), *single);
  }

  Loader loader_;
  frontend::Frontend frontend_;
  verification::Runtime runtime_;
  std::filesystem::path out_;
};

}  // namespace
}  // namespace compatcheck::corpus

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: corpus_cases HELPER OUT < lines of JSON\n";
    return 2;
  }
  std::filesystem::create_directories(argv[2]);
  compatcheck::corpus::Cases cases(argv[1], argv[2]);
  for (std::string line; std::getline(std::cin, line);) std::cout << cases.run(nlohmann::json::parse(line)).dump() << std::endl;
}
