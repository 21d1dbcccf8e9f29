#include "report/read.h"

#include "analysis/boundary.h"
#include "compatcheck/render.h"

namespace compatcheck {
namespace report {
namespace {

using SavedJson = JsonPlace::Json;

// The first number of the version is that of the keys' meaning.
void check_version(const JsonPlace& json) {
  if (!json.json().is_object() || !json.json().contains("schema_version"))
    throw ModelError("is JSON, but no report of compatcheck check");
  const JsonPlace version = json.at("schema_version");
  if (!version.text().starts_with("1."))
    version.fail("\"" + std::string(Report::schema_version) + "\", this version's, not \"" + version.text() + "\"");
}

void add_reports(const SavedJson& whole, std::vector<Report>& reports) {
  const JsonPlace json(whole);
  check_version(json);
  if (const auto list = json.maybe("reports")) {
    list->each([&](const JsonPlace& each) {
      check_version(each);
      reports.push_back(read_report(each));
    });
  } else {
    reports.push_back(read_report(json));
  }
}

bool blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

// One report a line.
std::vector<Report> read_lines(std::string_view text) {
  std::vector<Report> reports;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    ++number;
    if (blank(line)) continue;
    const std::string place = "line " + std::to_string(number);
    const SavedJson json = SavedJson::parse(line, nullptr, false);
    if (json.is_discarded()) throw ModelError(place + ": is no JSON object, or cut short");
    try {
      add_reports(json, reports);
    } catch (const ModelError& error) {
      throw ModelError(place + ": " + error.what());
    }
  }
  return reports;
}

std::vector<Report> read(std::string_view text) {
  std::vector<Report> reports;
  if (blank(text)) throw ModelError("holds no report");
  try {
    add_reports(JsonPlace::parse(text), reports);
    return reports;
  } catch (const SavedJson::parse_error& error) {
    // JSON lines begin with a whole object in a line; what render() indents doesn't.
    if (text.starts_with("{\"")) return read_lines(text);
    throw ModelError("is no saved report: no JSON, or cut short, at byte " + std::to_string(error.byte));
  }
}

}  // namespace
}  // namespace report

std::vector<Report> read_reports(std::string_view text) {
  return analysis::guarded("the report", [&] { return report::read(text); });
}

}  // namespace compatcheck
