#include <gtest/gtest.h>

#include <algorithm>

#include "symbolic/statement.h"

namespace compatcheck::symbolic {
namespace {

std::string constant(const std::string& name, const std::string& value) {
  return value == "None" ? "  %" + name + " : NoneType = prim::Constant()\n"
                         : "  %" + name + " : int = prim::Constant[value=" + value + "]()\n";
}

// x[start:end:step]
std::string sliced(const std::string& input, const std::string& start, const std::string& end, const std::string& step = "1") {
  return state({{"x", input}}, constant("d", "0") + constant("s", start) + constant("e", end) + constant("t", step) +
                                   "  %r : Tensor = aten::slice(%x, %d, %s, %e, %t)\n  return (%r)")
      .output();
}

// Every start, end and step around small sizes, as Python's range counts.
TEST(Slice, CountsAsPython) {
  for (std::int64_t size : {0, 1, 2, 5})
    for (std::int64_t start = -7; start <= 7; ++start)
      for (std::int64_t end = -7; end <= 7; ++end)
        for (std::int64_t step : {1, 2, 3}) {
          std::int64_t from = start < 0 ? std::max<std::int64_t>(start + size, 0) : std::min(start, size);
          const std::int64_t to = end < 0 ? std::max<std::int64_t>(end + size, 0) : std::min(end, size);
          std::int64_t count = 0;
          for (; from < to; from += step) ++count;
          ASSERT_EQ(sliced("f32[" + std::to_string(size) + "]", std::to_string(start), std::to_string(end), std::to_string(step)),
                    "f32[" + std::to_string(count) + "]")
              << size << " [" << start << ":" << end << ":" << step << "]";
        }
}

TEST(Slice, OfNamedSizesOnlyWhatHoldsForAll) {
  EXPECT_EQ(sliced("f32[n]", "None", "None"), "f32[n]");
  EXPECT_EQ(sliced("f32[n]", "0", "9223372036854775807"), "f32[n]");
  EXPECT_EQ(sliced("f32[n]", "0", "9223372036854775807", "2"), "f32[(n + 1)//2]");
  EXPECT_EQ(sliced("f32[n]", "1", "None"), "f32[n - 1]");
  EXPECT_EQ(sliced("f32[n]", "0", "-1"), "f32[n - 1]");
  EXPECT_EQ(sliced("f32[n]", "-1", "None"), "f32[min(n, 1)]");
  EXPECT_EQ(sliced("f32[n]", "0", "1"), "f32[min(n, 1)]");
  EXPECT_EQ(sliced("f32[n]", "2", "None"), "f32[?]");
  EXPECT_EQ(sliced("f32[n]", "0", "4"), "f32[?]");
}

TEST(Slice, UnknownStaysUnknown) {
  EXPECT_EQ(sliced("f32[?]", "0", "4"), "f32[?]");
  EXPECT_EQ(sliced("f32", "0", "4"), "f32[*]");
}

}  // namespace
}  // namespace compatcheck::symbolic
