// Any bytes as a user's mapping file: read, put over the shipped tables and held against every schema, ONNX functions in it too.
#include <cstdint>
#include <string_view>

#include "lint/lint.h"
#include "schema/schema.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace compatcheck;
  mapping::Table table = mapping::Table::shipped();
  auto defects = table.overlay_text({reinterpret_cast<const char*>(data), size}, "user.yaml");
  schema::Registry schemas;
  for (const auto& schema : table.schemas()) try {
      schemas.add(schema);
    } catch (const schema::ParseError&) {  // a defect of its row
    }
  const auto wrong = lint::check_users(table, {.schemas = schemas, .conditions = {}, .fact_words = {}, .handlers = {}});
  defects.insert(defects.end(), wrong.begin(), wrong.end());
  for (const auto& defect : defects) {
    if (defect.place.line < 1 || defect.place.column < 1) __builtin_trap();
    lint::describe(table, defect);
  }
  for (const auto* rows : table.users()) {
    const auto [base, overload] = mapping::split_overload(rows->name);
    for (int opset = mapping::lowest_opset; opset <= mapping::highest_opset; ++opset) table.find(base, overload, opset, schemas);
  }
  return 0;
}
