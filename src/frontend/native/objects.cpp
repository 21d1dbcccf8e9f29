#include "frontend/native/objects.h"

#include <algorithm>

#include "files/pickle_tree.h"
#include "frontend/native/state_setter.h"

namespace compatcheck::frontend::native {
namespace {

using files::PickleItem;
using files::PickleItemId;
using ItemKind = files::PickleItem::Kind;
using ir::Constant;
using ir::TypeKind;
using ir::TypeRef;

constexpr std::uint64_t longest_pickle = 1ull << 30;
constexpr std::size_t most_pickled = 20'000'000;
constexpr std::size_t deepest_value = 900;  // below snapshot.h's deepest_nesting
constexpr std::size_t most_object_values = 2'000'000;
constexpr std::size_t text_of_a_value = 128;  // a longer text counts as several values

std::string class_named(const PickleItem& item) {
  return item.module.empty() ? std::string(item.text) : std::string(item.module) + "." + std::string(item.text);
}

}  // namespace

class Objects::Reader {
 public:
  Reader(Objects& objects, const files::PickleTree& tree, const std::string& folder)
      : objects_(objects), tree_(tree), tensors_(objects.file_, objects.directory_, tree, folder) {}

  Constant root() { return value(tree_.root, nullptr); }
  const files::SavedTensors& tensors() const { return tensors_; }

 private:
  const PickleItem& item(PickleItemId id) const { return tree_.items[id]; }

  struct Depth {
    explicit Depth(std::size_t& counted) : depth(counted) {
      if (++depth > deepest_value) throw ModelError("a value of the model is nested more than 900 deep, or holds itself");
    }
    ~Depth() { --depth; }
    std::size_t& depth;
  };

  // `stated`: the type of the attribute that holds it.
  Constant value(PickleItemId id, const TypeRef& stated) {
    objects_.code_.watch.step();
    const Depth nested(depth_);
    const PickleItem& held = item(id);
    values_ += 1 + held.text.size() / text_of_a_value;
    if (values_ > most_object_values) throw ModelError("the model holds more than 2,000,000 values beside its tensors");
    const TypeRef type = stated ? ir::without_optional(stated) : nullptr;
    switch (held.kind) {
      case ItemKind::none: return {};
      case ItemKind::boolean: return {held.integer != 0};
      case ItemKind::integer: return {held.integer};
      case ItemKind::floating: return {held.floating};
      case ItemKind::text: return {std::string(held.text)};
      case ItemKind::tuple: return tuple(held, type);
      case ItemKind::list: return list(held, type, id);
      case ItemKind::dict: return dict(held, type, id);
      case ItemKind::call: return called(id, held, stated);
      case ItemKind::object: return object(id, held);
      case ItemKind::name:
      case ItemKind::persistent:
      case ItemKind::other: break;
    }
    throw ModelError("its pickle holds a value that TorchScript doesn't have");
  }

  Constant tuple(const PickleItem& held, const TypeRef& type) {
    ir::TupleConstant made;
    const bool known = ir::is(type, TypeKind::tuple) && type->elements.size() == held.members.size();
    std::vector<TypeRef> types;
    for (std::size_t i = 0; i < held.members.size(); ++i) {
      made.items.push_back(value(held.members[i], known ? type->elements[i] : nullptr));
      if (!known) types.push_back(objects_.type_of(made.items.back()));
    }
    made.type = known ? type : ir::tuple_of(std::move(types));
    return {std::move(made)};
  }

  Constant list(const PickleItem& held, const TypeRef& type, PickleItemId id) {
    ir::ListConstant made{ir::is(type, TypeKind::list) ? type->elements[0] : nullptr, {}, id + 1};
    made.items.reserve(held.members.size());
    for (const PickleItemId member : held.members) made.items.push_back(value(member, made.element));
    if (!made.element) made.element = made.items.empty() ? ir::simple_type(TypeKind::any) : objects_.type_of(made.items[0]);
    return {std::move(made)};
  }

  Constant dict(const PickleItem& held, const TypeRef& type, PickleItemId id) {
    const bool known = ir::is(type, TypeKind::dict);
    ir::DictConstant made(known ? type->elements[0] : nullptr, known ? type->elements[1] : nullptr, {});
    made.identity = id + 1;
    for (std::size_t i = 0; i + 1 < held.members.size(); i += 2)
      made.items.emplace_back(value(held.members[i], made.key), value(held.members[i + 1], made.value));
    const TypeRef any = ir::simple_type(TypeKind::any);
    if (!made.key) made.key = made.items.empty() ? any : objects_.type_of(made.items[0].first);
    if (!made.value) made.value = made.items.empty() ? any : objects_.type_of(made.items[0].second);
    return {std::move(made)};
  }

  [[noreturn]] static void damaged() { throw ModelError("its pickle is damaged"); }

  Constant called(PickleItemId id, const PickleItem& call, const TypeRef& stated) {
    const PickleItem &function = item(call.members[0]), &arguments = item(call.members[1]);
    if (function.kind != ItemKind::name) damaged();
    const std::string name = class_named(function);
    // An enum's member comes by its value, without a tuple around it.
    const ClassDefinition* cls = name.starts_with("__torch__.") ? objects_.code_.definitions.find_class(name) : nullptr;
    if (cls && cls->kind == ClassDefinition::Kind::enumeration)
      return member(*cls, value(arguments.kind == ItemKind::tuple ? arguments.members.at(0) : call.members[1], nullptr));
    if (arguments.kind != ItemKind::tuple) damaged();
    const auto argument = [&](std::size_t i) -> PickleItemId {
      if (i >= arguments.members.size()) damaged();
      return arguments.members[i];
    };
    if (files::SavedTensors::rebuilds(name)) return tensors_.rebuilt(name, arguments);
    if (name == "torch.jit._pickle.restore_type_tag") {
      const PickleItem& tag = item(argument(1));
      return value(argument(0), tag.kind == ItemKind::text ? objects_.code_.definitions.type(std::string(tag.text)) : stated);
    }
    if (name.starts_with("torch.jit._pickle.build_")) {
      const std::string_view kind = std::string_view(name).substr(24);
      TypeRef element;
      if (kind == "intlist") element = ir::simple_type(TypeKind::integer);
      if (kind == "doublelist") element = ir::simple_type(TypeKind::floating);
      if (kind == "boollist") element = ir::simple_type(TypeKind::boolean);
      if (kind == "tensorlist") element = ir::tensor_type();
      return value(argument(0), element ? ir::list_of(element) : stated);
    }
    if (name == "torch.device") return {ir::DeviceConstant{std::string(item(argument(0)).text)}};
    if (name == "builtins.complex" || name == "__builtin__.complex")
      return {std::complex<double>(item(argument(0)).floating, item(argument(1)).floating)};
    if (name == "collections.OrderedDict") return dict(PickleItem{.kind = ItemKind::dict, .members = call.added}, stated, id);
    if (cls && cls->kind == ClassDefinition::Kind::named_tuple) return tuple(arguments, cls->type);
    throw ModelError("its pickle calls " + name + ", which isn't known");
  }

  Constant member(const ClassDefinition& cls, Constant held) {
    for (const auto& [name, expression] : cls.finals)
      if (ir::equal(constant_value(objects_.code_, *expression), held))
        return {ir::EnumConstant{cls.name, name, std::make_shared<const Constant>(std::move(held))}};
    throw ModelError("it holds a member that the enum " + cls.name + " lacks");
  }

  Constant object(PickleItemId id, const PickleItem& held) {
    const PickleItem& made = item(held.members[0]);
    if (made.kind != ItemKind::name) damaged();
    const std::string name = class_named(made);
    if (name.starts_with(custom_class_prefix) && !is_packed_parameters(name)) {
      objects_.code_.definitions.find_class(name);
      return {ir::OpaqueConstant{name}};
    }
    const auto [known, fresh] = made_.try_emplace(id, 0);
    if (!fresh) return {ir::ObjectConstant{known->second}};
    if (name.starts_with(custom_class_prefix)) {
      const Constant state = held.has_state ? value(held.state, nullptr) : Constant{};
      const std::uint32_t index =
          objects_.add(packed_from_state(name, state, [&](const ir::TensorView& tensor) { return integers(tensor); }));
      made_[id] = index;
      return {ir::ObjectConstant{index}};
    }
    const ClassDefinition* cls = objects_.code_.definitions.find_class(name);
    if (!cls) throw ModelError("its code lacks the class " + name);
    const auto index = static_cast<std::uint32_t>(objects_.program_.objects.size());
    made_[id] = index;
    objects_.program_.objects.push_back({name, ir::Constants(cls->attributes.size())});
    fill(*cls, index, held);
    return {ir::ObjectConstant{index}};
  }

  void fill(const ClassDefinition& cls, std::uint32_t index, const PickleItem& held) {
    const auto set = [&](std::size_t i, Constant attribute) {
      objects_.program_.objects[index].attributes[i] = std::move(attribute);
    };
    if (const FunctionSyntax* method = cls.method("__setstate__")) {
      const TypeRef type = method->parameters.size() > 1 ? objects_.code_.definitions.type(method->parameters[1].type) : nullptr;
      return run_set_state(cls, index, held.has_state ? value(held.state, type) : Constant{});
    }
    const PickleItem* state = held.has_state ? &item(held.state) : nullptr;
    if (!state || state->kind != ItemKind::dict) throw ModelError("the attributes of an object of " + cls.name + " are damaged");
    std::unordered_map<std::string_view, PickleItemId> saved;
    for (std::size_t i = 0; i + 1 < state->members.size(); i += 2) saved[item(state->members[i]).text] = state->members[i + 1];
    for (std::size_t i = 0; i < cls.attributes.size(); ++i) {
      const auto found = saved.find(cls.attributes[i].name);
      if (found == saved.end()) throw ModelError("an object of " + cls.name + " lacks its attribute " + cls.attributes[i].name);
      set(i, value(found->second, cls.attributes[i].type));
    }
  }

  void run_set_state(const ClassDefinition& cls, std::uint32_t index, const Constant& state) {
    const auto definition = [&](const std::string& name) -> const ClassDefinition& {
      const ClassDefinition* found = objects_.code_.definitions.find_class(name);
      if (!found) throw StateNotSet("uses the class " + name);
      return *found;
    };
    const StateContext context{objects_.program_,
                               [&](const std::string& class_name, const std::string& method) -> const ir::Function& {
                                 const ClassDefinition& of = definition(class_name);
                                 const FunctionSyntax* syntax = of.method(method);
                                 if (!syntax) throw StateNotSet("calls a method that isn't TorchScript");
                                 return objects_.function_of(class_name + "." + method, *syntax, of);
                               },
                               [&](const PackedParameters& packed) { return Constant{ir::ObjectConstant{objects_.add(packed)}}; },
                               [&](const std::string& class_name, const std::string& attribute) {
                                 const auto& attributes = definition(class_name).attributes;
                                 const auto found = std::ranges::find(attributes, attribute, &Attribute::name);
                                 if (found == attributes.end())
                                   throw StateNotSet("uses an attribute that the class lacks: " + attribute);
                                 return static_cast<std::size_t>(found - attributes.begin());
                               }};
    try {
      set_state(context, cls.name, index, state);
    } catch (const StateNotSet& why) {
      fill_by_name(cls, index, state);
      if (objects_.noted_.insert(cls.name).second)
        objects_.notes_.push_back({ir::LoadNote::Kind::setstate_skipped, cls.name,
                                   "__setstate__ of " + cls.name + " was not run, because it " + why.what() +
                                       ": the attributes that it sets are unknown"});
    }
  }

  // The state by attribute name, as far as it says. What is left isn't known: it may be anything.
  void fill_by_name(const ClassDefinition& cls, std::uint32_t index, const Constant& state) {
    const auto* dict = state.get<ir::DictConstant>();
    for (std::size_t i = 0; i < cls.attributes.size(); ++i) {
      Constant& attribute = objects_.program_.objects[index].attributes[i];
      attribute = {ir::OpaqueConstant{annotation(*cls.attributes[i].type)}};
      if (!dict) continue;
      for (const auto& [key, held] : dict->items)
        if (const auto* name = key.get<std::string>(); name && *name == cls.attributes[i].name) attribute = held;
    }
  }

  // Returns the elements of a small tensor of i16 to i64, in order.
  std::vector<std::int64_t> integers(const ir::TensorView& tensor) const {
    const std::size_t width = ir::element_bytes(tensor.dtype);
    if (!tensor.storage || !tensor.contiguous() || width == 0 || width > 8) damaged();
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const std::size_t begin = static_cast<std::size_t>(tensor.offset + i) * width;
      if (begin + width > tensor.storage->data.size()) damaged();
      std::uint64_t bits = 0;
      for (std::size_t byte = 0; byte < width; ++byte) bits |= std::uint64_t{tensor.storage->data[begin + byte]} << 8 * byte;
      const unsigned shift = static_cast<unsigned>(64 - 8 * width);
      numbers.push_back(static_cast<std::int64_t>(bits << shift) >> shift);
    }
    return numbers;
  }

  Objects& objects_;
  const files::PickleTree& tree_;
  files::SavedTensors tensors_;
  std::unordered_map<PickleItemId, std::uint32_t> made_;
  std::size_t depth_ = 0, values_ = 0;
};

TypeRef Objects::type_of(const Constant& value) const {
  if (const auto* object = value.get<ir::ObjectConstant>()) {
    const ClassDefinition* cls = code_.definitions.find_class(program_.objects.at(object->object).class_name);
    return cls ? cls->type : ir::simple_type(TypeKind::any);
  }
  if (value.get<ir::TensorView>()) return ir::tensor_type();
  return ir::type_of(value);
}

std::uint32_t Objects::add(const PackedParameters& packed) {
  const auto index = static_cast<std::uint32_t>(program_.objects.size());
  program_.objects.push_back({packed.class_name, packed.values});
  code_.definitions.find_class(packed.class_name);
  ir::Class& cls = program_.classes[packed.class_name];
  if (!cls.name.empty()) return index;
  cls.name = packed.class_name;
  for (std::size_t i = 0; i < packed.names.size(); ++i) {
    const TypeRef type = packed.names[i] == "bias" ? ir::optional_of(ir::tensor_type()) : type_of(packed.values[i]);
    cls.attributes.push_back({packed.names[i], type, false, false});
  }
  return index;
}

Constant Objects::read(const std::string& name) {
  const files::ZipRecord* record = directory_.find(name + ".pkl");
  if (!record) throw ModelError("record " + name + ".pkl is missing");
  const auto pickle = files::read_zip_record(file_, *record, longest_pickle);
  const files::PickleTree tree = files::read_pickle(pickle, most_pickled);
  Reader reader(*this, tree, name + "/");
  Constant root;
  try {
    root = reader.root();
  } catch (const files::UnsupportedTensor& unsupported) {
    throw Unsupported(unsupported.what());
  }
  devices_.insert(reader.tensors().devices().begin(), reader.tensors().devices().end());
  unpacked_.insert(unpacked_.end(), reader.tensors().unpacked().begin(), reader.tensors().unpacked().end());
  return root;
}

}  // namespace compatcheck::frontend::native
