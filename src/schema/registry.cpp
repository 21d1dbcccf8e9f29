#include <algorithm>
#include <deque>
#include <mutex>
#include <set>
#include <unordered_map>

#include "schema/schema.h"
#include "schema/shipped.h"

namespace compatcheck::schema {
namespace {

struct Shipped {
  std::string_view name;
  std::string_view lines;  // one line for each overload
};

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::string_view name_of(std::string_view line) { return line.substr(0, line.find_first_of(".(")); }

// One pass over the text, once a process; parsing waits until somebody asks.
const std::vector<Shipped>& shipped_index() {
  static const std::vector<Shipped> index = [] {
    std::vector<Shipped> all;
    for (std::string_view text : shipped) {
      while (!text.empty()) {
        const std::string_view line = take_line(text);
        const std::string_view name = name_of(line);
        if (all.empty() || all.back().name != name)
          all.push_back({name, line});
        else
          all.back().lines = {all.back().lines.data(),
                              static_cast<std::size_t>(line.data() + line.size() - all.back().lines.data())};
      }
    }
    std::sort(all.begin(), all.end(), [](const Shipped& a, const Shipped& b) { return a.name < b.name; });
    return all;
  }();
  return index;
}

const Shipped* find_shipped(std::string_view name) {
  const auto& index = shipped_index();
  const auto at =
      std::lower_bound(index.begin(), index.end(), name, [](const Shipped& s, std::string_view n) { return s.name < n; });
  return at != index.end() && at->name == name ? &*at : nullptr;
}

}  // namespace

struct Registry::State {
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Overloads = std::vector<const Schema*>;

  std::mutex mutex;
  std::deque<Schema> schemas;  // stay where they are; a replaced one lives on, as nodes may point at it
  std::unordered_map<std::string, Overloads, Hash, std::equal_to<>> parsed;
  std::set<std::string, std::less<>> added;  // names that only the user knows

  // Under the mutex. Null if nobody knows the name.
  Overloads* overloads(std::string_view name) {
    if (const auto known = parsed.find(name); known != parsed.end()) return &known->second;
    const Shipped* entry = find_shipped(name);
    if (!entry) return nullptr;
    Overloads all;
    for (std::string_view lines = entry->lines; !lines.empty();) all.push_back(&schemas.emplace_back(parse(take_line(lines))));
    return &parsed.emplace(name, std::move(all)).first->second;
  }
};

Registry::Registry() : state_(std::make_unique<State>()) {}
Registry::~Registry() = default;
Registry::Registry(Registry&&) noexcept = default;
Registry& Registry::operator=(Registry&&) noexcept = default;

void Registry::add(std::string_view text) {
  Schema schema = parse(text);
  const std::lock_guard lock(state_->mutex);
  State::Overloads* overloads = state_->overloads(schema.name);
  if (!overloads) {
    state_->added.insert(schema.name);
    overloads = &state_->parsed[schema.name];
  }
  const auto same =
      std::find_if(overloads->begin(), overloads->end(), [&](const Schema* s) { return s->overload == schema.overload; });
  const Schema* stored = &state_->schemas.emplace_back(std::move(schema));
  if (same != overloads->end())
    *same = stored;
  else
    overloads->push_back(stored);
}

std::span<const Schema* const> Registry::overloads(std::string_view name) const {
  const std::lock_guard lock(state_->mutex);
  const State::Overloads* found = state_->overloads(name);
  return found ? std::span<const Schema* const>(*found) : std::span<const Schema* const>{};
}

const Schema* Registry::find(std::string_view name, std::string_view overload) const {
  for (const Schema* schema : overloads(name))
    if (schema->overload == overload) return schema;
  return nullptr;
}

bool Registry::contains(std::string_view name) const {
  if (find_shipped(name)) return true;
  const std::lock_guard lock(state_->mutex);
  return state_->added.contains(name);
}

std::vector<std::string_view> Registry::names() const {
  std::vector<std::string_view> all;
  for (const Shipped& entry : shipped_index()) all.push_back(entry.name);
  const std::lock_guard lock(state_->mutex);
  all.insert(all.end(), state_->added.begin(), state_->added.end());
  std::sort(all.begin(), all.end());
  return all;
}

// "aten::add_" → "aten::add", "aten::__iand__" → "aten::__and__": the spelling proposes, the schemas decide.
std::optional<std::string> Registry::functional_form(std::string_view name) const {
  const std::size_t colons = name.rfind("::");
  const std::size_t from = colons == std::string_view::npos ? 0 : colons + 2;
  const std::string_view base = name.substr(from);
  std::string form(name.substr(0, from));
  if (base.starts_with("__i") && base.ends_with("__") && base.size() > 5)
    form += "__" + std::string(base.substr(3));
  else if (base.ends_with('_') && base.size() > 1)
    form += base.substr(0, base.size() - 1);
  else
    return std::nullopt;

  const auto writes_first = [](const Schema* s) { return !s->arguments.empty() && s->arguments[0].written && !s->is_out(); };
  const auto pure = [](const Schema* s) { return !s->writes(); };
  const auto in_place = overloads(name), functional = overloads(form);
  if (std::none_of(in_place.begin(), in_place.end(), writes_first)) return std::nullopt;
  if (std::none_of(functional.begin(), functional.end(), pure)) return std::nullopt;
  return form;
}

}  // namespace compatcheck::schema
