// A node on its way from one version of its operator to another.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/builder.h"
#include "onnx/schema.h"
#include "retarget/piece.h"
#include "retarget/scope.h"
#include "retarget/setting.h"

namespace compatcheck::retarget {

struct Adapting {
  ::onnx::NodeProto node;   // in the old form, until it is placed
  const onnx::Schema& had;  // versions
  const onnx::Schema& wanted;
  const Scope& scope;
  const Setting& setting;
  PieceWriter& writer;
  bool settled = false;  // the rule answers for changes of meaning
  bool done = false;     // the rule has written everything

  bool rises_over(int version) const { return had.since < version && version <= wanted.since; }
  bool falls_below(int version) const { return wanted.since < version && version <= had.since; }
  bool crosses(int version) const { return rises_over(version) || falls_below(version); }

  // ---- In the old form
  std::string input(std::string_view name) const;  // value; empty if it is absent
  void set_input(std::string_view name, const std::string& value);
  std::optional<std::vector<std::int64_t>> ints(std::string_view input_name) const;
  void set(::onnx::AttributeProto attribute);
  void drop(std::string_view attribute);
  std::int64_t rank(const std::string& value) const;  // throws Refusal if it isn't known
  std::int64_t rank_of_first() const { return rank(input_of(node, 0)); }
};

onnx::Refusal from_opset(const std::string& what, int opset);  // "Resize has no axes before opset 18"

// A rule settles what the tables of versions don't say of an operator's changes; null if there is none.
using VersionRule = void (*)(Adapting&);
VersionRule find_version_rule(std::string_view op);
void resize_version(Adapting& a);
void upsample_version(Adapting& a);

}  // namespace compatcheck::retarget
