// The models that the arguments of `check` mean.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace compatcheck::cli {

// Folders are searched for .pt, .pt2, .pth, .torchscript and .ir files, and .txt files that hold a graph; in order of their names. What
// can't be looked into (a folder or text without leave, a link to nothing) stands among them, for the check to say so; pipes,
// sockets and devices are no models, and links to folders aren't followed, nor hidden folders searched. Anything else stays as it
// is ("-", a file, what doesn't exist). Each file comes once, where it came first. Throws UsageError for a folder without models.
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
