// What leaves the library is an Error, whatever was thrown inside.
#include "analysis/boundary.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <new>
#include <stdexcept>

#include "compatcheck/check.h"
#include "compatcheck/render.h"

namespace compatcheck {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

constexpr std::string_view relu = "graph(%x : Float(2, 3)):\n  %y : Tensor = aten::relu(%x)\n  return (%y)\n";

// The caller's callback runs inside of every long call: from there a test can throw what it likes.
template <class Exception>
RunOptions throwing(std::string_view stage, Exception exception) {
  return {.progress =
              [stage, exception](const Progress& progress) {
                if (progress.stage == stage) throw exception;
              },
          .cancel = {}};
}

Model load_relu(RunOptions run = {}) { return Loader({.run = std::move(run)}).load(std::as_bytes(std::span(relu)), "relu.ir"); }

TEST(Boundary, OfLoad) {
  for (const char* stage : {"load", "normalize"}) {
    EXPECT_THAT([&] { load_relu(throwing(stage, std::bad_alloc())); }, ThrowsMessage<InternalError>("relu.ir: out of memory"));
    EXPECT_THAT([&] { load_relu(throwing(stage, std::out_of_range("beyond the end"))); },
                ThrowsMessage<InternalError>("relu.ir: beyond the end (this is a defect of compatcheck; please report it)"));
  }
}

TEST(Boundary, OfCheck) {
  const Model model = load_relu();
  EXPECT_THAT(
      [&] { check(model, {.run = throwing("check", std::filesystem::filesystem_error("status", "a.pt", std::error_code()))}); },
      ThrowsMessage<InternalError>(StartsWith("relu.ir: filesystem error: status")));
  EXPECT_THAT([&] { check(model, {.run = throwing("check", std::bad_alloc())}); },
              ThrowsMessage<InternalError>("relu.ir: out of memory"));
}

TEST(Boundary, ErrorsStayWhatTheyAre) {
  const Model model = load_relu();
  EXPECT_THAT([&] { check(model, {.run = throwing("check", Cancelled("enough"))}); }, ThrowsMessage<Cancelled>("enough"));
  EXPECT_THROW(check(model, {.opset = 99}), UsageError);
  EXPECT_THROW(load("nosuch.pt"), ModelError);
  EXPECT_THROW(Loader({.mappings = {"nosuch.yaml"}}), TableError);
}

TEST(Boundary, GivesWhatTheWorkGives) {
  EXPECT_EQ(analysis::guarded("x", [] { return 3; }), 3);
  EXPECT_THAT([] { analysis::guarded("the report", [] { throw std::logic_error("no"); }); },
              ThrowsMessage<InternalError>(HasSubstr("the report: no")));
}

TEST(FailureReport, HasTheExitCodeOfItsCause) {
  EXPECT_EQ(failure_report("a.pt", UsageError("x")).exit_code, 2);
  EXPECT_EQ(failure_report("a.pt", TableError("x")).exit_code, 2);
  EXPECT_EQ(failure_report("a.pt", ModelError("x")).exit_code, 3);
  EXPECT_EQ(failure_report("a.pt", InternalError("x")).exit_code, 3);
  const Report report = failure_report("folder/a.pt", ModelError("a.pt: is empty"));
  EXPECT_FALSE(report.convertible());
  EXPECT_EQ(render(report, Format::text), "a.pt\n\n  NOT CHECKED\n    a.pt: is empty\n\nexit 3\n");
}

}  // namespace
}  // namespace compatcheck
