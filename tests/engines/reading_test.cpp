// Profiles' language: what is wrong is told with its place.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

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
      "engine: acme\ntitle: Acme\nversion: \"2.1\"\nsource: s\ndate: 2026-10-01\nopsets: 9-21\nir: 10\nmatch: kernel\nunlisted: "
      "no\nfunctions: true\nbehind: ort-cpu\n"
      "initializers: [Constant]\nown: [Swish9]\ndtypes: [f32]\nreads: {f64: f32}\ncasts: {f16: f32}\nfallback: "
      "elsewhere\noperators: {Relu: {versions: 6-13, types: {T: [f32]}}}\n");
  EXPECT_EQ(profile.target(), "acme@2.1");
  EXPECT_EQ(profile.opsets->last, 21);
  EXPECT_EQ(profile.ir, 10);
  EXPECT_EQ(profile.behind.engine, "ort-cpu");
  EXPECT_EQ(profile.behind.place.line, 11);
  EXPECT_EQ(profile.reads, (std::vector<std::pair<std::string, std::string>>{{"f64", "f32"}}));
  EXPECT_EQ(profile.casts, (std::vector<std::pair<std::string, std::string>>{{"f16", "f32"}}));
  EXPECT_EQ(profile.match, Match::kernel);
  EXPECT_EQ(profile.unlisted, Support::no);
  EXPECT_EQ(profile.operators.front().entries.front().versions.front().last, 13);
  EXPECT_EQ(profile.operators.front().entries.front().place.file, "acme.yaml");
}

TEST(Reading, what_is_wrong_has_a_place) {
  const std::string head = "engine: acme\nversion: \"1\"\n";
  EXPECT_THAT(refusal(head + "operaters: {}\n"),
              HasSubstr("acme.yaml:3:1: unknown key `operaters` in an engine profile; did you mean `operators`?"));
  EXPECT_THAT(refusal(head), HasSubstr("`operators` is missing"));
  EXPECT_THAT(refusal(""), HasSubstr("acme.yaml:1:1: an engine profile is a map"));
  EXPECT_THAT(refusal("engine: Acme\nversion: \"1\"\noperators: {}\n"), HasSubstr("small letters"));
  EXPECT_THAT(refusal(head + "match: exact\noperators: {}\n"), HasSubstr("expected one of: kernel, since, model"));
  EXPECT_THAT(refusal(head + "operators:\n  Relu: {types: {T: [float]}}\n"), HasSubstr("acme.yaml:4:22: `float` is no dtype"));
  EXPECT_THAT(refusal(head + "operators:\n  Relu: {versions: 13-7}\n"), HasSubstr("`13-7` is no version"));
  EXPECT_THAT(refusal(head + "match: kernel\noperators: {Relu: yes}\n"), HasSubstr("an entry says its `versions`"));
  EXPECT_THAT(refusal(head + "match: kernel\noperators: {Relu: {versions: [6, 13]}}\n"), HasSubstr("one range"));
  EXPECT_THAT(refusal(head + "operators: {Relu: maybe}\n"), HasSubstr("an entry is yes, no, unknown"));
  EXPECT_THAT(refusal(head + "operators: {Relu: {no: x, unknown: y}}\n"), HasSubstr("one of `no`, `unknown` and `uncertain`"));
  EXPECT_THAT(refusal(head + "operators: {\"a b\": yes}\n"), HasSubstr("isn't the name of an operator"));
}

TEST(Reading, the_engine_behind_is_a_shipped_one) {
  const auto refused = [](const std::string& behind) -> std::string {
    const std::string text = "engine: acme\nversion: \"1\"\nbehind: " + behind + "\noperators: {}\n";
    try {
      return read_own_profile({text, "acme.yaml"}).profile_behind->engine;
    } catch (const TableError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(refused("ort-cpu"), "ort-cpu");
  EXPECT_THAT(refused("ort-cpi"),
              HasSubstr("acme.yaml:3:9: `behind` is a shipped engine, and `ort-cpi` is no such engine; did you mean `ort-cpu`?"));
  EXPECT_THAT(refused("[ort-cpu]"), HasSubstr("acme.yaml:3:9"));
}

TEST(Reading, dates_and_ir_versions) {
  const std::string head = "engine: acme\nversion: \"1\"\n";
  for (const char* date : {"2026-13-01", "2026-02-30", "2026-1-01", "yesterday", "2026-10-0x"})
    EXPECT_THAT(refusal(head + "date: " + date + "\noperators: {}\n"),
                HasSubstr("acme.yaml:3:7: `" + std::string(date) + "` is no date: 2026-10-01"));
  EXPECT_EQ(refusal(head + "date: 2028-02-29\noperators: {}\n"), "read");
  EXPECT_THAT(refusal(head + "ir: 3-10\noperators: {}\n"), HasSubstr("acme.yaml:3:5: `3-10` isn't an IR version, a number"));
}

// A misspelt name is a limit that never holds.
TEST(Names, are_onnx_s) {
  const auto wrong = [](const std::string& operators, const std::string& match = "model") {
    return refusal("engine: acme\nversion: \"1\"\nmatch: " + match + "\noperators:\n  " + operators + "\n");
  };
  EXPECT_THAT(
      wrong("Relo: yes"),
      HasSubstr("acme.yaml:5:3: ONNX has no operator `Relo`; did you mean `Relu`? (one that only the engine has goes to `own`)"));
  EXPECT_THAT(wrong("ai.onnx.ml::Scalar: yes"), HasSubstr("ONNX has no operator `ai.onnx.ml::Scalar`; did you mean `Scaler`?"));
  EXPECT_THAT(wrong("ai.onnx::Relu: yes"), HasSubstr("isn't the name of an operator"));
  EXPECT_THAT(wrong("Relu: {versions: 14, types: {Z: [f32]}}"),
              HasSubstr("acme.yaml:5:32: `Z` is no type parameter, input or output of Relu"));
  EXPECT_THAT(wrong("Relu: {types: {inputs.1: [f32]}}"), HasSubstr("acme.yaml:5:18: Relu has no `inputs.1`"));
  EXPECT_THAT(wrong("Conv: {when: {kernel_shap: {length: 2}}}"),
              HasSubstr("acme.yaml:5:17: `kernel_shap` is no attribute, input or output of Conv; did you mean `kernel_shape`?"));
  EXPECT_THAT(wrong("Conv: {when: {T: {rank: 4}}}"), HasSubstr("`T` is no attribute, input or output of Conv"))
      << "a condition is on a value";
  EXPECT_EQ(wrong("Relu: {versions: 14, types: {T: [f32], X: [f32], outputs.0: [f32]}, when: {X: {rank: 4}}}"), "read");
  EXPECT_EQ(wrong("Concat: {types: {inputs.7: [f32], inputs: [f32]}}"), "read");
  EXPECT_EQ(wrong("com.acme::Relo: {versions: 140, types: {Z: [f32]}, when: {nothing: 3}}"), "read") << "no schema, no names";
}

TEST(Names, are_those_of_the_entry_s_versions) {
  const auto wrong = [](const std::string& match, const std::string& operators) {
    return refusal("engine: acme\nversion: \"1\"\nmatch: " + match + "\noperators:\n  " + operators + "\n");
  };
  EXPECT_THAT(wrong("kernel", "Relu: {versions: 15}"),
              HasSubstr("acme.yaml:5:20: Relu has versions 1, 6, 13, 14: none of version 15"));
  EXPECT_THAT(wrong("kernel", "Relu: {versions: 7-12}"), HasSubstr("none of version 7-12"));
  EXPECT_EQ(wrong("kernel", "Relu: {versions: 7-13}"), "read");
  EXPECT_THAT(wrong("model", "GridSample: {versions: 9-12}"),
              HasSubstr("GridSample has versions 16, 20, 22: none in models of opset 9-12"));
  EXPECT_THAT(wrong("model", "Relu: {versions: 140}"), HasSubstr("none in models of opset 140"));
  EXPECT_EQ(wrong("model", "Relu: {versions: 15}"), "read") << "opset 15 has version 14";
  EXPECT_EQ(wrong("since", "Relu: {versions: [7, 1]}"), "read") << "translators have numbers of their own";
  EXPECT_THAT(wrong("since", "Relu: {versions: [140, 1]}"), HasSubstr("none of version 140"));
  EXPECT_THAT(wrong("kernel", "ReduceSum: {versions: 11, when: {noop_with_empty_axes: 0}}"),
              HasSubstr("is no attribute, input or output of ReduceSum"));
  EXPECT_EQ(wrong("kernel", "ReduceSum: {versions: 11-13, when: {noop_with_empty_axes: 0}}"), "read") << "one of them has it";
}

TEST(Names, of_lists) {
  const std::string head = "engine: acme\nversion: \"1\"\n";
  EXPECT_THAT(refusal(head + "own: [Swish9, Relu]\noperators: {}\n"),
              HasSubstr("acme.yaml:3:15: `Relu` is ONNX's: it belongs to `operators`"));
  EXPECT_THAT(refusal(head + "initializers: [Constand]\noperators: {}\n"),
              HasSubstr("acme.yaml:3:16: ONNX has no operator `Constand`; did you mean `Constant`?"));
}

TEST(Reading, distinguishes_profiles_and_tables) {
  EXPECT_TRUE(is_profile({"engine: acme\n", "a.yaml"}));
  EXPECT_TRUE(is_profile({"operators: {}\n", "a.yaml"}));
  EXPECT_FALSE(is_profile({"acme::foo: {7: {to: Relu}}\n", "a.yaml"}));
  EXPECT_FALSE(is_profile({"", "a.yaml"}));
  EXPECT_FALSE(is_profile({"- engine\n", "a.yaml"}));
}

// A profile in a file of its own.
std::string file_of(const std::string& name, const std::string& text) {
  const auto file = std::filesystem::path(testing::TempDir()) / name;
  std::ofstream(file) << text;
  return file.string();
}

TEST(Targets, of_one_name_are_distinguished) {
  const std::string text = "engine: acme\nversion: \"1\"\noperators: {Relu: no}\n", one = file_of("one.yaml", text),
                    two = file_of("two.yaml", text);
  const auto error = [](const std::vector<std::string>& targets) -> std::string {
    try {
      return std::to_string(profiles_of(targets).size());
    } catch (const UsageError& defect) {
      return defect.what();
    }
  };
  EXPECT_EQ(error({one, two}),
            "CheckOptions::targets " + one + " and CheckOptions::targets " + two +
                " are both acme@1: a report tells engines apart by that; give one of them a `version` of its own");
  const auto mnn = profile_of("mnn");
  const std::string copy = file_of("mnn2.yaml", "engine: mnn\nversion: \"" + mnn.version + "\"\noperators: {Relu: no}\n");
  EXPECT_THAT(error({"mnn", copy}),
              HasSubstr("CheckOptions::targets mnn and CheckOptions::targets " + copy + " are both " + mnn.target()));
  EXPECT_THAT(error({copy, "mnn"}), HasSubstr("CheckOptions::targets " + copy + " and CheckOptions::targets mnn are both"));
  EXPECT_EQ(error({one, one, std::filesystem::path(one).parent_path() / "." / "one.yaml"}), "1") << "one file";
  EXPECT_EQ(error({"mnn", mnn.target()}), "1");
  EXPECT_EQ(error({"mnn", one, "tvm"}), "3");
}

TEST(Targets, are_regular_files) {
  const auto pipe = std::filesystem::path(testing::TempDir()) / "pipe.yaml";
  std::filesystem::remove(pipe);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(profile_of(pipe.string()), TableError);
  std::filesystem::remove(pipe);
}

TEST(Targets, are_found_by_engine_and_version) {
  const auto ort = profile_of("ort-cpu");
  const std::string major = ort.version.substr(0, ort.version.rfind('.'));
  EXPECT_EQ(profile_of("ort-cpu@" + ort.version).target(), ort.target());
  EXPECT_EQ(profile_of("ort-cpu@" + major).target(), ort.target()) << "how the version begins";
  EXPECT_THAT(lookup_error("ort-cpu@" + major.substr(0, major.size() - 1)), HasSubstr("is of version " + ort.version))
      << "whole numbers alone";
  EXPECT_THAT(lookup_error("tensort"), HasSubstr("no such engine; did you mean `tensorrt`?"));
  EXPECT_THAT(lookup_error("tensort"), HasSubstr("openvino"));
  EXPECT_THAT(lookup_error("nothing-near"), HasSubstr("no such engine; known are mnn, "));
  EXPECT_THROW(profile_of("/nowhere/acme.yaml"), TableError);
}

}  // namespace
}  // namespace compatcheck::engines
