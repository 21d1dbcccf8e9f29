#include "analysis/assumed.h"

#include <algorithm>

#include "analysis/describe.h"
#include "analysis/site.h"
#include "passes/assertions.h"

namespace compatcheck::analysis {
namespace {

AssumedInput::Reason reason_of(const inference::Reason& reason) {
  AssumedInput::Reason made;
  if (!reason.reader) return made;
  const Site site = site_of(*reason.reader, 0);
  made.op = passes::raising_block(*reason.reader) ? "an assertion" : reason.reader->op();
  made.module = site.module;
  made.file = site.file;
  made.line = site.line;
  return made;
}

bool same_place(const AssumedInput::Reason& a, const AssumedInput::Reason& b) {
  return a.op == b.op && a.module == b.module && a.file == b.file && a.line == b.line;
}

// Joins the reasons that come from one reader.
void add(std::vector<AssumedInput::Reason>& reasons, const inference::Reason& reason) {
  AssumedInput::Reason made = reason_of(reason);
  auto known = std::ranges::find_if(reasons, [&](const auto& other) { return same_place(made, other); });
  if (known == reasons.end()) known = reasons.insert(reasons.end(), std::move(made));
  known->what.push_back(reason.what);
}

}  // namespace

std::vector<AssumedInput> assumed_inputs(const inference::Inferred& inferred) {
  std::vector<AssumedInput> assumed;
  for (const inference::Assumption& assumption : inferred.assumptions) {
    const auto* tensor = assumption.fact.tensor();
    if (!tensor) continue;
    AssumedInput& made = assumed.emplace_back();
    made.tensor = describe(assumption.leaf.name, *tensor);
    if (tensor->dtype && tensor->shape && !assumption.leaf.of_list)
      made.option = assumption.leaf.name + "=" + inference::spell(*tensor);
    for (const inference::Reason& reason : assumption.reasons) add(made.because, reason);
  }
  return assumed;
}

}  // namespace compatcheck::analysis
