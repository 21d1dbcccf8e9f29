// Any bytes as a configuration, or as a baseline: read, and applied to a report.
#include <cstdint>
#include <string_view>

#include "policy/parse.h"

namespace {

compatcheck::Report report() {
  compatcheck::Report made;
  made.model.path = "models/net.pt";
  made.targets.emplace_back().target = "tensorrt@10.15";
  for (const char* op : {"aten::foo", "acme::bar"}) {
    compatcheck::Finding& finding = made.findings.emplace_back();
    finding.id = "CC001";
    finding.op = op;
    finding.nodes = 2;
    for (const char* module : {"head", "tail.0"}) finding.sites.emplace_back().module = module;
  }
  // Of engines: two calls, and four nodes that stand for none; and one of the model as a whole.
  compatcheck::Finding engine = made.findings.front();
  engine.id = "CC101";
  engine.severity = compatcheck::Severity::warning;
  engine.target = made.targets.front().target;
  engine.nodes = 6;
  made.findings.push_back(engine);
  engine.id = "CC102";
  engine.sites.clear();
  made.findings.push_back(std::move(engine));
  return made;
}

constexpr int all_nodes = 2 + 2 + 6 + 6, all_sites = 3 * 2;

// Nothing is lost: each node of a finding is in the report as before, counted or not.
void demand_all_nodes(const compatcheck::Report& given) {
  int nodes = 0;
  std::size_t sites = 0;
  for (const auto& finding : given.findings) {
    if (finding.id.starts_with("CC9")) continue;
    nodes += finding.nodes;
    sites += finding.sites.size();
  }
  if (nodes != all_nodes || sites != all_sites) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace compatcheck;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  PolicyOptions options{.baseline_source = "baseline.json", .today = "2026-06-15"};
  try {
    if (text.find("\"kind\"") != std::string_view::npos)
      options.baseline = policy::parse_baseline(text);
    else
      options.configuration = policy::parse_configuration(text, "compatcheck.yaml", {});
  } catch (const Error&) {
    return 0;
  }
  Policy policy(std::move(options));
  Report given = report();
  policy.apply(given);
  policy.finish({&given, 1});
  demand_all_nodes(given);
  to_json(policy.baseline_of_run());
  return 0;
}
