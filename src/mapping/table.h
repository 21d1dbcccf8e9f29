// The rule table in force: shipped rows, overlaid by users' files.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mapping/row.h"
#include "schema/schema.h"

namespace compatcheck::mapping {

inline constexpr int lowest_opset = 7;
inline constexpr int highest_opset = 26;  // the newest that the pinned ONNX Runtime accepts

// How a version step of an ONNX operator changed it; from mappings/onnx_changes.yaml.
enum class Change : std::uint8_t { types, extended, meaning };
struct OnnxChange {
  std::string op;
  int from = 0, to = 0;
  Change change = Change::types;
  std::string why;
  std::vector<std::pair<std::string, std::string>> moved;  // attribute → the input that it became
  Place place;
};

// A name that a custom ONNX domain can have.
bool is_custom_domain(std::string_view name);

// The treatment of a structural operator.
enum class Structure : std::uint8_t {
  resolved,  // where its results are used
  known,     // into constants: its results must be known during conversion if something needs them
  dropped,   // becomes no node and needs nothing
};

// A member of mappings/structural.yaml.
struct Listed {
  std::string name;
  std::string why;
  Structure structure = Structure::resolved;
  schema::TraitSet traits = 0;
  Place place;
};

// The overload that an `out=` form is the form of ("Scalar_out" → "Scalar"): the same arguments but for the written
// ones. Absent for other overloads.
std::optional<std::string> functional_overload(std::string_view op, std::string_view overload, const schema::Registry& schemas);

// The table's rows for one operator at one opset, before conditions are checked.
struct Lookup {
  enum class Status : std::uint8_t {
    rows,        // `rows` apply, in order
    missing,     // a row states it, or the lowest entry is above the opset
    structural,  // listed in mappings/structural.yaml
    stale,       // the entry ends at a change of meaning that the table hasn't answered
    unknown,     // no row at all
  };
  Status status = Status::unknown;
  const OperatorRows* op = nullptr;  // after resolving aliases, in-place and out= forms
  const Listed* listed = nullptr;    // the entry of a structural operator
  std::span<const Row> rows;
  int since = 0;      // opset of the entry in force
  bool user = false;  // from a user's file
};

struct Tables;  // mapping/reading/folder.h

// Cheap to copy; shipped rows are shared and immutable. Safe to read from several threads.
class Table {
 public:
  static Table shipped();
  static std::string_view shipped_bytes();  // as compiled in; these bytes identify this program's tables
  // The tables of a folder that holds operators/*.yaml and the files beside it, as the shipped ones are made.
  // Throws TableError with every defect of reading.
  static Table read(const std::filesystem::path& folder);
  static Table of(const Tables& tables);

  // Rows of a user's file win over what is there, per operator and opset. Returns what is wrong in the file: an operator with
  // a defect is left out. Throws TableError for a file that can't be read.
  std::vector<Defect> overlay(const std::filesystem::path& file);
  std::vector<Defect> overlay_text(std::string_view yaml, const std::string& file_name);
  // The same up to an opset; above it, what is there.
  std::vector<Defect> overlay_text(std::string_view yaml, const std::string& file_name, int last);

  // `op` "aten::relu_", `overload` may be empty. In-place and out= forms find the functional operator's rows.
  Lookup find(std::string_view op, std::string_view overload, int opset, const schema::Registry& schemas) const;
  // Above `opset`, the lowest at which some row maps it (conditions not looked at).
  std::optional<int> available_from(std::string_view op, std::string_view overload, int opset,
                                    const schema::Registry& schemas) const;
  // Returns PyTorch's conditions for a call; an overload's own rows may leave them to the base name.
  const Validity& valid(const OperatorRows& rows) const;
  // How its rows compute with complex tensors. Overloads with rows of their own state it for themselves.
  const ComplexForm& complex_form(const OperatorRows& rows) const;
  // The rule word for its facts; empty if none.
  std::string_view facts(std::string_view op, std::string_view overload, const schema::Registry& schemas) const;

  const Listed* find_structural(std::string_view op) const;  // null if it isn't on the list
  std::vector<const OperatorRows*> operators() const;        // sorted by name, aliases included
  std::vector<const OperatorRows*> users() const;            // rows that users' files state, under the names they use there
  const OperatorRows* stated(std::string_view name) const;   // exactly this name; null if there are no such rows
  bool is_users(const Place& place) const;                   // whether the place is in a user's file
  std::span<const OnnxChange> onnx_changes() const;          // sorted by operator and version
  // The first change of meaning, above the entry's opset and up to `opset`, of an operator in one of its rows.
  const OnnxChange* meaning_change(const Entry& entry, int opset) const;
  const std::map<std::string, int, std::less<>>& domains() const;  // versions of custom ONNX domains that users' files state
  std::span<const Listed> structural() const;                      // sorted by name
  std::vector<std::string> schemas() const;                        // the schemas that rows state, users' last
  std::string_view source_line(const Place& place) const;          // a line of a table file; empty if there is no such line

 private:
  struct State;
  explicit Table(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  void resume(std::vector<Entry>& history, const OperatorRows* before, int last) const;
  const OperatorRows* resolve(std::string_view op, std::string_view overload, const schema::Registry& schemas) const;

  std::shared_ptr<const State> state_;
};

}  // namespace compatcheck::mapping
