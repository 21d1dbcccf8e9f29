#include "cli/changed_models.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compatcheck/error.h"

extern char** environ;

namespace compatcheck::cli {
namespace {

[[noreturn]] void cannot(const std::string& why) { throw UsageError("--changed-since: " + why); }

// What git prints; its errors go to stderr as they are.
std::string git(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) cannot(std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  words.insert(words.begin(), "git");
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, "git", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string text;
  std::array<char, 4096> bytes{};
  for (ssize_t got = 0; error == 0 && ((got = ::read(ends[0], bytes.data(), bytes.size())) > 0 || (got < 0 && errno == EINTR));)
    if (got > 0) text.append(bytes.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  if (error != 0) cannot(std::string("git can't be run: ") + std::strerror(error));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) cannot("git can't tell what has changed (see above)");
  return text;
}

std::filesystem::path whole_path(const std::filesystem::path& path) {
  std::error_code error;
  const auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
  return error ? path : whole;
}

std::set<std::filesystem::path> changed_since(const std::string& revision) {
  if (revision.empty() || revision.front() == '-') cannot("'" + revision + "' is no revision");
  std::string root = git({"rev-parse", "--show-toplevel"});
  while (!root.empty() && root.back() == '\n') root.pop_back();
  const std::string names = git({"diff", "--name-only", "-z", revision, "--"}) + git({"-C", root, "ls-files", "--others", "--exclude-standard", "-z"});
  std::set<std::filesystem::path> files;
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find('\0', at), names.size());
    files.insert(whole_path(std::filesystem::path(root) / names.substr(at, end - at)));
    at = end + 1;
  }
  return files;
}

bool lies_in(const std::filesystem::path& file, const std::filesystem::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

}  // namespace

std::vector<std::string> changed_models(const std::vector<std::string>& models, const std::vector<std::string>& settings, const std::string& revision) {
  const auto files = changed_since(revision);
  const auto has_changed = [&](const std::string& given) {
    const auto path = whole_path(given);
    return std::ranges::any_of(files, [&](const auto& file) { return lies_in(file, path); });   // a file, or a folder of tables
  };
  if (std::ranges::any_of(settings, has_changed)) return models;
  std::vector<std::string> changed;
  std::ranges::copy_if(models, std::back_inserter(changed), [&](const std::string& model) { return model == "-" || has_changed(model); });
  return changed;
}

}  // namespace compatcheck::cli
