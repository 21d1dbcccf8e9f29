// The shipped profiles: whether they say what their sources say. Their names are ONNX's: none would be read (and compiled in)
// else.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "compatcheck/check.h"
#include "engines/age.h"
#include "engines/profile_text.h"
#include "engines/targets.h"
#include "onnx/schema.h"

namespace compatcheck::engines {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Shipped, every_profile_says_where_it_comes_from) {
  for (const Profile& profile : all_shipped()) {
    EXPECT_FALSE(profile.source.empty()) << profile.engine;
    EXPECT_FALSE(profile.date.empty()) << profile.engine;
    EXPECT_FALSE(profile.operators.empty()) << profile.engine;
  }
}

TEST(Age, is_noted_after_a_year) {
  const Profile profile = profile_from("engine: acme\nversion: \"1\"\ndate: 2025-11-28\noperators: {Relu: yes}\n");
  EXPECT_FALSE(note_on_age(profile, "2026-11-28"));
  const auto note = note_on_age(profile, "2026-11-29");
  ASSERT_TRUE(note);
  EXPECT_EQ(note->id, "CC108");
  EXPECT_EQ(note->severity, Severity::note);
  EXPECT_EQ(note->message, "the profile of acme is of 2025-11-28: more than a year old");
  EXPECT_FALSE(note_on_age(profile_from("engine: acme\nversion: \"1\"\noperators: {Relu: yes}\n"), "2026-11-29")) << "no date";
}

TEST(Shipped, providers_of_onnx_runtime_have_its_cpu_behind) {
  for (const char* engine : {"ort-cuda", "ort-dml", "ort-webgpu"}) {
    const Profile profile = profile_of(engine);
    ASSERT_TRUE(profile.profile_behind) << engine;
    EXPECT_EQ(profile.profile_behind->engine, "ort-cpu");
  }
}

// Operators of ONNX, at the opset, of whose version no kernel is registered.
std::vector<std::string> gaps(const Profile& profile, int opset) {
  std::vector<std::string> names;
  for (const std::string_view name : onnx::operator_names()) {
    const auto* schema = onnx::find(name, opset);
    if (!schema || schema->deprecated || std::ranges::find(profile.initializers, name) != profile.initializers.end()) continue;
    const auto* op = profile.find(name);
    const auto holds = [&](const Entry& entry) {
      return std::ranges::any_of(entry.versions, [&](Versions one) { return one.holds(schema->since); });
    };
    if (!op || std::ranges::none_of(op->entries, holds)) names.push_back(std::string(name));
  }
  return names;
}

// As the pinned ONNX Runtime has them: from opset 22 on kernels of eight operators stop at the version before.
TEST(OrtCpu, gaps) {
  const auto profile = profile_of("ort-cpu");
  EXPECT_THAT(gaps(profile, 7), IsEmpty());
  EXPECT_THAT(gaps(profile, 11), IsEmpty());
  std::set<std::string> came;
  const auto before = gaps(profile, 21), after = gaps(profile, 22);
  std::ranges::set_difference(after, before, std::inserter(came, came.end()));
  EXPECT_THAT(came, ElementsAre("GlobalLpPool", "MaxRoiPool", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
                                "RandomUniformLike", "RoiAlign"));
}

// Those that have an entry of their own which isn't no.
int listed(const Profile& profile, std::string_view domain = {}) {
  return static_cast<int>(std::ranges::count_if(profile.operators, [&](const auto& op) {
    return mapping::split_domain(op.name).first == domain &&
           std::ranges::any_of(op.entries, [](const Entry& entry) { return entry.support != Support::no; });
  }));
}

// Lines of the sources, counted there.
TEST(Shipped, as_many_operators_as_the_sources_have) {
  const auto tensorrt = profile_of("tensorrt");
  EXPECT_EQ(tensorrt.opsets->first, 9);
  EXPECT_EQ(tensorrt.opsets->last, 25);
  EXPECT_EQ(listed(tensorrt) + static_cast<int>(tensorrt.own.size()), 160);
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
  for (const char* name : {"Acos", "Tan", "Sinh", "Mean", "Hardmax", "Unique", "BitShift", "DFT", "STFT"})
    EXPECT_THAT(missing, testing::Contains(name));
}

}  // namespace
}  // namespace compatcheck::engines
