// The reason and the advice for calls that fail because a list, dictionary or object stays in the graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conversion/assess.h"
#include "ir/graph.h"

namespace compatcheck::analysis {

struct ContainerAdvice {
  std::string reason, hint;
};

// Returns the advice for the container that a failing call handles; nullopt if none is marked (passes/unfollowed.h), or the call
// fails for another reason.
std::optional<ContainerAdvice> container_advice(const conversion::Outcome& outcome);

// For a call in a loop that is too long to be unrolled, where a list, dictionary or object would be followed then: says so. Empty
// for other calls.
std::string long_loop_around(const conversion::Outcome& outcome);

// The same number for calls that handle containers which stay in the graph for one reason; nullopt for all other calls.
std::optional<std::int64_t> container_group(const conversion::Outcome& outcome);
// Returns the one of such calls that says most.
const conversion::Outcome* first_of_group(const std::vector<const conversion::Outcome*>& calls);

// Calls that are left to inputs fail again, if others of their group fail whatever the inputs are. Calls that no row can map are
// left to the inputs that decide whether they run.
void settle_needs_input(conversion::Assessment& assessment);
// Whether the container stays in the graph whatever is stated of the inputs.
bool fails_for_every_input(const conversion::Outcome& outcome);
// Whether it stays because of its keys: only those of a dictionary among the inputs may help.
bool fails_for_keys(const conversion::Outcome& outcome);

// The advice for a write to a list, dictionary or object for which there is no better one; empty for a tensor.
std::string advice_for_writes_to(const ir::Value& target);

}  // namespace compatcheck::analysis
