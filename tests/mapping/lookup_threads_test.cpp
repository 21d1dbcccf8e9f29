// Tables and schemas are decoded when somebody first asks for them, which may be several threads at once.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mapping/table.h"
#include "schema/schema.h"
#include "threads.h"

namespace compatcheck::mapping {
namespace {

TEST(LookupThreads, OneTableAndOneRegistryForAll) {
  const Table table = Table::shipped();
  const schema::Registry schemas;
  const std::vector<std::string_view> names = schemas.names();
  ASSERT_GT(names.size(), 1000u);
  std::vector<std::vector<Lookup::Status>> found(threads, std::vector<Lookup::Status>(names.size()));
  std::vector<std::vector<std::size_t>> overloads(threads, std::vector<std::size_t>(names.size()));
  in_threads([&](std::size_t thread) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::size_t at = (i + thread * 7) % names.size();
      found[thread][at] = table.find(names[at], {}, 17, schemas).status;
      overloads[thread][at] = schemas.overloads(names[at]).size();
    }
  });
  for (std::size_t thread = 1; thread < threads; ++thread) {
    EXPECT_EQ(found[thread], found.front());
    EXPECT_EQ(overloads[thread], overloads.front());
  }
}

TEST(LookupThreads, CopiesOfATableWithRowsOfTheirOwn) {
  const Table shipped = Table::shipped();
  const schema::Registry schemas;
  in_threads([&](std::size_t thread) {
    Table own = shipped;
    const std::string op = "acme::op" + std::to_string(thread);
    EXPECT_TRUE(own.overlay_text(op + ": {schema: \"" + op + "(Tensor x) -> Tensor\", 9: Relu}\n", op + ".yaml").empty());
    EXPECT_EQ(own.find(op, {}, 9, schemas).status, Lookup::Status::rows);
    EXPECT_EQ(own.find("acme::op9", {}, 9, schemas).status, Lookup::Status::unknown);
    EXPECT_FALSE(own.structural().empty());
    EXPECT_GT(own.operators().size(), 500u);
  });
}

}  // namespace
}  // namespace compatcheck::mapping
