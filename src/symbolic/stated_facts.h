// Facts that a row spells out where no word describes them: {dtype: same, shape: [rois.0, x.1, size, size]}.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/schema.h"
#include "symbolic/registry.h"

namespace compatcheck::symbolic {

// Whether the text of `facts:` is one of these: as the tables' reader writes it, in braces.
bool spells_facts(std::string_view text);

// The function of the text. Words of the registry may stand for the dtype and the shape; it must outlive the function. Throws
// TableError, with the reason, for a text that says nothing.
FactFunction spelled_facts(std::string_view text, const Registry& registry);

// The defect of the text for calls of this schema; empty if there is none.
std::string defect_of_facts(std::string_view text, const schema::Schema& schema, const std::vector<std::string_view>& words);

}  // namespace compatcheck::symbolic
