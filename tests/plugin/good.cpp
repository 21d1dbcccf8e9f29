// What a plugin may do, and what its functions may do wrong without harm.
#include <compatcheck/plugin.h>

#include <stdexcept>

namespace plugin = compatcheck::plugin;
using plugin::DType;
using plugin::Value;

namespace {

Value twice(plugin::Emission& e, const char* argument) {
  const Value x = e.tensor(argument);
  return e.node("Add", {x, x});
}

// Every kind of argument once; the sum tells which values arrived.
void reads(plugin::Emission& e) {
  double sum = static_cast<double>(e.integer("count") + e.integer("absent", 10) + e.rank("x")) + e.number("scale");
  for (const auto one : e.ints("sizes")) sum += static_cast<double>(one);
  for (const auto one : e.floats("weights")) sum += one;
  if (e.boolean("flag") && e.string("mode") == "wide" && !e.given("bias")) sum += 1000;
  const auto parts = e.tensors("parts");
  const Value known = e.constant<float>(DType::f32, {2}, {1.0f, 2.0f});
  Value total = e.node("Add", {e.tensor("x"), e.scalar(DType::f32, sum)});
  for (const Value& part : parts) total = e.node("Add", {total, part});
  e.give(e.node("Add", {total, e.gather(known, e.scalar(DType::i64, 1), 0)}));
}

void forgetful(plugin::Emission&) {}
void throwing(plugin::Emission&) { throw std::runtime_error("out of luck"); }
void throwing_a_number(plugin::Emission&) { throw 7; }
void refusing(plugin::Emission&) { throw plugin::Refusal{"not on a Sunday", "wait"}; }
void misspelling(plugin::Emission& e) { e.give(e.node("Ad", {e.tensor("x")})); }
void demanding(plugin::Emission& e) { e.give(e.node("Add", {e.tensor("x"), e.scalar(DType::f32, static_cast<double>(e.known_size("x", 0)))})); }
// Does without what isn't known.
void contented(plugin::Emission& e) {
  const auto size = e.size("x", 0);
  e.give(e.node(size ? "Neg" : "Abs", {e.tensor("x")}));
}

void halves(plugin::Facts& f) {
  auto shape = f.shape("x");
  shape.at(0) = floor_div(shape.at(0) + 1, 2);
  f.tensor(0, f.dtype("x"), shape);
}
void take_halves(plugin::Emission& e) {
  e.give(e.node("Slice", {e.tensor("x")}, {{"starts", plugin::Ints{0}}, {"ends", plugin::Ints{1 << 30}}, {"axes", plugin::Ints{0}}, {"steps", plugin::Ints{2}}}));
}
void same(plugin::Facts& f) { f.by_word("same"); }
void broken_facts(plugin::Facts&) { throw std::runtime_error("facts went wrong"); }

std::string wide_enough(plugin::Call& call) {
  if (call.known_size("x", -1) >= 4) return {};
  return "the last dimension of x is below 4";
}

void of_x(plugin::Registry& registry, const std::string& name, void (*handler)(plugin::Emission&)) {
  registry.handler("acme::" + name, {.emits = {"Add"}, .facts = "same", .schema = "acme::" + name + "(Tensor x) -> Tensor"}, handler);
}

void enter(plugin::Registry& registry) {
  registry.handler("acme::reads", {.emits = {"Add"}, .facts = "same",
                                   .schema = "acme::reads(Tensor x, int count, float scale, int[] sizes, float[] weights, bool flag, str mode, "
                                             "Tensor? bias, Tensor[] parts) -> Tensor"}, reads);
  of_x(registry, "forgetful", forgetful);
  of_x(registry, "throwing", throwing);
  of_x(registry, "throwing_a_number", throwing_a_number);
  of_x(registry, "refusing", refusing);
  of_x(registry, "misspelling", misspelling);
  of_x(registry, "demanding", demanding);
  of_x(registry, "contented", contented);
  registry.handler("acme::halves", {.emits = {"Slice"}, .from = 10, .schema = "acme::halves(Tensor x) -> Tensor"}, take_halves);
  registry.facts("acme::halves", halves);
  registry.handler("acme::by_word", {.emits = {"Add"}, .schema = "acme::by_word(Tensor x) -> Tensor"}, [](plugin::Emission& e) { e.give(twice(e, "x")); });
  registry.facts("acme::by_word", same);
  registry.handler("acme::broken_facts", {.emits = {"Add"}, .schema = "acme::broken_facts(Tensor x) -> Tensor"}, contented);
  registry.facts("acme::broken_facts", broken_facts);
  registry.rows("acme::wide:\n  schema: acme::wide(Tensor x) -> Tensor\n  facts: same\n  9: {to: [Add, Mul], requires: wide_enough}\n");
  registry.handler("acme::wide", {.from = 9}, [](plugin::Emission& e) { e.give(twice(e, "x")); });
  registry.condition("wide_enough", wide_enough);
  registry.handler("aten::relu", {.emits = {"Max", "Mul"}, .from = 9, .to = 12}, [](plugin::Emission& e) {
    e.give(e.node("Mul", {e.node("Max", {e.tensor("self"), e.scalar(e.dtype("self"), 0)}), e.scalar(e.dtype("self"), 1)}));
  });
  registry.handler("aten::softmax", {.emits = {"Softmax"}, .from = 9}, [](plugin::Emission& e) {   // Softmax changes its meaning at 13
    if (!e.at_least(13)) throw plugin::Refusal{"only from opset 13", ""};
    e.give(e.node("Softmax", {e.tensor("self")}, {{"axis", e.axis("dim")}}));
  });
}

}  // namespace

extern "C" const compatcheck_plugin_entry compatcheck_plugin = compatcheck::plugin::entry<enter>();
