#include "reference/operator_names.h"

#include <vector>

#include "compatcheck/error.h"

namespace compatcheck::reference {
namespace {

std::string base_of(const std::string& name) {
  const auto colons = name.rfind("::");
  const auto dot = name.find('.', colons == std::string::npos ? 0 : colons);
  return name.substr(0, dot);
}

bool known(const std::string& name, const lint::InForce& in_force) {
  return in_force.schemas.contains(base_of(name)) ||
         in_force.table.find(base_of(name), "", mapping::highest_opset, in_force.schemas).status !=
             mapping::Lookup::Status::unknown;
}

// Names that share a beginning or contain the word: the likely intention behind a slip or half a name.
std::vector<std::string> near(const std::string& name, const lint::InForce& in_force) {
  const std::string word = name.substr(name.rfind(':') + 1);
  std::vector<std::string> found;
  for (const auto* rows : in_force.table.operators()) {
    const std::string other = rows->name.substr(rows->name.rfind(':') + 1);
    if (other.find(word) != std::string::npos || (word.size() > 3 && other.starts_with(word.substr(0, word.size() - 1))))
      found.push_back(rows->name);
    if (found.size() == 5) break;
  }
  return found;
}

}  // namespace

std::string full_name(const std::string& name, const lint::InForce& in_force) {
  if (name.find("::") != std::string::npos && known(name, in_force)) return name;
  for (const char* space : {"aten::", "prim::", "torchvision::", "quantized::"})
    if (name.find("::") == std::string::npos && known(space + name, in_force)) return space + name;
  std::string message = "unknown operator " + name;
  const auto candidates = near(name, in_force);
  for (std::size_t i = 0; i < candidates.size(); ++i) message += (i ? ", " : "; did you mean ") + candidates[i];
  throw UsageError(message + (candidates.empty() ? "" : "?"));
}

}  // namespace compatcheck::reference
