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

// Searches folders for model files, in order of their names. Files and folders that can't be read and links to nothing are
// included, so that the check reports them; pipes, sockets and devices are skipped. Links to folders aren't followed, and
// hidden folders aren't searched. Other names stay unchanged ("-", a file, a missing file). Each file is included once, at its
// first place. Throws UsageError for a folder without models.
struct FolderSearch {
  // Globs of excluded files. A glob without a slash is matched with the names of files and folders, another with the path as
  // reported, and with the path relative to the searched folder. '*' matches slashes, too.
  std::vector<std::string> exclude{};
  bool onnx = false;  // .onnx files are models, too
};
std::vector<std::string> model_files(const std::vector<std::string>& arguments, const FolderSearch& search);

// Whether a file is an ONNX file: by name, or by content if the name doesn't tell. Loading reports a file that can't be read.
bool is_onnx(const std::string& file);

// The lines of a list without surrounding blanks, except empty ones and those that begin with '#' (write ./#x.pt for such a
// file). If the list contains a NUL, the texts between NULs, unchanged. '-' is stdin. Throws UsageError.
std::vector<std::string> listed_models(const std::filesystem::path& list);

// The ONNX file of each model of a folder: FOLDER/sub/net.pt becomes OUT/sub/net.onnx.
struct FolderModel {
  std::string model;
  std::filesystem::path onnx;
};
std::vector<FolderModel> onnx_files_of(const std::filesystem::path& folder, const std::filesystem::path& out);

}  // namespace compatcheck::cli
