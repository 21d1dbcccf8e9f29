// --input and its statements about a model's inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/input_names.h"
#include "compatcheck/report.h"
#include "conversion/facts.h"
#include "ir/graph.h"
#include "symbolic/evaluate.h"

namespace compatcheck::analysis {

// The parts of an option. `dims` is empty for None and for values without dimensions.
struct StatedSizes {
  std::string input, lead;  // "x", "x=f32:"; `input` is empty if there are more options without a name than inputs
  std::vector<std::string> dims;
};
std::vector<StatedSizes> stated_sizes(std::span<const std::string> texts, const ir::Graph& graph, Defaulted defaults);

// The parts of --dim: "batch=4", "batch=1..64". `size` is empty if there is no '='.
struct NamedSize {
  std::string name, size;
};
NamedSize named_size(const std::string& text);
// "1..64", "2.." or "..64", ends included. nullopt for another text, and for a range without a size of at least 1.
std::optional<symbolic::SizeRange> range_in(std::string_view size);
std::string to_string(const symbolic::SizeRange& range);                // as range_in reads it
symbolic::NamedRanges named_ranges(std::span<const std::string> dims);  // of those that state a range

// Options for each tensor and number of a list, dictionary or tuple, with KEY for keys: "d.KEY=i64", "d.KEY.0=SPEC". `spec`:
// the text for a tensor.
std::vector<std::string> member_options(const std::string& name, const ir::TypeRef& type, const std::string& spec);
// " for each KEY", where such options stand for several.
std::string for_each_member(const ir::TypeRef& type);

// The text of a number or text as --input states it; empty for another value.
std::string value_text(const ir::Constant& value);
std::string without_quotes(std::string_view text);  // of a text that an option states; the same if it has none

bool is_number(std::string_view size);                         // digits only
bool is_name(std::string_view size);                           // letters, digits and underscores; the first isn't a digit
std::optional<std::int64_t> number_in(std::string_view size);  // nullopt for a name and for numbers beyond 64 bits

// Specs matched to inputs, in order or by name. Throws UsageError for an unknown name (listing the known ones),
// too many specs, or a name that is stated twice.
std::vector<conversion::InputFact> match_inputs(std::span<const std::string> texts, const ir::Graph& graph,
                                                Defaulted defaults = {});

// "NAME=N" and "NAME=LEAST..MOST" texts. Throws UsageError for a name that no input has, for a duplicate, for a size below 1 or
// out of its range. Names are those of `inputs` and of assumed sizes.
void check_dims(std::span<const std::string> dims, std::span<const StatedSizes> inputs, std::span<const AssumedInput> assumed);

}  // namespace compatcheck::analysis
