// What leaves the library is an Error, whatever was thrown inside; or what a function of the caller threw.
#include "analysis/boundary.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <new>
#include <stdexcept>

#include "compatcheck/check.h"
#include "compatcheck/convert.h"
#include "compatcheck/log.h"
#include "compatcheck/render.h"

namespace compatcheck {
namespace {

using ::testing::HasSubstr;
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

// What no error of the library is.
struct OfTheCaller {
  int number;
};

template <class Call>
int caught(Call&& call) {
  try {
    call();
  } catch (const OfTheCaller& mine) {
    return mine.number;
  }
  return 0;
}

TEST(Callbacks, WhatTheyThrowLeavesLoadUnchanged) {
  for (const char* stage : {"load", "normalize"}) {
    EXPECT_THROW(load_relu(throwing(stage, std::bad_alloc())), std::bad_alloc);
    EXPECT_THAT([&] { load_relu(throwing(stage, std::out_of_range("beyond the end"))); },
                ThrowsMessage<std::out_of_range>("beyond the end"));
    EXPECT_EQ(caught([&] { load_relu(throwing(stage, OfTheCaller{7})); }), 7);
  }
}

TEST(Callbacks, WhatTheyThrowLeavesCheckUnchanged) {
  const Model model = load_relu();
  EXPECT_THROW(check(model, {.run = throwing("check", std::filesystem::filesystem_error("status", "a.pt", std::error_code()))}),
               std::filesystem::filesystem_error);
  EXPECT_EQ(caught([&] { check(model, {.run = throwing("check", OfTheCaller{8})}); }), 8);
  EXPECT_THAT([&] { check(model, {.run = throwing("check", InternalError("the caller's own"))}); },
              ThrowsMessage<InternalError>("the caller's own"));
}

// One call of the library within another: convert() checks first.
TEST(Callbacks, WhatTheyThrowLeavesConvertUnchanged) {
  const Model model = load_relu();
  const WriteBytes ignore = [](std::span<const std::byte>) {};
  EXPECT_EQ(caught([&] { convert(model, ignore, {.run = throwing("check", OfTheCaller{9})}); }), 9);
  EXPECT_EQ(caught([&] { convert(model, [](std::span<const std::byte>) { throw OfTheCaller{10}; }); }), 10);
  EXPECT_EQ(caught([&] { convert(model, ignore, {.accept = [](Report&) -> bool { throw OfTheCaller{11}; }}); }), 11);
}

TEST(Callbacks, WhatTheLogsSinkThrowsLeavesTheCallUnchanged) {
  set_log_sink(LogLevel::debug, [](LogLevel, std::string_view) { throw OfTheCaller{12}; });
  EXPECT_EQ(caught([&] { load_relu(); }), 12);
  set_log_sink(LogLevel::debug, {});
  EXPECT_EQ(caught([&] { load_relu(); }), 0);
}

TEST(Convert, WritesNothingThatIsNotAccepted) {
  const Model model = load_relu();
  std::size_t written = 0;
  const WriteBytes count = [&](std::span<const std::byte> bytes) { written += bytes.size(); };
  const Report refused = convert(model, count, {.accept = [](Report&) { return false; }});
  EXPECT_FALSE(refused.written);
  EXPECT_EQ(refused.exit_code, exit_findings);
  EXPECT_EQ(written, 0);
  const Report done = convert(model, count);
  ASSERT_TRUE(done.written);
  EXPECT_EQ(done.written->bytes, written);
  EXPECT_EQ(done.written->nodes, 1);
  EXPECT_EQ(done.written->opset, default_opset);
}

TEST(Log, HasAMessageOfEachStep) {
  std::string all;
  set_log_sink(LogLevel::info, [&](LogLevel level, std::string_view text) {
    EXPECT_NE(level, LogLevel::debug);
    all += std::string(text) + "\n";
  });
  check(load_relu());
  set_log_sink(LogLevel::info, {});
  EXPECT_THAT(all, HasSubstr("relu.ir"));
  EXPECT_THAT(all, HasSubstr("opset 17"));
}

TEST(Log, SpellsOutControlCharacters) {
  std::string all;
  set_log_sink(LogLevel::info, [&](LogLevel, std::string_view text) { all += text; });
  log(LogLevel::warning, "a\nb\x1b[2J");
  set_log_sink(LogLevel::info, {});
  EXPECT_EQ(all, "a\\nb\\x1b[2J");
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
  EXPECT_THAT([] { analysis::guarded("net.pt", []() -> int { throw std::bad_alloc(); }); },
              ThrowsMessage<InternalError>("net.pt: out of memory"));
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
