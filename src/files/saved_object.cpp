#include "files/saved_object.h"

#include <algorithm>

#include "compatcheck/error.h"
#include "files/pickle_tree.h"
#include "files/saved_tensors.h"

namespace compatcheck::files {
namespace {

using Kind = PickleItem::Kind;

constexpr std::uint64_t longest_pickle = 16 << 20;
constexpr int deepest_object = 32;

const ir::TypeRef& any() {
  static const ir::TypeRef type = ir::simple_type(ir::TypeKind::any);
  return type;
}

class ObjectReader {
 public:
  ObjectReader(const InputFile& file, const ZipDirectory& directory, const PickleTree& tree, std::size_t most_values)
      : tree_(tree), tensors_(file, directory, tree, "data/"), most_values_(most_values) {}

  ir::Constant root() { return value(tree_.items[tree_.root], 0); }

 private:
  const PickleItem& at(PickleItemId id) const { return tree_.items[id]; }
  static std::string name_of(const PickleItem& item) { return std::string(item.module) + "." + std::string(item.text); }

  [[noreturn]] static void damaged() { throw ModelError("holds a tensor that torch doesn't write so: the file is damaged"); }

  ir::Constant value(const PickleItem& item, int depth) {
    if (depth > deepest_object) throw ModelError("nests its containers deeper than " + std::to_string(deepest_object));
    // A tuple of twice the same tuple, and so on, is small in the file.
    if (++values_ > most_values_) throw ModelError("holds more than " + std::to_string(most_values_) + " values");
    switch (item.kind) {
      case Kind::none: return {};
      case Kind::boolean: return {item.integer != 0};
      case Kind::integer: return {item.integer};
      case Kind::floating: return {item.floating};
      case Kind::text: return {std::string(item.text)};
      case Kind::tuple: return {ir::TupleConstant{any(), members(item, depth)}};
      case Kind::list: return {ir::ListConstant{any(), members(item, depth)}};
      case Kind::dict: return dict(item.members, depth);
      case Kind::call: return called(item, depth);
      case Kind::object: return object(item, depth);
      case Kind::name: throw ModelError("holds " + name_of(item) + ", which is not a tensor, number, text or container of these");
      case Kind::persistent: throw ModelError("holds a bare storage; save the tensor");
      case Kind::other: break;
    }
    throw ModelError("holds bytes, a set or a number of more than 64 bits");
  }

  ir::Constants members(const PickleItem& item, int depth) {
    ir::Constants values;
    for (const PickleItemId member : item.members) values.push_back(value(at(member), depth + 1));
    return values;
  }

  ir::Constant dict(const PickleMembers& items, int depth) {
    ir::DictConstant made(any(), any(), {});
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      const PickleItem& key = at(items[i]);
      if (key.kind != Kind::text && key.kind != Kind::integer)
        throw ModelError("holds a dict whose keys are neither strings nor integers");
      made.items.emplace_back(value(key, depth + 1), value(at(items[i + 1]), depth + 1));
    }
    return {std::move(made)};
  }

  // Reads values that torch.save writes as a function's name and arguments.
  ir::Constant called(const PickleItem& call, int depth) {
    const PickleItem &function = at(call.members[0]), &arguments = at(call.members[1]);
    if (function.kind != Kind::name || arguments.kind != Kind::tuple) damaged();
    const std::string name = name_of(function);
    if (name == "collections.OrderedDict") return dict(call.added, depth);
    if (SavedTensors::rebuilds(name)) return tensors_.rebuilt(name, arguments);
    const bool is_wrapped =
        name == "torch.Size" || name.starts_with("torch.jit._pickle.build_") || name == "torch.jit._pickle.restore_type_tag";
    if (is_wrapped && !arguments.members.empty()) return value(at(arguments.members[0]), depth + 1);
    if (name == "torch.device" && !arguments.members.empty() && at(arguments.members[0]).kind == Kind::text)
      return {ir::DeviceConstant{std::string(at(arguments.members[0]).text)}};
    refuse(name);
  }

  // A NamedTuple is made of its fields; any other object of what its class does with a state.
  ir::Constant object(const PickleItem& item, int depth) {
    const PickleItem &made = at(item.members[0]), &arguments = at(item.members[1]);
    const std::string name = made.kind == Kind::name ? name_of(made) : "unknown";
    if (item.has_state || !item.added.empty() || arguments.kind != Kind::tuple || arguments.members.empty()) refuse(name);
    return {ir::TupleConstant{any(), members(arguments, depth)}};
  }

  [[noreturn]] static void refuse(const std::string& name) {
    throw ModelError("holds a Python object (" + name +
                     "), which isn't supported: save tensors, numbers, and tuples, lists and dicts of these");
  }

  const PickleTree& tree_;
  SavedTensors tensors_;
  std::size_t most_values_, values_ = 0;
};

}  // namespace

void refuse_big_endian(const InputFile& file, const ZipDirectory& directory) {
  if (is_big_endian(file, directory)) throw ModelError("was saved on a big-endian machine: save it on a little-endian one");
}

ir::Constant read_saved_object(const InputFile& file, const ZipDirectory& directory, std::size_t most_values) {
  const ZipRecord* found = directory.find("data.pkl");
  if (!found) throw ModelError("lacks record data.pkl: it is cut short or damaged");
  const ZipRecord& record = *found;
  if (record.unpacked > longest_pickle) throw ModelError("has a data.pkl of more than 16 MB");
  const auto pickle = read_zip_record(file, record, longest_pickle);
  refuse_big_endian(file, directory);
  const auto tree = read_pickle(pickle, 10 * most_values);
  return ObjectReader(file, directory, tree, most_values).root();
}

}  // namespace compatcheck::files
