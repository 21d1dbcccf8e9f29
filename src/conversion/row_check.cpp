#include "conversion/row_check.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <string>

#include "compatcheck/error.h"

namespace compatcheck::conversion {
namespace {

const std::string& setting() {
  static const std::string value = [] {
    const char* given = std::getenv("COMPATCHECK_CHECK_ROWS");
    return std::string(given ? given : "");
  }();
  return value;
}

#ifdef NDEBUG
constexpr bool always = false;
#else
constexpr bool always = true;
#endif

std::string text_of(const mapping::Place& place) {
  return place.file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

bool collects() { return setting().find('/') != std::string::npos; }

// Several processes add to one file: each line is written at once.
void add_line(const std::string& line) {
  static std::mutex mutex;
  static std::set<std::string> added;
  const std::lock_guard lock(mutex);
  if (!added.insert(line).second) return;
  std::ofstream(setting(), std::ios::app) << line + "\n" << std::flush;
}

std::string arguments_of(const symbolic::Call& call) {
  std::string text;
  for (const auto& argument : call.node().schema()->arguments)
    if (const auto dtype = call.dtype_of(argument.name))
      text += (text.empty() ? "" : ", ") + argument.name + " " + std::string(ir::name(*dtype));
  return text;
}

}  // namespace

void check_row(const symbolic::Call& call, const mapping::Row& row, std::span<const onnx::Emitted> emitted, bool known,
               const mapping::Table& table, int opset) {
  if ((!always && setting().empty()) || table.is_users(row.place)) return;
  const char* without_nodes = known ? "Constant" : "Identity";
  if (emitted.empty() && collects() && std::ranges::find(row.to, without_nodes) != row.to.end())
    add_line(text_of(row.place) + " " + without_nodes);
  std::string work, unnamed;
  for (const onnx::Emitted& node : emitted) {
    if (node.plumbing) continue;
    work += (work.empty() ? "" : ", ") + node.op + (node.count > 1 ? " (" + std::to_string(node.count) + ")" : "");
    if (std::ranges::find(row.to, node.op) == row.to.end())
      unnamed = node.op;
    else if (collects())
      add_line(text_of(row.place) + " " + node.op);
  }
  if (unnamed.empty()) return;
  const std::string message = std::string(call.op()) + " at opset " + std::to_string(opset) + " (" + arguments_of(call) +
                              ") emits " + work + "; its row " + text_of(row.place) + " names " + mapping::joined(row.to);
  throw InternalError(message);
}

}  // namespace compatcheck::conversion
