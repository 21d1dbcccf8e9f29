// Schemas of custom operators that both a mapping row and a loaded library state.
#pragma once

#include <string>
#include <vector>

namespace compatcheck::analysis {

// The schema that a library registers, with the argument names of the rows' own schema, by position: a finding without the
// library numbers the arguments ("arg0"), and its row must also work with the library. The library's text where no row states
// one. Throws UsageError that names the difference where the two don't describe the same call.
std::string reconciled(const std::string& library, const std::vector<std::string>& of_rows);

}  // namespace compatcheck::analysis
