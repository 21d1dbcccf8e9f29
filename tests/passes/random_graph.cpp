#include "passes/random_graph.h"

#include <random>
#include <vector>

namespace compatcheck::passes {
namespace {

struct List {
  std::string name;
  std::size_t least = 0;  // items that it has for sure
};

// What can be used at one place.
struct Scope {
  std::vector<std::string> tensors;  // two by two
  std::vector<std::string> halves;   // of two elements
  std::vector<List> lists;           // of such tensors
  std::vector<std::string> ints, bools;
};

class Writer {
 public:
  explicit Writer(std::uint32_t seed) : random_(seed) {}

  std::string graph() {
    text_ = "graph(%x : Tensor, %y : Tensor, %c : bool, %n : int):\n";
    for (int i = 0; i < 4; ++i) line("%k" + std::to_string(i) + " : int = prim::Constant[value=" + std::to_string(i) + "]()");
    line("%true : bool = prim::Constant[value=1]()");
    line("%false : bool = prim::Constant[value=0]()");
    line("%none : NoneType = prim::Constant()");
    line("%last : int = prim::Constant[value=-1]()");
    line("%p : float = prim::Constant[value=0.5]()");
    Scope scope{{"%x", "%y"}, {}, {}, {"%k0", "%k1", "%k2", "%k3", "%n"}, {"%c", "%true", "%false"}};
    // Most writes can be proved on what the graph makes itself.
    const std::string first = fresh();
    line(first + " : Tensor = aten::neg(%x)");
    scope.tensors.push_back(first);
    steps(scope, 4 + pick(14), 0);
    // What is left in the inputs is seen, be they written or not.
    std::string results = "%x, %y";
    for (int i = 0; i < 3; ++i) results += ", " + tensor(scope);
    for (const List& list : scope.lists) results += ", " + list.name;
    if (!scope.halves.empty()) results += ", " + one(scope.halves);
    line("return (" + results + ")");
    return text_;
  }

 private:
  std::size_t pick(std::size_t below) { return random_() % below; }
  std::string fresh() { return "%v" + std::to_string(next_++); }
  void line(const std::string& text) { text_ += std::string(static_cast<std::size_t>(indent_) * 2, ' ') + text + "\n"; }
  const std::string& one(const std::vector<std::string>& names) { return names[pick(names.size())]; }
  // Later ones more often.
  const std::string& tensor(const Scope& scope) {
    const auto& all = scope.tensors;
    return pick(3) ? all[all.size() - 1 - pick(std::min<std::size_t>(3, all.size()))] : one(all);
  }

  void steps(Scope& scope, std::size_t count, int depth) {
    for (std::size_t i = 0; i < count; ++i) step(scope, depth);
  }

  void step(Scope& scope, int depth) {
    switch (pick(depth < 3 ? 16 : 12)) {
      case 0:
      case 1: return compute(scope);
      case 2:
      case 3:
      case 4: return write(scope);
      case 5: return view(scope);
      case 6: return write_half(scope);
      case 7: return make_list(scope);
      case 8:
      case 9: return use_list(scope, depth);
      case 10: return number(scope);
      case 11: return tuple(scope);
      case 12:
      case 13: return branch(scope, depth);
      default: return loop(scope, depth);
    }
  }

  void compute(Scope& scope) {
    const std::string result = fresh();
    switch (pick(4)) {
      case 0: line(result + " : Tensor = aten::neg(" + tensor(scope) + ")"); break;
      case 1: line(result + " : Tensor = aten::mul(" + tensor(scope) + ", " + tensor(scope) + ")"); break;
      case 2: line(result + " : Tensor = aten::relu(" + tensor(scope) + ")"); break;
      default: line(result + " : Tensor = aten::add(" + tensor(scope) + ", " + tensor(scope) + ", %k1)");
    }
    scope.tensors.push_back(result);
  }

  void write(Scope& scope) {
    // Now and then to an input; mostly not, so that more can be proved.
    const std::string target = pick(8) ? scope.tensors.back() : tensor(scope);
    const std::string result = fresh();
    switch (pick(5)) {
      case 0: line(result + " : Tensor = aten::neg_(" + target + ")"); break;
      case 1: line(result + " : Tensor = aten::mul_(" + target + ", " + tensor(scope) + ")"); break;
      case 2: line(result + " : Tensor = aten::add_(" + target + ", " + tensor(scope) + ", %k1)"); break;
      case 3: line(result + " : Tensor = aten::zero_(" + target + ")"); break;
      default: line(result + " : Tensor = aten::copy_(" + target + ", " + tensor(scope) + ", %false)");
    }
    if (pick(2)) scope.tensors.push_back(result);
  }

  void view(Scope& scope) {
    const std::string result = fresh();
    const std::string base = tensor(scope);
    const std::string dim = pick(2) ? "%k0" : "%k1";
    switch (pick(9)) {
      case 0: line(result + " : Tensor = aten::view_as(" + base + ", %x)"); break;
      case 1: line(result + " : Tensor = aten::dropout(" + base + ", %p, %false)"); break;
      case 2: line(result + " : Tensor = aten::contiguous(" + base + ", %k0)"); break;
      case 3: line(result + " : Tensor = aten::transpose(" + base + ", %k0, %k1)"); break;
      case 4: line(result + " : Tensor = aten::detach(" + base + ")"); break;
      case 5: {
        const std::string raised = fresh();
        line(raised + " : Tensor = aten::unsqueeze(" + base + ", " + dim + ")");
        if (pick(2)) line(fresh() + " : Tensor = aten::neg_(" + raised + ")");
        line(result + " : Tensor = aten::squeeze(" + raised + ", " + dim + ")");
        break;
      }
      case 6: return half(scope, result, base, dim);
      case 7: return half(scope, result, base, dim);
      default: {
        const std::string other = fresh();
        const std::string parts = fresh();
        line(parts + " : Tensor[] = aten::" + (pick(2) ? "chunk(" + base + ", %k2, " : "unbind(" + base + ", ") + dim + ")");
        line(result + " : Tensor, " + other + " : Tensor = prim::ListUnpack(" + parts + ")");
        scope.halves.push_back(result);
        scope.halves.push_back(other);
        if (pick(4) == 0) {
          const std::string again = fresh();
          line(again + " : Tensor = aten::__getitem__(" + parts + ", %k" + std::to_string(pick(2)) + ")");
          scope.halves.push_back(again);
        }
        return;
      }
    }
    scope.tensors.push_back(result);
  }

  // Two elements: a row, a column or the diagonal, with or without the other dimension.
  void half(Scope& scope, const std::string& result, const std::string& base, const std::string& dim) {
    const std::size_t at = pick(2);
    const std::string from = "%k" + std::to_string(at), to = "%k" + std::to_string(at + 1);
    switch (pick(4)) {
      case 0: line(result + " : Tensor = aten::select(" + base + ", " + dim + ", " + from + ")"); break;
      case 1: line(result + " : Tensor = aten::slice(" + base + ", " + dim + ", " + from + ", " + to + ", %k1)"); break;
      case 2: line(result + " : Tensor = aten::narrow(" + base + ", " + dim + ", " + from + ", %k1)"); break;
      default: line(result + " : Tensor = aten::diagonal(" + base + ", %k0, %k0, %k1)");
    }
    scope.halves.push_back(result);
  }

  void write_half(Scope& scope) {
    if (scope.halves.empty()) return view(scope);
    const std::string result = fresh();
    std::string target = pick(2) ? scope.halves.back() : one(scope.halves);
    if (pick(4) == 0) {
      line(result + "u : Tensor = aten::unsqueeze(" + target + ", %k0)");
      target = result + "u";
      scope.halves.push_back(target);
    }
    if (pick(2))
      line(result + " : Tensor = aten::add_(" + target + ", " + one(scope.halves) + ", %k1)");
    else
      line(result + " : Tensor = aten::" + (pick(2) ? "neg_" : "neg") + "(" + target + ")");
    if (pick(2)) scope.halves.push_back(result);
  }

  void make_list(Scope& scope) {
    const std::string result = fresh();
    const std::size_t size = pick(3);
    std::string items;
    for (std::size_t i = 0; i < size; ++i) items += (i ? ", " : "") + tensor(scope);
    line(result + " : Tensor[] = prim::ListConstruct(" + items + ")");
    scope.lists.push_back({result, size});
  }

  void use_list(Scope& scope, int depth) {
    if (scope.lists.empty()) return make_list(scope);
    List& list = scope.lists[pick(scope.lists.size())];
    const std::string result = fresh();
    switch (pick(9)) {
      case 0:
      case 1:
        line(result + " : Tensor[] = aten::append(" + list.name + ", " + tensor(scope) + ")");
        ++list.least;
        return;
      case 2:
        line("%len" + result.substr(1) + " : int = aten::len(" + list.name + ")");
        scope.ints.push_back("%len" + result.substr(1));
        return;
      case 3:
        line(" = aten::insert(" + list.name + ", %k0, " + tensor(scope) + ")");
        ++list.least;
        return;
      case 4: {
        const List& other = scope.lists[pick(scope.lists.size())];
        line(" = aten::extend(" + list.name + ", " + other.name + ")");
        list.least += other.least;
        return;
      }
      case 5:
        // Where it may stand in a loop or branch, what a list has for sure must stay.
        if (depth > 0 || list.least == 0) return;
        line(result + " : Tensor = aten::pop(" + list.name + ", " + (pick(2) ? "%k0" : "%last") + ")");
        --list.least;
        scope.tensors.push_back(result);
        return;
      default:
        if (list.least == 0) return;
        if (pick(3) == 0) {
          line(result + " : Tensor[] = aten::_set_item(" + list.name + ", %k0, " + tensor(scope) + ")");
          return;
        }
        line(result + " : Tensor = aten::__getitem__(" + list.name + ", %k0)");
        scope.tensors.push_back(result);
    }
  }

  void number(Scope& scope) {
    const std::string result = fresh();
    if (pick(2)) {
      line(result + " : int = aten::" + (pick(2) ? "add" : "mul") + "(" + one(scope.ints) + ", " + one(scope.ints) + ")");
      scope.ints.push_back(result);
    } else {
      line(result + " : bool = aten::" + (pick(2) ? "lt" : "eq") + "(" + one(scope.ints) + ", " + one(scope.ints) + ")");
      scope.bools.push_back(result);
    }
  }

  void tuple(Scope& scope) {
    const std::string made = fresh(), a = fresh(), b = fresh();
    line(made + " : (Tensor, Tensor) = prim::TupleConstruct(" + tensor(scope) + ", " + tensor(scope) + ")");
    line(a + " : Tensor, " + b + " : Tensor = prim::TupleUnpack(" + made + ")");
    scope.tensors.push_back(a);
    scope.tensors.push_back(b);
  }

  // A list changed inside keeps only the items it had before, and those only if nothing is taken away: as here.
  void branch(Scope& scope, int depth) {
    const bool with_list = !scope.lists.empty() && pick(2);
    const bool with_tuple = pick(3) == 0;
    const std::string result = fresh(), other = fresh();
    const std::string type = with_tuple ? "(Tensor, Tensor)" : "Tensor";
    line(result + " : " + type + (with_list ? ", " + other + " : Tensor[]" : "") + " = prim::If(" + one(scope.bools) + ")");
    std::size_t least = 99;
    for (int side = 0; side < 2; ++side) {
      ++indent_;
      line("block" + std::to_string(side) + "():");
      ++indent_;
      Scope inner = scope;
      steps(inner, pick(4), depth + 1);
      std::string value = tensor(inner);
      if (with_tuple) {
        value = fresh();
        line(value + " : (Tensor, Tensor) = prim::TupleConstruct(" + tensor(inner) + ", " + tensor(inner) + ")");
      }
      std::string list;
      if (with_list) {
        const List& chosen = inner.lists[pick(inner.lists.size())];
        list = ", " + chosen.name;
        least = std::min(least, chosen.least);
      }
      line("-> (" + value + list + ")");
      indent_ -= 2;
    }
    if (with_tuple) {
      const std::string a = fresh(), b = fresh();
      line(a + " : Tensor, " + b + " : Tensor = prim::TupleUnpack(" + result + ")");
      scope.tensors.push_back(a);
      scope.tensors.push_back(b);
    } else {
      scope.tensors.push_back(result);
    }
    if (with_list) scope.lists.push_back({other, least});
  }

  void loop(Scope& scope, int depth) {
    const std::string result = fresh(), inside = fresh(), index = fresh();
    const std::string trips = pick(2) ? "%n" : "%k" + std::to_string(pick(4));
    line(result + " : Tensor = prim::Loop(" + trips + ", %true, " + tensor(scope) + ")");
    ++indent_;
    line("block0(" + index + " : int, " + inside + " : Tensor):");
    ++indent_;
    Scope inner = scope;
    inner.ints.push_back(index);
    inner.tensors.push_back(inside);
    steps(inner, 1 + pick(4), depth + 1);
    line("-> (" + std::string(pick(6) ? "%true" : one(inner.bools)) + ", " + tensor(inner) + ")");
    indent_ -= 2;
    scope.tensors.push_back(result);
  }

  std::mt19937 random_;
  std::string text_;
  int next_ = 0;
  int indent_ = 1;
};

}  // namespace

std::string random_graph(std::uint32_t seed) { return Writer(seed).graph(); }

}  // namespace compatcheck::passes
