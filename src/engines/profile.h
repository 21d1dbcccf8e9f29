// The operators that an engine supports, as data. docs/engines.md describes the language.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compatcheck/report.h"
#include "mapping/row.h"

namespace compatcheck::engines {

// How a node finds its entry.
enum class Match : std::uint8_t {
  kernel,  // the operator's version is within the entry's range, as in ONNX Runtime's registry
  since,   // the newest translator that isn't newer than the operator's version
  model,   // the model's opset is within the entry's range
};

inline constexpr int no_end = std::numeric_limits<int>::max();
struct Versions {
  int first = 0, last = 0;

  bool holds(int version) const { return first <= version && version <= last; }
};

// The types that an entry supports for a type parameter ("T"), an input or output ("X"), or a place ("inputs.0").
struct TypeList {
  std::string of;
  bool excluded = false;           // all but these
  std::vector<std::string> names;  // "f32", "seq(f32)", "seq": any sequence
};

struct Entry {
  std::vector<Versions> versions;  // empty: all
  std::vector<TypeList> types;
  std::vector<mapping::Conditions> when;  // any of these; empty: always
  Support support = Support::yes;         // for a node that meets all of the above
  bool decides = false;                   // whether it goes before all others: a limit of what they support
  std::string words;                      // the reason for no and unknown
  std::string note;                       // a note on a supported node
  mapping::Place place;
};

struct OperatorEntries {
  std::string name;            // "Conv", "com.microsoft::Gelu"
  std::vector<Entry> entries;  // the first one that supports a node is used, unless one that decides matches it
};

// The shipped engine that runs what another one doesn't support.
struct Behind {
  std::string engine;  // empty: none
  mapping::Place place;
};

struct Profile {
  std::string engine, title, version, source, date;
  std::optional<Versions> opsets;  // opsets of models; absent: the source doesn't state them
  std::optional<int> ir;           // the highest IR version
  Match match = Match::model;
  Support unlisted = Support::unknown;            // for an operator without entries
  bool functions = false;                         // inline ONNX functions that neither an entry nor the engine behind supports
  bool local_functions = true;                    // runs functions that a model carries
  Behind behind;                                  // asked before functions are inlined, as in ONNX Runtime
  std::shared_ptr<const Profile> profile_behind;  // the engine that `behind` names; set by profile_of() and read_own_profile()
  std::vector<std::string> initializers;          // operators that become initializers at load: no node to run
  std::vector<std::string> own;                   // names in ONNX's domain that no version of ONNX has
  std::vector<std::string> dtypes;                // the default where an entry states no types; empty: all
  std::vector<std::pair<std::string, std::string>> reads;  // dtypes that the engine reads as others everywhere
  std::vector<std::pair<std::string, std::string>> casts;  // its own casts of an unsupported dtype that a node reads
  std::string fallback;                                    // the handling of unsupported nodes
  std::vector<OperatorEntries> operators;                  // sorted by name

  const OperatorEntries* find(std::string_view name) const;  // null if it isn't there
  std::string target() const { return engine + "@" + version; }
};

}  // namespace compatcheck::engines
