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
void modern(plugin::Emission& e) { e.give(e.node("Gelu", {e.tensor("x")})); }
void misspelling(plugin::Emission& e) { e.give(e.node("Ad", {e.tensor("x")})); }
void demanding(plugin::Emission& e) {
  e.give(e.node("Add", {e.tensor("x"), e.scalar(DType::f32, static_cast<double>(e.known_size("x", 0)))}));
}
// Does without what isn't known.
void contented(plugin::Emission& e) {
  const auto size = e.size("x", 0);
  e.give(e.node(size ? "Neg" : "Abs", {e.tensor("x")}));
}

void unknowing(plugin::Emission&) { throw plugin::Unknown(); }
void permuting(plugin::Emission& e) { e.give(e.transpose(e.tensor("x"), {0})); }
void permuting_twice(plugin::Emission& e) { e.give(e.transpose(e.tensor("x"), {1, 1})); }
void permuting_inside(plugin::Emission& e) { e.give(e.transpose(e.node("Abs", {e.tensor("x")}), {0})); }
void squeezing(plugin::Emission& e) { e.give(e.squeeze(e.unsqueeze(e.tensor("x"), {0}), {3})); }
void gathering(plugin::Emission& e) { e.give(e.gather(e.tensor("x"), e.integers({0}), -1)); }
void overflowing(plugin::Emission& e) { e.give(e.node("Add", {e.tensor("x"), e.cast(e.scalar(DType::i8, 300), DType::f32)})); }
void overflowing_half(plugin::Emission& e) {
  e.give(e.node("Add", {e.tensor("x"), e.cast(e.scalar(DType::f16, 1e6), DType::f32)}));
}
void halving_an_integer(plugin::Emission& e) {
  e.give(e.node("Add", {e.tensor("x"), e.cast(e.scalar(DType::i64, 0.5), DType::f32)}));
}
void misnaming(plugin::Emission& e) { e.give(e.node("a::b::c", {e.tensor("x")}, {}, DType::f32)); }
void unnaming(plugin::Emission& e) { e.give(e.node("", {e.tensor("x")}, {}, DType::f32)); }
void blank(plugin::Emission& e) { e.give(e.node("acme::a b", {e.tensor("x")}, {}, DType::f32)); }
// A value of the first call it gets, in every call.
void keeping(plugin::Emission& e) {
  static const Value kept = e.tensor("x");
  e.give(e.node("Add", {kept, e.tensor("x")}));
}
void keeping_a_size(plugin::Facts& f) {
  static const plugin::Dim kept = f.shape("x").at(0);
  static bool first = true;
  if (first)
    f.by_word("same");
  else
    f.tensor(0, f.dtype("x"), {f.shape("x").at(0), plugin::Dim(kept)});
  first = false;
}
void an_integer(plugin::Facts& f) { f.integer(0, f.dim(3)); }
void a_tensor(plugin::Facts& f) { f.tensor(0, DType::f32, {}); }

void halves(plugin::Facts& f) {
  auto shape = f.shape("x");
  shape.at(0) = floor_div(shape.at(0) + 1, 2);
  f.tensor(0, f.dtype("x"), shape);
}
void take_halves(plugin::Emission& e) {
  e.give(e.node(
      "Slice", {e.tensor("x")},
      {{"starts", plugin::Ints{0}}, {"ends", plugin::Ints{1 << 30}}, {"axes", plugin::Ints{0}}, {"steps", plugin::Ints{2}}}));
}
void same(plugin::Facts& f) { f.by_word("same"); }
void broken_facts(plugin::Facts&) { throw std::runtime_error("facts went wrong"); }

std::string wide_enough(plugin::Call& call) {
  if (call.known_size("x", -1) >= 4) return {};
  return "the last dimension of x is below 4";
}

void of_x(plugin::Registry& registry, const std::string& name, void (*handler)(plugin::Emission&)) {
  registry.handler("acme::" + name, {.emits = {"Add"}, .facts = "same", .schema = "acme::" + name + "(Tensor x) -> Tensor"},
                   handler);
}

void enter(plugin::Registry& registry) {
  registry.handler("acme::reads",
                   {.emits = {"Add"},
                    .facts = "same",
                    .schema = "acme::reads(Tensor x, int count, float scale, int[] sizes, float[] weights, bool flag, str mode, "
                              "Tensor? bias, Tensor[] parts) -> Tensor"},
                   reads);
  of_x(registry, "forgetful", forgetful);
  of_x(registry, "throwing", throwing);
  of_x(registry, "throwing_a_number", throwing_a_number);
  of_x(registry, "refusing", refusing);
  of_x(registry, "modern", modern);
  of_x(registry, "misspelling", misspelling);
  of_x(registry, "demanding", demanding);
  of_x(registry, "contented", contented);
  of_x(registry, "unknowing", unknowing);
  of_x(registry, "permuting", permuting);
  of_x(registry, "permuting_twice", permuting_twice);
  of_x(registry, "permuting_inside", permuting_inside);
  of_x(registry, "squeezing", squeezing);
  of_x(registry, "gathering", gathering);
  of_x(registry, "overflowing", overflowing);
  of_x(registry, "overflowing_half", overflowing_half);
  of_x(registry, "halving_an_integer", halving_an_integer);
  of_x(registry, "misnaming", misnaming);
  of_x(registry, "unnaming", unnaming);
  of_x(registry, "blank", blank);
  of_x(registry, "keeping", keeping);
  const auto with_facts = [&](const std::string& name, const std::string& result, void (*facts)(plugin::Facts&)) {
    registry.handler("acme::" + name, {.emits = {"Add"}, .schema = "acme::" + name + "(Tensor x) -> " + result}, contented);
    registry.facts("acme::" + name, facts);
  };
  with_facts("keeping_a_size", "Tensor", keeping_a_size);
  with_facts("an_integer", "Tensor", an_integer);
  with_facts("a_tensor", "int", a_tensor);
  with_facts("unknowing_facts", "Tensor", [](plugin::Facts&) { throw plugin::Unknown(); });
  registry.handler("acme::halves", {.emits = {"Slice"}, .from = 10, .schema = "acme::halves(Tensor x) -> Tensor"}, take_halves);
  registry.facts("acme::halves", halves);
  registry.handler("acme::by_word", {.emits = {"Add"}, .schema = "acme::by_word(Tensor x) -> Tensor"},
                   [](plugin::Emission& e) { e.give(twice(e, "x")); });
  registry.facts("acme::by_word", same);
  registry.handler("acme::broken_facts", {.emits = {"Add"}, .schema = "acme::broken_facts(Tensor x) -> Tensor"}, contented);
  registry.facts("acme::broken_facts", broken_facts);
  registry.rows(
      "acme::wide:\n  schema: acme::wide(Tensor x) -> Tensor\n  facts: same\n  9: {to: [Add, Mul], requires: wide_enough}\n");
  registry.handler("acme::wide", {.from = 9}, [](plugin::Emission& e) { e.give(twice(e, "x")); });
  registry.condition("wide_enough", wide_enough);
  registry.handler("aten::relu", {.emits = {"Max", "Mul"}, .from = 9, .to = 12}, [](plugin::Emission& e) {
    e.give(e.node("Mul", {e.node("Max", {e.tensor("self"), e.scalar(e.dtype("self"), 0)}), e.scalar(e.dtype("self"), 1)}));
  });
  registry.handler("aten::softmax", {.emits = {"Softmax"}, .from = 9},
                   [](plugin::Emission& e) {  // Softmax changes its meaning at 13
                     if (!e.at_least(13)) throw plugin::Refusal{"only from opset 13", ""};
                     e.give(e.node("Softmax", {e.tensor("self")}, {{"axis", e.axis("dim")}}));
                   });
}

}  // namespace

extern "C" const compatcheck_plugin_entry compatcheck_plugin = compatcheck::plugin::entry<enter>();
