// Pickles as bytes: what Python's pickletools.dis would show is said beside them.
#include "files/pickle_tree.h"

#include <gmock/gmock.h>

#include "compatcheck/error.h"
#include "files/extent.h"
#include "files/pickle.h"
#include "frontend/sample_archive.h"

namespace compatcheck::frontend {
namespace {

using namespace std::string_literals;
using testing::as_bytes;
using ::testing::ThrowsMessage;
using Kind = files::PickleItem::Kind;

// The tree as text: "(1, [2.5, 'a'], {'k': None})", "call(m.f, (1))".
std::string spell(const files::PickleTree& tree, files::PickleItemId id) {
  const files::PickleItem& item = tree.items[id];
  const auto all = [&](const files::PickleMembers& ids) {
    std::string text;
    for (const files::PickleItemId member : ids) text += (text.empty() ? "" : ", ") + spell(tree, member);
    return text;
  };
  const std::string added = item.added.empty() ? "" : " + " + all(item.added), state = item.has_state ? " with state" : "";
  switch (item.kind) {
    case Kind::none: return "None";
    case Kind::boolean: return item.integer ? "True" : "False";
    case Kind::integer: return std::to_string(item.integer);
    case Kind::floating: return std::to_string(item.floating);
    case Kind::text: return "'" + std::string(item.text) + "'";
    case Kind::tuple: return "(" + all(item.members) + ")";
    case Kind::list: return "[" + all(item.members) + "]";
    case Kind::dict: return "{" + all(item.members) + "}";
    case Kind::name: return std::string(item.module) + "." + std::string(item.text);
    case Kind::call: return "call(" + all(item.members) + ")" + added + state;
    case Kind::object: return "object(" + all(item.members) + ")" + added + state;
    case Kind::persistent: return "persistent(" + all(item.members) + ")";
    case Kind::other: return "other";
  }
  return "?";
}

std::string read(const std::string& body) {
  const std::string pickle = "\x80\x02" + body + ".";
  const files::PickleTree tree = files::read_pickle(as_bytes(pickle));
  return spell(tree, tree.root);
}

TEST(PickleTree, Numbers) {
  EXPECT_EQ(read("K\x07"), "7");
  EXPECT_EQ(read("M\x01\x02"), "513");
  EXPECT_EQ(read("J\xff\xff\xff\xff"), "-1");
  EXPECT_EQ(read("\x8a\x00"s), "0");
  EXPECT_EQ(read("\x8a\x02\x00\xff"s), "-256");
  EXPECT_EQ(read("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80"s), "-9223372036854775808");
  EXPECT_EQ(read("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00"s), "other");
  EXPECT_EQ(read("G\x40\x04\x00\x00\x00\x00\x00\x00"s), "2.500000");
  EXPECT_EQ(read("(\x88\x89Nt"), "(True, False, None)");
}

TEST(PickleTree, Containers) {
  EXPECT_EQ(read(")"), "()");
  EXPECT_EQ(read("K\x01K\x02\x86"), "(1, 2)");
  EXPECT_EQ(read("](K\x01K\x02"
                 "eK\x03"
                 "a"),
            "[1, 2, 3]");
  EXPECT_EQ(read("}(X\x01\x00\x00\x00"
                 "aK\x01X\x01\x00\x00\x00"
                 "bK\x02u"s),
            "{'a', 1, 'b', 2}");
  EXPECT_EQ(read("(K\x01(K\x02tK\x03t"), "(1, (2), 3)");
  EXPECT_EQ(read("K\x01"
                 "2\x86"),
            "(1, 1)");
  EXPECT_EQ(read("K\x01K\x02"
                 "0"),
            "1");
  EXPECT_EQ(read("K\x01(K\x02K\x03"
                 "1"),
            "1");
}

TEST(PickleTree, TheMemo) {
  EXPECT_EQ(read("]q\x05K\x01"
                 "ah\x05\x86"),
            "([1], [1])");
  EXPECT_EQ(read("]r\x00\x01\x00\x00j\x00\x01\x00\x00K\x01"
                 "a\x86"s),
            "([1], [1])");
  EXPECT_EQ(read("\x8c\x01"
                 "a\x94\x8c\x01"
                 "b\x94h\x00\x87"s),
            "('a', 'b', 'a')");
}

TEST(PickleTree, CallsStayCalls) {
  EXPECT_EQ(read("cos\nsystem\nX\x04\x00\x00\x00true\x85R"s), "call(os.system, ('true'))");
  EXPECT_EQ(read("ccollections\nOrderedDict\n)R(K\x01K\x02u"), "call(collections.OrderedDict, ()) + 1, 2");
  EXPECT_EQ(read("cm\nC\n)\x81}b"), "object(m.C, ()) with state");
  EXPECT_EQ(read("\x8c\x01m\x8c\x01"
                 "C\x93)\x81"),
            "object(m.C, ())");
  EXPECT_EQ(read("X\x03\x00\x00\x00keyQ"s), "persistent('key')");
}

TEST(PickleTree, WhatIsWrong) {
  const auto fails = [](const std::string& body, const std::string& message) {
    EXPECT_THAT([&] { read(body); }, ThrowsMessage<ModelError>(message));
  };
  const std::string damaged = "its pickle is damaged", cut = "its pickle is cut short or damaged",
                    many = "its pickle holds more than 100000 values",
                    old = "its pickle is of an old protocol or damaged; save it with torch.save as it is by default";
  for (const char* body : {"",
                           "\x86",
                           "K\x01\x86",
                           "h\x01",
                           "t",
                           "e",
                           "(",
                           "a",
                           "K\x01"
                           "a",
                           "R",
                           "b",
                           "}K\x01"
                           "s",
                           "](K\x01"
                           "u",
                           "q\x01",
                           "0",
                           "2",
                           "Q",
                           "\x93",
                           "K\x01K\x02\x93",
                           "K\x01(\x86"})
    fails(body, damaged);
  fails("X\xff\xff\xff\xff", cut);
  fails("\x8d\xff\xff\xff\xff\xff\xff\xff\xff", cut);
  fails("cos\nsystem", cut);
  fails("\xff", cut);
  fails("I1\n", old);
  fails("S'a'\n", old);
  for (const std::string& each : {")"s, "("s, "]"s}) {
    std::string body;
    for (int i = 0; i < 200000; ++i) body += each;
    fails(body, many);
  }
  std::string puts = ")";
  for (std::uint32_t i = 0; i < 200000; ++i)
    puts += "r"s + static_cast<char>(i) + static_cast<char>(i >> 8) + static_cast<char>(i >> 16) + '\0';
  fails(puts, many);
}

TEST(PickleTree, EveryTruncationIsRefused) {
  const std::string pickle =
      "\x80\x02(X\x01\x00\x00\x00"
      "aK\x01"
      "cm\nf\nG\x40\x04\x00\x00\x00\x00\x00\x00\x8a\x02\x01\x02]q\x07(NNet."s;
  EXPECT_NO_THROW(files::read_pickle(as_bytes(pickle)));
  for (std::size_t size = 0; size < pickle.size(); ++size)
    EXPECT_THROW(files::read_pickle(as_bytes(pickle.substr(0, size))), ModelError) << size;
}

TEST(PickledNames, FreshAndFromTheMemo) {
  const std::string pickle =
      "\x80\x04\x8c\x01m\x94\x8c\x01"
      "A\x93h\x00\x8c\x01"
      "B\x93"
      "cn\nC\n."s;
  const files::PickledNames names = files::names_in_pickle(as_bytes(pickle));
  EXPECT_THAT(names.classes, ::testing::ElementsAre("m.A", "m.B", "n.C"));
  EXPECT_TRUE(names.whole);
  EXPECT_EQ(names.bytes, pickle.size());
  EXPECT_FALSE(files::names_in_pickle(as_bytes(pickle.substr(0, 8))).whole);
}

TEST(Extent, ReachAndFit) {
  using Numbers = std::vector<std::int64_t>;
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(files::reach(0, Numbers{2, 3}, Numbers{3, 1}), 6);
  EXPECT_EQ(files::reach(5, Numbers{}, Numbers{}), 6);
  EXPECT_EQ(files::reach(5, Numbers{0, 3}, Numbers{3, 1}), 0);
  EXPECT_EQ(files::reach(0, Numbers{2, 3}, Numbers{0, 0}), 1);
  EXPECT_EQ(files::reach(-1, Numbers{1}, Numbers{1}), std::nullopt);
  EXPECT_EQ(files::reach(0, Numbers{-1}, Numbers{1}), std::nullopt);
  EXPECT_EQ(files::reach(0, Numbers{2}, Numbers{-1}), std::nullopt);
  EXPECT_EQ(files::reach(0, Numbers{2}, Numbers{}), std::nullopt);
  EXPECT_EQ(files::reach(0, Numbers{huge}, Numbers{huge}), std::nullopt);
  EXPECT_EQ(files::reach(huge, Numbers{huge}, Numbers{2}), std::nullopt);
  EXPECT_TRUE(files::fits(6, 4, 24));
  EXPECT_FALSE(files::fits(6, 4, 23));
  EXPECT_FALSE(files::fits(std::nullopt, 4, 24));
  EXPECT_FALSE(files::fits(huge, 8, ~std::uint64_t{0}));
}

}  // namespace
}  // namespace compatcheck::frontend
