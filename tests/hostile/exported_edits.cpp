#include "hostile/exported_edits.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>
#include <vector>

#include "compatcheck/error.h"
#include "files/zip.h"
#include "frontend/sample_archive.h"
#include "hostile/check_text.h"

namespace compatcheck::hostile {
namespace {

using Json = nlohmann::ordered_json;
using frontend::testing::Records;

bool is_program(std::string_view name) {
  return name.ends_with(".json") && (name.find("/models/") != name.npos || name.ends_with("serialized_exported_program.json"));
}

Records records_of(const std::string& bytes) {
  const files::InputFile file(frontend::testing::as_bytes(bytes));
  Records records;
  for (const files::ZipRecord& record : files::read_zip_directory(file).records) {
    const auto contents = files::read_zip_record(file, record, 1 << 20);
    records.emplace_back(record.name, std::string(contents.begin(), contents.end()));
  }
  return records;
}

const std::vector<Records>& archives() {
  static const std::vector<Records> all = [] {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(COMPATCHECK_ARCHIVES))
      if (entry.path().extension() == ".pt2") files.push_back(entry.path());
    std::ranges::sort(files);
    std::vector<Records> made;
    for (const auto& path : files) {
      std::ifstream file(path, std::ios::binary);
      made.push_back(records_of({std::istreambuf_iterator<char>(file), {}}));
    }
    if (made.empty()) throw std::logic_error("no archives in " COMPATCHECK_ARCHIVES);
    return made;
  }();
  return all;
}

class Editor {
 public:
  Editor(Choices& choices, Json& root) : choices_(choices), root_(root) {}

  void edit() {
    Json& place = any_place();
    switch (choices_.below(9)) {
      case 0: place = Json(any_place()); break;  // another part of the same program
      case 1: remove_member(place); break;
      case 2: repeat_member(place); break;
      case 3: place = number(); break;
      case 4: place = text(); break;
      case 5: place = nullptr; break;
      case 6: nest(place); break;
      case 7: swap(place); break;
      default: rename(place); break;
    }
  }

 private:
  Json& any_place() {
    Json* place = &root_;
    while (place->is_structured() && !place->empty() && !choices_.one_in(6)) place = &member(*place);
    return *place;
  }
  Json& member(Json& of) { return *std::next(of.begin(), static_cast<std::ptrdiff_t>(choices_.below(of.size()))); }

  void remove_member(Json& of) {
    if (of.is_structured() && !of.empty())
      of.erase(std::next(of.begin(), static_cast<std::ptrdiff_t>(choices_.below(of.size()))));
  }
  void repeat_member(Json& of) {
    if (!of.is_array() || of.empty()) return;
    const Json copy = member(of);
    of.insert(of.begin() + static_cast<std::ptrdiff_t>(choices_.below(of.size())), copy);
  }
  void swap(Json& of) {
    if (of.is_array() && of.size() > 1) std::swap(member(of), member(of));
  }
  // The same with another key, or a text of another place: a name, a target, an expression.
  void rename(Json& place) {
    if (place.is_string()) {
      std::vector<const Json*> texts;
      collect_texts(root_, texts);
      place = Json(*choices_.of(texts));
    } else if (place.is_object() && !place.empty()) {
      const auto chosen = std::next(place.begin(), static_cast<std::ptrdiff_t>(choices_.below(place.size())));
      const Json value = chosen.value();
      place.erase(chosen);
      place[text().get<std::string>()] = value;
    }
  }
  static void collect_texts(const Json& json, std::vector<const Json*>& texts) {
    if (json.is_string()) texts.push_back(&json);
    if (json.is_structured())
      for (const Json& member : json) collect_texts(member, texts);
  }
  void nest(Json& place) {
    Json made = place;
    for (std::size_t depth = std::size_t{1} << choices_.below(12); depth > 0; --depth) {
      Json around = Json::array();
      around.push_back(std::move(made));
      made = std::move(around);
    }
    place = std::move(made);
  }
  Json number() {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    static const Json numbers[] = {
        0, 1, -1, 2, 7, 13, 255, 1 << 20, most, -most - 1, 0.5, 1e308, true, false, 18446744073709551615U};
    return choices_.of(numbers);
  }
  Json text() {
    static const char* const texts[] = {"",
                                        "x",
                                        "as_tensor",
                                        "as_none",
                                        "as_ints",
                                        "as_sym_int",
                                        "as_graph",
                                        "torch.ops.aten.add.Tensor",
                                        "torch.ops.aten.add_.Tensor",
                                        "torch.ops.aten.view.default",
                                        "torch.ops.aten.cat.default",
                                        "torch.ops.higher_order.cond",
                                        "torch.ops.higher_order.while_loop",
                                        "torch.ops.higher_order.scan",
                                        "torch.ops.mine.own.default",
                                        "_operator.floordiv",
                                        "math.ceil",
                                        "Symbol('s0')",
                                        "Mod(Symbol('s0'), 0)",
                                        "FloorDiv(Symbol('s0'), 0)",
                                        "Pow(Integer(9), Integer(99999))",
                                        "L['x'].size()[0] == 3",
                                        "Infinity",
                                        "\\ud800"};
    return choices_.of(texts);
  }

  Choices& choices_;
  Json& root_;
};

}  // namespace

std::string edited_archive(Choices& choices) {
  Records records = choices.of(archives());
  for (auto& [name, contents] : records) {
    if (!is_program(name)) continue;
    Json json = Json::parse(std::regex_replace(contents, std::regex(": *(-?Infinity|NaN)"), ": 1e300"));  // which JSON has not
    for (std::size_t edits = 1 + choices.below(4); edits > 0; --edits) Editor(choices, json).edit();
    contents = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  if (choices.one_in(8)) {  // another record, damaged
    std::string& contents = records[choices.below(records.size())].second;
    if (!contents.empty()) contents[choices.below(contents.size())] = static_cast<char>(choices.below(256));
  }
  std::string bytes = frontend::testing::zip(records);
  if (choices.one_in(16)) bytes.resize(choices.below(bytes.size()));
  if (choices.one_in(16) && !bytes.empty()) bytes[choices.below(bytes.size())] ^= static_cast<char>(1 << choices.below(8));
  return bytes;
}

bool convert_exported(const std::string& archive) { return on_model(archive, "model.pt2", convert_model); }

}  // namespace compatcheck::hostile
