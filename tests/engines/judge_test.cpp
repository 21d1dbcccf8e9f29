// How a node finds its entry, and what the entry says of it.
#include <gmock/gmock.h>

#include "engines/profile_text.h"
#include "engines/targets.h"

namespace compatcheck::engines {
namespace {

using testing::HasSubstr;

constexpr const char* relu = "(float[2,3] x) => (y) { y = Relu(x) }";

TEST(Kernel, an_open_ended_kernel_is_for_its_own_version_alone) {
  const std::string profile = "match: kernel\noperators:\n  RoiAlign: [{versions: 10-15}, {versions: 16}]\n";
  const std::string call = "(float[1,2,8,8] x, float[3,4] rois, int64[3] batch) => (y) { y = RoiAlign(x, rois, batch) }";
  EXPECT_EQ(judged(profile, call, 11), "yes");
  EXPECT_EQ(judged(profile, call, 21), "yes");
  EXPECT_EQ(judged(profile, call, 22), "no CC102: the engine supports versions 10 to 16 of RoiAlign; opset 22 has version 22");
}

TEST(Model, the_model_s_opset_decides) {
  const std::string profile = "operators: {Relu: {versions: 14}, Abs: {versions: 7-12}}\n";
  EXPECT_EQ(judged(profile, relu, 13), "no CC102: the engine supports Relu in models of opset 14 and later, not of opset 13");
  EXPECT_EQ(judged(profile, relu, 26), "yes");
  EXPECT_EQ(judged(profile, "(float[2] x) => (y) { y = Abs(x) }", 13),
            "no CC102: the engine supports Abs in models of opset 7 to 12, not of opset 13");
}

TEST(Since, the_newest_translator_that_is_not_newer) {
  const std::string profile =
      "match: since\noperators: {AveragePool: {versions: 1}, Relu: {versions: [1]}, BatchNormalization: {versions: [14, 1]}, "
      "Equal: {versions: 13}}\n";
  const auto pool = [](const char* attributes) {
    return std::string("(float[1,2,8,8] x) => (y) { y = AveragePool<kernel_shape = [2, 2]") + attributes + ">(x) }";
  };
  EXPECT_EQ(judged(profile, relu, 14), "yes") << "only types came";
  EXPECT_EQ(judged(profile, pool(""), 19), "yes") << "it says nothing new";
  EXPECT_EQ(judged(profile, pool(", dilations = [1, 2]"), 19),
            "unknown CC102: the engine has a translator for version 1 of AveragePool, the node has version 19: the attribute "
            "dilations is new");
  EXPECT_THAT(judged(profile, pool(""), 22), HasSubstr("unknown CC102")) << "its meaning changed";
  EXPECT_EQ(judged(profile, "(float[2] x, float[2] z) => (y) { y = Equal(x, z) }", 11), "yes") << "all are newer";
}

TEST(Types, by_parameter_name_and_place) {
  const std::string profile =
      "operators:\n  Relu: {types: {T: [f32]}}\n  Cast: {types: {T2: {not: [f64]}}}\n  Identity: {types: {V: {not: [seq]}}}\n  "
      "Gather: {types: {indices: [i32]}}\n";
  EXPECT_EQ(judged(profile, "(double[2] x) => (y) { y = Relu(x) }"), "no CC103: X of Relu is f64; the engine supports f32");
  EXPECT_EQ(judged(profile, "(float[2] x) => (double[2] y) { y = Cast<to = 11>(x) }"),
            "no CC103: output of Cast is f64; the engine supports all but f64");
  EXPECT_EQ(judged(profile, "(seq(float[2]) x) => (y) { y = Identity(x) }"),
            "no CC103: input of Identity is seq(f32); the engine supports all but seq");
  EXPECT_THAT(judged(profile, "(float[2] x, int64[1] i) => (y) { y = Gather(x, i) }"), HasSubstr("indices of Gather is i64"));
}

TEST(Types, what_goes_without_saying) {
  const std::string profile = "dtypes: [f32]\noperators: {Relu: yes, Abs: {types: {T: [f64]}}}\n";
  EXPECT_EQ(judged(profile, relu), "yes");
  EXPECT_EQ(judged(profile, "(double[2] x) => (y) { y = Relu(x) }"),
            "unknown CC105: X of Relu is f64, but the profile lists no dtypes for it");
  EXPECT_EQ(judged(profile, "(double[2] x) => (y) { y = Abs(x) }"), "yes");
}

TEST(Types, that_an_operand_alone_can_have_go_without_saying) {
  const std::string profile = "dtypes: [f32]\noperators: {Gather: yes, Add: yes, Shape: yes}\n";
  EXPECT_EQ(judged(profile, "(float[2] x, int64[1] i) => (y) { y = Gather(x, i) }"), "yes") << "indices are never f32";
  EXPECT_EQ(judged(profile, "(float[2] x) => (y) { y = Shape(x) }"), "yes");
  EXPECT_EQ(judged(profile, "(int64[2] x, int64[1] i) => (y) { y = Gather(x, i) }"),
            "unknown CC105: data of Gather is i64, but the profile lists no dtypes for it");
  EXPECT_EQ(judged(profile, "(int64[2] x) => (y) { y = Add(x, x) }"),
            "unknown CC105: A of Add is i64, but the profile lists no dtypes for it");
  EXPECT_EQ(judged("dtypes: [f32]\noperators: {DequantizeLinear: yes}\n",
                   "(uint8[2] x, float s, uint8 z) => (y) { y = DequantizeLinear(x, s, z) }"),
            "unknown CC105: x of DequantizeLinear is u8, but the profile lists no dtypes for it");
  EXPECT_EQ(judged("dtypes: [f32]\noperators: {SequenceAt: yes}\n", "(seq(float[2]) s, int64 i) => (y) { y = SequenceAt(s, i) }"),
            "unknown CC105: input_sequence of SequenceAt is seq(f32), but the profile lists no dtypes for it");
}

TEST(Types, that_are_others_to_the_engine) {
  const std::string profile =
      "reads: {f64: f32}\noperators: {Relu: {types: {T: [f32]}}, Cast: {types: {T1: [f32], T2: [f32]}, note: slow}}\n";
  EXPECT_EQ(judged(profile, relu), "yes");
  EXPECT_EQ(judged(profile, "(double[2] x) => (y) { y = Relu(x) }"), "yes: the engine reads f64 as f32");
  EXPECT_EQ(judged(profile, "(float[2] x) => (double[2] y) { y = Cast<to = 11>(x) }"), "yes: slow; the engine reads f64 as f32")
      << "one that only gives it, too";
  EXPECT_EQ(judged(profile, "(float16[2] x) => (double[2] y) { y = Cast<to = 11>(x) }"),
            "no CC103: input of Cast is f16; the engine supports f32");
}

TEST(Types, casts_of_the_engine) {
  const std::string profile = "casts: {f16: f32}\noperators: {Relu: {types: {T: [f32]}}}\n";
  EXPECT_EQ(judged(profile, "(float16[2] x) => (y) { y = Relu(x) }"), "yes");
  EXPECT_EQ(judged(profile, "(double[2] x) => (y) { y = Relu(x) }"), "no CC103: X of Relu is f64; the engine supports f32");
}

TEST(Conditions, on_attributes_inputs_and_outputs) {
  const std::string profile =
      "operators:\n"
      "  MaxPool: {when: {X: {rank: [4, 5]}, dilations: {each: 1}, Indices: {used: false}}}\n"
      "  TopK: {when: {sorted: 1, K: {each: {max: 3}}}}\n"
      "  ReduceSum: {when: {axes: {constant: true}}}\n"
      "  Pad: {when: {axes: {none: true}, mode: constant}}\n";
  EXPECT_EQ(judged(profile, "(float[1,2,8,8] x) => (y) { y = MaxPool<kernel_shape = [2, 2]>(x) }"), "yes");
  EXPECT_EQ(judged(profile, "(float[1,2,8] x) => (y) { y = MaxPool<kernel_shape = [2]>(x) }"),
            "no CC104: MaxPool: the rank of X must be 4 or 5, but is 3");
  EXPECT_EQ(judged(profile, "(float[1,2,8,8] x) => (y) { y = MaxPool<kernel_shape = [2, 2], dilations = [1, 2]>(x) }"),
            "no CC104: MaxPool: each of dilations must be 1, but is 2");
  EXPECT_EQ(judged(profile, "(float[1,2,8,8] x) => (y, i) { y, i = MaxPool<kernel_shape = [2, 2]>(x) }"),
            "no CC104: MaxPool: Indices must not be used");
  EXPECT_EQ(judged(profile, "(float x) => (y) { y = MaxPool<kernel_shape = [2, 2]>(x) }").substr(0, 8), "no CC104") << "rank 0";
  EXPECT_EQ(judged(profile, "(float[8] x, int64[1] k) => (y, i) { y, i = TopK(x, k) }"), "unknown CC104: TopK: K isn't known");
  EXPECT_EQ(judged(profile, "(float[8] x, int64[1] a) => (y) { y = ReduceSum(x, a) }"),
            "no CC104: ReduceSum: axes must be a constant, but is computed");
  EXPECT_EQ(judged(profile, "(float[8] x) => (y) { y = ReduceSum(x) }"), "yes") << "not given";
  EXPECT_EQ(judged(profile, "(float[8] x, int64[2] p) => (y) { y = Pad(x, p) }"), "yes")
      << "the default of mode; no axes at this opset";
  EXPECT_EQ(judged(profile, "(float[8] x, int64[2] p) => (y) { y = Pad<mode = \"reflect\">(x, p) }"),
            "no CC104: Pad: mode must be constant, but is reflect");
}

TEST(Conditions, the_first_entry_that_takes_decides) {
  const std::string profile =
      "operators:\n  Hardmax: [{when: {axis: -1}}, {unknown: \"the axis must be fixed\"}]\n  Relu: {note: \"slowly\"}\n  Abs: "
      "unknown\n  Neg: {no: \"it was forgotten\"}\n";
  EXPECT_EQ(judged(profile, "(float[2,3] x) => (y) { y = Hardmax(x) }"), "yes");
  EXPECT_EQ(judged(profile, "(float[2,3] x) => (y) { y = Hardmax<axis = 0>(x) }"),
            "unknown CC104: Hardmax: the axis must be fixed");
  EXPECT_EQ(judged(profile, relu), "yes: slowly");
  EXPECT_EQ(judged(profile, "(float[2] x) => (y) { y = Abs(x) }"),
            "unknown CC105: the profile doesn't say whether the engine supports Abs");
  EXPECT_EQ(judged(profile, "(float[2] x) => (y) { y = Neg(x) }"), "no CC101: the engine doesn't support Neg: it was forgotten");
}

TEST(Limits, decide_before_the_entries_that_support) {
  const std::string profile =
      "operators:\n"
      "  Hardmax: [yes, {when: {axis: 0}, no: \"too slow\"}]\n"
      "  TopK: [yes, {when: {Indices: {used: true}}, uncertain: \"of equals another\"}]\n"
      "  Relu: [yes, {types: {T: [f64]}, no: \"it fails\"}]\n";
  EXPECT_EQ(judged(profile, "(float[2,3] x) => (y) { y = Hardmax(x) }"), "yes");
  EXPECT_EQ(judged(profile, "(float[2,3] x) => (y) { y = Hardmax<axis = 0>(x) }"), "no CC104: Hardmax: too slow");
  EXPECT_EQ(judged(profile, "(float[8] x, int64[1] k) => (y) { y, i = TopK(x, k) }"), "yes");
  EXPECT_EQ(judged(profile, "(float[8] x, int64[1] k) => (y, i) { y, i = TopK(x, k) }"),
            "unknown CC104: TopK: of equals another");
  EXPECT_EQ(judged(profile, "(double[2] x) => (y) { y = Relu(x) }"), "no CC104: Relu: it fails");
  EXPECT_EQ(judged(profile, relu), "yes");
}

TEST(Limits, that_nothing_settles_leave_it_open) {
  const std::string profile =
      "operators: {Resize: [yes, {when: {sizes: {none: false, constant: false}}, no: \"it must be fixed\"}]}\n";
  EXPECT_EQ(judged(profile, "(float[1,1,2,2] x, int64[4] s) => (y) { y = Resize(x, , , s) }"),
            "no CC104: Resize: it must be fixed");
  const std::string rank = "operators: {Relu: [yes, {when: {X: {none: false, rank: 3}}, no: \"three are too many\"}]}\n";
  EXPECT_EQ(judged(rank, relu), "yes");
  EXPECT_EQ(judged(rank, "(float x, int64[n] s) => (y) { z = Reshape(x, s) y = Relu(z) }"),
            "unknown CC105: the engine's profile doesn't list Reshape");
}

TEST(Limits, hold_for_the_body_of_a_function_too) {
  const std::string body = "unlisted: no\nfunctions: true\noperators:\n  Mul: yes\n  Tanh: yes\n  Softplus: yes\n";
  const std::string mish = "(float[2] x) => (y) { y = Mish(x) }";
  EXPECT_EQ(judged(body, mish, 18), "yes");
  EXPECT_EQ(judged(body + "  Mish: no\n", mish, 18), "no CC101: the engine doesn't support Mish") << "its schema isn't known";
  EXPECT_EQ(judged(body + "  Mish: [{when: {X: {rank: 1}}, no: \"it fails\"}]\n", mish, 18), "no CC104: Mish: it fails");
}

TEST(Limits, of_what_is_set_and_of_what_is_empty) {
  const std::string set = "operators: {Hardmax: [yes, {when: {axis: {used: true}}, no: \"it doesn't know axis\"}]}\n";
  EXPECT_EQ(judged(set, "(float[2,3] x) => (y) { y = Hardmax(x) }"), "yes") << "a default isn't set";
  EXPECT_EQ(judged(set, "(float[2,3] x) => (y) { y = Hardmax<axis = -1>(x) }"), "no CC104: Hardmax: it doesn't know axis");
  const std::string empty = "operators: {Relu: [yes, {when: {X: {elements: 0}}, no: \"nothing to do\"}]}\n";
  EXPECT_EQ(judged(empty, "(float[2,N] x) => (y) { y = Relu(x) }"), "yes") << "it isn't known to be empty";
  EXPECT_EQ(judged(empty, "(float[0,N] x) => (y) { y = Relu(x) }"), "no CC104: Relu: nothing to do");
  const std::string open = "operators: {Relu: [yes, {when: {X: {elements: unknown}}, uncertain: \"fixed sizes alone\"}]}\n";
  EXPECT_EQ(judged(open, relu), "yes");
  EXPECT_EQ(judged(open, "(float[2,N] x) => (y) { y = Relu(x) }"), "unknown CC104: Relu: fixed sizes alone");
}

TEST(Types, that_no_tensor_of_pytorch_has) {
  const std::string profile = "operators:\n  Equal: {types: {T: [i64, string]}}\n  Cast: {types: {T2: {not: [f4e2m1]}}}\n";
  EXPECT_EQ(judged(profile, "(string[2] x) => (y) { y = Equal(x, x) }", 19), "yes");
  EXPECT_EQ(judged(profile, "(float[2] x) => (float4e2m1[2] y) { y = Cast<to = 23>(x) }", 23),
            "no CC103: output of Cast is f4e2m1; the engine supports all but f4e2m1");
  EXPECT_EQ(judged(profile, "(float[2] x) => (string[2] y) { y = Cast<to = 8>(x) }"), "yes");
}

TEST(Conditions, what_would_settle_them) {
  EXPECT_EQ(settled("operators: {Relu: unknown}\n", relu), SettledBy::nothing) << "the engine isn't known";
  EXPECT_EQ(settled("operators: {Relu: {unknown: \"it depends\"}}\n", relu), SettledBy::nothing);
  EXPECT_EQ(settled("operators: {}\n", relu), SettledBy::nothing);
  EXPECT_EQ(settled("operators: {Relu: {when: {X: {size: {1: 3}}}}}\n", "(float[2,N] x) => (y) { y = Relu(x) }"),
            SettledBy::inputs);
  EXPECT_EQ(
      settled("operators: {TopK: {when: {K: {each: {max: 3}}}}}\n", "(float[8] x, int64[1] k) => (y, i) { y, i = TopK(x, k) }"),
      SettledBy::values);
}

TEST(Unlisted, is_what_the_profile_says) {
  EXPECT_EQ(judged("operators: {}\n", relu), "unknown CC105: the engine's profile doesn't list Relu");
  EXPECT_EQ(judged("unlisted: no\noperators: {}\n", relu), "no CC101: the engine doesn't support Relu");
}

TEST(Functions, become_their_bodies_where_no_entry_takes_the_node) {
  const std::string cast_like = "(float[2] x, double[2] z) => (y) { y = CastLike(x, z) }";
  const std::string mish = "(float[2] x) => (y) { y = Mish(x) }";
  EXPECT_EQ(judged("unlisted: no\nfunctions: true\noperators: {Cast: yes}\n", cast_like, 19), "yes");
  EXPECT_EQ(judged("unlisted: no\noperators: {Cast: yes}\n", cast_like, 19), "no CC101: the engine doesn't support CastLike");
  EXPECT_EQ(judged("unlisted: no\nfunctions: true\noperators: {Mul: yes, Tanh: yes}\n", mish, 18),
            "no CC101: in the body of Mish: in the body of Softplus: the engine doesn't support Exp");
}

// ONNX Runtime's CPU has kernels of Gelu and Celu for f32 alone.
TEST(Functions, stay_nodes_where_the_engine_behind_takes_them) {
  const std::string own = "engine: acme\nversion: \"1\"\nunlisted: no\nfunctions: true\n",
                    operators =
                        "operators: {Mul: yes, Div: yes, Add: yes, Erf: yes, Sqrt: yes, Constant: yes, Cast: yes, CastLike: yes, "
                        "Max: yes, Min: yes, Elu: yes, Sum: yes, Tanh: yes, Pow: yes}\n";
  const auto verdict_of = [&](const std::string& behind, const std::string& body) {
    const std::string text = own + behind + operators;
    const Profile profile = read_own_profile({text, "acme.yaml"});
    const auto table = mapping::Table::shipped();
    return Judge(profile, table.onnx_changes())(nodes_from("<ir_version: 8, opset_import: [\"\" : 20]> g " + body).front(), 20);
  };
  const std::string gelu = "(float[2] x) => (y) { y = Gelu(x) }", half = "(float16[2] x) => (y) { y = Gelu(x) }";
  EXPECT_EQ(verdict_of("", gelu).support, Support::yes);
  EXPECT_EQ(verdict_of("behind: ort-cpu\n", gelu).message, "the engine doesn't support Gelu");
  EXPECT_EQ(verdict_of("behind: ort-cpu\n", half).support, Support::yes) << "no kernel for it";
  EXPECT_EQ(verdict_of("behind: ort-cpu\n", "(float[2] x) => (y) { y = Celu(x) }").message, "the engine doesn't support Celu");
}

TEST(Functions, that_the_model_carries_are_their_bodies) {
  const std::string model =
      "<ir_version: 8, opset_import: [\"\" : 17, \"acme\" : 1]> g (float[2] x) => (y) { y = acme.Twice(x) }\n"
      "<domain: \"acme\", opset_import: [\"\" : 17]> Twice (a) => (b) { b = Add(a, a) }";
  const auto nodes = nodes_from(model);
  const auto table = mapping::Table::shipped();
  const auto with_add = profile_from("engine: acme\nversion: \"1\"\nunlisted: no\noperators: {Add: yes}\n"),
             without = profile_from("engine: acme\nversion: \"1\"\nunlisted: no\noperators: {}\n");
  EXPECT_EQ(Judge(with_add, table.onnx_changes())(nodes.front(), 17).support, Support::yes);
  EXPECT_EQ(Judge(without, table.onnx_changes())(nodes.front(), 17).message,
            "in the body of acme::Twice: the engine doesn't support Add");
  const auto none = profile_from("engine: acme\nversion: \"1\"\nlocal_functions: false\noperators: {Add: yes}\n");
  EXPECT_EQ(Judge(none, table.onnx_changes())(nodes.front(), 17).message,
            "the engine runs no functions that a model carries, such as acme::Twice");
}

}  // namespace
}  // namespace compatcheck::engines
