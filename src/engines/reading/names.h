// Checks the names in a profile against ONNX's own schemas: a misspelt operator, version, type or attribute would be a limit that
// never applies. Operators of other domains have no schema, so they aren't checked.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engines/profile.h"
#include "mapping/reading/yaml.h"
#include "onnx/schema.h"

namespace compatcheck::engines {

// All throw mapping::yaml::DefectError.

void check_operator(const mapping::yaml::Source& source, const mapping::yaml::Node& name);

// The names that some of an operator's versions have.
class NamesInForce {
 public:
  // Without `schemas`, which means that none is known, every name is valid.
  NamesInForce(std::string op, std::vector<const onnx::Schema*> schemas) : op_(std::move(op)), schemas_(std::move(schemas)) {}

  void check_type(const mapping::yaml::Source& source, const mapping::yaml::Node& name) const;  // "T", "X", "inputs.0"
  void check_condition(const mapping::yaml::Source& source, const mapping::Condition& condition) const;

 private:
  std::string op_;
  std::vector<const onnx::Schema*> schemas_;
};

class OperatorNames {
 public:
  // Throws for an operator that nobody has.
  OperatorNames(const mapping::yaml::Source& source, const mapping::yaml::Node& name, Match match);

  Match match() const { return match_; }
  // An entry's versions: the operator has one of them.
  void check(const mapping::yaml::Source& source, const mapping::yaml::Node& node, Versions versions) const;
  // In the versions that an entry may meet.
  NamesInForce in(const std::vector<Versions>& versions) const;

 private:
  bool meets(const onnx::Schema& schema, Versions versions) const;  // one of `schemas_`

  std::string op_;
  Match match_;
  std::span<const onnx::Schema> schemas_;  // empty: not ONNX's
};

}  // namespace compatcheck::engines
