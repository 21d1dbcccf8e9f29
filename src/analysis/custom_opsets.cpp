#include "analysis/custom_opsets.h"

#include <charconv>
#include <set>
#include <string_view>

#include "compatcheck/error.h"
#include "conversion/foreign.h"
#include "mapping/reading/suggest.h"
#include "onnx/domains.h"
#include "onnx/function_text.h"
#include "onnx/schema.h"

namespace compatcheck::analysis {

namespace {

// Adds the domains of all nodes that a row may emit.
void add_domains(const mapping::Row& row, std::set<std::string>& domains) {
  const auto add = [&](std::string_view onnx_name) { domains.emplace(mapping::split_domain(onnx_name).first); };
  for (const std::string& name : row.to) add(name);
  if (!row.body) return;
  for (const auto& function : row.body->functions->functions()) domains.insert(function.domain());
  for (const std::string& name : row.body->functions->operators()) add(name);
}

std::set<std::string> known_domains(const mapping::Table& table, const ir::Graph& graph, ExportType type) {
  std::set<std::string> domains;
  for (const auto& [domain, version] : table.domains()) domains.insert(domain);
  for (const auto* rows : table.operators())
    for (const mapping::Entry& entry : rows->history)
      for (const mapping::Row& row : entry.rows) add_domains(row, domains);
  if (type != ExportType::onnx)
    ir::for_each_node(*graph.top(), [&](const ir::Node* node) { domains.insert(conversion::domain_of(*node)); });
  std::erase_if(domains, [](const std::string& domain) { return onnx::is_own_domain(domain); });
  return domains;
}

}  // namespace

std::map<std::string, int, std::less<>> custom_opsets(const std::vector<std::string>& given, const mapping::Table& table,
                                                      const ir::Graph& graph, ExportType type) {
  const std::set<std::string> known = given.empty() ? std::set<std::string>() : known_domains(table, graph, type);
  auto versions = table.domains();
  std::map<std::string, int, std::less<>> version_of;
  for (const std::string& text : given) {
    const auto refuse = [&](const std::string& why) { throw UsageError("CheckOptions::custom_opsets " + text + ": " + why); };
    const auto equals = text.rfind('=');
    if (equals == std::string::npos) refuse("expected DOMAIN=N");
    const std::string domain = text.substr(0, equals);
    if (onnx::is_own_domain(domain)) refuse("the version of ONNX's own operators is CheckOptions::opset");
    if (!mapping::is_custom_domain(domain)) refuse("'" + domain + "' isn't the name of a domain");
    int version = 0;
    const char* const end = text.data() + text.size();
    const auto number = std::from_chars(text.data() + equals + 1, end, version);
    if (number.ec != std::errc() || number.ptr != end || version < 1) refuse("the version is a number from 1");
    if (const auto newest = onnx::newest_version(domain); newest && version > *newest)
      refuse("ONNX has that domain up to version " + std::to_string(*newest));
    if (const auto [at, added] = version_of.emplace(domain, version); !added && at->second != version)
      refuse("the domain has version " + std::to_string(at->second) + " already");
    if (!known.contains(domain)) {
      const std::vector<std::string_view> names(known.begin(), known.end());
      const std::string near = mapping::did_you_mean(domain, names);
      refuse("no row" + std::string(type == ExportType::onnx ? "" : " and no node of the model") + " uses the domain '" + domain +
             "'" + near);
    }
    versions[domain] = version;
  }
  return versions;
}

}  // namespace compatcheck::analysis
