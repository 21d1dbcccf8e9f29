// Which values of a program may be one list, dictionary or object, or hold one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "ir/watch.h"

namespace compatcheck::passes {

// Which operand of an operator is a container or an object that it hands on, and does nothing else with.
bool only_moves(const ir::Node& node, std::size_t operand);
// Whether the results of an operator are what it was given, or what that holds: not new containers.
bool gives_references(const ir::Node& node);

// Values that may be the same container have one Term, and so have their items: a partition by unification, which doesn't look at
// the order in which a program does things.
class References {
 public:
  struct Term {
    enum class Kind : std::uint8_t { plain, list, dict, tuple, object };
    Kind kind = Kind::plain;
    std::vector<Term*> parts{};                              // of a list or dictionary one, for its items
    std::map<std::string, Term*, std::less<>> attributes{};  // of an object
    std::string class_name{};
    bool held = false;     // an item of a list or dictionary, or an object's attribute, may be it
    bool foreign = false;  // comes from elsewhere or goes there, so that it must stay as it is
    Term* same = nullptr;  // the one that stands for both

    bool is_reference() const { return kind == Kind::list || kind == Kind::dict || kind == Kind::object; }
  };

  References(const ir::Graph& graph, const ir::Watch& watch);

  Term* of(const ir::Value* value);
  void set(const ir::Value* value, Term* term) { of_values_[value] = term; }
  static Term* part(const Term* term, std::size_t i) { return root(term->parts.at(i)); }
  static Term* part(const Term* object, std::string_view attribute) { return root(object->attributes.find(attribute)->second); }
  const std::map<std::string, Term*, std::less<>>& classes() const { return classes_; }  // of which objects are made
  void make_foreign(Term* term);                                                         // and what it holds
  // Whether the operator needs lists of lists whole, and neither changes them nor keeps them.
  bool reads_whole(const ir::Node& node) const { return reading_whole_.contains(&node); }

 private:
  Term* made(const ir::TypeRef& type);
  static Term* root(Term* term);
  void unify(Term* a, Term* b);
  void unify(const ir::Value* a, const ir::Value* b) { unify(of(a), of(b)); }
  Term* attribute(Term* object, std::string_view name, const ir::TypeRef& type);
  void make_contents_foreign(const Term& term);
  void hand_out(const ir::Value* value, const ir::Node& to);

  void read(const ir::Node& node);
  bool read_moves(const ir::Node& node);
  bool read_list(const ir::Node& node);
  bool read_dict(const ir::Node& node);
  void read_other(const ir::Node& node);
  void mark_held();

  std::deque<Term> terms_;
  std::unordered_map<const ir::Value*, Term*> of_values_;
  std::map<std::string, Term*, std::less<>> classes_;
  std::set<const ir::Node*> reading_whole_;
};

}  // namespace compatcheck::passes
