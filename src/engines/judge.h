// Whether an engine takes a node.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "compatcheck/report.h"
#include "engines/condition.h"
#include "engines/node.h"
#include "engines/profile.h"
#include "mapping/table.h"

namespace compatcheck::engines {

struct Verdict {
  Support support = Support::yes;
  std::string rule{};                         // "CC101" …, unless the node is plainly supported
  std::string message{};                      // if no or unknown
  std::string note{};                         // if yes: a note for the user
  SettledBy settled_by = SettledBy::nothing;  // if unknown
  bool of_body_too = false;                   // if no: the engine doesn't run the body of the node's function in its place
};

class Judge {
 public:
  // `changes`: how versions of ONNX's operators differ. Both must outlive it.
  Judge(const Profile& profile, std::span<const mapping::OnnxChange> changes) : profile_(profile), changes_(changes) {}

  // `opset`: the model's.
  Verdict operator()(const Node& node, int opset) const { return judge(node, opset, 0); }
  // Nodes that become initializers when the model is loaded aren't counted.
  bool is_initializer(const Node& node) const;
  // Whether every node of the body of the node's function is supported; false if it has none.
  bool takes_body(const Node& node, int opset) const;

 private:
  Verdict judge(const Node& node, int opset, int depth) const;
  Verdict by_entries(const OperatorEntries& entries, const Node& node, int opset) const;
  Verdict by_entry(const Entry& entry, const Node& node) const;
  Verdict by_limit(const Entry& entry, const Node& node) const;
  Verdict types_fit(const Entry& entry, const Node& node) const;
  Verdict by_translator(const OperatorEntries& entries, const Node& node) const;
  Verdict across(const Node& node, int translator) const;
  Verdict as_read(const Node& node, const Node& original, int opset, int depth) const;  // `node`: with the dtypes that it reads
  Verdict by_engine_behind(const Node& node, int opset) const;
  std::optional<Verdict> by_body(const Node& node, int opset, int depth) const;
  Verdict version_gap(const OperatorEntries& entries, const Node& node, int opset) const;

  const Profile& profile_;
  std::span<const mapping::OnnxChange> changes_;
};

}  // namespace compatcheck::engines
