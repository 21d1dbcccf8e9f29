// Baselines as files.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <tuple>

#include <nlohmann/json.hpp>

#include "analysis/boundary.h"
#include "policy/parse.h"

namespace compatcheck {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kind = "compatcheck baseline";

auto key(const Baseline::Entry& entry) { return std::tie(entry.model, entry.opset, entry.target, entry.rule, entry.op, entry.module); }

Baseline::Entry entry_in(const Json& json) {
  Baseline::Entry entry{.model = json.at("model"), .opset = json.at("opset"), .target = json.value("target", ""), .rule = json.at("rule"),
                        .op = json.at("op"), .module = json.at("module"), .nodes = json.at("nodes")};
  if (entry.nodes < 1) throw UsageError("an entry of " + entry.rule + " has no nodes");
  return entry;
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw UsageError(file.string() + ": there is no such file that can be read");
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

Baseline::Baseline(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return key(a) < key(b); });
}

Baseline policy::parse_baseline(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("kind") != kind || json.at("version") != 1) throw UsageError("this version of compatcheck reads baselines of version 1");
    std::vector<Baseline::Entry> entries;
    for (const Json& each : json.at("entries")) entries.push_back(entry_in(each));
    return Baseline(std::move(entries));
  } catch (const Json::exception& error) {
    throw UsageError(std::string("this is no baseline of compatcheck: ") + error.what());
  }
}

Baseline read_baseline(const std::filesystem::path& file) {
  return analysis::guarded(file.string(), [&] {
    const std::string text = text_of(file);
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
  return Json({{"kind", kind}, {"version", 1}, {"entries", std::move(entries)}}).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace compatcheck
