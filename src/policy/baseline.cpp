// Baselines as files.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "analysis/boundary.h"
#include "analysis/json_place.h"
#include "policy/parse.h"
#include "policy/text_file.h"

namespace compatcheck {
namespace {

using analysis::JsonPlace;
using Json = JsonPlace::Json;
constexpr const char* kind = "compatcheck baseline";
constexpr std::size_t max_bytes = 256 << 20;

auto key(const Baseline::Entry& entry) {
  return std::tie(entry.model, entry.opset, entry.target, entry.rule, entry.op, entry.module);
}

Baseline::Entry entry_in(const JsonPlace& json) {
  Baseline::Entry entry{.model = json.at("model").text(),
                        .opset = json.at("opset").count(),
                        .target = {},
                        .rule = json.at("rule").text(),
                        .op = json.at("op").text(),
                        .module = json.at("module").text(),
                        .nodes = json.at("nodes").count()};
  if (const auto target = json.maybe("target")) entry.target = target->text();
  if (entry.nodes < 1) json.at("nodes").fail("at least one node");
  return entry;
}

// "line 3, column 7", of the byte before which reading ended.
std::string line_and_column(std::string_view text, std::size_t bytes) {
  const std::string_view before = text.substr(0, bytes > 0 ? bytes - 1 : 0);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

Json json_in(std::string_view text) {
  try {
    return JsonPlace::parse(text);
  } catch (const Json::parse_error& error) {
    throw UsageError(line_and_column(text, error.byte) + ": no JSON, so no baseline of compatcheck");
  }
}

std::vector<Baseline::Entry> entries_in(const JsonPlace& json) {
  const auto stated = json.json().is_object() ? json.maybe("kind") : std::nullopt;
  if (!stated || stated->json() != kind)
    throw UsageError("no baseline of compatcheck: expected a key \"kind\" with \"" + std::string(kind) + "\"");
  if (json.at("version").count() != 1)
    json.at("version").fail("1, the version of baselines that this version of compatcheck reads");
  std::vector<Baseline::Entry> entries;
  json.at("entries").each([&](const JsonPlace& each) { entries.push_back(entry_in(each)); });
  return entries;
}

}  // namespace

Baseline::Baseline(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return key(a) < key(b); });
}

Baseline policy::parse_baseline(std::string_view text) {
  try {
    const Json json = json_in(text);
    return Baseline(entries_in(JsonPlace(json)));
  } catch (const ModelError& error) {
    throw UsageError(error.what());
  }
}

Baseline read_baseline(const std::filesystem::path& file) {
  return analysis::guarded(file.string(), [&] {
    const std::string text = policy::read_text(file, max_bytes);
    try {
      return policy::parse_baseline(text);
    } catch (const UsageError& error) {
      throw UsageError(file.string() + ": " + error.what());
    }
  });
}

std::string to_json(const Baseline& baseline) {
  Json entries = Json::array();
  for (const auto& entry : baseline.entries()) {
    Json json = {{"model", entry.model}, {"opset", entry.opset}};
    if (!entry.target.empty()) json["target"] = entry.target;
    json.update({{"rule", entry.rule}, {"op", entry.op}, {"module", entry.module}, {"nodes", entry.nodes}});
    entries.push_back(std::move(json));
  }
  return Json({{"kind", kind}, {"version", 1}, {"entries", std::move(entries)}})
             .dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace compatcheck
