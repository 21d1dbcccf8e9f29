// The files beside the operators: what ONNX changed, what is structural.
#include <array>
#include <charconv>

#include "mapping/reading/read.h"

namespace compatcheck::mapping {

using yaml::fail;
using yaml::Node;
using yaml::Source;

namespace {

constexpr std::array<std::string_view, 4> structural_words = {"why", "known", "dropped", "traits"};
constexpr std::array<std::string_view, 4> change_words = {"types", "extended", "meaning", "moved"};

// "7-13"
std::pair<int, int> step(const Source& source, const Node& key) {
  int from = 0, to = 0;
  const char* const end = key.text.data() + key.text.size();
  const auto first = std::from_chars(key.text.data(), end, from);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '-') {
    const auto second = std::from_chars(first.ptr + 1, end, to);
    if (second.ec == std::errc() && second.ptr == end && 0 < from && from < to) return {from, to};
  }
  fail(source, key, "expected a version step: 7-13");
}

OnnxChange change(const Source& source, const std::string& op, const Node& key, const Node& value) {
  OnnxChange made;
  made.op = op;
  made.place = source.place(key);
  std::tie(made.from, made.to) = step(source, key);
  if (!value.is_map()) fail(source, value, "expected a class with its reason: {extended: \"new attribute dilations\"}");
  for (const auto& [word, content] : value.pairs) {
    if (word.text == "moved") {
      if (!content.is_map()) fail(source, content, "`moved` maps attributes to the inputs that they became");
      for (const auto& [attribute, input] : content.pairs)
        made.moved.emplace_back(attribute.text, reading::text(source, input, "an input"));
      continue;
    }
    if (word.text == "types")
      made.change = Change::types;
    else if (word.text == "extended")
      made.change = Change::extended;
    else if (word.text == "meaning")
      made.change = Change::meaning;
    else
      reading::unknown_key(source, word, "a version step", change_words);
    if (!made.why.empty()) fail(source, word, "a step has one class");
    made.why = reading::text(source, content, "the reason");
  }
  if (made.why.empty()) fail(source, value, "the step's class is missing: types, extended or meaning");
  return made;
}

// Calls `take(key, value)` for every pair of the top map, collecting what it throws.
template <class Item, class Take>
FileContents<Item> each_pair(const Source& source, std::string_view shape, Take&& take) {
  FileContents<Item> contents;
  try {
    const Node root = yaml::parse(source);
    if (root.is_null()) return contents;
    if (!root.is_map()) fail(source, root, std::string(shape));
    for (const auto& [key, value] : root.pairs) try {
        take(contents.items, key, value);
      } catch (const yaml::DefectError& error) {
        contents.defects.push_back(error.defect);
      }
  } catch (const yaml::DefectError& error) {
    contents.defects.push_back(error.defect);
  }
  return contents;
}

}  // namespace

FileContents<OnnxChange> read_onnx_changes(const Source& source) {
  return each_pair<OnnxChange>(source, "a map from ONNX operators to their version steps",
                               [&](auto& items, const Node& op, const Node& steps) {
                                 if (!steps.is_map()) fail(source, steps, "expected version steps: {7-13: {types: …}}");
                                 for (const auto& [key, value] : steps.pairs)
                                   items.push_back(change(source, op.text, key, value));
                               });
}

FileContents<Listed> read_structural(const Source& source) {
  return each_pair<Listed>(source, "a map from operators to what becomes of them",
                           [&](auto& items, const Node& name, const Node& content) {
                             Listed made{.name = name.text, .why = {}, .place = source.place(name)};
                             if (!content.is_map()) made.why = reading::text(source, content, "the reason");
                             for (const auto& [word, value] : content.pairs) {
                               if (word.text == "traits") {
                                 made.traits = reading::traits(source, value);
                                 continue;
                               }
                               if (word.text == "known")
                                 made.structure = Structure::known;
                               else if (word.text == "dropped")
                                 made.structure = Structure::dropped;
                               else if (word.text != "why")
                                 reading::unknown_key(source, word, "a structural operator", structural_words);
                               if (!made.why.empty())
                                 fail(source, word, "a structural operator has one reason: `why`, `known` or `dropped`");
                               made.why = reading::text(source, value, "the reason");
                             }
                             if (made.why.empty()) fail(source, content, "the reason is missing: `why`, `known` or `dropped`");
                             items.push_back(std::move(made));
                           });
}

}  // namespace compatcheck::mapping
