// Which function emits which operator.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/emission.h"

namespace compatcheck::handlers {

using Handler = std::function<void(Emission&)>;

// The handlers of a plugin; its rows are those whose place begins with its name and "(".
struct Overlaid {
  std::string op, plugin;
  onnx::OpsetRange opsets;
  Handler function;
};

class Registry {
 public:
  // Registers by the name of the operator's rows: "aten::cat", or "aten::max.dim" for an overload with rows of its own. Throws
  // InternalError when the name is registered already. `variants`: the names that rows may request by `variant:`, beside the
  // usual way.
  void handler(std::string_view op, Handler function, std::vector<std::string> variants = {});
  // Registers for the overloads on Python's numbers, which share rows with the operator on tensors: "aten::add" of two ints.
  void number_handler(std::string_view op, Handler function);
  // Registers for complex tensors: rows with `complex: true`, of the operator and of its overloads.
  void complex_handler(std::string_view op, Handler function);
  // Registers a plugin's handler at these opsets, over all that was registered before; a base name covers its overloads.
  void overlay(std::string_view op, onnx::OpsetRange opsets, Handler function, std::string_view plugin);
  // Returns the handler of these rows; null if there is none. `rows` is the canonical name: after aliases, in-place and out=
  // forms.
  const Handler* find(std::string_view rows) const;
  const Handler* find_exact(std::string_view rows) const;  // without falling back to the base name
  const Handler* find_number(std::string_view op) const;
  const Handler* find_complex(std::string_view rows) const;
  // Returns the last plugin's handler; `around` is narrowed to the opsets around this one with the same answer.
  const Overlaid* find_overlaid(std::string_view rows, int opset, onnx::OpsetRange& around) const;
  std::vector<std::string_view> names() const;
  const std::vector<std::string>& variants(std::string_view rows) const;

 private:
  std::map<std::string, Handler, std::less<>> handlers_, numbers_, complex_;
  std::map<std::string, std::vector<std::string>, std::less<>> variants_;
  std::vector<Overlaid> overlaid_;  // the later wins
};

// Every shipped family.
Registry shipped_handlers();

// Emits a row that is one ONNX operator from the row alone: inputs, attributes, casts by the operator's `facts:` word.
void emit_row(Emission& emission);
bool is_plain(const mapping::Row& row);  // the row is one ONNX operator
// An argument that the row doesn't mention and that doesn't have its default in the call: emit_row would drop it. Empty if
// there is none.
std::string unmapped_arguments(const mapping::Row& row, const symbolic::Call& call);

}  // namespace compatcheck::handlers
