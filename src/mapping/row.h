// One row of a mapping table, as data. The language is described in docs/mappings.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "schema/traits.h"

namespace compatcheck::onnx {
class FunctionText;
}

namespace compatcheck::mapping {

struct Place {
  std::string file;          // "mappings/operators/pooling.yaml", or the user's own
  int line = 0, column = 0;  // count from 1
};

// An error at a place of a table.
struct Defect {
  Place place;
  std::string message;
};

using Literal = std::variant<std::monostate /* ~ */, bool, std::int64_t, double, std::string>;

struct Predicate {
  std::optional<std::vector<Literal>> any_of;  // a literal is a list of one
  std::optional<std::vector<Literal>> equals;  // list equality
  std::shared_ptr<const Predicate> each, length, elements, negated;
  std::optional<double> min, max;
  std::optional<bool> none, constant, used;
  std::vector<std::string> dtype;  // dtypes or class words
  std::optional<bool> rank_known;
  std::shared_ptr<const Predicate> rank;
  struct Size {
    std::int64_t dim = 0;
    bool known = false;
    std::shared_ptr<const Predicate> value;
  };
  std::vector<Size> sizes;
};

struct Condition {
  std::string argument;  // a schema name, "outputs.N", or "tensors"
  Predicate predicate;
  Place place;
};
using Conditions = std::vector<Condition>;  // all must hold

enum class ArgumentKind : std::uint8_t { automatic, value, integer, floating, integers, floats, string, boolean, dtype, none };

// The source of an ONNX attribute or input: an argument, or a constant.
struct Binding {
  ArgumentKind kind = ArgumentKind::automatic;
  std::string argument;  // empty: `constant`
  std::vector<Literal> constant;
  bool constant_is_list = false;
};

// ONNX functions written in ONNX's own text notation. The last is what the row calls; the others are what it calls.
struct Body {
  bool is_inlined = false;  // `inline`: its nodes go into the graph; else `function`: the model carries it
  std::string text;
  Place place;  // place of the text's first character
  std::shared_ptr<const onnx::FunctionText> functions;
};

// A place in its text, whose lines and columns count from 1.
Place place_in(const Body& body, int line, int column);

struct Row {
  enum class Kind : std::uint8_t { mapped, missing, refuse };
  Kind kind = Kind::mapped;
  std::vector<std::string> to;  // "Relu", "domain::Name"; for a body, the operators that it implies
  std::string variant;          // variant of the operator's handler; empty: the usual one
  std::optional<Body> body;
  std::optional<std::vector<Binding>> inputs;
  std::vector<std::pair<std::string, Binding>> attributes;
  std::vector<Conditions> when;       // any of these; empty: always
  std::vector<std::string> required;  // `requires`
  std::string reason;                 // reason for missing and refuse
  std::string hint, lifted, approximate;
  bool random = false;
  bool complex = false;  // only for calls with complex tensors
  Place place;

  bool one_to_one() const { return to.size() == 1; }
};

struct Entry {
  int opset = 7;          // holds from this opset up
  std::vector<Row> rows;  // the first row that applies is used
  bool user = false;      // whether it comes from a user's file
  Place place;
};

// The conditions that PyTorch itself sets for a call, at every opset.
struct Validity {
  std::vector<Conditions> when;       // any of these; empty: always
  std::vector<std::string> required;  // `requires`

  bool empty() const { return when.empty() && required.empty(); }
};

// How the rows of an operator, which are written for real tensors, compute with complex ones.
struct ComplexForm {
  enum class Kind : std::uint8_t { parts, product } kind = Kind::parts;
  std::vector<std::string> arguments;  // those with real and imaginary parts; empty: the rows don't support complex tensors

  bool empty() const { return arguments.empty(); }
};

struct OperatorRows {
  std::string name;    // "aten::add" or "aten::add.Tensor"
  std::string alias;   // another operator's name, or empty
  std::string schema;  // stated by a user, or empty
  Place schema_place;
  std::string facts;            // rule word, or empty
  schema::TraitSet traits = 0;  // stated in the shipped tables; for all overloads
  ComplexForm complex;
  Validity valid;
  std::vector<Entry> history;  // ascending opsets
  Place place;
};

// Whether these are the rows of a base name, carried over to an overload of it (Table::overlay).
bool carried_over(const OperatorRows& base, const OperatorRows& overload);

// Equal in all that they say; places don't count.
bool equal(const Predicate& a, const Predicate& b);
bool equal(const Conditions& a, const Conditions& b);
bool equal(const Row& a, const Row& b);
bool equal(const std::vector<Row>& a, const std::vector<Row>& b);

// "aten::add.Tensor" → "aten::add", "Tensor"; the overload is empty where none is named.
std::pair<std::string_view, std::string_view> split_overload(std::string_view name);
// A number as briefly as it can be read back.
std::string spell(const Literal& literal);  // as Python writes it
// "Div, Erf, Add": operators as a row lists them.
std::string joined(const std::vector<std::string>& names, std::string_view separator = ", ");
// "com.acme::Gelu" → "com.acme", "Gelu"; the domain is empty for ONNX's own.
std::pair<std::string_view, std::string_view> split_domain(std::string_view onnx_name);

}  // namespace compatcheck::mapping
