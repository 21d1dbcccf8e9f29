// From argv and the environment to Options.
#pragma once

#include <span>
#include <string>

#include "cli/commands.h"

namespace compatcheck::cli {

// Options given on the command line replace those of the environment. Throws UsageError, with "did you mean" for an
// option that the command doesn't have.
Options parse_arguments(const Command& command, std::span<const std::string> arguments);

// Index of the first word that is neither an option nor an option's value: a command or a model. The number of arguments if
// there is none, or none before "--".
std::size_t first_word(std::span<const std::string> arguments);

// The nearest of `candidates` if it is near enough to be a slip; else empty.
std::string nearest(const std::string& word, std::span<const std::string> candidates);

}  // namespace compatcheck::cli
