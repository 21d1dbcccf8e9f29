// A node on its way into the model, and what the builder's parts ask of schemas.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "onnx/builder.h"

namespace compatcheck::onnx {

// A node on its way into the model.
struct Builder::Call {
  const Schema* schema = nullptr;  // null for domains that nobody ships schemas for
  Node node;
  Values inputs;
  std::map<std::string_view, ir::DType> bound;    // type parameter → dtype
  std::map<std::string_view, ir::DType> widened;  // type parameter → dtype that it has outside
};

AttributeValue to_attribute(const Argument& argument);

// A type such as "tensor(int64)", as opposed to a parameter.
inline bool is_type(std::string_view type) { return type.find('(') != std::string_view::npos; }

// Returns the formal at that place, or null; a variadic one stands for all from there on.
const Formal* formal_at(std::span<const Formal> formals, std::size_t i);
bool accepts(const Formal& formal, const Value& value);
bool is_sequence(const Formal& formal);
// Types that hold every value of `dtype`, nearest first; more of them for an operator that only moves elements.
std::span<const ir::DType> wider(ir::DType dtype, bool moving);

inline std::string describe(const Schema& schema) { return std::string(schema.name); }

// The first version above that a predicate holds for, as words for a refusal: refusals hold for a range of opsets, so they don't
// name the one asked for.
template <class Holds>
Refusal refusal_until(const Schema& schema, const std::string& reason, Holds&& holds) {
  for (const Schema& version : versions(schema.name, schema.domain))
    if (version.since > schema.since && !version.deprecated && holds(version))
      return {reason + " before opset " + std::to_string(version.since), "use opset " + std::to_string(version.since)};
  return {reason};
}

}  // namespace compatcheck::onnx
