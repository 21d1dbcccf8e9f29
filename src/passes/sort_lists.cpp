#include "passes/sort_lists.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "ir/text.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

// The steps of std::sort in GNU's library, which PyTorch's builds for Linux use, with the same comparisons: equal items come into
// the same order. LESS stands for a comparison of two items at their places.
constexpr std::string_view begin = R"(
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %items : ITEM[] = aten::copy(%list)
  %length : int = aten::len(%items)
)";
// Ranges of more than 16 items are parted by the median of three, until there are none. Where parting goes badly very often,
// std::sort changes to a heap sort, and this doesn't.
constexpr std::string_view partition = R"(
  %two : int = prim::Constant[value=2]()
  %most : int = prim::Constant[value=16]()
  %back : int = prim::Constant[value=-1]()
  %often : int = prim::Constant[value=9223372036854775807]()
  %is_long : bool = aten::gt(%length, %most)
   = prim::If(%is_long)
    block0():
      %firsts : int[] = prim::ListConstruct(%zero)
      %lasts : int[] = prim::ListConstruct(%length)
       = prim::Loop(%often, %true)
        block0(%range : int):
          %first : int = aten::pop(%firsts, %back)
          %last : int = aten::pop(%lasts, %back)
          %size : int = aten::sub(%last, %first)
          %is_large : bool = aten::gt(%size, %most)
          %unparted : int = prim::Loop(%often, %is_large, %last)
            block0(%part : int, %end : int):
              %count : int = aten::sub(%end, %first)
              %half : int = aten::floordiv(%count, %two)
              %low : int = aten::add(%first, %one)
              %middle : int = aten::add(%first, %half)
              %high : int = aten::sub(%end, %one)
LESS %low_middle %low %middle
LESS %middle_high %middle %high
LESS %low_high %low %high
              %rising : int = prim::If(%middle_high)
                block0():
                  -> (%middle)
                block1():
                  %not_middle : int = prim::If(%low_high)
                    block0():
                      -> (%high)
                    block1():
                      -> (%low)
                  -> (%not_middle)
              %falling : int = prim::If(%low_high)
                block0():
                  -> (%low)
                block1():
                  %not_low : int = prim::If(%middle_high)
                    block0():
                      -> (%high)
                    block1():
                      -> (%middle)
                  -> (%not_low)
              %median : int = prim::If(%low_middle)
                block0():
                  -> (%rising)
                block1():
                  -> (%falling)
              %pivot : ITEM = aten::__getitem__(%items, %median)
              %replaced : ITEM = aten::__getitem__(%items, %first)
              %without : ITEM[] = aten::_set_item(%items, %median, %replaced)
              %with : ITEM[] = aten::_set_item(%items, %first, %pivot)
              %left : int, %right : int = prim::Loop(%often, %true, %first, %end)
                block0(%swap : int, %from : int, %to : int):
                  %up : int = prim::Loop(%often, %true, %from)
                    block0(%step : int, %at : int):
                      %next : int = aten::add(%at, %one)
LESS %goes_on %next %first
                      -> (%goes_on, %next)
                  %down : int = prim::Loop(%often, %true, %to)
                    block0(%step : int, %at : int):
                      %next : int = aten::sub(%at, %one)
LESS %goes_on %first %next
                      -> (%goes_on, %next)
                  %apart : bool = aten::lt(%up, %down)
                   = prim::If(%apart)
                    block0():
                      %upper : ITEM = aten::__getitem__(%items, %up)
                      %lower : ITEM = aten::__getitem__(%items, %down)
                      %moved : ITEM[] = aten::_set_item(%items, %up, %lower)
                      %swapped : ITEM[] = aten::_set_item(%items, %down, %upper)
                      -> ()
                    block1():
                      -> ()
                  -> (%apart, %up, %down)
              %more_firsts : int[] = aten::append(%firsts, %left)
              %more_lasts : int[] = aten::append(%lasts, %end)
              %rest : int = aten::sub(%left, %first)
              %still : bool = aten::gt(%rest, %most)
              -> (%still, %left)
          %ranges : int = aten::len(%firsts)
          %again : bool = aten::gt(%ranges, %zero)
          -> (%again)
      -> ()
    block1():
      -> ()
)";
// An item that comes before the first one is put there, another one moves forward from the end.
constexpr std::string_view insertion = R"(
  %sorted : ITEM[] = prim::ListConstruct()
   = prim::Loop(%length, %true)
    block0(%i : int):
      %item : ITEM = aten::__getitem__(%items, %i)
      %any : bool = aten::gt(%i, %zero)
      %is_first : bool = prim::If(%any)
        block0():
          %other : ITEM = aten::__getitem__(%sorted, %zero)
          COMPARISON
          -> (%less)
        block1():
          -> (%false)
      %end : int = prim::If(%is_first)
        block0():
          -> (%zero)
        block1():
          -> (%i)
      %place : int = prim::Loop(%end, %true, %end)
        block0(%step : int, %from : int):
          %before : int = aten::sub(%from, %one)
          %other : ITEM = aten::__getitem__(%sorted, %before)
          COMPARISON
          %to : int = prim::If(%less)
            block0():
              -> (%before)
            block1():
              -> (%from)
          -> (%less, %to)
       = aten::insert(%sorted, %place, %item)
      -> (%true)
)";
constexpr std::string_view of_sort[] = {"graph(%list : ITEM[], %reverse : bool):", R"( = aten::clear(%list)
  %extended : ITEM[] = aten::extend(%list, %sorted)
  return ())"};
constexpr std::string_view of_sorted[] = {"graph(%list : ITEM[]):\n  %reverse : bool = prim::Constant[value=0]()",
                                          "  return (%sorted)"};

// `less` of objects, tensors with one element and tuples of these and numbers.
class LessThan {
 public:
  explicit LessThan(const ir::Program& program) : program_(program) {}

  // Reversed, PyTorch compares the other item with this one; but of tensors it reverses the result.
  std::optional<std::string> of(const ir::TypeRef& item) {
    const bool reverses_result = ir::is(item, ir::TypeKind::tensor);
    const std::string type = ir::to_string(*item);
    if (!reverses_result)
      text_ = "%a : " + type + ", %b : " + type +
              " = prim::If(%reverse)\nblock0():\n-> (%other, %item)\nblock1():\n-> (%item, %other)\n";
    if (!less(item, reverses_result ? "%item" : "%a", reverses_result ? "%other" : "%b", reverses_result ? "%lower" : "%less"))
      return std::nullopt;
    if (reverses_result) text_ += "%less : bool = aten::ne(%lower, %reverse)\n";
    return text_;
  }

 private:
  // PyTorch raises if the tensors have several elements, so all of them may be taken for one.
  void ask(const std::string& op, const std::string& a, const std::string& b, const std::string& result) {
    text_ += result + "_each : Tensor = " + op + "(" + a + ", " + b + ")\n" + result + "_one : Tensor = aten::any(" + result +
             "_each)\n" + result + " : bool = aten::is_nonzero(" + result + "_one)\n";
  }

  bool less(const ir::TypeRef& type, const std::string& a, const std::string& b, const std::string& result) {
    using enum ir::TypeKind;
    if (ir::is(type, named)) {
      const auto found = program_.classes.find(type->name);
      if (found == program_.classes.end() || !found->second.methods.contains("__lt__")) return false;
      text_ += result + " : bool = prim::CallMethod[name=\"__lt__\"](" + a + ", " + b + ")\n";
    } else if (ir::is(type, tensor)) {
      ask("aten::lt", a, b, result);
    } else if (ir::is(type, integer) || ir::is(type, floating) || ir::is(type, string)) {
      text_ += result + " : bool = aten::lt(" + a + ", " + b + ")\n";
    } else {
      return ir::is(type, tuple) && a == "%a" && less_tuple(*type, result);
    }
    return true;
  }

  void equal(const ir::TypeRef& type, const std::string& a, const std::string& b, const std::string& result) {
    if (ir::is(type, ir::TypeKind::tensor)) return ask("aten::eq", a, b, result);
    text_ +=
        result + " : bool = " + (ir::is(type, ir::TypeKind::named) ? "aten::__is__" : "aten::eq") + "(" + a + ", " + b + ")\n";
  }

  bool less_tuple(const ir::Type& type, const std::string& result) {
    const std::size_t size = type.elements.size();
    const auto name = [](std::string_view of, std::size_t i) { return std::string(of) + "_" + std::to_string(i); };
    for (const std::string_view tuple : {"%a", "%b"}) {
      for (std::size_t i = 0; i < size; ++i)
        text_ += (i > 0 ? ", " : "") + name(tuple, i) + " : " + ir::to_string(*type.elements[i]);
      text_ += " = prim::TupleUnpack(" + std::string(tuple) + ")\n";
    }
    for (std::size_t i = 0; i < size; ++i) {
      const std::string a = name("%a", i), b = name("%b", i), is_less = name("%less", i), is_equal = name("%equal", i);
      if (!less(type.elements[i], a, b, is_less)) return false;
      text_ += (i == 0 ? result : name("%result", i)) + " : bool = prim::If(" + is_less + ")\nblock0():\n-> (%true)\nblock1():\n";
      equal(type.elements[i], a, b, is_equal);
      text_ += name("%rest", i) + " : bool = prim::If(" + is_equal + ")\nblock0():\n";
    }
    text_ += "-> (%false)\n";
    for (std::size_t i = size; i-- > 0;) {
      text_ += "block1():\n-> (%false)\n-> (" + name("%rest", i) + ")\n";
      if (i > 0) text_ += "-> (" + name("%result", i) + ")\n";
    }
    return size > 0;
  }

  const ir::Program& program_;
  std::string text_;
};

// The lines, with what each LESS stands for.
std::string with_comparisons(std::string_view lines, const std::string& comparison) {
  std::istringstream in{std::string(lines)};
  std::string text;
  for (std::string line; std::getline(in, line); text += line + "\n") {
    if (!line.starts_with("LESS ")) continue;
    std::istringstream words(line.substr(5));
    std::string less, one, other;
    words >> less >> one >> other;
    line = less + " : bool = prim::If(%true)\nblock0():\n%item : ITEM = aten::__getitem__(%items, " + one +
           ")\n%other : ITEM = aten::__getitem__(%items, " + other + ")\n" + comparison + "-> (%less)\nblock1():\n-> (%false)";
  }
  return text;
}

std::string with(std::string text, std::string_view word, std::string_view instead) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += instead.size())
    text.replace(at, word.size(), instead);
  return text;
}

}  // namespace

std::optional<ir::Graph> sorting_of(const ir::Node& node, const ir::Program& program) {
  const bool gives = node.is("aten::sorted") && node.inputs().size() == 1;
  const bool sorts = node.is("aten::sort") && node.inputs().size() == 2;
  if ((!sorts && !gives) || !ir::is(node.input(0)->type(), ir::TypeKind::list)) return std::nullopt;
  const ir::TypeRef& item = node.input(0)->type()->elements[0];
  if (!ir::holds(*item, ir::TypeKind::tensor) && !ir::holds(*item, ir::TypeKind::named)) return std::nullopt;
  const auto comparison = LessThan(program).of(item);
  if (!comparison) return std::nullopt;
  const auto& [head, end] = gives ? of_sorted : of_sort;
  std::string text = std::string(head).append(begin);
  // Equal tensors are equal in all that matters, and reversed, PyTorch takes each for less than the other.
  if (!ir::is(item, ir::TypeKind::tensor)) text += with_comparisons(partition, *comparison);
  text.append(insertion).append(end);
  ir::Graph graph = ir::parse_graph(with(with(text, "COMPARISON", *comparison), "ITEM", ir::to_string(*item)));
  ir::for_each_node(*graph.top(), [](ir::Node* made) {
    for (ir::Value* output : made->outputs()) output->set_name({});  // messages name what the user wrote
  });
  return graph;
}

}  // namespace compatcheck::passes
