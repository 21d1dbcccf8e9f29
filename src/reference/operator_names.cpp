#include "reference/operator_names.h"

#include <algorithm>
#include <map>
#include <vector>

#include "compatcheck/error.h"
#include "engines/shipped.h"
#include "mapping/reading/suggest.h"
#include "onnx/schema.h"

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

// Names that share a beginning or contain the word, else the nearest by spelling: the likely intention behind a slip or half a
// name. Engines have pages, too.
std::vector<std::string> near(const std::string& name, const lint::InForce& in_force) {
  constexpr std::size_t most = 5, most_by_spelling = 3;
  const std::string word = name.substr(name.rfind(':') + 1);
  const bool qualified = word.size() < name.size();
  std::vector<std::string> found;
  std::vector<std::string_view> spelled;
  std::map<std::string_view, std::string> names;
  for (const auto* rows : in_force.table.operators()) {
    const std::string_view full = rows->name, other = full.substr(full.rfind(':') + 1);
    if (other.find(word) != other.npos || (word.size() > 3 && other.starts_with(word.substr(0, word.size() - 1))))
      found.push_back(rows->name);
    if (found.size() == most) break;
    const std::string_view key = qualified ? full : other;
    if (key.find('.') == key.npos && names.emplace(key, rows->name).second) spelled.push_back(key);
  }
  if (!found.empty()) return found;
  for (const engines::Shipped& engine : engines::shipped())
    if (names.emplace(engine.engine, engine.engine).second) spelled.push_back(engine.engine);
  for (const std::string_view key : mapping::nearest(name, spelled, most_by_spelling)) found.push_back(names.at(key));
  return found;
}

// Operators that become this operator of ONNX: alone, or with other nodes.
std::vector<std::string> sources_of(const std::string& onnx, bool alone, const lint::InForce& in_force) {
  const auto makes = [&](const mapping::Row& row) {
    return std::ranges::find(row.to, onnx) != row.to.end() && (!alone || row.to.size() == 1);
  };
  std::vector<std::string> found;
  for (const auto* rows : in_force.table.operators())
    if (rows->name.find('.') == std::string::npos &&
        std::ranges::any_of(rows->history, [&](const auto& entry) { return std::ranges::any_of(entry.rows, makes); }))
      found.push_back(rows->name);
  return found;
}

// "Gelu is an operator of ONNX; …", with operators that become it; empty for other words.
std::string about_onnx_operator(const std::string& name, const lint::InForce& in_force) {
  constexpr std::size_t most = 5;
  if (onnx::versions(name).empty()) return "";
  auto sources = sources_of(name, true, in_force);
  const bool alone = !sources.empty();
  if (!alone) sources = sources_of(name, false, in_force);
  const std::string lead = name + " is an operator of ONNX";
  if (sources.empty()) return lead + ", and no operator of PyTorch becomes it";
  std::string listed;
  for (std::size_t i = 0; i < std::min(most, sources.size()); ++i) listed += (i ? ", " : "") + sources[i];
  return lead + "; explain an operator of PyTorch that becomes it" + (alone ? "" : " and other nodes") + ": " + listed +
         (sources.size() > most ? ", …" : "");
}

// Words of the mapping language, and where they are explained.
std::string about_word(std::string_view word) {
  constexpr std::string_view sections[] = {"operators", "rows", "conditions", "kinds", "facts", "traits", "functions", "domains"};
  if (word == "rule" || word == "rules") return "docs/reference/rules.md lists the rules";
  if (word == "engine" || word == "engines") return "`compatcheck explain targets` lists the engines";
  return std::ranges::find(sections, word) == std::end(sections)
             ? ""
             : "docs/mappings.md#" + std::string(word) + " explains " + std::string(word);
}

}  // namespace

std::string full_name(const std::string& name, const lint::InForce& in_force) {
  if (name.find("::") != std::string::npos && known(name, in_force)) return name;
  for (const char* space : {"aten::", "prim::", "torchvision::", "quantized::"})
    if (name.find("::") == std::string::npos && known(space + name, in_force)) return space + name;
  if (const std::string word = about_word(name); !word.empty()) throw UsageError("unknown operator " + name + "; " + word);
  if (const std::string onnx = about_onnx_operator(name, in_force); !onnx.empty()) throw UsageError(onnx);
  std::string message = "unknown operator " + name;
  const auto candidates = near(name, in_force);
  for (std::size_t i = 0; i < candidates.size(); ++i) message += (i ? ", " : "; did you mean ") + candidates[i];
  throw UsageError(message + (candidates.empty() ? "" : "?"));
}

}  // namespace compatcheck::reference
