#include "analysis/site.h"

#include "analysis/findings.h"

namespace compatcheck::analysis {
namespace {

bool is_torch_itself(const std::string& file) {
  // "<string>": operators that libtorch itself writes in TorchScript.
  return file.find("-packages/torch/") != std::string::npos || file.starts_with("torch/") || file == "<string>";
}

// The innermost place outside torch's own Python code: what the user wrote, or the library that they used.
const ir::Location* user_place(const ir::LocationRef& innermost) {
  for (const ir::Location* place = innermost.get(); place; place = place->caller.get())
    if (!place->file.empty() && !is_torch_itself(place->file)) return place;
  return innermost.get();
}

// Its end tells more.
std::string shortened(const std::string& file) {
  constexpr std::size_t longest_file = 1000;
  return file.size() > longest_file ? "…" + file.substr(file.size() - longest_file) : file;
}

}  // namespace

Site site_of(const ir::Node& node, std::uint32_t index) {
  Site site{.index = index, .module = node.module(), .file = {}, .line = 0, .function = {}, .args = spell_call(node)};
  if (const ir::Location* location = user_place(node.location())) {
    site.file = shortened(location->file);
    site.line = location->line;
    site.function = location->function;
  }
  return site;
}

}  // namespace compatcheck::analysis
