// Any bytes as a user's engine profile: read, held against ONNX's schemas, compiled and read back, and asked about nodes.
#include <onnx/defs/parser.h>
#include <onnx/shape_inference/implementation.h>

#include <cstdint>
#include <string_view>

#include "compatcheck/check.h"
#include "engines/judge.h"
#include "engines/reading/read_profile.h"
#include "engines/targets.h"
#include "mapping/table.h"

namespace {

using namespace compatcheck;

// Inputs and outputs that are left out, variadic, sequences, of unknown size; attributes of every kind; a body; a function; no
// schema.
std::vector<engines::Node> nodes() {
  ::onnx::ModelProto model;
  const char* text =
      R"(<ir_version: 8, opset_import: ["" : 17, "acme" : 1]> g (float[1,3,N,8] x, double[2] d, int64[1] k, bool b, seq(float[2]) s) => (r) {
    c = Constant<value_ints = [1, 2]>()
    w = Conv<kernel_shape = [2, 2], auto_pad = "SAME_UPPER">(x, x)
    m, i = MaxPool<kernel_shape = [2, 2]>(w)
    p = Pad<mode = "reflect">(x, c, , k)
    t, u = TopK<axis = -1>(x, k)
    j = Concat<axis = 0>(d, d, d)
    e = SequenceAt(s, k)
    y = If (b) <then_branch = f () => (z) { z = Relu(d) }, else_branch = h () => (v) { v = Celu<alpha = 0.5>(d) }>
    l = CastLike(d, x)
    a = acme.Twice<n = 2>(d)
    r = Identity(a)
  }
  <domain: "acme", opset_import: ["" : 17]> Twice (q) => (o) { o = Add(q, q) })";
  if (!::onnx::OnnxParser::Parse(model, text).IsOK()) __builtin_trap();
  ::onnx::shape_inference::InferShapes(model);
  return engines::nodes_of(model);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto table = mapping::Table::shipped();
  static const auto drawn = nodes();
  const mapping::yaml::Source source({reinterpret_cast<const char*>(data), size}, "acme.yaml");
  engines::Profile profile;
  try {
    engines::is_profile(source);
    profile = engines::read_own_profile(source);
  } catch (const mapping::yaml::DefectError& error) {
    if (error.defect.place.line < 1 || error.defect.place.column < 1) __builtin_trap();
    return 0;
  }
  const std::string bytes = engines::encode(profile);
  const engines::Profile again = engines::decode(bytes);
  if (engines::encode(again) != bytes) __builtin_trap();
  const engines::Judge judge(profile, table.onnx_changes());
  for (const auto& node : drawn)
    for (const int opset : {lowest_opset, 17, highest_opset}) {
      const auto verdict = judge(node, opset);
      if (verdict.support != Support::yes && (verdict.rule.empty() || verdict.message.empty())) __builtin_trap();
      if (verdict.support != Support::unknown && verdict.settled_by != engines::SettledBy::nothing) __builtin_trap();
      judge.takes_body(node, opset);
    }
  return 0;
}
