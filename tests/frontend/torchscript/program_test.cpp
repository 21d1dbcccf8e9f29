#include <gmock/gmock.h>

#include <fstream>

#include "models.h"

namespace compatcheck::frontend::torchscript {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// Every model that the fixture made.
std::vector<std::string> all_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(models()))
    if (entry.path().extension() == ".pt") names.push_back(entry.path().stem().string());
  return names;
}

// The line of tests/models/FILE that says `#: op`, as every construct under test does.
int line_of(const std::string& file, const std::string& op) {
  std::ifstream source(std::string(COMPATCHECK_SOURCE_DIR) + "/tests/models/" + file);
  std::string text;
  for (int line = 1; std::getline(source, text); ++line)
    if (text.ends_with("#: " + op)) return line;
  return 0;
}

TEST(Program, EveryModelLoadsAsAConsistentProgram) {
  const auto names = all_models();
  ASSERT_GT(names.size(), 30u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const ir::Program program = read(name);
    EXPECT_TRUE(program.classes.at(program.objects.at(program.root).class_name).is_module);
    for (const auto& [function_name, function] : program.functions) {
      EXPECT_EQ(function.name, function_name);
      EXPECT_EQ(function.graph.inputs().size(), function.parameters.size()) << function_name;
      EXPECT_NO_THROW(function.graph.verify()) << function_name;
    }
    for (const auto& [class_name, cls] : program.classes)
      for (const auto& [method, function] : cls.methods) EXPECT_TRUE(program.functions.contains(function)) << function;
    for (const ir::Object& object : program.objects)
      EXPECT_EQ(object.attributes.size(), program.classes.at(object.class_name).attributes.size()) << object.class_name;
  }
}

TEST(Program, WhatGraphsCallIsThere) {
  for (const char* name : {"detector-scripted", "containers-scripted", "classes-scripted", "interfaces-scripted"}) {
    const ir::Program program = read(name);
    for (const ir::Node* node : nodes(program, "prim::Constant"))
      if (const auto* called = node->attribute("value")->get<ir::FunctionConstant>()) {
        EXPECT_TRUE(program.functions.contains(called->name));
      }
    for (const ir::Node* node : nodes(program, "prim::CallMethod")) {
      const auto& type = node->input(0)->type();
      const auto cls = program.classes.find(type->name);
      ASSERT_NE(cls, program.classes.end()) << type->name;
      if (!cls->second.is_interface) {
        EXPECT_TRUE(cls->second.methods.contains(*node->attribute("name")->get<std::string>()));
      }
    }
  }
}

TEST(Program, ScriptedNodesStandWhereTheUserWroteThem) {
  const ir::Program program = read("my_add-scripted");
  const auto found = nodes(program, "my_lib::my_add");
  ASSERT_EQ(found.size(), 1u);
  const ir::LocationRef place = found[0]->location();
  ASSERT_TRUE(place);
  EXPECT_THAT(place->file, EndsWith("tests/models/custom.py"));
  EXPECT_EQ(place->line, line_of("custom.py", "my_lib::my_add"));
  EXPECT_EQ(place->function, "forward");
  EXPECT_THAT(place->text, HasSubstr("torch.ops.my_lib.my_add(self.linear(a), b)"));
  EXPECT_GT(place->column, 1);
}

TEST(Program, TracedNodesCarryThePythonStack) {
  const ir::Program program = read("my_add-traced");
  const auto found = nodes(program, "aten::linear");
  ASSERT_EQ(found.size(), 1u);
  ir::LocationRef place = found[0]->location();
  ASSERT_TRUE(place);
  EXPECT_THAT(place->file, EndsWith("torch/nn/modules/linear.py"));
  EXPECT_EQ(place->function, "forward");
  while (place && !place->file.ends_with("custom.py")) place = place->caller;
  ASSERT_TRUE(place);
  EXPECT_EQ(place->line, line_of("custom.py", "my_lib::my_add"));
}

TEST(Program, WithoutDebugFilesTheArchivesCodeIsThePlace) {
  const ir::Program program = read_program(broken("no_debug.pt"), {});
  bool any = false;
  for (const ir::Node* node : nodes(program))
    if (node->location() && !node->is("prim::Constant")) {
      any = true;
      EXPECT_THAT(node->location()->file, testing::StartsWith("code/__torch__"));
      EXPECT_GT(node->location()->line, 0);
    }
  EXPECT_TRUE(any);
}

TEST(Program, TracedFilesStateTheirInputs) {
  const ir::Program traced = read("resnet_small-traced");
  ASSERT_EQ(traced.recorded_inputs.size(), 1u);
  const ir::Type& type = *traced.recorded_inputs[0].type;
  ASSERT_TRUE(type.tensor.sizes);
  EXPECT_EQ(type.tensor.dtype, ir::DType::f32);
  EXPECT_EQ(type.tensor.sizes->at(1), 3);
  EXPECT_TRUE(traced.traced);
  EXPECT_TRUE(read("resnet_small-scripted").recorded_inputs.empty());
  EXPECT_FALSE(read("resnet_small-scripted").traced);
  EXPECT_TRUE(read("resnet_small-frozen-traced").traced);
}

TEST(Program, TrainingModeAndOrigin) {
  EXPECT_TRUE(read("training-scripted").training);
  const ir::Program program = read("resnet_small-scripted");
  EXPECT_FALSE(program.training);
  EXPECT_THAT(program.producer, HasSubstr("file format"));
}

TEST(Program, ParametersAndBuffersAreDistinguished) {
  const ir::Program program = read("resnet_small-scripted");
  const auto norms = objects_of(program, ".BatchNorm2d");
  ASSERT_FALSE(norms.empty());
  for (const ir::ClassAttribute& attribute : program.classes.at(norms[0]->class_name).attributes) {
    EXPECT_EQ(attribute.is_parameter, attribute.name == "weight" || attribute.name == "bias") << attribute.name;
    EXPECT_EQ(attribute.is_buffer, attribute.name.starts_with("running_") || attribute.name == "num_batches_tracked")
        << attribute.name;
  }
}

TEST(Program, ForkedCodeIsAFunction) {
  const ir::Program program = read("forked-scripted");
  const auto forks = nodes(program, "prim::fork");
  ASSERT_FALSE(forks.empty());
  const auto* body = forks[0]->attribute("Subgraph");
  ASSERT_TRUE(body && body->get<ir::FunctionConstant>());
  EXPECT_TRUE(program.functions.contains(body->get<ir::FunctionConstant>()->name));
}

TEST(Program, OldOperatorsAreUpgraded) {
  const ir::Program program = read("old_version-scripted");
  EXPECT_FALSE(nodes(program).empty());
}

TEST(Program, ReadingTwiceGivesTheSame) {
  const ir::Program first = read("bert_dict-traced"), second = read("bert_dict-traced");
  EXPECT_EQ(first.functions.size(), second.functions.size());
  EXPECT_EQ(first.objects.size(), second.objects.size());
  EXPECT_EQ(nodes(first).size(), nodes(second).size());
}

}  // namespace
}  // namespace compatcheck::frontend::torchscript
