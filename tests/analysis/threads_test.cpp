// The library in several threads at once: what the public headers promise. `make test-tsan` runs it under ThreadSanitizer.
#include "threads.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include "compatcheck/check.h"
#include "compatcheck/convert.h"
#include "compatcheck/load.h"

namespace compatcheck {
namespace {

constexpr int opsets[] = {9, 13, 17, 20};

// Graphs that load: those of the command line's tests, less what is broken on purpose.
std::vector<std::filesystem::path> graphs() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(COMPATCHECK_SOURCE_DIR "/tests/cli/models")) {
    if (entry.path().extension() != ".ir") continue;
    try {
      load(entry.path());
      files.push_back(entry.path());
    } catch (const Error&) {
    }
  }
  std::ranges::sort(files);
  return files;
}

// What is compared between one thread and several.
struct Seen {
  Verdict verdict{};
  std::size_t operators = 0, findings = 0;
  std::string bytes;  // of the ONNX file; empty if the model isn't convertible
  bool operator==(const Seen&) const = default;
};

class Threads : public testing::Test {
 protected:
  Threads() { std::filesystem::create_directories(folder_); }
  ~Threads() override { std::filesystem::remove_all(folder_); }

  Seen look(const Model& model, int opset, std::size_t thread) const {
    const Report report = check(model, {.opset = opset});
    Seen seen{report.verdict, report.operators.size(), report.findings.size(), {}};
    if (!report.convertible()) return seen;
    const auto file = folder_ / (std::to_string(thread) + ".onnx");
    ConvertOptions options;
    options.opset = opset;
    convert(model, file, options);
    std::ifstream in(file, std::ios::binary);
    seen.bytes.assign(std::istreambuf_iterator<char>(in), {});
    return seen;
  }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("compatcheck-threads-" + std::to_string(getpid()));
};

TEST_F(Threads, EachWithALoaderOfItsOwn) {
  const auto files = graphs();
  ASSERT_GT(files.size(), 10u);
  std::vector<Seen> alone;
  for (const auto& file : files) alone.push_back(look(load(file), 17, 0));
  in_threads([&](std::size_t thread) {
    Loader loader;
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::size_t at = (i + thread * files.size() / threads) % files.size();
      EXPECT_EQ(look(loader.load(files[at]), 17, thread), alone[at]) << files[at];
    }
  });
}

// The first check of a model at an opset and its first conversion, too, may fall into several threads.
TEST_F(Threads, OneModelForAll) {
  std::vector<Model> models;
  for (const auto& file : graphs()) models.push_back(load(file));
  ASSERT_GT(models.size(), 10u);
  std::vector<std::vector<Seen>> seen(threads);
  in_threads([&](std::size_t thread) {
    for (const Model& model : models)
      for (const int opset : opsets) seen[thread].push_back(look(model, opset, thread));
  });
  for (const auto& other : seen) EXPECT_EQ(other, seen.front());
  EXPECT_TRUE(std::ranges::any_of(seen.front(), [](const Seen& each) { return !each.bytes.empty(); }));
}

// The last copy of a model may end in any thread.
TEST_F(Threads, ModelsEndWhereverTheyAreLast) {
  std::optional<Model> model = load(graphs().front());
  std::vector<Model> copies(threads, *model);
  model.reset();
  in_threads([&](std::size_t thread) {
    const Model own = std::move(copies[thread]);
    check(own, {.opset = 17});
  });
}

TEST_F(Threads, AnotherThreadCancels) {
  const Model model = load(graphs().front());
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  std::atomic<std::size_t> cancelled = 0;
  in_threads([&](std::size_t thread) {
    CheckOptions options;
    options.run.cancel = cancel;
    if (thread == 0) {
      *cancel = true;
      return;
    }
    for (;;) try {
        check(model, options);
      } catch (const Cancelled&) {
        ++cancelled;
        return;
      }
  });
  EXPECT_EQ(cancelled, threads - 1);
}

}  // namespace
}  // namespace compatcheck
