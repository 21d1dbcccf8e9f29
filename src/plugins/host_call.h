// One call as a plugin sees it: what stands behind the numbers and texts that cross.
#pragma once

#include <array>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compatcheck/plugin_abi.h"
#include "handlers/emission.h"
#include "symbolic/call.h"
#include "symbolic/registry.h"

struct compatcheck_call {
  compatcheck_call(compatcheck::handlers::Emission& of, bool to_emit) : emission(of), emits(to_emit) {}

  compatcheck::handlers::Emission& emission;
  bool emits;                                              // a handler's: nodes may be made
  bool states = false;                                     // facts may be stated
  const compatcheck::symbolic::Registry* words = nullptr;  // the words for facts, where facts are stated
  std::vector<compatcheck::symbolic::Fact> stated;

  std::string problem;                        // the problem of the last function that wasn't ok
  std::array<std::exception_ptr, 4> pending;  // indexed by status: exceptions thrown on this side
  std::string lost;                           // the problem of a function that has no status
  // The plugin's numbers are keys, and no two calls share one.
  std::unordered_map<compatcheck_value, compatcheck::onnx::Value> values;
  std::unordered_map<compatcheck_dim, compatcheck::symbolic::Dim> dims;
  std::unordered_map<compatcheck::onnx::ValueId, std::size_t> ranks;  // ranks of values, where known
  std::deque<std::string> texts;                                      // the texts that the plugin may read
  std::deque<std::vector<std::int64_t>> integers;
  std::deque<std::vector<double>> numbers;
  std::deque<std::vector<std::uint32_t>> ids;
};

namespace compatcheck::plugins {

// The plugin requested something that doesn't exist.
struct Misuse {
  std::string reason;
};

std::string_view view(compatcheck_text text);

compatcheck_value put(compatcheck_call& call, const onnx::Value& value);
onnx::Value value_at(const compatcheck_call& call, compatcheck_value id);  // throws Misuse
compatcheck_dim put(compatcheck_call& call, const symbolic::Dim& dim);
symbolic::Dim dim_at(const compatcheck_call& call, compatcheck_dim id);  // throws Misuse
compatcheck_dtype number_of(ir::DType dtype);                            // throws Refusal for what ONNX lacks
std::optional<ir::DType> dtype_at(compatcheck_dtype number);             // throws Misuse
void give_dims(compatcheck_call& call, const symbolic::Shape& shape, const compatcheck_dim** answer, std::size_t* count);

// An exception on this side becomes a status; it is thrown again where the plugin returns that status.
void remember(compatcheck_call& call, compatcheck_status status, std::string problem, std::exception_ptr thrown);
compatcheck_status remember_current(compatcheck_call& call);
template <class Work>
compatcheck_status guarded(compatcheck_call* call, Work&& work) {
  try {
    work(*call, call->emission);
    return compatcheck_ok;
  } catch (...) {
    return remember_current(*call);
  }
}

// Runs a function that returns no status: an error fails the call all the same.
template <class Work>
void guarded_without_status(compatcheck_call* call, Work&& work) {
  if (guarded(call, work) == compatcheck_failed) call->lost = call->problem;
}

// The functions of the table, by what they are about.
void add_reads(compatcheck_host& host);
void add_sizes_and_facts(compatcheck_host& host);
void add_nodes(compatcheck_host& host);

}  // namespace compatcheck::plugins
