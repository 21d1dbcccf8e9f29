#include "analysis/lost_writes.h"

#include <algorithm>

#include "analysis/site.h"
#include "passes/normalize.h"

namespace compatcheck::analysis {
namespace {

bool is_state(const Prepared& prepared, const std::string& input) {
  return std::ranges::find(prepared.state, input, &passes::StateAttribute::input) != prepared.state.end();
}

Finding finding_of_write(const ir::LostWrite& write) {
  Finding finding;
  finding.severity = Severity::note;
  finding.op = write.op;
  if (write.kind == ir::LostWrite::Kind::cache) {
    finding.id = "CC015";
    finding.message =
        "keeps a value of the first call in attribute '" + write.name + "'; the ONNX model computes it in each call";
    finding.help = "`compatcheck explain CC015` says when the results can differ";
    return finding;
  }
  finding.id = "CC014";
  finding.input = write.name;
  finding.message = "writes to input '" + write.name + "': the results are the same, but the caller's tensor keeps its old value";
  finding.help = "return '" + write.name + "' as well if the caller reads it afterwards";
  return finding;
}

}  // namespace

std::vector<Finding> collect_lost_writes(const Prepared& prepared) {
  const auto end = static_cast<std::uint32_t>(passes::node_count(prepared.graph));  // the writes aren't in the graph any more
  std::vector<Finding> findings;
  for (const ir::LostWrite& write : prepared.lost_writes) {
    if (is_state(prepared, write.name)) continue;
    Finding made = finding_of_write(write);
    auto finding = std::ranges::find_if(
        findings, [&](const Finding& other) { return other.op == made.op && other.message == made.message; });
    if (finding == findings.end()) finding = findings.insert(findings.end(), std::move(made));
    Site site = site_of(write.location, end);
    site.module = write.module;
    site.args = write.op;
    ++finding->nodes;
    finding->sites.push_back(std::move(site));
  }
  return findings;
}

}  // namespace compatcheck::analysis
