#include "frontend/saved.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "compatcheck/error.h"
#include "files/pickle.h"
#include "files/pickle_tree.h"

namespace compatcheck::frontend {
namespace {

using Kind = files::PickleItem::Kind;

constexpr std::size_t most_keys_shown = 6, longest_key = 40;
constexpr std::size_t most_items = 500000;  // some 10,000 tensors with their optimizer's state

class Saved {
 public:
  explicit Saved(const files::PickleTree& tree) : tree_(tree) {}

  Recognition recognise(std::string foreign) const {
    const files::PickleItemId root = tree_.root;
    if (is_tensor(root)) return {Format::tensor, "a tensor", {}};
    if (is_state_dict(root)) return {Format::state_dict, {}, {}};
    const bool dict = is_dict(root);
    const std::vector<std::string> keys = dict ? keys_of(root) : std::vector<std::string>();
    if (const std::string weights = dict ? key_of_weights(root) : ""; !weights.empty())
      return {Format::checkpoint, "a checkpoint (a dict with " + spell(keys) + "), whose weights are in \"" + weights + "\"", {}};
    if (!foreign.empty()) return {Format::pickled_module, std::move(foreign), {}};
    if (dict && holds_tensors(root)) return {Format::checkpoint, "a checkpoint (a dict with " + spell(keys) + ")", {}};
    return {Format::saved_object, dict ? "a dict" + (keys.empty() ? std::string() : " with " + spell(keys)) : word_of(root), {}};
  }

 private:
  const files::PickleItem& item(files::PickleItemId id) const { return tree_.items[id]; }

  // "torch._utils._rebuild_tensor_v2"; empty if it isn't made by a call.
  std::string maker_of(files::PickleItemId id) const {
    const files::PickleItem& made = item(id);
    if ((made.kind != Kind::call && made.kind != Kind::object) || made.members.empty()) return {};
    const files::PickleItem& name = item(made.members.front());
    return name.kind == Kind::name ? std::string(name.module) + "." + std::string(name.text) : std::string();
  }

  bool is_tensor(files::PickleItemId id) const {
    const std::string maker = maker_of(id);
    return maker.starts_with("torch._utils._rebuild_") || maker.starts_with("torch._tensor._rebuild_") ||
           maker == "torch.nn.parameter.Parameter";
  }

  bool is_dict(files::PickleItemId id) const {
    const std::string maker = maker_of(id);
    return item(id).kind == Kind::dict || maker == "collections.OrderedDict" || maker == "collections.defaultdict";
  }

  // Keys and values, alternating.
  const files::PickleMembers& pairs_of(files::PickleItemId id) const {
    return item(id).kind == Kind::dict ? item(id).members : item(id).added;
  }

  std::string spell_key(files::PickleItemId key) const {
    if (item(key).kind == Kind::text)
      return std::string(item(key).text.substr(0, longest_key)) + (item(key).text.size() > longest_key ? "..." : "");
    return item(key).kind == Kind::integer ? std::to_string(item(key).integer) : "?";
  }

  std::vector<std::string> keys_of(files::PickleItemId dict) const {
    std::vector<std::string> keys;
    const auto& pairs = pairs_of(dict);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) keys.push_back(spell_key(pairs[i]));
    return keys;
  }

  // Tensors by name. A module without parameters has an empty OrderedDict.
  bool is_state_dict(files::PickleItemId id) const {
    if (!is_dict(id)) return false;
    const auto& pairs = pairs_of(id);
    if (pairs.empty()) return item(id).kind != Kind::dict;
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
      if (item(pairs[i]).kind != Kind::text || !is_tensor(pairs[i + 1])) return false;
    return true;
  }

  bool holds_tensors(files::PickleItemId dict) const {
    const auto& pairs = pairs_of(dict);
    for (std::size_t i = 1; i < pairs.size(); i += 2)
      if (is_tensor(pairs[i])) return true;
    return false;
  }

  // The first member that is a state_dict.
  std::string key_of_weights(files::PickleItemId dict) const {
    const auto& pairs = pairs_of(dict);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
      if (is_state_dict(pairs[i + 1]) && !pairs_of(pairs[i + 1]).empty()) return spell_key(pairs[i]);
    return {};
  }

  static std::string spell(const std::vector<std::string>& keys) {
    std::string text = keys.size() == 1 ? "key " : "keys ";
    for (std::size_t i = 0; i < std::min(keys.size(), most_keys_shown); ++i) text += (i ? ", " : "") + keys[i];
    return keys.size() > most_keys_shown ? text + ", ..." : text;
  }

  std::string word_of(files::PickleItemId id) const {
    switch (item(id).kind) {
      case Kind::list: return "a list of " + std::to_string(item(id).members.size());
      case Kind::tuple: return "a tuple of " + std::to_string(item(id).members.size());
      case Kind::text: return "a text";
      case Kind::integer:
      case Kind::floating:
      case Kind::boolean: return "a number";
      case Kind::none: return "None";
      default: return "Python objects";
    }
  }

  const files::PickleTree& tree_;
};

}  // namespace

Recognition recognise_saved(std::span<const std::uint8_t> pickle) {
  const files::PickledNames names = files::names_in_pickle(pickle);
  std::string foreign = files::foreign_class(names);
  try {
    const files::PickleTree tree = files::read_pickle(pickle, most_items);
    return Saved(tree).recognise(std::move(foreign));
  } catch (const ModelError&) {  // cut short, of an old protocol, or too large: its names alone are known
    if (!foreign.empty()) return {Format::pickled_module, std::move(foreign), {}};
    const bool weights =
        std::ranges::any_of(names.classes, [](const auto& name) { return name.starts_with("torch._utils._rebuild_"); });
    return weights ? Recognition{Format::checkpoint, "weights", {}} : Recognition{Format::saved_object, "Python objects", {}};
  }
}

}  // namespace compatcheck::frontend
