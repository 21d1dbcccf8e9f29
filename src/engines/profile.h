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
  kernel,  // by the operator's version, as ONNX Runtime's registry: within the entry's range
  since,   // the newest translator that isn't newer than the operator's version
  model,   // by the model's opset
};

inline constexpr int no_end = std::numeric_limits<int>::max();
struct Versions {
  int first = 0, last = 0;

  bool holds(int version) const { return first <= version && version <= last; }
};

// The types that an entry takes for a type parameter ("T"), an input or output ("X"), or a place ("inputs.0").
struct TypeList {
  std::string of;
  bool excluded = false;           // all but these
  std::vector<std::string> names;  // "f32", "seq(f32)", "seq": any sequence
};

struct Entry {
  std::vector<Versions> versions;  // empty: all
  std::vector<TypeList> types;
  std::vector<mapping::Conditions> when;  // any of these; empty: always
  Support support = Support::yes;         // for a node that fits all this
  std::string words;                      // the reason for no and unknown
  std::string note;                       // a note on a supported node
  mapping::Place place;
};

struct OperatorEntries {
  std::string name;            // "Conv", "com.microsoft::Gelu"
  std::vector<Entry> entries;  // the first that takes a node
};

// The shipped engine that runs what another doesn't take.
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
  bool functions = false;                         // ONNX's functions become their bodies where no entry takes the node
  Behind behind;                                  // and this engine doesn't, either: it is asked first, as by ONNX Runtime
  std::shared_ptr<const Profile> profile_behind;  // that engine; set by profile_of() and read_own_profile()
  std::vector<std::string> initializers;          // operators that become initializers when a model is loaded: nothing to take
  std::vector<std::string> own;                   // names in ONNX's domain that no version of ONNX has
  std::vector<std::string> dtypes;                // the default where an entry states no types; empty: all
  std::vector<std::pair<std::string, std::string>> reads;  // dtypes that are others to it, wherever they stand
  std::vector<std::pair<std::string, std::string>> casts;  // its own casts of an unsupported dtype that a node reads
  std::string fallback;                                    // the handling of unsupported nodes
  std::vector<OperatorEntries> operators;                  // by name

  const OperatorEntries* find(std::string_view name) const;  // null if it isn't there
  std::string target() const { return engine + "@" + version; }
};

}  // namespace compatcheck::engines
