#include "analysis/lacking_members.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/given_inputs.h"
#include "ir/value_name.h"

namespace compatcheck::analysis {
namespace {

// The values that every call reads from a dictionary, with their keys; none if something may add keys.
std::vector<std::pair<std::string, const ir::Value*>> certain_reads(const ir::Value& dict) {
  std::vector<std::pair<std::string, const ir::Value*>> reads;
  const auto only_reads = [](const ir::Use& use) {
    static const std::set<std::string_view> readers{"aten::__getitem__", "aten::__contains__", "aten::get",  "aten::len",
                                                    "aten::keys",        "aten::values",       "aten::items"};
    return readers.contains(use.user->op());
  };
  if (!std::ranges::all_of(dict.uses(), only_reads)) return reads;
  for (const ir::Use& use : dict.uses()) {
    if (!use.user->is("aten::__getitem__") || use.operand != 0 || use.user->owner() != use.user->graph()->top()) continue;
    const ir::Constant* key = ir::constant_of(use.user->input(1));
    if (key && (key->get<std::string>() || key->get<std::int64_t>())) reads.emplace_back(ir::key_text(*key), use.user->output());
  }
  return reads;
}

struct Given {
  std::span<const std::string> by_example, by_option;

  static bool names(std::span<const std::string> all, const std::string& name) {
    return std::ranges::any_of(all, [&](const std::string& other) { return covers(name, other); });
  }

  // `value`: null where the graph doesn't show the container.
  std::optional<std::string> lacks(const std::string& name, const ir::TypeRef& type, const ir::Value* value) const {
    if (!type || std::ranges::find(by_option, name) != by_option.end() || !names(by_example, name)) return std::nullopt;
    std::optional<std::string> found;
    const auto look = [&](const std::string& member, const ir::TypeRef& held, const ir::Value* read, const std::string& field) {
      if (found) return;
      if (names(by_example, member) || names(by_option, member))
        found = lacks(member, held, read);
      else
        found = "holds no '" + member + "'" + field + ", and every call needs this member of '" + name + "'";
    };
    if (ir::is(type, ir::TypeKind::tuple)) {
      for (std::size_t i = 0; i < type->elements.size(); ++i)
        look(name + "." + std::to_string(i), type->elements[i], nullptr,
             type->field_names.empty() ? "" : " (" + name + "." + type->field_names[i] + ")");
    } else if (ir::is(type, ir::TypeKind::dict) && value) {
      for (const auto& [key, read] : certain_reads(*value)) look(ir::member_name(name, key), type->elements.back(), read, "");
    }
    return found;
  }
};

}  // namespace

std::optional<std::string> lacking_member(std::span<const std::string> by_example, std::span<const std::string> by_option,
                                          const ir::Graph& graph) {
  const Given given{by_example, by_option};
  for (const ir::Value* input : graph.inputs())
    if (auto found = given.lacks(ir::input_name(*input), input->type(), input)) return found;
  return std::nullopt;
}

}  // namespace compatcheck::analysis
