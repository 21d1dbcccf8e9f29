// How the front end keeps a helper that crashes, hangs, grows or lies in bounds. The helper here is fake_helper.cpp.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <limits>
#include <thread>

#include "compatcheck/error.h"
#include "frontend/load.h"
#include "frontend/sample_archive.h"

namespace compatcheck::frontend {
namespace {

using testing::Folder;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class HelperTest : public ::testing::Test {
 protected:
  HelperTest() {
    folder.write("lib/libtorch_cpu.so", "");
    folder.write("build-version", "2.13.0+cpu\n");
  }
  LoadOptions options() const {
    return {.libtorch = folder.path(),
            .helper = COMPATCHECK_FAKE_HELPER,
            .op_libraries = {},
            .schemas = {},
            .timeout_seconds = 30,
            .memory_mb = 256,
            .frontend = FrontendKind::libtorch,
            .cancelled = {}};
  }
  std::filesystem::path model(const std::string& name) const {
    return folder.write(name + ".pt", testing::zip(testing::torchscript_records()));
  }

  struct Seen {
    std::string pid, loads, path, read;
  };
  static Seen seen(const Loaded& loaded) {
    const auto& program = std::get<ir::Program>(loaded.content);
    return {program.producer, program.notes.at(0).subject, program.notes.at(0).message, program.libtorch_version};
  }
  Seen load(Frontend& frontend, const std::string& name) const { return seen(frontend.load(model(name))); }
  void fails(const std::string& name, const std::string& message) {
    Frontend frontend(options());
    EXPECT_THAT([&] { frontend.load(model(name)); },
                ThrowsMessage<ModelError>((folder.path() / (name + ".pt")).string() + ": " + message));
    EXPECT_EQ(load(frontend, "sound").loads, "1") << "no fresh helper after " << name;
  }

  Folder folder;
};

TEST_F(HelperTest, OneHelperReadsAllModels) {
  Frontend frontend(options());
  const Seen first = load(frontend, "a"), second = load(frontend, "b");
  EXPECT_EQ(first.pid, second.pid);
  EXPECT_EQ(second.loads, "2");
  EXPECT_EQ(first.path, (folder.path() / "a.pt").string());
  EXPECT_EQ(frontend.libtorch_version(), "2.13.0");
}

TEST_F(HelperTest, BoundsWithoutEndAreNoBounds) {
  auto patient = options();
  for (const double seconds : {1e10, 1e300, std::numeric_limits<double>::infinity()}) {
    patient.timeout_seconds = seconds;
    for (const std::uint64_t megabytes :
         {std::uint64_t{1} << 44, std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max()}) {
      patient.memory_mb = megabytes;
      Frontend frontend(patient);
      EXPECT_EQ(load(frontend, "slow").loads, "1") << seconds << " s, " << megabytes << " MB";
    }
  }
}

TEST_F(HelperTest, CrashesAreModelErrors) {
  fails("segv", "the loader crashed (SIGSEGV): the code is probably nested too deeply or the file is damaged");
  fails("abort", "the loader crashed (SIGABRT); it said: terminate called: too much");
  fails("exit", "the loader ended by itself (exit code 7); it said: giving up");
}

TEST_F(HelperTest, LiesAreModelErrors) {
  fails("garbage", "the loader's answer is damaged");
  fails("half", "the loader ended by itself (exit code 0)");
}

TEST_F(HelperTest, DamagedAnswersAreModelErrors) {
  Frontend frontend(options());
  EXPECT_THAT([&] { load(frontend, "cut"); }, ThrowsMessage<ModelError>(HasSubstr("the loader's answer is cut short")));
  EXPECT_THAT([&] { load(frontend, "other"); }, ThrowsMessage<InternalError>(HasSubstr("answered another question")));
}

TEST_F(HelperTest, ReportedErrorsKeepTheirKind) {
  Frontend frontend(options());
  EXPECT_THAT([&] { load(frontend, "refuse"); },
              ThrowsMessage<ModelError>((folder.path() / "refuse.pt").string() + ": record data/1 is damaged"));
  EXPECT_THAT([&] { load(frontend, "usage"); }, ThrowsMessage<UsageError>("libacme.so: not found"));
  EXPECT_THAT([&] { load(frontend, "foreign"); },
              ThrowsMessage<ModelError>((folder.path() / "foreign.pt").string() + ": Unknown type name"));
  EXPECT_EQ(load(frontend, "sound").loads, "4");
}

TEST_F(HelperTest, HangingEndsInTime) {
  for (const std::string name : {"hang", "spin"}) {
    LoadOptions impatient = options();
    impatient.timeout_seconds = 0.5;
    Frontend frontend(impatient);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THAT([&] { load(frontend, name); },
                ThrowsMessage<ModelError>(
                    HasSubstr("stopped after 0.5 s without an answer (LoadOptions::timeout_seconds gives it more)")));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
    EXPECT_EQ(load(frontend, "sound").loads, "1");
  }
}

TEST_F(HelperTest, MemoryIsBounded) {
  Frontend frontend(options());
  EXPECT_THAT([&] { load(frontend, "eat"); }, ThrowsMessage<ModelError>(HasSubstr("memory")));
  EXPECT_NO_THROW(load(frontend, "sound"));
}

TEST_F(HelperTest, ChatterIsKeptFromTheHost) {
  Frontend frontend(options());
  EXPECT_EQ(load(frontend, "chatter").loads, "1");
}

TEST_F(HelperTest, CancellingEndsTheWait) {
  LoadOptions cancelled = options();
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  cancelled.cancelled = [until] { return std::chrono::steady_clock::now() > until; };
  Frontend frontend(cancelled);
  EXPECT_THROW(load(frontend, "hang"), Cancelled);
}

TEST_F(HelperTest, LeftoversOfEarlierModelsGetAFreshHelper) {
  Frontend frontend(options());
  const Seen first = load(frontend, "a");
  const Seen second = load(frontend, "second");  // refused by the first helper
  EXPECT_NE(first.pid, second.pid);
  EXPECT_EQ(second.loads, "1");
  const Seen third = load(frontend, "fragile");  // crashes any but a fresh one
  EXPECT_NE(second.pid, third.pid);
  EXPECT_THAT([&] { load(frontend, "never"); }, ThrowsMessage<ModelError>(HasSubstr("stub in the way")));
}

TEST_F(HelperTest, OneKilledBetweenModelsIsReplaced) {
  Frontend frontend(options());
  const Seen first = load(frontend, "a");
  ASSERT_EQ(::kill(std::stoi(first.pid), SIGKILL), 0);
  EXPECT_NE(load(frontend, "b").pid, first.pid);
}

TEST_F(HelperTest, EndsWithTheFrontend) {
  pid_t pid = 0;
  {
    Frontend frontend(options());
    pid = std::stoi(load(frontend, "a").pid);
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);  // reaped too
}

TEST_F(HelperTest, ABrokenSocketRaisesNoSignal) {
  Frontend frontend(options());
  const Seen first = load(frontend, "a");
  ::kill(std::stoi(first.pid), SIGSTOP);  // alive, but deaf
  ::kill(std::stoi(first.pid), SIGKILL);
  EXPECT_NO_THROW(load(frontend, "b"));
}

TEST_F(HelperTest, GetsNoneOfTheHostsDescriptors) {
  const int leaky = ::open("/dev/null", O_RDONLY);  // not close-on-exec, as in many a host
  Frontend frontend(options());
  const auto answer = frontend.registered_schemas();
  ::close(leaky);
  EXPECT_EQ(answer.at(0), "0 1 2 3 ");
  EXPECT_THAT(answer.at(1), ::testing::StartsWith((folder.path() / "lib").string()));
}

TEST_F(HelperTest, BytesReachItAsAFile) {
  Frontend frontend(options());
  const std::string bytes = testing::zip(testing::torchscript_records());
  const Loaded loaded = frontend.load_bytes(testing::as_bytes(bytes), "<stdin>");
  EXPECT_EQ(seen(loaded).read, "read");
  EXPECT_THAT(seen(loaded).path, ::testing::StartsWith("/proc/self/fd/"));
  EXPECT_EQ(loaded.file_bytes, bytes.size());
  EXPECT_THAT([&] { frontend.load_bytes(testing::as_bytes("junk"), "<stdin>"); },
              ThrowsMessage<ModelError>(HasSubstr("<stdin>: is neither")));
}

TEST_F(HelperTest, TextNeedsNoHelper) {
  LoadOptions none = options();
  none.helper = folder.path() / "absent";
  Frontend frontend(none);
  const Loaded loaded =
      frontend.load(folder.write("g.txt", "graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)\n  return (%y)\n"));
  EXPECT_EQ(loaded.format, Format::graph_text);
  EXPECT_EQ(std::get<ir::Graph>(loaded.content).top()->first()->op(), "aten::relu");
  EXPECT_THAT([&] { frontend.load(model("a")); },
              ThrowsMessage<UsageError>(HasSubstr("absent as the TorchScript helper program, which is not there")));
}

TEST_F(HelperTest, AnotherLibtorchIsAUsageError) {
  ::setenv("FAKE_ABI", "9", 1);
  Frontend frontend(options());
  EXPECT_THAT([&] { load(frontend, "a"); }, ThrowsMessage<UsageError>(HasSubstr("this compatcheck works with 2.13")));
  ::unsetenv("FAKE_ABI");
  ::setenv("FAKE_DEAD", "1", 1);
  EXPECT_THAT([&] { load(frontend, "a"); },
              ThrowsMessage<UsageError>(HasSubstr("does not run with the libtorch in " + (folder.path() / "lib").string())));
  ::unsetenv("FAKE_DEAD");
  EXPECT_NO_THROW(load(frontend, "a"));
}

TEST_F(HelperTest, ManyThreadsWithAFrontendEach) {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  const auto sound = model("sound"), crashing = model("segv");
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      Frontend frontend(options());
      for (int turn = 0; turn < 6; ++turn) {
        const bool crash = (i + turn) % 3 == 0;
        try {
          frontend.load(crash ? crashing : sound);
          right += !crash;
        } catch (const ModelError&) {
          right += crash;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 48);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a helper was left behind";
}

}  // namespace
}  // namespace compatcheck::frontend
