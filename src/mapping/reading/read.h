// Reading mapping files: docs/mappings.md is the language.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mapping/reading/yaml.h"
#include "mapping/row.h"
#include "mapping/table.h"

namespace compatcheck::mapping {

// The contents of a file and its defects; an operator with a defect is omitted.
template <class Item>
struct FileContents {
  std::vector<Item> items;
  std::vector<Defect> defects;
  std::vector<std::pair<std::string, int>> domains{};  // for operators: versions of custom ONNX domains
};

FileContents<OperatorRows> read_operators(const yaml::Source& source);   // mappings/{operators,libraries}/*.yaml, users' files
FileContents<OnnxChange> read_onnx_changes(const yaml::Source& source);  // mappings/onnx_changes.yaml
FileContents<Listed> read_structural(const yaml::Source& source);        // mappings/structural.yaml

namespace reading {

// The pieces, each throwing yaml::DefectError.
Literal literal(const yaml::Source& source, const yaml::Node& node);
std::vector<Literal> literals(const yaml::Source& source, const yaml::Node& node);  // the members of a list
Row row(const yaml::Source& source, const yaml::Node& node);
std::vector<Conditions> conditions(const yaml::Source& source, const yaml::Node& node);
Validity validity(const yaml::Source& source, const yaml::Node& node);
// A non-empty sentence or name.
std::string text(const yaml::Source& source, const yaml::Node& node, std::string_view what);
bool boolean(const yaml::Source& source, const yaml::Node& node, std::string_view key);
// Names of `schema::Trait`.
schema::TraitSet traits(const yaml::Source& source, const yaml::Node& node);
bool is_identifier(std::string_view text);
bool is_onnx_name(std::string_view name);  // "Relu", or "domain::Name"
// "`key` isn't a key of WHAT; did you mean …".
[[noreturn]] void unknown_key(const yaml::Source& source, const yaml::Node& key, std::string_view what,
                              std::span<const std::string_view> known);

}  // namespace reading
}  // namespace compatcheck::mapping
