// The registry of the families: functions that state facts, and conditions that data can't express. Handlers join them
// when the converter does.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "symbolic/call.h"

namespace compatcheck::symbolic {

// One fact an output.
using FactFunction = std::function<std::vector<Fact>(const Call&)>;

enum class Truth : std::uint8_t { no, yes, unknown };
struct Verdict {
  Truth truth = Truth::unknown;
  std::string message{};               // the reason: "output size 7 doesn't divide 30"
  std::vector<std::uint32_t> wants{};  // unknown: the model inputs that would settle it
  const ir::Node* blame = nullptr;     // unknown: the node without facts that decides (Fact::blame)
};
using ConditionFunction = std::function<Verdict(const Call&)>;

class Registry {
 public:
  // Throws InternalError when the name is registered already.
  void facts(std::string_view op, FactFunction function);  // "aten::cat", or "aten::max.dim"
  // For the overloads on Python's numbers, which share a name with the operator on tensors: "aten::add" of two ints.
  void number_facts(std::string_view op, FactFunction function);
  // "pointwise": docs/mappings.md. `demand`: PyTorch's requirements on every operator with these facts, if any.
  void fact_word(std::string_view word, FactFunction function, ConditionFunction demand = nullptr);
  void condition(std::string_view name, ConditionFunction function);

  // Registers a plugin's facts, which override earlier ones; a base name applies to its overloads.
  void replace_facts(std::string_view op, const FactFunction& function);

  FactFunction find_facts(std::string_view op, std::string_view overload) const;  // null if none
  // Only facts that are registered for this very overload.
  FactFunction find_overload_facts(std::string_view op, std::string_view overload) const;
  std::vector<std::string_view> fact_names() const;
  FactFunction find_number_facts(std::string_view op) const;
  FactFunction find_fact_word(std::string_view word) const;
  ConditionFunction find_word_demand(std::string_view word) const;
  ConditionFunction find_condition(std::string_view name) const;
  std::vector<std::string_view> condition_names() const;
  std::vector<std::string_view> fact_words() const;

 private:
  std::map<std::string, FactFunction, std::less<>> facts_, numbers_, words_;
  std::map<std::string, ConditionFunction, std::less<>> conditions_, demands_;
};

// Every shipped family.
Registry shipped_registry();

}  // namespace compatcheck::symbolic
