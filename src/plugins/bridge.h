// A plugin's functions as the shipped ones are called.
#pragma once

#include "handlers/registry.h"
#include "plugins/plugin.h"
#include "symbolic/registry.h"

namespace compatcheck::plugins {

// Each keeps the library open. `words`: those of `facts:`, for facts that are stated by one.
handlers::Handler handler_of(FunctionRef function);
symbolic::FactFunction facts_of(FunctionRef function, std::string op, std::shared_ptr<const symbolic::Registry> words);
symbolic::ConditionFunction condition_of(FunctionRef function, std::string name);

}  // namespace compatcheck::plugins
