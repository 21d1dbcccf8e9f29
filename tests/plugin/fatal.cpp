// Handlers that end the process, or never end.
#include <compatcheck/plugin.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace plugin = compatcheck::plugin;

namespace {

void aborting(plugin::Emission&) { std::abort(); }
void endless(plugin::Emission&) {
  volatile const bool forever = true;  // a compiler must not know
  while (forever) std::this_thread::sleep_for(std::chrono::seconds(1));
}

void enter(plugin::Registry& registry) {
  registry.handler("acme::aborting", {.emits = {"Relu"}, .facts = "same", .schema = "acme::aborting(Tensor x) -> Tensor"},
                   aborting);
  registry.handler("acme::endless", {.emits = {"Relu"}, .facts = "same", .schema = "acme::endless(Tensor x) -> Tensor"}, endless);
}

}  // namespace

extern "C" const compatcheck_plugin_entry compatcheck_plugin = compatcheck::plugin::entry<enter>();
