// Users' files over the shipped rows.

#include "mapping/tables.h"

namespace compatcheck::mapping {
namespace {

using Status = Lookup::Status;

class Overlay : public ::testing::Test {
 protected:
  schema::Registry schemas;
  Table table = table_of(
      {.operators = "aten::relu: {facts: same, 7: Relu, 14: [{refuse: r, hint: h, when: {self: {rank: 0}}}, Relu], 20: Relu}\n"
                    "aten::mul: {7: Mul}\n"
                    "aten::multiply: {alias: aten::mul}\n"
                    "aten::add: {7: Add}\n"
                    "aten::add.Scalar: {7: {to: [Cast, Add]}}\n"});

  std::string to(std::string_view op, int opset, std::string_view overload = {}) {
    const Lookup found = table.find(op, overload, opset, schemas);
    if (found.status != Status::rows) return found.status == Status::unknown ? "unknown" : "missing";
    return (found.user ? "user " : "") + (found.rows[0].to.empty() ? "refuse" : found.rows[0].to[0]);
  }
};

TEST_F(Overlay, AUsersEntryHoldsFromItsOpsetUpOverAllShippedOnes) {
  table.overlay_text("aten::relu: {9: my::Relu}", "my.yaml");
  EXPECT_EQ(to("aten::relu", 8), "Relu");
  EXPECT_EQ(to("aten::relu", 9), "user my::Relu");
  EXPECT_EQ(to("aten::relu", 14), "user my::Relu");
  EXPECT_EQ(to("aten::relu", 26), "user my::Relu");
  EXPECT_EQ(to("aten::relu_", 26), "user my::Relu");
  EXPECT_EQ(table.facts("aten::relu", "", schemas), "same") << "what the user doesn't say stays";
}

TEST_F(Overlay, TraitsAreForShippedTables) {
  const auto defects = table.overlay_text("aten::relu: {traits: [view], 9: my::Relu}\naten::mul: {7: my::Mul}", "my.yaml");
  ASSERT_EQ(defects.size(), 1u);
  EXPECT_EQ(defects[0].message, "`traits` is for the shipped tables: the passes run without yours");
  EXPECT_EQ(to("aten::relu", 9), "Relu");
  EXPECT_EQ(to("aten::mul", 9), "user my::Mul");
}

TEST_F(Overlay, UntilTheUsersNext) {
  table.overlay_text("aten::relu: {9: my::Relu, 11: Relu}", "my.yaml");
  EXPECT_EQ(to("aten::relu", 10), "user my::Relu");
  EXPECT_EQ(to("aten::relu", 14), "user Relu");
}

TEST_F(Overlay, LaterFilesWin) {
  table.overlay_text("aten::relu: {9: my::A}", "a.yaml");
  table.overlay_text("aten::relu: {12: my::B}", "b.yaml");
  EXPECT_EQ(to("aten::relu", 8), "Relu");
  EXPECT_EQ(to("aten::relu", 11), "user my::A");
  EXPECT_EQ(to("aten::relu", 26), "user my::B");
}

TEST_F(Overlay, ABaseNameSpeaksForItsOverloads) {
  table.overlay_text("aten::add: {9: my::Add}", "my.yaml");
  EXPECT_EQ(to("aten::add", 8, "Scalar"), "Cast");
  EXPECT_EQ(to("aten::add", 9, "Scalar"), "user my::Add");
  EXPECT_EQ(to("aten::add", 9, "Tensor"), "user my::Add");
  table.overlay_text("aten::add: {9: my::Add}\naten::add.Scalar: {10: my::AddScalar}", "next.yaml");
  EXPECT_EQ(to("aten::add", 10, "Scalar"), "user my::AddScalar");
}

TEST_F(Overlay, AliasesFollowTheirTarget) {
  table.overlay_text("aten::mul: {7: my::Mul}", "my.yaml");
  EXPECT_EQ(to("aten::multiply", 9), "user my::Mul");
  table.overlay_text("aten::multiply: {10: my::Multiply}", "next.yaml");
  EXPECT_EQ(to("aten::multiply", 9), "user my::Mul") << "below, the history of the alias's target";
  EXPECT_EQ(to("aten::multiply", 10), "user my::Multiply");
  EXPECT_EQ(to("aten::mul", 10), "user my::Mul");
  table.overlay_text("aten::relu: {alias: aten::mul}", "alias.yaml");
  EXPECT_EQ(to("aten::relu", 9), "user my::Mul");
}

TEST_F(Overlay, OperatorsOfNobodyAndTheirSchemas) {
  table.overlay_text(
      "acme::fused_bias: {schema: \"acme::fused_bias(Tensor x, Tensor b) -> Tensor\", 9: {to: acme.ops::FusedBias, inputs: [x, "
      "b]}}",
      "my.yaml");
  EXPECT_EQ(to("acme::fused_bias", 9), "user acme.ops::FusedBias");
  EXPECT_EQ(to("acme::fused_bias", 8), "missing");
  EXPECT_EQ(table.schemas(), std::vector<std::string>{"acme::fused_bias(Tensor x, Tensor b) -> Tensor"});
  EXPECT_EQ(table.source_line({"my.yaml", 1, 1}).substr(0, 16), "acme::fused_bias");
}

TEST_F(Overlay, OfACopyLeavesTheOriginal) {
  Table copy = table;
  copy.overlay_text("aten::relu: {7: my::Relu}", "my.yaml");
  EXPECT_EQ(to("aten::relu", 9), "Relu");
  EXPECT_EQ(copy.operators().size(), table.operators().size());
}

TEST_F(Overlay, ReportsEveryDefectAndLeavesTheirOperatorsOut) {
  const auto defects =
      table.overlay_text("aten::relu: {9: my::Relu}\naten::mul: {9: {too: Mul}}\naten::add: {9: 3}\n", "my.yaml");
  std::vector<std::string> messages;
  for (const Defect& defect : defects)
    messages.push_back(yaml::describe(defect.place, defect.message, table.source_line(defect.place)));
  EXPECT_EQ(messages,
            (std::vector<std::string>{
                "my.yaml:2:17: unknown key `too` in a row; did you mean `to`?\naten::mul: {9: {too: Mul}}\n                ^",
                "my.yaml:3:16: `3` isn't the name of an ONNX operator\naten::add: {9: 3}\n               ^"}));
  EXPECT_EQ(to("aten::relu", 9), "user my::Relu");
  EXPECT_EQ(to("aten::mul", 9), "Mul");
}

TEST_F(Overlay, UsersRowsAreThoseThatTheyName) {
  table.overlay_text("aten::add: {9: my::Add}\naten::relu: {9: my::Relu}", "my.yaml");
  std::vector<std::string> names;
  for (const OperatorRows* rows : table.users()) names.push_back(rows->name);
  EXPECT_EQ(names, (std::vector<std::string>{"aten::add", "aten::relu"}))
      << "not aten::add.Scalar, to which aten::add was carried over";
}

std::string error_of_file(const std::filesystem::path& file) {
  auto table = Table::shipped();
  try {
    for (const Defect& defect : table.overlay(file)) return yaml::describe(defect.place, defect.message, "");
  } catch (const TableError& error) {
    return error.what();
  }
  return "no error";
}

TEST(OverlayFiles, ThatCannotBeRead) {
  EXPECT_EQ(error_of_file("/nowhere/my.yaml"), "/nowhere/my.yaml: can't be opened");
  EXPECT_EQ(error_of_file("/"), "/: a folder, not a table file");
  EXPECT_EQ(error_of_file("/dev/zero").substr(0, 41), "/dev/zero:1:1: a table of more than 1024 ");
}

}  // namespace
}  // namespace compatcheck::mapping
