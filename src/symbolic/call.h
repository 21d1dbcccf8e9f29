// Typed access to one operator call by schema names: how facts, conditions and handlers read their arguments.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "schema/schema.h"
#include "symbolic/fact.h"

namespace compatcheck::symbolic {

// Facts by ir::Value::id(); grown on demand.
class FactTable {
 public:
  const Fact& of(const ir::Value* value) const;  // "nothing known" if never set
  void set(const ir::Value* value, Fact fact);

  FactTable() = default;
  // A few facts over those of another table, which must outlive it: a call as if its tensors were others.
  explicit FactTable(const FactTable* below) : below_(below) {}

 private:
  std::vector<Fact> facts_;
  const FactTable* below_ = nullptr;
  std::map<std::size_t, Fact> above_;
};

// Argument reads that answer nullopt mean "not known when converting"; is_none() is asked first for Optionals.
// A name that this overload lacks reads as None: overloads of one operator differ, and lint checks the names (the tables'
// conditions take its default in the other overloads instead). Needs a resolved schema.
class Call {
 public:
  Call(const ir::Node& node, const FactTable& facts) : node_(node), facts_(facts) {}

  const ir::Node& node() const { return node_; }
  std::string_view op() const { return node_.op(); }
  bool has(std::string_view argument) const;                // the schema has it
  const ir::Value* value(std::string_view argument) const;  // null if this overload lacks it
  const Fact& fact(std::string_view argument) const;

  bool is_none(std::string_view argument) const;
  const TensorFact* tensor(std::string_view argument) const;  // null: not a tensor, or nothing known
  std::optional<std::size_t> rank(std::string_view argument) const;
  std::optional<ir::DType> dtype_of(std::string_view tensor_argument) const;
  std::optional<std::int64_t> integer(std::string_view argument) const;
  std::optional<Dim> dim(std::string_view argument) const;  // an int, perhaps symbolic
  std::optional<double> number(std::string_view argument) const;
  std::optional<bool> boolean(std::string_view argument) const;
  std::optional<std::string> string(std::string_view argument) const;
  std::optional<ir::DType> dtype(std::string_view argument) const;  // a `dtype=` argument
  // int[k]: a single int is broadcast to the schema's k.
  std::optional<ir::CheckedVector<std::int64_t>> ints(std::string_view argument) const;
  std::optional<Shape> dims(std::string_view argument) const;
  std::optional<ir::CheckedVector<double>> floats(std::string_view argument) const;
  std::optional<ir::CheckedVector<const Fact*>> list(std::string_view argument) const;
  const Fact& input(std::size_t i) const;  // "nothing known" if the call has no such input
  const FactTable& facts() const { return facts_; }

 private:
  const ir::Node& node_;
  const FactTable& facts_;
};

}  // namespace compatcheck::symbolic
