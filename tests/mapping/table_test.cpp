// Look-up: names, opsets, changes of meaning.
#include <ctime>

#include "mapping/tables.h"

namespace compatcheck::mapping {
namespace {

using Status = Lookup::Status;

class Look : public ::testing::Test {
 protected:
  schema::Registry schemas;
  Table table = table_of({
      .operators = "aten::relu: {facts: same, 7: Relu}\n"
                   "aten::add: {facts: pointwise, 7: Add}\n"
                   "aten::add.Scalar: {7: {to: [Cast, Add]}}\n"
                   "aten::mul: {7: Mul}\n"
                   "aten::multiply: {alias: aten::mul}\n"
                   "aten::tril: {14: Trilu}\n"
                   "aten::sort: {7: {missing: no TopK, hint: h}, 10: TopK}\n"
                   "aten::gelu: {7: {missing: no Erf, hint: h}, 9: {to: [Erf, Mul]}}\n"
                   "aten::roll: {10: RoiAlign, 18: [{refuse: r, hint: h, when: {shifts: {length: 1}}}, RoiAlign]}\n"
                   "aten::sigmoid_: {7: {to: [Sigmoid, Abs]}}\n"
                   "aten::sigmoid: {7: Sigmoid}\n",
      .changes = "RoiAlign: {10-16: {meaning: shifted}, 16-22: {types: bfloat16}}\nTrilu: {14-20: {extended: e}}\n",
      .structural = "prim::If: branches\n",
  });

  Lookup find(std::string_view op, int opset, std::string_view overload = {}) { return table.find(op, overload, opset, schemas); }
  std::string to(const Lookup& found) { return found.rows.empty() || found.rows[0].to.empty() ? "" : found.rows[0].to[0]; }
};

TEST_F(Look, ExactOverloadBeforeBaseName) {
  EXPECT_EQ(to(find("aten::add", 9, "Tensor")), "Add");
  EXPECT_EQ(to(find("aten::add", 9, "Scalar")), "Cast");
  EXPECT_EQ(to(find("aten::add", 9)), "Add");
}

TEST_F(Look, InPlaceFormsHaveTheFunctionalRows) {
  EXPECT_EQ(find("aten::relu_", 9).op->name, "aten::relu");
  EXPECT_EQ(find("aten::add_", 9, "Scalar").op->name, "aten::add.Scalar");
  EXPECT_EQ(find("aten::sigmoid_", 9).op->name, "aten::sigmoid_") << "rows of its own win";
  EXPECT_EQ(find("aten::multiply_", 9, "Tensor").op->name, "aten::mul");
}

TEST_F(Look, OutFormsHaveTheFunctionalRows) {
  EXPECT_EQ(find("aten::add", 9, "out").op->name, "aten::add");
  EXPECT_EQ(find("aten::add", 9, "Scalar_out").op->name, "aten::add.Scalar");
  EXPECT_EQ(find("aten::relu", 9, "out").op->name, "aten::relu");
}

TEST_F(Look, AliasesHaveTheOthersRows) { EXPECT_EQ(find("aten::multiply", 9, "Tensor").op->name, "aten::mul"); }

TEST_F(Look, AnEntryHoldsUntilTheNext) {
  EXPECT_EQ(find("aten::sort", 9).status, Status::missing);
  EXPECT_EQ(find("aten::sort", 9).rows[0].reason, "no TopK");
  EXPECT_EQ(find("aten::sort", 10).status, Status::rows);
  EXPECT_EQ(find("aten::sort", 26).since, 10);
}

TEST_F(Look, BelowTheLowestEntryTheOperatorIsMissing) {
  const Lookup found = find("aten::tril", 13);
  EXPECT_EQ(found.status, Status::missing);
  EXPECT_TRUE(found.rows.empty());
  EXPECT_EQ(find("aten::tril", 26).status, Status::rows) << "an extension ends nothing";
}

TEST_F(Look, NothingIsInheritedAcrossAChangeOfMeaning) {
  EXPECT_EQ(find("aten::roll", 15).status, Status::rows);
  EXPECT_EQ(find("aten::roll", 16).status, Status::stale);
  EXPECT_EQ(find("aten::roll", 17).status, Status::stale);
  EXPECT_EQ(find("aten::roll", 18).status, Status::rows);
  EXPECT_EQ(find("aten::roll", 26).status, Status::rows);
  const Lookup stale = find("aten::roll", 17);
  EXPECT_EQ(table.meaning_change(stale.op->history[0], 17)->why, "shifted");
  EXPECT_EQ(table.meaning_change(stale.op->history[0], 15), nullptr);
}

TEST_F(Look, UnknownAndStructural) {
  EXPECT_EQ(find("aten::nothing", 9).status, Status::unknown);
  EXPECT_EQ(find("prim::If", 9).status, Status::structural);
  EXPECT_NE(table.find_structural("prim::If"), nullptr);
  EXPECT_EQ(table.find_structural("prim::Loop"), nullptr);
}

TEST_F(Look, AvailableFromIsTheNextOpsetThatMaps) {
  EXPECT_EQ(table.available_from("aten::sort", "", 7, schemas), 10);
  EXPECT_EQ(table.available_from("aten::tril", "", 7, schemas), 14);
  EXPECT_EQ(table.available_from("aten::roll", "", 16, schemas), 18);
  EXPECT_EQ(table.available_from("aten::roll", "", 14, schemas), 15);
  EXPECT_EQ(table.available_from("aten::roll", "", 26, schemas), std::nullopt);
  EXPECT_EQ(table.available_from("aten::nothing", "", 7, schemas), std::nullopt);
}

TEST_F(Look, FactsOfAnOverloadAreThoseOfItsBaseName) {
  EXPECT_EQ(table.facts("aten::add", "Scalar", schemas), "pointwise");
  EXPECT_EQ(table.facts("aten::add_", "Tensor", schemas), "pointwise");
  EXPECT_EQ(table.facts("aten::relu", "", schemas), "same");
  EXPECT_EQ(table.facts("aten::mul", "", schemas), "");
  EXPECT_EQ(table.facts("aten::nothing", "", schemas), "");
}

TEST_F(Look, SourceLinesOfPlaces) {
  EXPECT_EQ(table.source_line(find("aten::relu", 9).op->place), "aten::relu: {facts: same, 7: Relu}");
  EXPECT_EQ(table.source_line({"nowhere.yaml", 1, 1}), "");
  EXPECT_EQ(table.source_line({"t.yaml", 1000, 1}), "");
}

TEST(TableAliases, InACircleAreUnknown) {
  const Table table =
      table_of({.operators = "aten::a: {alias: aten::b}\naten::b: {alias: aten::a}\naten::c: {alias: aten::z}\n"});
  EXPECT_EQ(table.find("aten::a", "", 9, schema::Registry()).status, Status::unknown);
  EXPECT_EQ(table.find("aten::c", "", 9, schema::Registry()).status, Status::unknown);
}

// In processor time, which a busy machine doesn't change.
TEST(ShippedTable, IsReadyAtOnce) {
  const schema::Registry schemas;
  const std::clock_t start = std::clock();
  const bool found = Table::shipped().find("aten::relu", "", 17, schemas).status == Status::rows;
  const double milliseconds = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_TRUE(found);
  EXPECT_LT(milliseconds, 5);
  RecordProperty("microseconds", static_cast<int>(milliseconds * 1000));
}

}  // namespace
}  // namespace compatcheck::mapping
