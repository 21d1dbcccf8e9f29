// Profiles' language: what is wrong is told with its place.
#include <gmock/gmock.h>

#include "compatcheck/error.h"
#include "engines/profile_text.h"
#include "engines/shipped.h"
#include "engines/targets.h"

namespace compatcheck::engines {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    profile_from(text);
  } catch (const TableError& error) {
    return error.what();
  }
  return "read";
}

std::string lookup_error(const std::string& target) {
  try {
    profile_of(target);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "found";
}

TEST(Reading, all_of_a_profile) {
  const Profile profile = profile_from(
      "engine: acme\ntitle: Acme\nversion: \"2.1\"\nsource: s\ndate: 2026-10-01\nopsets: 9-21\nir: 10\nmatch: kernel\nunlisted: no\nfunctions: true\n"
      "initializers: [Constant]\nown: [Swish9]\ndtypes: [f32]\ncasts: {f16: f32}\nfallback: elsewhere\noperators: {Relu: {versions: 6-13, types: {T: [f32]}}}\n");
  EXPECT_EQ(profile.target(), "acme@2.1");
  EXPECT_EQ(profile.opsets->last, 21);
  EXPECT_EQ(profile.ir, 10);
  EXPECT_EQ(profile.match, Match::kernel);
  EXPECT_EQ(profile.unlisted, Support::no);
  EXPECT_EQ(profile.operators.front().entries.front().versions.front().last, 13);
  EXPECT_EQ(profile.operators.front().entries.front().place.file, "acme.yaml");
}

TEST(Reading, what_is_wrong_has_a_place) {
  const std::string head = "engine: acme\nversion: \"1\"\n";
  EXPECT_THAT(refusal(head + "operaters: {}\n"), HasSubstr("acme.yaml:3:1: unknown key `operaters` in an engine profile; did you mean `operators`?"));
  EXPECT_THAT(refusal(head), HasSubstr("`operators` is wanting"));
  EXPECT_THAT(refusal("engine: Acme\nversion: \"1\"\noperators: {}\n"), HasSubstr("small letters"));
  EXPECT_THAT(refusal(head + "match: exact\noperators: {}\n"), HasSubstr("one of these is wanted: kernel, since, model"));
  EXPECT_THAT(refusal(head + "operators:\n  Relu: {types: {T: [float]}}\n"), HasSubstr("acme.yaml:4:22: `float` is no dtype"));
  EXPECT_THAT(refusal(head + "operators:\n  Relu: {versions: 13-7}\n"), HasSubstr("`13-7` is no version"));
  EXPECT_THAT(refusal(head + "match: kernel\noperators: {Relu: yes}\n"), HasSubstr("an entry says its `versions`"));
  EXPECT_THAT(refusal(head + "match: kernel\noperators: {Relu: {versions: [6, 13]}}\n"), HasSubstr("one range"));
  EXPECT_THAT(refusal(head + "operators: {Relu: maybe}\n"), HasSubstr("an entry is yes, no, unknown"));
  EXPECT_THAT(refusal(head + "operators: {Relu: {no: x, unknown: y}}\n"), HasSubstr("one of `no` and `unknown`"));
  EXPECT_THAT(refusal(head + "operators: {\"a b\": yes}\n"), HasSubstr("isn't the name of an operator"));
}

TEST(Targets, are_found_by_engine_and_version) {
  const auto ort = profile_of("ort-cpu");
  const std::string major = ort.version.substr(0, ort.version.rfind('.'));
  EXPECT_EQ(profile_of("ort-cpu@" + ort.version).target(), ort.target());
  EXPECT_EQ(profile_of("ort-cpu@" + major).target(), ort.target()) << "how the version begins";
  EXPECT_THAT(lookup_error("ort-cpu@" + major.substr(0, major.size() - 1)), HasSubstr("is of version " + ort.version)) << "whole numbers alone";
  EXPECT_THAT(lookup_error("tensort"), HasSubstr("no such engine; did you mean `tensorrt`?"));
  EXPECT_THAT(lookup_error("tensort"), HasSubstr("openvino"));
  EXPECT_THROW(profile_of("/nowhere/acme.yaml"), TableError);
}

}  // namespace
}  // namespace compatcheck::engines
