// Small tables for tests, written as the files would be.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "mapping/reading/folder.h"
#include "mapping/table.h"

namespace compatcheck::mapping {

// The one operator of the text; a defect fails the test.
inline OperatorRows only_operator(const std::string& text) {
  const auto contents = read_operators(yaml::Source(text, "t.yaml"));
  for (const Defect& defect : contents.defects)
    ADD_FAILURE() << yaml::describe(defect.place, defect.message, yaml::line_of(text, defect.place.line));
  return contents.items.size() == 1 ? contents.items.front() : OperatorRows();
}

inline Row only_row(const std::string& row) {
  const OperatorRows rows = only_operator("aten::f: {9: " + row + "}");
  return rows.history.size() == 1 && rows.history.front().rows.size() == 1 ? rows.history.front().rows.front() : Row();
}

struct TableText {
  std::string operators;
  std::string changes = {}, structural = {};
};

inline Table table_of(const TableText& text) {
  Tables tables;
  const auto take = [&](const std::string& file, const std::string& source, auto& items, auto read) {
    auto contents = read(yaml::Source(source, file));
    for (const Defect& defect : contents.defects)
      ADD_FAILURE() << yaml::describe(defect.place, defect.message, yaml::line_of(source, defect.place.line));
    items = std::move(contents.items);
    tables.sources.emplace_back(file, source);
  };
  take("t.yaml", text.operators, tables.operators, read_operators);
  take("mappings/onnx_changes.yaml", text.changes, tables.changes, read_onnx_changes);
  take("mappings/structural.yaml", text.structural, tables.structural, read_structural);
  std::ranges::sort(tables.operators, {}, &OperatorRows::name);
  std::ranges::sort(tables.changes, {}, [](const OnnxChange& change) { return std::pair(change.op, change.to); });
  std::ranges::sort(tables.structural, {}, &Listed::name);
  return Table::of(tables);
}

}  // namespace compatcheck::mapping
