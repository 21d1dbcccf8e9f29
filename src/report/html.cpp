#include "report/html.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/rules.h"
#include "files/sha256.h"
#include "report/html_page.h"
#include "report/json_parts.h"
#include "report/report_text.h"
#include "report/source_lines.h"
#include "report/totals.h"

namespace compatcheck::report {

std::string policy_hash(std::string_view text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  files::Sha256 hash;
  hash.add(text);
  const std::string hexadecimal = std::move(hash).finish();
  std::string base64;
  unsigned held = 0, bits = 0;
  for (const char digit : hexadecimal) {
    held = held << 4 | static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    for (bits += 4; bits >= 6; bits -= 6) base64 += digits[held >> (bits - 6) & 63];
  }
  if (bits) base64 += digits[held << (6 - bits) & 63];
  return "sha256-" + base64.append((4 - base64.size() % 4) % 4, '=');
}

namespace {

// JSON that ends neither the element it stands in nor a line of script.
std::string inert(std::string_view json) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> spelled{
      {{"<", "\\u003c"}, {"\u2028", "\\u2028"}, {"\u2029", "\\u2029"}}};
  std::string text;
  text.reserve(json.size() + json.size() / 16);
  while (!json.empty()) {
    const auto plain = std::min(json.find_first_of("<\xe2"), json.size());  // \xe2 begins the other two
    text += json.substr(0, plain);
    json.remove_prefix(plain);
    if (json.empty()) break;
    const auto found =
        std::find_if(spelled.begin(), spelled.end(), [&](const auto& each) { return json.starts_with(each.first); });
    const bool known = found != spelled.end();
    text += known ? found->second : json.substr(0, 1);
    json.remove_prefix(known ? found->first.size() : 1);
  }
  return text;
}

Json sources(std::span<const Report> reports, const std::filesystem::path& root) {
  Json files = Json::object();
  for (const auto& [file, blocks] : source_lines(reports, root)) {
    Json list = Json::array();
    for (const auto& block : blocks) list.push_back({{"first", block.first}, {"lines", block.lines}});
    files[file] = std::move(list);
  }
  return files;
}

// Returns the sentences of the text report for each report, which the page reuses.
Json words(const Report& report) {
  if (report.error) return nullptr;
  Json targets = Json::array();
  for (const auto& target : report.targets) targets.push_back(lowest_opset_words(report, target));
  return {{"headline", headline(report)},
          {"lowest_opset", lowest_opset_words(report)},
          {"targets", std::move(targets)},
          {"targets_lowest_opset", targets_lowest_opset_words(report)}};
}

// The reports that are one model's, by their places, and which of them it counts by.
Json models(std::span<const Report> reports) {
  Json list = Json::array();
  const auto place = [&](const Report& report) { return &report - reports.data(); };
  for (const auto& model : models_of(reports)) {
    Json places = Json::array();
    for (const Report* report : model) places.push_back(place(*report));
    list.push_back({{"reports", std::move(places)}, {"best", place(best_of(model))}});
  }
  return list;
}

Json missing_rules() {
  Json ids = Json::array();
  for (const auto& rule : analysis::rules())
    if (analysis::is_missing(rule.id)) ids.push_back(rule.id);
  return ids;
}

// Replaces each given @name@ in the page; replacements aren't searched again.
std::string filled(std::string_view page, std::span<const std::pair<std::string_view, std::string>> parts) {
  std::string text;
  while (!page.empty()) {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return page.starts_with(part.first); });
    if (found == parts.end()) {
      text += page.front();
      page.remove_prefix(1);
    } else {
      text += found->second;
      page.remove_prefix(found->first.size());
    }
  }
  return text;
}

}  // namespace

std::string html(std::span<const Report> reports, const RenderOptions& options) {
  Json data = list(reports);
  data["models"] = models(reports);
  data["words"] = Json::array();
  for (const Report& report : reports) data["words"].push_back(words(report));
  data["missing_rules"] = missing_rules();
  data["sources"] = sources(reports, options.source_root);
  return filled_page(html_script, data);
}

std::string filled_page(std::string_view script, const Json& data) {
  const std::array<std::pair<std::string_view, std::string>, 5> parts{{
      {"@style_hash@", policy_hash(html_style)},
      {"@script_hash@", policy_hash(script)},
      {"@style@", std::string(html_style)},
      {"@script@", std::string(script)},
      {"@data@", inert(data.dump(-1, ' ', false, replace_bad_utf8))},
  }};
  return filled(html_page, parts);
}

}  // namespace compatcheck::report
