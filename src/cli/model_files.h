// The models that the arguments of `check` mean.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace compatcheck::cli {

// The names of model files end so. A .txt file is a model only if it holds a graph.
inline constexpr auto model_endings = std::to_array<std::string_view>({".pt", ".pt2", ".pth", ".torchscript", ".ir", ".txt"});

// Folders are searched for model files, in order of their names. What can't be looked into (a folder or text without leave, a
// link to nothing) stands among them, for the check to say so; pipes, sockets and devices are no models, and links to folders
// aren't followed, nor hidden folders searched. Anything else stays as it is ("-", a file, what doesn't exist). Each file comes
// once, where it came first. Throws UsageError for a folder without models.
struct FolderSearch {
  // Globs of what is left out. One without a slash is matched with the names of files and folders, another with the path as it
  // is reported, and with the path from the searched folder on. '*' matches slashes, too.
  std::vector<std::string> exclude{};
  bool onnx = false;  // .onnx files are models, too
};
std::vector<std::string> model_files(const std::vector<std::string>& arguments, const FolderSearch& search);

// The lines of a list but for empty ones and those that begin with '#' (a file of such a name: ./#x.pt), without blanks around
// them; or, as soon as there is one, what stands between NULs, as it is. '-' is stdin. Throws UsageError.
std::vector<std::string> listed_models(const std::filesystem::path& list);

}  // namespace compatcheck::cli
