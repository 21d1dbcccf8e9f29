// Execution as the oracle: every test model, run by libtorch as it was saved and by the interpreter after normalising,
// on the same inputs. Where they differ, the first pass after which they do is named.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "compatcheck/error.h"
#include "days.h"
#include "frontend/load.h"
#include "ir/text.h"
#include "passes/normalize.h"
#include "passes/views.h"

namespace compatcheck::frontend {
namespace {

using Json = nlohmann::json;
constexpr std::uint64_t seed = 20;

ir::TypeRef input_type(const Json& described) {
  if (described.contains("dtype")) {
    static const std::map<std::string, ir::DType> dtypes = {
        {"float32", ir::DType::f32},   {"float64", ir::DType::f64},  {"float16", ir::DType::f16},
        {"bfloat16", ir::DType::bf16}, {"int64", ir::DType::i64},    {"int32", ir::DType::i32},
        {"uint8", ir::DType::u8},      {"bool", ir::DType::boolean}, {"complex64", ir::DType::c64}};
    ir::TensorType tensor;
    tensor.dtype = dtypes.at(described["dtype"]);
    tensor.sizes.emplace();
    for (const auto& size : described["shape"]) tensor.sizes->push_back(size.get<std::int64_t>());
    return ir::tensor_type(tensor);
  }
  if (described.contains("list")) {
    const ir::TypeRef element = described["list"].empty() ? nullptr : input_type(described["list"][0]);
    return element ? ir::list_of(element) : nullptr;
  }
  if (described.contains("tuple")) {
    std::vector<ir::TypeRef> elements;
    for (const auto& element : described["tuple"]) elements.push_back(input_type(element));
    return ir::tuple_of(elements);
  }
  return nullptr;  // a number or None: the declared type says enough
}

Json index_of_models() {
  std::ifstream file(COMPATCHECK_TEST_MODELS "/index.json");
  return file ? Json::parse(file).at("models") : Json::array();
}

// srcnn: one input holds a size, which noise is not. classes: the graph makes an object, which the interpreter can't.
bool needs_more_than_noise(const std::string& name) { return name == "srcnn-scripted" || name == "classes-scripted"; }

bool has_dict(const Json& described) { return described.dump().find("{\"dict\"") != std::string::npos; }

void set_input_types(ir::Graph& graph, const Json& inputs) {
  const auto values = graph.inputs();
  // A graph that isn't normalised takes the module first. Arguments at the end may have been left to their defaults.
  const std::size_t self =
      !values.empty() && (ir::is(values[0]->type(), ir::TypeKind::module) || ir::is(values[0]->type(), ir::TypeKind::named));
  for (std::size_t i = 0; i < inputs.size() && self + i < values.size(); ++i)
    if (const ir::TypeRef type = input_type(inputs[i])) values[self + i]->set_type(type);
}

class Oracle {
 public:
  Oracle(Frontend& frontend, std::filesystem::path file, Json inputs)
      : frontend_(frontend), file_(std::move(file)), inputs_(std::move(inputs)) {}

  std::string difference(const ir::Graph& graph, bool inputs_after = true) {
    ir::Graph typed = graph.clone();
    set_input_types(typed, inputs_);
    return frontend_.compare_execution(file_, typed, "forward", seed, inputs_after).difference;
  }

  // Normalises again, comparing after every pass.
  std::string first_wrong_pass(const ir::Program& program) {
    std::string culprit = "the graph as it was loaded";
    schema::Registry registry;
    passes::NormalizeOptions options;
    std::string wrong;
    bool inputs_after = true;
    options.after_pass = [&](const ir::Graph& graph, std::string_view pass) {
      inputs_after = inputs_after && pass != "functionalize_writes";
      if (wrong.empty() && !difference(graph, inputs_after).empty()) wrong = std::string(pass);
    };
    passes::normalize(program, registry, options);
    return wrong.empty() ? "none, at a second attempt" : wrong;
  }

 private:
  Frontend& frontend_;
  std::filesystem::path file_;
  Json inputs_;
};

class Execution : public ::testing::TestWithParam<Json> {
 protected:
  static Frontend& frontend() {
    static Frontend shared([] {
      LoadOptions options;
      options.helper = COMPATCHECK_TORCHSCRIPT_HELPER;
      options.timeout_seconds = 300;
      return options;
    }());
    return shared;
  }
  std::filesystem::path file() const {
    return std::filesystem::path(COMPATCHECK_TEST_MODELS) / GetParam()["file"].get<std::string>();
  }
};

TEST_P(Execution, NormalisedGraphsRunAsTheModule) {
  const Loaded loaded = frontend().load(file());
  const auto& program = std::get<ir::Program>(loaded.content);
  Oracle oracle(frontend(), file(), GetParam()["inputs"]);
  schema::Registry registry;
  const passes::Normalized normalized = passes::normalize(program, registry);
  // What is written to an input that is returned too is no lost write, but stays away from the caller's own tensor.
  const auto& methods = program.classes.at(program.objects.at(program.root).class_name).methods;
  const auto& forward = program.functions.at(methods.at("forward")).graph;
  const bool keeps_inputs = normalized.lost_writes.empty() && passes::returned_inputs(forward).empty();
  const std::string difference = oracle.difference(normalized.graph, keeps_inputs);
  if (difference.empty()) return;
  FAIL() << difference << "\nafter the pass: " << oracle.first_wrong_pass(program) << "\n" << ir::print(normalized.graph);
}

TEST_P(Execution, GraphsRunAsTheyWereLoaded) {
  const Loaded loaded = frontend().load(file());
  const auto& program = std::get<ir::Program>(loaded.content);
  const auto& methods = program.classes.at(program.objects.at(program.root).class_name).methods;
  const auto& graph = program.functions.at(methods.at("forward")).graph;
  EXPECT_EQ(Oracle(frontend(), file(), GetParam()["inputs"]).difference(graph), "");
}

// Models that can be run here: not those that need an operator, class or device that isn't there, nor with inputs of
// which the type doesn't tell the keys.
std::vector<Json> runnable() {
  std::vector<Json> models;
  for (const Json& model : index_of_models())
    if (model["runs"].get<bool>() && !has_dict(model["inputs"]) && !needs_more_than_noise(model["name"])) models.push_back(model);
  return models;
}

std::string name_of(const ::testing::TestParamInfo<Json>& info) {
  std::string name = info.param["name"];
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

TEST(Models, WereMade) { EXPECT_GT(runnable().size(), 100u) << "in " COMPATCHECK_TEST_MODELS; }

std::vector<Json> of_today() {
  std::vector<Json> models = runnable();
  std::size_t number = 0;
  std::erase_if(models, [&](const Json&) { return !is_of_today(++number, 2); });
  return models;
}

INSTANTIATE_TEST_SUITE_P(Models, Execution, ::testing::ValuesIn(of_today()), name_of);

}  // namespace
}  // namespace compatcheck::frontend
