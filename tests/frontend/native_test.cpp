// What the native reader makes of code as PyTorch saves it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compatcheck/error.h"
#include "frontend/native/emitter.h"
#include "ir/text.h"
#include "native_archive.h"

namespace compatcheck::frontend {
namespace {

using ::testing::HasSubstr;
using testing::native_records;
using testing::pickled;
using testing::pickled_object;
using testing::read_native;
using ::testing::ThrowsMessage;

std::string indented(const std::string& body) {
  std::string text;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = std::min(body.find('\n', at), body.size() - 1) + 1;
    text += "    " + body.substr(at, end - at);
    at = end;
  }
  return text;
}

// A module whose forward has that body.
std::string net(const std::string& parameters, const std::string& body, const std::string& result = "Tensor") {
  return "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  def forward(self: __torch__.Net,\n    " + parameters +
         ") -> " + result + ":\n" + indented(body);
}

std::string graph_of(const std::string& code, const std::string& version = "10") {
  const ir::Program program = read_native(native_records(code, pickled_object("__torch__", "Net", {}), version));
  return ir::print(program.functions.at("__torch__.Net.forward").graph, {.locations = false});
}

std::string graph_of(const std::string& parameters, const std::string& body, const std::string& result) {
  return graph_of(net(parameters, body, result));
}

TEST(Native, EmitsOperatorsWithTheirOverloadsAndDefaults) {
  EXPECT_EQ(graph_of("x: Tensor, n: int", "y = torch.add(x, n)\nreturn torch.sum(y, [1], dtype=None)\n", "Tensor"),
            R"(graph(%self : __torch__.Net,
      %x : Tensor,
      %n : int):
  %3 : int = prim::Constant[value=1]()
  %y : Tensor = aten::add(%x, %n, %3)
  %5 : int = prim::Constant[value=1]()
  %6 : int[] = prim::ListConstruct(%5)
  %7 : NoneType = prim::Constant()
  %8 : bool = prim::Constant[value=0]()
  %9 : Tensor = aten::sum(%y, %6, %8, %7)
  return (%9)
)");
}

TEST(Native, ConvertsArgumentsAsTorchScriptDoes) {
  const std::string graph = graph_of("x: Tensor",
                                     "a = torch.max_pool2d(x, 2, [2, 2])\nb = torch.size(x, annotate(int, torch.sum(x)))\n"
                                     "return torch.full([b], torch.sum(a), dtype=None, device=\"cpu\")\n",
                                     "Tensor");
  EXPECT_THAT(graph, HasSubstr("prim::ListConstruct(%2, %2)"));  // int[2]
  EXPECT_THAT(graph, HasSubstr("aten::IntImplicit"));
  EXPECT_THAT(graph, HasSubstr("aten::ScalarImplicit"));
  EXPECT_THAT(graph, HasSubstr("aten::device"));
}

TEST(Native, BranchesAndLoopsCarryWhatTheySet) {
  EXPECT_EQ(graph_of("x: Tensor, flag: bool",
                     "if flag:\n  y = torch.relu(x)\nelse:\n  y = x\nn = 0\nfor i in range(3):\n  n = torch.add(n, i)\n"
                     "return torch.mul(y, n)\n",
                     "Tensor"),
            R"(graph(%self : __torch__.Net,
      %x : Tensor,
      %flag : bool):
  %y : Tensor = prim::If(%flag)
    block0():
      %y.1 : Tensor = aten::relu(%x)
      -> (%y.1)
    block1():
      -> (%x)
  %n : int = prim::Constant[value=0]()
  %6 : int = prim::Constant[value=3]()
  %7 : bool = prim::Constant[value=1]()
  %n.1 : int = prim::Loop(%6, %7, %n)
    block0(%i : int, %n.2 : int):
      %n.3 : int = aten::add(%n.2, %i)
      -> (%7, %n.3)
  %12 : Tensor = aten::mul(%y, %n.1)
  return (%12)
)");
}

// What is carried stands in the order of its first use, unused values last, as libtorch has it.
TEST(Native, AWhileLoopReadsItsConditionAgain) {
  EXPECT_THAT(
      graph_of("x: Tensor",
               "n = 0\n_0 = torch.lt(n, 3)\nwhile _0:\n  n = torch.add(n, 1)\n  _0 = torch.lt(n, 3)\nreturn torch.mul(x, n)\n",
               "Tensor"),
      HasSubstr("%n.1 : int, %13 : bool = prim::Loop(%5, %4, %n, %4)\n    block0(%6 : int, %n.2 : int, %7 : bool):"));
}

TEST(Native, ReadsContainersAndCasts) {
  const std::string graph = graph_of("x: Tensor",
                                     "a = annotate(List[Optional[Tensor]], [None, x])\nb = {\"k\": (x, 1)}\nt, n, = b[\"k\"]\n"
                                     "c = annotate(List[int], torch.max(x).tolist())\n_1 = isinstance(a, (List[int], str))\n"
                                     "d = unchecked_cast(Tensor, a[1])\ne = uninitialized(float)\nreturn (d, float(n), inf, -1, "
                                     "1e-05, \"a\\n\\\"b\\\"\\x41\")\n",
                                     "Tuple[Tensor, float, float, int, float, str]");
  for (const char* expected : {"%a : Tensor?[] = prim::ListConstruct(", "%b : Dict(str, (Tensor, int)) = prim::DictConstruct(",
                               "%t : Tensor, %n : int = prim::TupleUnpack(", "%c : int[] = prim::tolist(",
                               "prim::isinstance[types=[\"List[int]\", \"str\"]](%a)", "%d : Tensor = prim::unchecked_cast(",
                               "%e : float = prim::Uninitialized()", "aten::Float(%n)", "prim::Constant[value=inf]",
                               "prim::Constant[value=-1]", "prim::Constant[value=1e-05]", R"(prim::Constant[value="a\n\"b\"A"])"})
    EXPECT_THAT(graph, HasSubstr(expected));
}

constexpr const char* others = R"(class Pair(NamedTuple):
  first : Tensor
  second : int
class Color(Enum):
  RED = 1
  BLUE = 2
class Shape(ModuleInterface):
  def area(self, x: Tensor) -> Tensor:
    pass
class Square(Module):
  __parameters__ = []
  __buffers__ = []
  side : int
  scale : Final[float] = 0.5
  def area(self: __torch__.Square,
    x: Tensor) -> Tensor:
    side = self.side
    return torch.mul(x, side)
class Counter:
  n : int
  def __init__(self: __torch__.Counter,
    n: int=3) -> NoneType:
    self.n = n
    return None
def twice(x: Tensor) -> Tensor:
  return torch.mul(x, 2)
)";

TEST(Native, ReadsClassesFunctionsAndEnums) {
  const std::string code = others + std::string(R"(class Net(Module):
  __parameters__ = []
  __buffers__ = []
  shape : __torch__.Shape
  __annotations__["0"] = __torch__.Square
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    _0 = __torch__.twice
    counter = __torch__.Counter.__new__(__torch__.Counter)
    _1 = (counter).__init__()
    pair = __torch__.Pair(_0(x, ), counter.n)
    shape = self.shape
    square = getattr(self, "0")
    color = __torch__.Color.BLUE
    n = torch.add((pair).second, (color).value)
    return torch.mul(torch.add((shape).area((pair)[0], ), n), square.scale)
)");
  const std::string square = pickled_object("__torch__", "Square", {{"side", pickled(4)}});
  const ir::Program program =
      read_native(native_records(code, pickled_object("__torch__", "Net", {{"shape", square}, {"0", square}})));
  const std::string graph = ir::print(program.functions.at("__torch__.Net.forward").graph, {.locations = false});
  for (const char* expected :
       {"prim::CreateObject()", "prim::CallMethod[name=\"__init__\"](%counter, ",
        "NamedTuple[__torch__.Pair](first : Tensor, second : int) = prim::TupleConstruct(", "prim::CallFunction(",
        "%shape : __torch__.Shape = prim::GetAttr[name=\"shape\"](%self)", "prim::GetAttr[name=\"0\"](%self)",
        "prim::EnumValue(%color)", "prim::CallMethod[name=\"area\"](%shape, ", "prim::Constant[value=0.5]"})
    EXPECT_THAT(graph, HasSubstr(expected));
  EXPECT_TRUE(program.classes.at("__torch__.Shape").is_interface);
  EXPECT_EQ(program.classes.at("__torch__.Square").methods.at("area"), "__torch__.Square.area");
  EXPECT_TRUE(program.functions.contains("__torch__.twice"));
  EXPECT_EQ(*program.functions.at("__torch__.Counter.__init__").parameters.at(1).default_value->get<std::int64_t>(), 3);
  EXPECT_EQ(program.objects.size(), 3u);
}

TEST(Native, FilesOfUsersMayHaveAnyName) {
  std::string code = net("x: Tensor", "return x\n");
  code.replace(code.find("__torch__.Net"), 13, "__torch__.my-model.Net");
  EXPECT_THAT(graph_of(code), HasSubstr("return (%x)"));

  testing::Records records = native_records(
      "class Net(Module):\n  inner : __torch__.my-net-0.5.Inner\n  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n"
      "    inner = self.inner\n    return (inner).forward(x, )\n",
      pickled_object("__torch__", "Net", {{"inner", pickled_object("__torch__.my-net-0.5", "Inner", {})}}));
  records.push_back(
      {"m/code/__torch__/my-net-0/5.py",
       "class Inner(Module):\n  def forward(self: __torch__.my-net-0.5.Inner,\n    x: Tensor) -> Tensor:\n    return x\n"});
  EXPECT_TRUE(read_native(records).classes.contains("__torch__.my-net-0.5.Inner"));
}

TEST(Native, ForksTakeWhatTheyReadAsInputs) {
  const ir::Program program = read_native(native_records(net("x: Tensor",
                                                             "y = torch.relu(x)\ndef __forked_function():\n  return torch.add(y, "
                                                             "1)\n_0 = fork(__forked_function)\nreturn torch.wait(_0)\n")));
  EXPECT_THAT(ir::print(program.functions.at("__torch__.Net.forward").graph, {.locations = false}),
              HasSubstr("Future[Tensor] = prim::fork"));
  EXPECT_EQ(program.functions.at("__torch__.Net.forward$fork").parameters.at(0).name, "y");
}

TEST(Native, OldOperatorsKeepTheirMeaning) {
  const std::string body = "y = torch.div(x, 2)\nreturn torch.mul(y, torch.full([2], 3, dtype=None))\n";
  EXPECT_THAT(graph_of(net("x: Tensor", body), "3"), HasSubstr("aten::divide"));
  EXPECT_THAT(graph_of(net("x: Tensor", body), "3"), HasSubstr("aten::Float"));
  EXPECT_THAT(graph_of(net("x: Tensor", body), "10"), HasSubstr("aten::div(%x, %2)"));
  EXPECT_THAT(graph_of(net("x: Tensor", "return torch.linspace(0, 1, None, dtype=None)\n"), "7"),
              HasSubstr("prim::Constant[value=100]"));
}

TEST(Native, UnknownOperatorsGetTheSchemaThatTheirCallsShow) {
  const ir::Program program = read_native(native_records(
      net("x: Tensor",
          "a, b = ops.my_lib.pair(x, 2, gain=1.5)\n_0 = ops.my_lib.parts(x)\nreturn torch.add(torch.add(a, b), _0[0])\n")));
  EXPECT_THAT(program.stub_schemas,
              ::testing::ElementsAre("my_lib::pair(Tensor arg0, int arg1, *, float gain) -> (Tensor, Tensor)",
                                     "my_lib::parts(Tensor arg0) -> Tensor[]"));
}

TEST(Native, ErrorsNameTheLine) {
  const auto fails = [](const std::string& code, const std::string& message) {
    EXPECT_THAT([&] { graph_of(code); }, ThrowsMessage<ModelError>(HasSubstr(message))) << code;
  };
  fails("class Net(Module):\n  x = = 1\n", "line 2 of code/__torch__.py: an expression is expected");
  fails(net("x: Tensor", "return torch.add(x,\n"), "of code/__torch__.py: an expression is expected");
  fails(net("x: Tensor", "y = \"a\nreturn x\n"), "line 6 of code/__torch__.py: a string doesn't end");
  fails(net("x: __torch__.Absent", "return x\n"), "its code lacks the class __torch__.Absent");
  fails(net("x: Tensor", "return __torch__.absent(x)\n"), "__torch__.Net.forward calls __torch__.absent, which its code lacks");
  fails(net("x: Tensor", "p = (x, x)\nreturn (p)[2]\n"), "reads beyond the end of a tuple");
  fails(net("x: Tensor", "p = (x, x)\nreturn (p)[-3]\n"), "reads beyond the end of a tuple");
  fails(net("x: Tensor", "return CONSTANTS.c7\n"), "its code reads CONSTANTS.c7, which isn't in the archive");
  fails(net("x: Tensor", "return torch.add(x, [x])\n"), "calls aten::add with arguments that fit none of its overloads");
  fails(net("x: Tensor", "return " + std::string(5000, '(') + "x" + std::string(5000, ')') + "\n"), "nested more than 1000 deep");
}

std::string repeated(int times, const std::string& text) {
  std::string made;
  for (int i = 0; i < times; ++i) made += text;
  return made;
}

TEST(Native, HostileCodeIsBounded) {
  const auto fails = [](const std::string& code, const std::string& message) {
    EXPECT_THAT([&] { graph_of(code); }, ThrowsMessage<ModelError>(HasSubstr(message))) << code.substr(0, 300);
  };
  fails(net("x: Tensor", "return x" + repeated(100'000, ".a") + "\n"), "nested more than 1000 deep");
  fails(net("x: Tensor", "return x" + repeated(100'000, "[0]") + "\n"), "nested more than 1000 deep");
  fails(net("x: Tensor", "return 1" + repeated(100'000, " + 1") + "\n"), "nested more than 1000 deep");
  fails(net("x: Tensor", "a = x\n" + repeated(1000, "a = [a]\n") + "return x\n"), "nested more than 100 deep");
  fails(net("x: Tensor", "a = x\n" + repeated(40, "a = (a, a)\n") + "return x\n"), "holds more than 10000 others");
  fails("class C(Enum):\n  A = __torch__.C.A\n" + net("x: Tensor", "a = __torch__.C.A\nreturn x\n"), "that isn't plain");
  fails(net("x: " + repeated(200, "List[") + "int" + repeated(200, "]"), "return x\n"), "nested more than 100 deep");
}

TEST(Native, LongChainsOfClassesAreRead) {
  constexpr int count = 20'000;
  std::string code;
  for (int i = 0; i < count; ++i)
    code += "class C" + std::to_string(i) +
            "(Module):\n  inner : " + (i + 1 < count ? "__torch__.C" + std::to_string(i + 1) : "int") + "\n";
  code +=
      "class Net(Module):\n  training : bool\n  def forward(self: __torch__.Net,\n    x: __torch__.C0) -> int:\n    return 1\n";
  const ir::Program program =
      read_native(native_records(code, pickled_object("__torch__", "Net", {{"training", pickled(true)}})));
  EXPECT_EQ(program.classes.size(), count + 1u);
  EXPECT_TRUE(program.training);
}

TEST(Native, HooksOfTheTopModuleAreRefused) {
  std::string code = net("x: Tensor", "return x\n");
  EXPECT_THAT(graph_of(code), HasSubstr("return (%x)"));
  code.insert(code.find("  def forward"), "  __forward_hooks__ = [\"hook\", ]\n");
  EXPECT_THAT([&] { graph_of(code); }, ThrowsMessage<ModelError>(HasSubstr("its top module has forward hooks")));
}

TEST(Native, EnumsArePickledByTheirValues) {
  const std::string code =
      "class Color(Enum):\n  RED = 1\n  BLUE = 2\nclass Net(Module):\n  color : __torch__.Color\n  def forward(self: "
      "__torch__.Net,\n"
      "    x: Tensor) -> Tensor:\n    return x\n";
  const ir::Program program =
      read_native(native_records(code, pickled_object("__torch__", "Net", {{"color", "c__torch__\nColor\nK\x02R"}})));
  EXPECT_EQ(program.objects.at(0).attributes.at(0).get<ir::EnumConstant>()->name, "BLUE");
}

TEST(Native, DamagedArchivesAreRefused) {
  const auto fails = [](const testing::Records& records, const std::string& message) {
    EXPECT_THAT([&] { read_native(records); }, ThrowsMessage<ModelError>(HasSubstr(message)));
  };
  const std::string code = net("x: Tensor", "return x\n");
  fails(native_records(code, pickled_object("__torch__", "Net", {}), "11"),
        "has the file format version 11; versions 1 to 10 can be read");
  fails(native_records(code, pickled_object("__torch__", "Other", {})), "its code lacks the class __torch__.Other");
  fails(native_records(code, "]"), "its data.pkl holds no module, but a value of type List[Any]");
  fails(native_records("class Net(Module):\n  side : int\n"), "an object of __torch__.Net lacks its attribute side");
}

TEST(Native, AStateIsSetByTheClassItself) {
  const std::string code = R"(class Net(Module):
  __parameters__ = []
  __buffers__ = []
  side : int
  def __setstate__(self: __torch__.Net,
    state: Tuple[int, int]) -> NoneType:
    self.side = (state)[1]
    return None
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    return x
)";
  const std::string root = "c__torch__\nNet\n)\x81" + pickled(3) + pickled(5) + "\x86" + "b";
  const ir::Program program = read_native(native_records(code, root));
  EXPECT_EQ(*program.objects.at(program.root).attributes.at(0).get<std::int64_t>(), 5);

  // What computes isn't run, and leaves what it sets unknown.
  std::string computing = code;
  computing.replace(computing.find("(state)[1]"), 10, "torch.add((state)[1], 1)");
  const ir::Program unknown = read_native(native_records(computing, root));
  EXPECT_TRUE(unknown.objects.at(unknown.root).attributes.at(0).get<ir::OpaqueConstant>());
  EXPECT_EQ(unknown.notes.at(0).kind, ir::LoadNote::Kind::setstate_skipped);
}

}  // namespace
}  // namespace compatcheck::frontend
