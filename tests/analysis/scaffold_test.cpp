// The rows that `explain OP --scaffold yaml` prints are ones that lint takes: of every operator that has a schema.
#include "reference/scaffold.h"

#include <gtest/gtest.h>

#include "compatcheck/error.h"
#include "lint/lint.h"

namespace compatcheck {
namespace {

// With the words that it gives as examples in the place of what is left to fill in.
std::string filled(std::string rows) {
  constexpr std::string_view left = "facts: TODO   # for example ";
  for (auto at = rows.find(left); at != std::string::npos; at = rows.find(left, at)) rows.replace(at, left.size(), "facts: ");
  for (auto at = rows.find(": how the dtype and shape"); at != std::string::npos; at = rows.find(": how the dtype and shape", at))
    rows.replace(at, 1, "   #");
  return rows;
}

std::string scaffold_of(std::string_view op, const lint::InForce& in_force, int opset) {
  ReferenceOptions options;
  options.opset = opset;
  options.scaffold = Scaffold::yaml;
  try {
    return reference::scaffold(std::string(op), options, in_force);
  } catch (const UsageError&) {
    return {};  // nothing calls it by arguments
  }
}

// Defects of some operators' scaffolds in one file, each told with its line.
std::string defects_of(const std::string& rows, const lint::InForce& in_force) {
  mapping::Table table = in_force.table;
  auto defects = table.overlay_text(rows, "scaffolds.yaml");
  const auto words = in_force.registry.fact_words();
  std::ranges::move(
      lint::check_users(table, {.schemas = in_force.schemas, .conditions = {}, .fact_words = words, .handlers = {}}),
      std::back_inserter(defects));
  std::string messages;
  for (const auto& defect : defects) messages += lint::describe(table, defect) + "\n";
  return messages;
}

TEST(Scaffold, EveryOneIsARowThatLintTakes) {
  const lint::InForce in_force = lint::in_force({});
  for (const int opset : {9, 17}) {
    std::size_t count = 0;
    std::string rows;
    for (const std::string_view op : in_force.schemas.names()) {
      const std::string one = scaffold_of(op, in_force, opset);
      EXPECT_FALSE(in_force.table.find_structural(op) && !one.empty()) << op;
      count += !one.empty();
      rows += filled(one);
      if (rows.size() < 500'000) continue;  // a file is at most 1 MiB
      EXPECT_EQ(defects_of(rows, in_force), "");
      rows.clear();
    }
    EXPECT_EQ(defects_of(rows, in_force), "");
    EXPECT_GT(count, 1500u);
  }
}

TEST(Scaffold, FillsTheInputsThatOnnxNeeds) {
  const std::string pad = scaffold_of("aten::pad", lint::in_force({}), 17);
  EXPECT_NE(pad.find("to: Pad\n    inputs: [self, {ints: pad}]\n    attributes: {mode: mode}\n"), std::string::npos) << pad;
}

}  // namespace
}  // namespace compatcheck
