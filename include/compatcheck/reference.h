// Reference data that needs no model: the effective mapping table, an operator's history, the rules.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compatcheck/error.h"
#include "compatcheck/report.h"

namespace compatcheck {

enum class ReferenceFormat : std::uint8_t { text, json, markdown };

enum class Scaffold : std::uint8_t { none, yaml, inlined, plugin };  // inlined: yaml, whose row is ONNX text

struct ReferenceOptions {
  std::vector<std::filesystem::path> mappings{};
  std::vector<std::filesystem::path> plugins{};
  std::vector<std::filesystem::path> op_libraries{};  // libraries whose operators are known, too
  std::vector<std::string> op_modules{};              // Python modules whose operators are known, too
  std::filesystem::path libtorch{};                   // opens op_libraries; see LoadOptions
  std::filesystem::path python{};                     // imports op_modules; see LoadOptions
  std::optional<int> opset{};                         // absent: the default opset for `ops`, all for `explain`
  ReferenceFormat format = ReferenceFormat::text;
  bool color = false;
  std::size_t width = 100;
  std::filesystem::path model{};       // for a scaffold of a custom operator: a model that calls it
  Scaffold scaffold = Scaffold::none;  // for `explain`: print a mapping file or a plugin to start from instead of the page
};

// Describes the ONNX form of each operator, of all operators if none is named. Names need no "aten::". Throws UsageError for an
// unknown operator, with the nearest names.
std::string describe_operators(const std::vector<std::string>& operators, const ReferenceOptions& options = {});

// A rule's page ("CC005"), or an operator's whole history: rows with their places, torch schemas, ONNX schemas. A scaffold
// needs an operator, which may be unknown ("acme::fused"). For an engine ("tensorrt", or all: "targets"), the contents of its
// profile.
std::string explain(const std::string& subject, const ReferenceOptions& options = {});

// Further pages of explain(): ids of rules, and engines as CheckOptions::targets names them.
std::vector<std::string> rule_ids();
std::vector<std::string> engine_names();

// Throws as check() would for CheckOptions::targets: UsageError for an engine or version that isn't shipped, TableError for a
// broken profile.
void check_targets(const std::vector<std::string>& targets);

struct TableDefect {
  std::string file;
  int line = 0, column = 0;  // counted from 1
  std::string message;       // one sentence
  std::string source_line;   // the line itself
  bool is_note = false;      // not a defect: the table works, but a call may not convert
};

// Checks mapping tables against the operator schemas of libtorch and ONNX, and the rows of plugins; the shipped ones if neither
// is given. Engine profiles among the files are checked against ONNX's schemas; each gives its first
// defect. Notes follow the defects.
std::vector<TableDefect> lint_tables(const std::vector<std::filesystem::path>& files,
                                     const std::vector<std::filesystem::path>& plugins = {});

}  // namespace compatcheck
