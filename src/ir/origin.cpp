#include "ir/origin.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace compatcheck::ir {
namespace {

// Found anywhere in a path with forward slashes.
constexpr std::array torch_paths{"-packages/torch/",     "/torch/nn/",    "/torch/jit/",      "/torch/_",
                                 "/torch/functional.py", "/torch/utils/", "/torch/autograd/", "/torch/ao/"};
constexpr std::array library_paths{"-packages/",          "/torchvision/models/", "/torchvision/ops/", "/torchvision/transforms/",
                                   "/torchaudio/models/", "/timm/models/",        "/timm/layers/",     "/transformers/models/"};

bool has_one_of(std::string_view path, const auto& parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return path.find(part) != path.npos; });
}

// A frozen module, or a file of Python's own library.
bool is_python_itself(std::string_view path) {
  const auto library = path.find("/lib/python3");
  return path.starts_with("<frozen ") || (library != path.npos && path.find("-packages/", library) == path.npos);
}

}  // namespace

Origin origin_of(const Location& place) {
  std::string_view path = place.file;
  std::string replaced;
  if (path.find('\\') != path.npos) {
    replaced = path;
    std::ranges::replace(replaced, '\\', '/');
    path = replaced;
  }
  if (path.empty() || path.starts_with("code/__torch__")) return Origin::archive;
  if (path.ends_with("/torch/jit/_trace.py")) return Origin::tracer;
  if (path.ends_with("/torch/jit/__init__.py") && place.function.find("trace") != std::string::npos) return Origin::tracer;
  // "<string>": operators that libtorch itself writes in TorchScript; "<eval_with_key>.6": code that torch.fx generates.
  if (path == "<string>" || path.starts_with("<eval_with_key>") || path.starts_with("torch/") || has_one_of(path, torch_paths))
    return Origin::torch;
  if (has_one_of(path, library_paths)) return Origin::library;
  return is_python_itself(path) ? Origin::torch : Origin::user;
}

}  // namespace compatcheck::ir
