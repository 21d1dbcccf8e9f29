// Which failures follow from others: only the failures to fix are reported.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "conversion/assess.h"

namespace compatcheck::analysis {

// Writes that can't be removed because of another write, and that other write.
using WriteCauses = std::unordered_map<const ir::Node*, const ir::Node*>;

// The assessment, its graph and the context must outlive it.
class Causes {
 public:
  Causes(const conversion::Assessment& assessment, const conversion::Context& context, const WriteCauses& writes);

  // The failure that this one follows from; null if it has no cause, or isn't a failure.
  const conversion::Outcome* root_of(const conversion::Outcome& outcome) const;
  // The model's inputs that it follows from instead, in order: lists of unknown length.
  std::vector<std::uint32_t> inputs_of(const conversion::Outcome& outcome, int farthest = 16) const;

 private:
  using Node = const ir::Node*;
  using CauseOf = std::unordered_map<Node, Node>;
  Node top_of(Node node, const CauseOf& causes, CauseOf& tops) const;
  bool fails(Node node) const;
  bool may_follow(const conversion::Outcome& outcome) const;
  void add_marked(const conversion::Assessment& assessment, CauseOf& causes) const;
  bool is_settled(const ir::Value* value) const;
  bool is_of_loop(const conversion::Outcome& outcome) const;
  static std::vector<const ir::Value*> trip_counts(const ir::Node& node);
  std::vector<const ir::Value*> followed(const conversion::Outcome& outcome) const;
  Node cause_of(const conversion::Outcome& outcome) const;
  Node cause_among(std::vector<const ir::Value*> waiting, Node self, std::vector<std::uint32_t>* inputs = nullptr) const;

  const conversion::Context& context_;
  const WriteCauses& writes_;
  std::unordered_map<Node, const conversion::Outcome*> outcomes_;
  std::unordered_map<const ir::Value*, Node> written_;  // first write to each value that can't be expressed
  std::unordered_map<std::string, Node> attributes_;    // first write to each attribute that keeps its value between calls
  std::unordered_map<Node, const conversion::Outcome*> roots_;
};

// Calls that fail because a list's members are unknown get the status `needs_input`.
void leave_lists_to_inputs(conversion::Assessment& assessment, const conversion::Context& context, const WriteCauses& writes);

}  // namespace compatcheck::analysis
