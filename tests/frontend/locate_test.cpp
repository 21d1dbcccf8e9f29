#include "frontend/locate.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <optional>

#include "compatcheck/error.h"
#include "frontend/sample_archive.h"

namespace compatcheck::frontend {
namespace {

using ::testing::AllOf;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Variables set for a test and put back after it.
class Environment {
 public:
  void set(const std::string& name, const std::string& value) {
    if (!before_.contains(name))
      before_[name] = std::getenv(name.c_str()) ? std::optional<std::string>(std::getenv(name.c_str())) : std::nullopt;
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : before_) value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
  }

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

LoadOptions with_libtorch(const std::filesystem::path& folder) {
  LoadOptions options;
  options.libtorch = folder;
  return options;
}

LoadOptions with_helper(const std::filesystem::path& file) {
  LoadOptions options;
  options.helper = file;
  return options;
}

class LocateTest : public ::testing::Test {
 protected:
  LocateTest() {
    for (const char* name :
         {"COMPATCHECK_LIBTORCH", "LIBTORCH", "COMPATCHECK_HELPER", "COMPATCHECK_PYTHON", "VIRTUAL_ENV", "CONDA_PREFIX"})
      environment.set(name, "");
    environment.set("HOME", (folder.path() / "home").string());
    environment.set("PATH", "/nonexistent");
  }
  std::filesystem::path libtorch(const std::string& name, const std::string& version) {
    folder.write(name + "/lib/libtorch_cpu.so", "");
    folder.write(name + "/version.py", "from typing import Optional\n__version__ = '" + version + "'\n");
    return folder.path() / name;
  }

  Folder folder;
  Environment environment;
};

TEST_F(LocateTest, NamedByOptionOrVariable) {
  const auto root = libtorch("a", "2.13.1+cu130");
  const Libtorch found = find_libtorch(with_libtorch(root));
  EXPECT_EQ(found.lib, root / "lib");
  EXPECT_EQ(found.version, "2.13.1+cu130");
  EXPECT_EQ(find_libtorch(with_libtorch(root / "lib")).lib, root / "lib");
  environment.set("COMPATCHECK_LIBTORCH", root.string());
  EXPECT_EQ(find_libtorch({}).lib, root / "lib");
  environment.set("COMPATCHECK_LIBTORCH", "");
  environment.set("LIBTORCH", root.string());
  EXPECT_EQ(find_libtorch({}).lib, root / "lib");
}

TEST_F(LocateTest, WhatIsNamedMustServe) {
  const auto old = libtorch("old", "2.4.0");
  EXPECT_THAT([&] { find_libtorch(with_libtorch(old)); },
              ThrowsMessage<UsageError>("LoadOptions::libtorch names " + old.string() +
                                        ", which is libtorch 2.4.0; this compatcheck works with 2.13"));
  environment.set("COMPATCHECK_LIBTORCH", folder.path().string());
  EXPECT_THAT([&] { find_libtorch({}); },
              ThrowsMessage<UsageError>("COMPATCHECK_LIBTORCH names " + folder.path().string() +
                                        ", where there is no libtorch_cpu.so (looked there, in lib/ and in torch/lib/)"));
}

TEST_F(LocateTest, TheActiveEnvironmentsTorch) {
  libtorch("venv/lib/python3.11/site-packages/torch", "2.13.0+cpu");
  environment.set("VIRTUAL_ENV", (folder.path() / "venv").string());
  EXPECT_EQ(find_libtorch({}).lib, folder.path() / "venv/lib/python3.11/site-packages/torch/lib");
}

TEST_F(LocateTest, TheTorchOfThePythonOnThePath) {
  libtorch("other/lib/python3.12/site-packages/torch", "2.13.0");
  const auto python = folder.write("other/bin/python3", "#!/bin/sh\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  environment.set("PATH", "/nonexistent:" + python.parent_path().string());
  EXPECT_EQ(find_libtorch({}).lib, folder.path() / "other/lib/python3.12/site-packages/torch/lib");
}

TEST_F(LocateTest, AnotherVersionIsPassedOver) {
  libtorch("venv/lib/python3.11/site-packages/torch", "1.13.0");
  libtorch("home/.local/lib/python3.11/site-packages/torch", "2.13.0");
  environment.set("VIRTUAL_ENV", (folder.path() / "venv").string());
  EXPECT_EQ(find_libtorch({}).lib, folder.path() / "home/.local/lib/python3.11/site-packages/torch/lib");
}

TEST_F(LocateTest, HelpersThatAreNamed) {
  const auto helper = folder.write("helper", "");
  EXPECT_EQ(find_helper(with_helper(helper)), helper);
  environment.set("COMPATCHECK_HELPER", helper.string());
  EXPECT_EQ(find_helper({}), helper);
  environment.set("COMPATCHECK_HELPER", "/nonexistent/helper");
  EXPECT_THAT([&] { find_helper({}); },
              ThrowsMessage<UsageError>(
                  "COMPATCHECK_HELPER names /nonexistent/helper as the TorchScript helper program, which is not there"));
}

LoadOptions with_module() {
  LoadOptions options;
  options.op_modules = {"pkg.ops"};
  return options;
}

TEST_F(LocateTest, APythonWithTorchRunsModelsWithModules) {
  EXPECT_THAT([&] { find_runner(with_module()); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("no Python with torch 2.4 or later found to import pkg.ops"),
                                              HasSubstr("COMPATCHECK_PYTHON"))));
  const auto old = folder.write("old/bin/python3", ""), active = folder.write("venv/bin/python3", "");
  libtorch("old/lib/python3.11/site-packages/torch", "2.3.1");
  environment.set("PATH", old.parent_path().string());
  EXPECT_THAT([&] { find_runner(with_module()); }, ThrowsMessage<UsageError>(HasSubstr(old.string() + " (torch 2.3.1)")));
  libtorch("venv/lib/python3.12/site-packages/torch", "2.4.0+cpu");
  environment.set("PATH", old.parent_path().string() + ":" + active.parent_path().string());
  const Runner found = find_runner(with_module());
  EXPECT_EQ(found.program, active);
  EXPECT_TRUE(found.is_python());
  EXPECT_THAT(found.arguments, ::testing::ElementsAre("-c", std::string(python_helper)));
}

TEST_F(LocateTest, TheUsersOwnPackagesCount) {
  const auto python = folder.write("usr/bin/python3", "");
  libtorch("home/.local/lib/python3.11/site-packages/torch", "3.0.1");
  environment.set("PATH", python.parent_path().string());
  EXPECT_EQ(find_runner(with_module()).program, python);
}

TEST_F(LocateTest, APythonThatIsNamedRunsModelsUnlessAHelperIs) {
  const auto python = folder.write("python", ""), helper = folder.write("helper", "");
  LoadOptions options;
  options.python = python;
  EXPECT_EQ(find_runner(options).program, python);
  environment.set("COMPATCHECK_PYTHON", python.string());
  EXPECT_EQ(find_runner({}).program, python);
  environment.set("COMPATCHECK_HELPER", helper.string());
  environment.set("COMPATCHECK_LIBTORCH", libtorch("a", "2.13.1").string());
  const Runner found = find_runner({});
  EXPECT_EQ(found.program, helper);
  EXPECT_FALSE(found.is_python());
  options.python = "/nonexistent/python";
  EXPECT_THAT([&] { find_runner(options); },
              ThrowsMessage<UsageError>("LoadOptions::python names /nonexistent/python as a Python, which is not there"));
}

// The targets are those of our Makefile.
TEST_F(LocateTest, SaysHowToBuildTheHelper) {
  EXPECT_THAT(missing_helper({"/opt/bin/compatcheck-torchscript", "/usr/libexec/compatcheck-torchscript"}),
              AllOf(HasSubstr("\n  /opt/bin/compatcheck-torchscript\n  /usr/libexec/compatcheck-torchscript\n"),
                    HasSubstr("`make` builds it: build/libexec/compatcheck-torchscript"), HasSubstr("`make wheel LIBTORCH=ON`"),
                    HasSubstr("COMPATCHECK_HELPER=FILE")));
}

}  // namespace
}  // namespace compatcheck::frontend
