#include "cli/changed_models.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <unordered_set>

#include "compatcheck/error.h"

extern char** environ;

namespace compatcheck::cli {
namespace {

[[noreturn]] void cannot_compare(const std::string& why) { throw UsageError("--changed-since: " + why); }

// Returns git's output; its errors go to stderr unchanged.
std::string git(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) cannot_compare(std::strerror(errno));
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
  if (error != 0) cannot_compare(std::string("git can't be run: ") + std::strerror(error));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) cannot_compare("git can't tell what has changed (see above)");
  return text;
}

std::filesystem::path whole_path(const std::filesystem::path& path) {
  std::error_code error;
  const auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
  return error ? path : whole;
}

// Git's knowledge of files, keyed by absolute path. Git's names are relative to the root of the repository, even if its
// configuration prefers relative names.
class Repository {
 public:
  explicit Repository(const std::string& revision) {
    if (revision.empty() || revision.front() == '-') cannot_compare("'" + revision + "' is no revision");
    std::string root = git({"rev-parse", "--show-toplevel"});
    if (root.ends_with('\n')) root.pop_back();
    const std::filesystem::path top = whole_path(root);
    for (const auto& name : names(git({"-C", root, "ls-files", "-z"}))) tracked_.insert((top / name).string());
    for (const auto& name : names(git({"-C", root, "diff", "--name-only", "-z", revision, "--"})))
      for (auto path = whole_path(top / name); changed_.insert(path.string()).second && path.has_relative_path();)
        path = path.parent_path();
  }

  // For a folder: whether anything in it has changed. Files that git doesn't track count as changed.
  bool has_changed(const std::filesystem::path& given) const {
    const auto path = whole_path(given);
    if (changed_.contains(path.string())) return true;
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) return !tracked_.contains(path.string());
    for (std::filesystem::recursive_directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      std::error_code none;
      if (entry->is_directory(none)) continue;
      const auto file = whole_path(entry->path()).string();
      if (changed_.contains(file) || !tracked_.contains(file)) return true;
    }
    return static_cast<bool>(error);
  }

 private:
  static std::vector<std::string> names(const std::string& text) {
    std::vector<std::string> all;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\0', at), text.size());
      all.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return all;
  }

  std::unordered_set<std::string> tracked_;
  std::unordered_set<std::string> changed_;  // changed files, and the folders that contain them
};

}  // namespace

std::vector<std::string> changed_models(const std::vector<std::string>& models, std::span<const std::filesystem::path> settings,
                                        const std::string& revision) {
  const Repository repository(revision);
  if (std::ranges::any_of(settings, [&](const auto& file) { return repository.has_changed(file); })) return models;
  std::vector<std::string> changed;
  std::ranges::copy_if(models, std::back_inserter(changed),
                       [&](const std::string& model) { return model == "-" || repository.has_changed(model); });
  return changed;
}

}  // namespace compatcheck::cli
