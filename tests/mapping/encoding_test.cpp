// Compiled-in tables say what the files said.
#include "mapping/reading/encoding.h"

#include <thread>

#include "mapping/tables.h"

namespace compatcheck::mapping {
namespace {

Tables shipped_tables() {
  std::vector<Defect> defects;
  Tables tables = read_folder(std::string(COMPATCHECK_SOURCE_DIR) + "/mappings", "mappings/", defects);
  EXPECT_EQ(describe(defects, tables), "");
  return tables;
}

bool same(const Validity& a, const Validity& b) {
  return a.required == b.required &&
         std::ranges::equal(a.when, b.when, [](const Conditions& x, const Conditions& y) { return equal(x, y); });
}

bool same(const OperatorRows& a, const OperatorRows& b) {
  return a.name == b.name && a.alias == b.alias && a.schema == b.schema && a.schema_place.line == b.schema_place.line &&
         a.facts == b.facts && a.complex.kind == b.complex.kind && a.complex.arguments == b.complex.arguments &&
         same(a.valid, b.valid) && a.place.line == b.place.line &&
         std::ranges::equal(a.history, b.history, [](const Entry& x, const Entry& y) {
           return x.opset == y.opset && equal(x.rows, y.rows) && x.place.file == y.place.file && x.place.line == y.place.line &&
                  x.place.column == y.place.column;
         });
}

TEST(Encoding, BringsBackEveryShippedOperator) {
  const Tables tables = shipped_tables();
  const EncodedTables encoded(encode(tables));
  ASSERT_EQ(encoded.size(), tables.operators.size());
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    EXPECT_EQ(encoded.name(i), tables.operators[i].name);
    EXPECT_TRUE(same(encoded.rows(i), tables.operators[i])) << encoded.name(i);
    EXPECT_EQ(encoded.find(tables.operators[i].name), &encoded.rows(i));
  }
  EXPECT_EQ(encoded.find("aten::"), nullptr);
  EXPECT_EQ(encoded.find("zzz::last"), nullptr);
  ASSERT_EQ(encoded.changes().size(), tables.changes.size());
  for (std::size_t i = 0; i < tables.changes.size(); ++i) EXPECT_EQ(encoded.changes()[i].why, tables.changes[i].why);
  EXPECT_EQ(encoded.structural().size(), tables.structural.size());
  for (const auto& [file, text] : tables.sources) EXPECT_EQ(encoded.source(file), text);
}

TEST(Encoding, WhatIsCompiledInIsWhatTheFilesSay) {
  const Tables tables = shipped_tables();
  const auto compiled = Table::shipped().operators();
  ASSERT_EQ(compiled.size(), tables.operators.size());
  for (std::size_t i = 0; i < compiled.size(); ++i) EXPECT_TRUE(same(*compiled[i], tables.operators[i])) << compiled[i]->name;
}

TEST(Encoding, EveryField) {
  const std::string text =
      "acme::f.a:\n"
      "  schema: \"acme::f.a(Tensor a) -> Tensor\"\n"
      "  facts: same\n"
      "  product: [a]\n"
      "  valid: {when: {a: {each: {min: 1}}}, requires: [r]}\n"
      "  9: {to: [A, d::B], inputs: [], requires: [r], lifted: l, random: true, approximate: p, complex: true, attributes: {k: "
      "{ints: a}, l: [-1, 2.5], m: [true], n: [s]},\n"
      "      when: [{a: {each: {length: {not: ~}}, elements: 1, min: -.5, max: .inf, none: true, constant: false, used: true, "
      "dtype: [f32], rank: known, size: {-2: known, 3: {max: 4}}}},\n"
      "             {b: {equals: [x], rank: [1, 2]}}]}\n";
  Tables tables;
  tables.operators = read_operators(yaml::Source(text, "t.yaml")).items;
  ASSERT_EQ(tables.operators.size(), 1u);
  const EncodedTables encoded(encode(tables));
  EXPECT_TRUE(same(encoded.rows(0), tables.operators[0]));
  EXPECT_EQ(encoded.schemas(), std::vector<std::string>{"acme::f.a(Tensor a) -> Tensor"});
}

TEST(Encoding, BrokenBytesAreAnInternalError) {
  Tables tables;
  tables.operators = read_operators(yaml::Source("aten::a: {7: Relu}", "t.yaml")).items;
  const std::string bytes = encode(tables);
  for (std::size_t length = 0; length + 1 < bytes.size(); ++length)
    EXPECT_THROW(EncodedTables(bytes.substr(0, length)).rows(0), InternalError) << length;
}

TEST(Encoding, DecodesOnceFromSeveralThreads) {
  const EncodedTables encoded(encode(shipped_tables()));
  std::vector<const OperatorRows*> first(encoded.size()), second(encoded.size());
  const auto read = [&](std::vector<const OperatorRows*>& into) {
    for (std::size_t i = 0; i < encoded.size(); ++i) into[i] = &encoded.rows(i);
  };
  std::thread other([&] { read(second); });
  read(first);
  other.join();
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace compatcheck::mapping
