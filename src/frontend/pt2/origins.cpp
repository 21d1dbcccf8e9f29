#include "frontend/pt2/origins.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

namespace compatcheck::frontend::pt2 {
namespace {

constexpr std::size_t most_frames = 200;

std::string_view trimmed_line(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// "key,path,class;key,path,class": the last path, without the root's own name.
std::string module_path(std::string_view stack) {
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t at = 0; at < stack.size(); ++at) {
    if (stack[at] == '(' || stack[at] == '[') ++depth;
    if (stack[at] == ')' || stack[at] == ']') --depth;
    if (stack[at] == ';' && depth <= 0) start = at + 1;
  }
  const std::string_view last = stack.substr(start);
  const auto first_comma = last.find(','), second_comma = first_comma == last.npos ? last.npos : last.find(',', first_comma + 1);
  if (second_comma == last.npos) return {};
  std::string_view path = last.substr(first_comma + 1, second_comma - first_comma - 1);
  if (path == "_export_root") return {};  // the model itself, when exported with strict=True
  if (path.starts_with("_export_root.")) path.remove_prefix(std::string_view("_export_root.").size());
  for (const std::string_view root : {"L['self'].", "L['self']"})
    if (path.starts_with(root)) path.remove_prefix(root.size());
  if (const auto again = path.find('@'); again != path.npos) path = path.substr(0, again);  // the second call of one module
  std::string plain;
  for (const char c : path)  // older releases: L['self'].layers[0]
    if (c == '[')
      plain += '.';
    else if (c != ']' && c != '\'' && c != '"')
      plain += c;
  return plain;
}

// The outermost frame comes first in a traceback.
ir::LocationRef location_of(std::string_view stack_trace) {
  ir::LocationRef caller;
  std::shared_ptr<ir::Location> last;
  std::size_t frames = 0;
  for (std::size_t at = 0; at < stack_trace.size() && frames < most_frames;) {
    const std::size_t end = std::min(stack_trace.find('\n', at), stack_trace.size());
    const std::string_view line = trimmed_line(stack_trace.substr(at, end - at));
    if (auto place = stack_frame(line)) {
      if (last) caller = last;
      place->caller = caller;
      last = std::make_shared<ir::Location>(std::move(*place));
      ++frames;
    } else if (last && last->text.empty()) {
      last->text = line;
    }
    at = end + 1;
  }
  return last;
}

// Returns `compute` of a text, computed once for each text.
template <class Value, class Compute>
const Value& remembered(std::unordered_map<std::string_view, Value>& known, std::string_view text, Compute&& compute) {
  const auto [place, added] = known.try_emplace(text);
  if (added) place->second = compute(text);
  return place->second;
}

}  // namespace

std::optional<ir::Location> stack_frame(std::string_view line) {
  constexpr std::string_view opening = "File \"", middle = "\", line ", function = ", in ";
  if (!line.starts_with(opening)) return std::nullopt;
  const auto end = line.rfind(middle);
  if (end == line.npos) return std::nullopt;
  ir::Location place;
  place.file = line.substr(opening.size(), end - opening.size());
  const std::string_view rest = line.substr(end + middle.size());
  std::from_chars(rest.data(), rest.data() + rest.size(), place.line);
  if (const auto named = rest.find(function); named != rest.npos) place.function = rest.substr(named + function.size());
  return place;
}

Origin Origins::of(const Json& node) {
  Origin origin;
  const auto metadata = node.find("metadata");
  if (!metadata || !metadata->is(Json::Kind::object)) return origin;
  if (const auto stack = metadata->find("stack_trace"); stack && stack->is(Json::Kind::text))
    origin.location = remembered(locations_, stack->text(), location_of);
  if (const auto modules = metadata->find("nn_module_stack"); modules && modules->is(Json::Kind::text))
    origin.module = remembered(modules_, modules->text(), module_path);
  return origin;
}

}  // namespace compatcheck::frontend::pt2
