// Any bytes are a table or a TableError; what reads survives encoding and can be looked up.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "mapping/reading/encoding.h"
#include "mapping/table.h"

namespace {

using namespace compatcheck::mapping;

void check(bool holds, const char* what) {
  if (holds) return;
  std::cerr << what << '\n';
  std::abort();
}

template <class Item>
void check_places(const FileContents<Item>& contents, const yaml::Source& source) {
  for (const Defect& defect : contents.defects) {
    check(defect.place.line >= 1 && defect.place.column >= 1, "a defect without a place");
    yaml::describe(defect.place, defect.message, yaml::line_of(source.text(), defect.place.line));
  }
}

void overlay(std::string_view text) {
  static const compatcheck::schema::Registry schemas;
  Table table = Table::shipped();
  table.overlay_text(text, "user.yaml");
  for (const OperatorRows* rows : table.operators()) {
    const auto [base, overload] = split_overload(rows->name);
    table.find(base, overload, 17, schemas);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const yaml::Source source(text, "t.yaml");
  Tables tables;
  auto operators = read_operators(source);
  auto changes = read_onnx_changes(source);
  auto structural = read_structural(source);
  check_places(operators, source);
  check_places(changes, source);
  check_places(structural, source);
  tables.operators = std::move(operators.items);
  tables.changes = std::move(changes.items);
  tables.structural = std::move(structural.items);
  const EncodedTables encoded(encode(tables));
  check(encoded.size() == tables.operators.size(), "operators were lost");
  for (std::size_t i = 0; i < encoded.size(); ++i)
    check(encoded.rows(i).history.size() == tables.operators[i].history.size(), "a history changed");
  check(encoded.changes().size() == tables.changes.size(), "changes were lost");
  if (!tables.operators.empty()) overlay(text);
  return 0;
}
