// The shipped profiles: whether their words mean anything in ONNX, and whether they say what their sources say.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "compatcheck/check.h"
#include "engines/profile_text.h"
#include "engines/targets.h"
#include "onnx/schema.h"

namespace compatcheck::engines {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Domains whose operators no schema tells.
bool has_schemas(std::string_view domain) { return onnx::is_onnx_domain(domain); }

std::vector<const onnx::Schema*> versions(std::string_view name) {
  const auto [domain, op] = mapping::split_domain(name);
  std::vector<const onnx::Schema*> all;
  for (const auto& schema : onnx::versions(op, domain)) all.push_back(&schema);
  return all;
}

// In some version of the operator.
bool names_value(std::string_view op, std::string_view name) {
  if (name.starts_with("inputs.") || name.starts_with("outputs.")) return true;
  const auto formal = [&](const onnx::Formal& one) { return one.name == name || one.type == name; };
  return std::ranges::any_of(versions(op), [&](const auto* schema) { return std::ranges::any_of(schema->inputs, formal) || std::ranges::any_of(schema->outputs, formal); });
}

bool names_attribute(std::string_view op, std::string_view name) {
  return std::ranges::any_of(versions(op), [&](const auto* schema) { return schema->attribute(name) != nullptr; });
}

TEST(Shipped, operators_and_versions_are_onnx_s) {
  for (const Profile& profile : all_shipped())
    for (const auto& op : profile.operators) {
      const auto [domain, name] = mapping::split_domain(op.name);
      if (!has_schemas(domain)) continue;
      const auto known = versions(op.name);
      ASSERT_FALSE(known.empty()) << profile.engine << ": " << op.name;
      for (const Entry& entry : op.entries)
        for (const Versions one : entry.versions) {
          if (profile.match != Match::kernel) continue;   // translators have numbers of their own
          EXPECT_TRUE(std::ranges::any_of(known, [&](const auto* schema) { return one.holds(schema->since); }))
              << profile.engine << ": " << op.name << " " << one.first << "-" << one.last << ", " << entry.place.line;
        }
    }
}

TEST(Shipped, own_names_are_not_onnx_s) {
  for (const Profile& profile : all_shipped())
    for (const auto& name : profile.own) EXPECT_TRUE(onnx::versions(name).empty()) << profile.engine << ": " << name;
}

TEST(Shipped, types_and_conditions_name_what_the_operator_has) {
  for (const Profile& profile : all_shipped())
    for (const auto& op : profile.operators) {
      if (!has_schemas(mapping::split_domain(op.name).first)) continue;
      for (const Entry& entry : op.entries) {
        for (const auto& list : entry.types) EXPECT_TRUE(names_value(op.name, list.of)) << profile.engine << ": " << op.name << " " << list.of;
        for (const auto& conditions : entry.when)
          for (const auto& condition : conditions)
            EXPECT_TRUE(names_value(op.name, condition.argument) || names_attribute(op.name, condition.argument)) << profile.engine << ": " << op.name << " " << condition.argument;
      }
    }
}

TEST(Shipped, every_profile_says_where_it_comes_from) {
  for (const Profile& profile : all_shipped()) {
    EXPECT_FALSE(profile.source.empty()) << profile.engine;
    EXPECT_EQ(profile.date.size(), std::string("2026-10-01").size()) << profile.engine;
    EXPECT_FALSE(profile.operators.empty()) << profile.engine;
  }
}

// Operators of ONNX, at the opset, of whose version no kernel is registered.
std::vector<std::string> gaps(const Profile& profile, int opset) {
  std::vector<std::string> names;
  for (const std::string_view name : onnx::operator_names()) {
    const auto* schema = onnx::find(name, opset);
    if (!schema || schema->deprecated || std::ranges::find(profile.initializers, name) != profile.initializers.end()) continue;
    const auto* op = profile.find(name);
    const auto holds = [&](const Entry& entry) { return std::ranges::any_of(entry.versions, [&](Versions one) { return one.holds(schema->since); }); };
    if (!op || std::ranges::none_of(op->entries, holds)) names.push_back(std::string(name));
  }
  return names;
}

// As ONNX Runtime 1.30 has them: from opset 22 on kernels of eight operators stop at the version before.
TEST(OrtCpu, gaps) {
  const auto profile = profile_of("ort-cpu");
  EXPECT_THAT(gaps(profile, 7), IsEmpty());
  EXPECT_THAT(gaps(profile, 11), IsEmpty());
  std::set<std::string> came;
  const auto before = gaps(profile, 21), after = gaps(profile, 22);
  std::ranges::set_difference(after, before, std::inserter(came, came.end()));
  EXPECT_THAT(came, ElementsAre("GlobalLpPool", "MaxRoiPool", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "RoiAlign"));
}

// Those that have an entry of their own which isn't no.
int listed(const Profile& profile, std::string_view domain = {}) {
  return static_cast<int>(std::ranges::count_if(profile.operators, [&](const auto& op) {
    return mapping::split_domain(op.name).first == domain && std::ranges::any_of(op.entries, [](const Entry& entry) { return entry.support != Support::no; });
  }));
}

// Lines of the sources, counted there.
TEST(Shipped, as_many_operators_as_the_sources_have) {
  const auto tensorrt = profile_of("tensorrt");
  EXPECT_EQ(tensorrt.opsets->first, 9);
  EXPECT_EQ(tensorrt.opsets->last, 24);
  EXPECT_EQ(listed(tensorrt) + static_cast<int>(tensorrt.own.size()), 158);
  EXPECT_EQ(profile_of("onnx-mlir").operators.size(), 210U);
  const auto mnn = profile_of("mnn"), tvm = profile_of("tvm");
  EXPECT_EQ(listed(mnn) + static_cast<int>(mnn.own.size()), 169);
  EXPECT_EQ(listed(tvm) + static_cast<int>(tvm.own.size()), 163);
  EXPECT_EQ(listed(profile_of("ort-nnapi")), 50);
  EXPECT_EQ(listed(profile_of("ort-xnnpack")), 9);
}

// ONNX Runtime's CUDA provider has no kernel of these at opset 17, its CPU provider has.
TEST(OrtCuda, gaps) {
  const auto missing = gaps(profile_of("ort-cuda"), 17);
  for (const char* name : {"Acos", "Tan", "Sinh", "Mean", "Hardmax", "Unique", "BitShift", "DFT", "STFT"}) EXPECT_THAT(missing, testing::Contains(name));
}

}  // namespace
}  // namespace compatcheck::engines
