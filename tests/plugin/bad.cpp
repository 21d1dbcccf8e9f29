// Plugins that can't be used; PLUGIN_CASE says which one this is.
#include <compatcheck/plugin.h>

#include <cstdlib>
#include <stdexcept>

namespace plugin = compatcheck::plugin;

namespace {

void nothing(plugin::Emission&) {}

void enter(plugin::Registry& registry) {
  const char* set = std::getenv("PLUGIN_CASE");
  const std::string which = set ? set : "";
  const std::string schema = "acme::f(Tensor x) -> Tensor";
  if (which == "throws") throw std::runtime_error("no licence");
  if (which == "throws a number") throw 3;
  if (which == "refuses") throw plugin::Refusal{"not here"};
  if (which == "unknown operator") registry.handler("aten::nosuch", {.emits = {"Add"}}, nothing);
  if (which == "no operator") registry.handler("nosuch", {.emits = {"Add"}}, nothing);
  if (which == "unknown ONNX operator") registry.handler("acme::f", {.emits = {"Ad"}, .schema = schema}, nothing);
  if (which == "later ONNX operator") registry.handler("acme::f", {.emits = {"Gelu"}, .from = 9, .schema = schema}, nothing);
  if (which == "schema") registry.handler("acme::f", {.emits = {"Add"}, .schema = "acme::f(Tensor x -> Tensor"}, nothing);
  if (which == "facts") registry.handler("acme::f", {.emits = {"Add"}, .facts = "sme", .schema = schema}, nothing);
  if (which == "rows") registry.rows("aten::relu:\n  9: {too: Relu}\n");
  if (which == "no YAML") registry.rows("aten::relu: [");
  if (which == "twice") {
    registry.handler("acme::f", {.emits = {"Add"}, .from = 9, .to = 12, .schema = schema}, nothing);
    registry.handler("acme::f", {.emits = {"Mul"}, .from = 12, .to = 20, .schema = schema}, nothing);
  }
  if (which == "twice, unheard") try {
      registry.facts("acme::f", [](plugin::Facts&) {});
      registry.facts("acme::f", [](plugin::Facts&) {});
    } catch (...) {
    }
  if (which == "no row") registry.handler("acme::g", {}, nothing);
  if (which == "opsets") registry.handler("acme::f", {.emits = {"Add"}, .from = 5, .to = 9, .schema = schema}, nothing);
  if (which == "unknown handler") registry.handler("acme::h", {.emits = {"Add"}}, nothing);
  if (which == "unknown facts") registry.facts("acme::h", [](plugin::Facts&) {});
  if (which == "unknown overload") registry.facts("aten::max.nosuch", [](plugin::Facts&) {});
  if (which == "no handler") registry.handler("acme::f", {.emits = {"Add"}, .schema = schema}, nullptr);
  if (which == "no facts") registry.facts("acme::f", nullptr);
  if (which == "no condition") registry.condition("tall", nullptr);
  if (which == "row and handler") {
    registry.condition("tall", [](plugin::Call&) { return std::string(); });
    registry.rows("acme::f: {schema: \"" + schema + "\", facts: same, 9: {to: Abs, requires: tall}}\n");
    registry.handler("acme::f", {.emits = {"Add"}, .from = 12}, nothing);
  }
  if (which == "condition") registry.condition("pool_fits", [](plugin::Call&) { return std::string(); });
}

}  // namespace

extern "C" const compatcheck_plugin_entry compatcheck_plugin = compatcheck::plugin::entry<enter>();
