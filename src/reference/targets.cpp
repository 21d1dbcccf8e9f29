#include "reference/targets.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/boundary.h"
#include "engines/shipped.h"
#include "engines/targets.h"
#include "reference/spell.h"
#include "report/enumerator_names.h"
#include "report/page.h"
#include "report/style.h"

namespace compatcheck {
namespace {

using engines::Entry;
using engines::Profile;
using Json = nlohmann::ordered_json;

std::string opsets(const Profile& profile) {
  return profile.opsets ? std::to_string(profile.opsets->first) + " to " + std::to_string(profile.opsets->last) : "not stated";
}

std::string match(const Profile& profile) {
  switch (profile.match) {
    case engines::Match::kernel: return "an operator's version must lie in a range of the list";
    case engines::Match::since: return "the newest translator that isn't newer than the operator's version";
    case engines::Match::model: return "by the model's opset";
  }
  return {};
}

int count(const Profile& profile, Support support) {
  return static_cast<int>(std::ranges::count_if(profile.operators, [&](const auto& op) {
    const auto best = std::ranges::min(op.entries, {}, &Entry::support).support;  // yes, no, unknown
    return best == support;
  }));
}

std::string functions(const Profile& profile) {
  if (!profile.functions) return "no";
  return "ONNX's functions without an entry become their bodies" +
         (profile.behind.engine.empty() ? std::string() : ", except those that " + profile.behind.engine + " supports");
}

std::string pairs(const std::vector<std::pair<std::string, std::string>>& dtypes, const std::string& between) {
  std::vector<std::string> texts;
  for (const auto& [from, to] : dtypes) texts.push_back(from + between + to);
  return mapping::joined(texts);
}

// Facts to judge the table below by: "CC105" for operators that the profile doesn't mention, and so on.
std::vector<std::string> facts(const Profile& profile) {
  std::vector<std::string> lines{"version       " + profile.version,
                                 "source        " + profile.source,
                                 "date          " + profile.date,
                                 "opsets        " + opsets(profile),
                                 "versions      " + match(profile),
                                 "unlisted      " + std::string(profile.unlisted == Support::no ? "unsupported" : "unknown"),
                                 "functions     " + functions(profile)};
  if (!profile.local_functions) lines.push_back("              none that a model carries");
  if (!profile.dtypes.empty())
    lines.push_back("dtypes        " + mapping::joined(profile.dtypes) + " where an entry states no types");
  if (!profile.reads.empty()) lines.push_back("reads         " + pairs(profile.reads, " as "));
  if (!profile.casts.empty()) lines.push_back("casts         " + pairs(profile.casts, " to "));
  if (!profile.fallback.empty()) lines.push_back("otherwise     " + profile.fallback);
  return lines;
}

std::string list_page(const ReferenceOptions& options) {
  const auto profiles = engines::all_shipped();
  if (options.format == ReferenceFormat::json) {
    Json all = Json::array();
    for (const Profile& profile : profiles)
      all.push_back({{"target", profile.target()},
                     {"engine", profile.engine},
                     {"version", profile.version},
                     {"title", profile.title},
                     {"source", profile.source},
                     {"date", profile.date}});
    return all.dump(2) + "\n";
  }
  report::Table table{.title = "targets", .columns = {"target", "engine", "operators", "opsets", "of"}, .rows = {}};
  for (const Profile& profile : profiles)
    table.rows.push_back({{profile.target(), profile.title, std::to_string(count(profile, Support::yes)) + " supported",
                           "opsets " + opsets(profile), profile.date}});
  const report::Page page{.title = "engines for --target",
                          .lines = {"A profile of your own: --target FILE.yaml (docs/engines.md)."},
                          .tables = {table}};
  return options.format == ReferenceFormat::markdown ? report::markdown(page)
                                                     : report::text(page, {.color = options.color, .width = options.width});
}

std::string version_text(const Entry& entry) {
  std::string text;
  for (const auto& one : entry.versions)
    text += (text.empty() ? "" : ", ") + std::to_string(one.first) +
            (one.last == engines::no_end ? " and later"
             : one.last > one.first      ? "-" + std::to_string(one.last)
                                         : "");
  return text;
}

std::string types_text(const Entry& entry) {
  std::string text;
  for (const auto& list : entry.types) {
    text += (text.empty() ? "" : "; ") + list.of + (list.excluded ? ": all but" : ":");
    for (const auto& name : list.names) text += " " + name;
  }
  return text;
}

std::string profile_page(const Profile& profile, const ReferenceOptions& options) {
  report::Table table{.title = "operators", .columns = {"operator", "support", "versions", "types", "why"}, .rows = {}};
  Json operators = Json::array();
  for (const auto& op : profile.operators)
    for (const Entry& entry : op.entries) {
      std::string why = entry.words + entry.note;
      if (!entry.when.empty()) why += (why.empty() ? "if " : "; if ") + reference::spell_when(entry.when);
      table.rows.push_back({{op.name, std::string(report::word(entry.support)), version_text(entry), types_text(entry), why}});
      operators.push_back({{"onnx", op.name},
                           {"support", report::word(entry.support)},
                           {"versions", version_text(entry)},
                           {"types", types_text(entry)},
                           {"why", why}});
    }
  if (options.format == ReferenceFormat::json)
    return Json{{"target", profile.target()},
                {"title", profile.title},
                {"source", profile.source},
                {"date", profile.date},
                {"operators", std::move(operators)}}
               .dump(2) +
           "\n";
  const report::Page page{.title = profile.title + " (" + profile.target() + ")", .lines = facts(profile), .tables = {table}};
  return options.format == ReferenceFormat::markdown ? report::markdown(page)
                                                     : report::text(page, {.color = options.color, .width = options.width});
}

}  // namespace

namespace reference {

std::optional<std::string> explain_target(const std::string& subject, const ReferenceOptions& options) {
  if (subject == "targets") return list_page(options);
  if (engines::names_file(subject)) return profile_page(engines::profile_of(subject), options);
  const auto profiles = engines::all_shipped();
  const bool known = std::ranges::any_of(
      profiles, [&](const Profile& profile) { return profile.engine == subject.substr(0, subject.find('@')); });
  if (!known) return std::nullopt;
  return profile_page(engines::profile_of(subject), options);
}

}  // namespace reference

std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const auto& one : engines::shipped())
    if (names.empty() || names.back() != one.engine) names.emplace_back(one.engine);  // engines have one entry for each version
  return names;
}

void check_targets(const std::vector<std::string>& targets) {
  analysis::guarded("the engines", [&] { engines::profiles_of(targets); });
}

}  // namespace compatcheck
