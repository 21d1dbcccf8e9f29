#include "frontend/snapshot.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "compatcheck/error.h"
#include "frontend/undamaged.h"
#include "process/transfer.h"

namespace compatcheck::frontend {
namespace {

using process::all;
using process::Damaged;
using process::is;

// Tables come before what refers to them. Types, locations and storages are numbered from 1, 0 is null; a type or a location
// refers to earlier ones only.
//
//   magic, version, content, texts, types, locations, storages, body
constexpr std::array<std::uint8_t, 4> magic = {'C', 'C', 'S', 'N'};

enum class Content : std::uint8_t { program, graph, constant };

// Counts a level while it lives.
class Nesting {
 public:
  Nesting(std::size_t& depth, const char* what) : depth_(depth) {
    if (depth_ > deepest_nesting)
      throw ModelError(std::string(what) + " nested deeper than " + std::to_string(deepest_nesting) + " levels");
    ++depth_;
  }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  ~Nesting() { --depth_; }

 private:
  std::size_t& depth_;
};

// ---- Writing

class SnapshotWriter;

// Each record is written once, after those that it names.
template <class Held>
struct RecordTable {
  const char* nested;
  std::unordered_map<const Held*, std::uint64_t> numbers{};
  std::map<std::vector<std::uint8_t>, std::uint64_t> same_records{};
  process::Writer records{};
  std::uint64_t size = 0;
  std::size_t depth = 0;
};

struct Tables {
  std::unordered_map<std::string, std::uint64_t> text_numbers{};
  process::Writer texts{};
  RecordTable<ir::Type> types{"a type is"};
  RecordTable<ir::Location> locations{"calls are"};
  RecordTable<ir::Storage> storages{"a storage is"};
};

class SnapshotWriter : public process::Writer {
 public:
  explicit SnapshotWriter(Tables& of) : tables(of) {}

  Tables& tables;
  std::size_t constant_depth = 0, block_depth = 0;
  std::vector<std::uint64_t> value_numbers;  // indexed by Value::id(); 0: not defined yet, else position + 1
  std::uint64_t last_value = 0;
};

void transfer(SnapshotWriter& out, const std::string& text) {
  Tables& tables = out.tables;
  const auto [place, added] = tables.text_numbers.try_emplace(text, tables.text_numbers.size());
  if (added) tables.texts.text(text);
  out.number(place->second);
}

template <class Held>
void refer(SnapshotWriter& out, RecordTable<Held>& table, const std::shared_ptr<const Held>& held);

void transfer(SnapshotWriter& out, const ir::TypeRef& type) { refer(out, out.tables.types, type); }
void transfer(SnapshotWriter& out, const ir::LocationRef& location) { refer(out, out.tables.locations, location); }
void transfer(SnapshotWriter& out, const std::shared_ptr<const ir::Storage>& storage) {
  refer(out, out.tables.storages, storage);
}

void define(SnapshotWriter& out, const ir::Value& value) {
  all(out, value.type(), value.name());
  out.value_numbers[value.id()] = ++out.last_value;
}

void use(SnapshotWriter& out, const ir::Value& value) {
  const std::uint64_t number = out.value_numbers[value.id()];
  if (number == 0) throw InternalError("snapshot: a value is used before it is defined: %" + value.name());
  out.number(number - 1);
}

template <class Items, class Each>
void counted(SnapshotWriter& out, const Items& items, Each&& each) {
  std::uint64_t size = 0;
  for ([[maybe_unused]] const auto& item : items) ++size;
  out.number(size);
  for (const auto& item : items) each(item);
}

void block(SnapshotWriter& out, const ir::Block& block);

void node(SnapshotWriter& out, const ir::Node& node) {
  all(out, node.op(), node.overload(), node.module(), node.location());
  counted(out, node.inputs(), [&](const ir::Value* input) { use(out, *input); });
  counted(out, node.attributes(), [&](const ir::Attribute& attribute) { all(out, attribute.name, attribute.value); });
  counted(out, node.blocks(), [&](const ir::Block* inner) { block(out, *inner); });
  counted(out, node.outputs(), [&](const ir::Value* output) { define(out, *output); });
}

void block(SnapshotWriter& out, const ir::Block& block) {
  const Nesting nesting(out.block_depth, "branches and loops are");
  counted(out, block.inputs(), [&](const ir::Value* input) { define(out, *input); });
  counted(out, block, [&](const ir::Node* each) { node(out, *each); });
  counted(out, block.outputs(), [&](const ir::Value* output) { use(out, *output); });
}

void transfer(SnapshotWriter& out, const ir::Graph& graph) {
  out.value_numbers.assign(graph.value_limit(), 0);
  out.last_value = 0;
  block(out, *graph.top());
}

// ---- Reading

class SnapshotReader : public process::Reader {
 public:
  // Reads the tables; what follows is the body.
  SnapshotReader(std::span<const std::uint8_t> bytes, Content content);

  std::vector<std::string> texts;
  std::vector<ir::TypeRef> types{nullptr};
  std::vector<ir::LocationRef> locations{nullptr};
  std::vector<std::shared_ptr<const ir::Storage>> storages{nullptr};
  std::size_t constant_depth = 0, block_depth = 0;
  ir::Graph* graph = nullptr;
  std::vector<ir::Value*> values;  // null once out of scope
  std::uint64_t objects = 0;       // one more than the greatest object that constants name

 private:
  struct Extent {
    std::size_t depth = 0, parts = 0;
  };
  void check(const ir::Type& type);
  void check(const ir::Location& location);
  void check(const ir::Storage& storage);

  std::unordered_map<const void*, Extent> extents_{{nullptr, {}}};  // extents of types and locations
};

void transfer(SnapshotReader& in, std::string& text) { text = in.of(in.texts); }
void transfer(SnapshotReader& in, ir::TypeRef& type) { type = in.of(in.types); }
void transfer(SnapshotReader& in, ir::LocationRef& location) { location = in.of(in.locations); }
void transfer(SnapshotReader& in, std::shared_ptr<const ir::Storage>& storage) { storage = in.of(in.storages); }
void transfer(SnapshotReader& in, ir::TypeKind& kind) { kind = up_to(ir::TypeKind::var, in); }
void transfer(SnapshotReader& in, ir::LoadNote::Kind& kind) { kind = up_to(ir::LoadNote::Kind::other, in); }

const ir::TypeRef& defined_type(SnapshotReader& in) {
  const ir::TypeRef& type = in.of(in.types);
  if (!type) throw Damaged("a value has no type");
  return type;
}

ir::Value* used_value(SnapshotReader& in) {
  ir::Value* value = in.of(in.values);
  if (!value) throw Damaged("a value is used outside its block");
  return value;
}

void block(SnapshotReader& in, ir::Block& into);

void node(SnapshotReader& in, ir::Block& into) {
  const std::string &op = in.of(in.texts), &overload = in.of(in.texts), &module = in.of(in.texts);
  const ir::LocationRef& location = in.of(in.locations);
  std::vector<ir::Value*> inputs(in.count());
  for (ir::Value*& input : inputs) input = used_value(in);
  ir::Node* node = in.graph->create(op, inputs);
  into.append(node);
  node->set_overload(overload);
  node->set_module(module);
  node->set_location(location);
  for (std::size_t left = in.count(); left > 0; --left) {
    const std::string& name = in.of(in.texts);
    ir::Constant value;
    all(in, value);
    node->set_attribute(name, std::move(value));
  }
  for (std::size_t left = in.count(); left > 0; --left) block(in, *node->add_block());
  for (std::size_t left = in.count(); left > 0; --left) {
    ir::Value* output = node->add_output(defined_type(in));
    output->set_name(in.of(in.texts));
    in.values.push_back(output);
  }
  if (!ir::arity_fault(*node).empty()) throw Damaged("a node has too few inputs, outputs or blocks");
}

void block(SnapshotReader& in, ir::Block& into) {
  const Nesting nesting(in.block_depth, "branches and loops are");
  const std::size_t outside = in.values.size();
  for (std::size_t left = in.count(); left > 0; --left) {
    const ir::TypeRef& held = defined_type(in);
    in.values.push_back(into.add_input(held, in.of(in.texts)));
  }
  for (std::size_t left = in.count(); left > 0; --left) node(in, into);
  for (std::size_t left = in.count(); left > 0; --left) into.add_output(used_value(in));
  std::fill(in.values.begin() + static_cast<std::ptrdiff_t>(outside), in.values.end(), nullptr);
}

void transfer(SnapshotReader& in, ir::Graph& graph) {
  in.graph = &graph;
  in.values.clear();
  block(in, *graph.top());
}

// ---- What is held of each structure

template <class Archive, is<ir::Quantizer> T>
void transfer(Archive& archive, T& q) {
  all(archive, q.per_channel, q.scale, q.zero_point, q.scales, q.zero_points, q.float_zero_points, q.axis);
}
template <class Archive, is<ir::TensorType> T>
void transfer(Archive& archive, T& t) {
  all(archive, t.dtype, t.sizes, t.strides, t.requires_grad, t.device, t.quantizer);
}
template <class Archive, is<ir::Type> T>
void transfer(Archive& archive, T& t) {
  all(archive, t.kind);
  if (t.kind == ir::TypeKind::tensor) all(archive, t.tensor);
  all(archive, t.elements, t.name, t.field_names);
}
template <class Archive, is<ir::Location> T>
void transfer(Archive& archive, T& l) {
  all(archive, l.file, l.line, l.column, l.function, l.text, l.caller);
}
template <class Archive, is<ir::Storage> T>
void transfer(Archive& archive, T& s) {
  all(archive, s.in_file, s.file_offset, s.bytes, s.record, s.data);
}
template <class Archive, is<ir::TensorView> T>
void transfer(Archive& archive, T& t) {
  all(archive, t.dtype, t.sizes, t.strides, t.offset, t.storage, t.requires_grad, t.device, t.quantizer);
  if (t.sizes.size() != t.strides.size()) throw Damaged("a tensor's sizes and strides differ in rank");
}

template <class Archive, is<ir::ListConstant> T>
void transfer(Archive& archive, T& l) {
  all(archive, l.element, l.items, l.identity);
}
template <class Archive, is<ir::TupleConstant> T>
void transfer(Archive& archive, T& t) {
  all(archive, t.type, t.items);
}
template <class Archive, is<ir::DictConstant> T>
void transfer(Archive& archive, T& d) {
  all(archive, d.key, d.value, d.items, d.identity);
}
template <class Archive, is<ir::ObjectConstant> T>
void transfer(Archive& archive, T& o) {
  all(archive, o.object);
  if constexpr (process::Reads<Archive>) archive.objects = std::max(archive.objects, std::uint64_t{o.object} + 1);
}
template <class Archive, is<ir::EnumConstant> T>
void transfer(Archive& archive, T& e) {
  all(archive, e.class_name, e.name, e.value);
}
template <class Archive, is<ir::DeviceConstant> T>
void transfer(Archive& archive, T& d) {
  all(archive, d.device);
}
template <class Archive, is<ir::FunctionConstant> T>
void transfer(Archive& archive, T& f) {
  all(archive, f.name);
}
template <class Archive, is<ir::OpaqueConstant> T>
void transfer(Archive& archive, T& o) {
  all(archive, o.type_name);
}
template <class Archive, is<ir::Constant> T>
void transfer(Archive& archive, T& c) {
  const Nesting nesting(archive.constant_depth, "a constant is");
  all(archive, c.value);
}

template <class Archive, is<ir::Parameter> T>
void transfer(Archive& archive, T& p) {
  all(archive, p.name, p.type, p.default_value);
}
template <class Archive, is<ir::Function> T>
void transfer(Archive& archive, T& f) {
  all(archive, f.name, f.parameters, f.returns, f.graph);
}
template <class Archive, is<ir::ClassAttribute> T>
void transfer(Archive& archive, T& a) {
  all(archive, a.name, a.type, a.is_parameter, a.is_buffer);
}
template <class Archive, is<ir::Class> T>
void transfer(Archive& archive, T& c) {
  all(archive, c.name, c.is_module, c.is_interface, c.attributes, c.constants, c.methods);
}
template <class Archive, is<ir::Object> T>
void transfer(Archive& archive, T& o) {
  all(archive, o.class_name, o.attributes);
}
template <class Archive, is<ir::RecordedInput> T>
void transfer(Archive& archive, T& i) {
  all(archive, i.name, i.type);
}
template <class Archive, is<ir::LoadNote> T>
void transfer(Archive& archive, T& n) {
  all(archive, n.kind, n.subject, n.message);
}
// Checks the references that passes follow unchecked.
void check(const ir::Program& program, std::uint64_t objects) {
  if (objects > program.objects.size() || program.root >= std::max<std::size_t>(program.objects.size(), 1))
    throw Damaged("it refers to an object that isn't there");
  for (const ir::Object& object : program.objects) {
    const auto held = program.classes.find(object.class_name);
    if (held == program.classes.end()) throw Damaged("an object's class isn't there");
    if (held->second.attributes.size() != object.attributes.size()) throw Damaged("an object hasn't the attributes of its class");
  }
  for (const auto& [name, held] : program.classes)
    for (const auto& [method, key] : held.methods)
      if (!program.functions.contains(key)) throw Damaged("a method isn't there");
}

template <class Archive, is<ir::Program> T>
void transfer(Archive& archive, T& p) {
  all(archive, p.classes, p.functions, p.objects, p.root, p.recorded_inputs, p.notes, p.stub_schemas, p.library_schemas,
      p.producer, p.libtorch_version, p.traced, p.training);
  if constexpr (process::Reads<Archive>) check(p, archive.objects);
}

// ---- Whole snapshots

template <class Held>
void refer(SnapshotWriter& out, RecordTable<Held>& table, const std::shared_ptr<const Held>& held) {
  if (!held) return out.number(0);
  if (const auto known = table.numbers.find(held.get()); known != table.numbers.end()) return out.number(known->second);
  const Nesting nesting(table.depth, table.nested);
  SnapshotWriter writer(out.tables);
  transfer(writer, *held);
  auto record = std::move(writer).take();
  std::uint64_t number = table.size + 1;
  if constexpr (!std::same_as<Held, ir::Storage>)  // two storages are two, though they hold the same
    number = table.same_records.try_emplace(record, number).first->second;
  if (number > table.size) {
    table.size = number;
    table.records.raw(record);
  }
  table.numbers[held.get()] = number;
  out.number(number);
}

template <class Held>
std::vector<std::uint8_t> encode(Content content, const Held& held) {
  Tables tables;
  SnapshotWriter body(tables);
  transfer(body, held);
  process::Writer whole;
  whole.raw(magic);
  all(whole, snapshot_version, content);
  const auto table = [&](std::uint64_t size, process::Writer&& records) {
    whole.number(size);
    whole.raw(std::move(records).take());
  };
  table(tables.text_numbers.size(), std::move(tables.texts));
  table(tables.types.size, std::move(tables.types.records));
  table(tables.locations.size, std::move(tables.locations.records));
  table(tables.storages.size, std::move(tables.storages.records));
  whole.raw(std::move(body).take());
  return std::move(whole).take();
}

SnapshotReader::SnapshotReader(std::span<const std::uint8_t> bytes, Content content) : Reader(bytes) {
  if (!std::ranges::equal(raw(magic.size()), magic)) throw Damaged("it isn't a snapshot");
  if (number() != snapshot_version)
    throw ModelError("the loader speaks another version of the snapshot: it belongs to another compatcheck");
  if (number() != static_cast<std::uint64_t>(content)) throw Damaged("it holds something else");
  for (std::size_t left = count(); left > 0; --left) texts.emplace_back(text());
  const auto table = [this]<class Held>(std::vector<std::shared_ptr<const Held>>& held) {
    for (std::size_t left = count(); left > 0; --left) {
      auto made = std::make_shared<Held>();
      transfer(*this, *made);
      check(*made);
      held.push_back(std::move(made));
    }
  };
  table(types);
  table(locations);
  table(storages);
}

// Whether the type has the elements that its readers index unchecked.
bool has_its_elements(const ir::Type& type) {
  using enum ir::TypeKind;
  if (std::ranges::find(type.elements, nullptr) != type.elements.end()) return false;
  switch (type.kind) {
    case list:
    case optional:
    case future:
    case rref:
    case await_of: return type.elements.size() == 1;
    case dict: return type.elements.size() == 2;
    default: return true;
  }
}

// A chain of small records can't nest without end, nor double at every step: releasing one is recursive.
void SnapshotReader::check(const ir::Type& type) {
  Extent extent{0, 1};
  for (const ir::TypeRef& element : type.elements) {
    const Extent& inner = extents_.at(element.get());
    extent.depth = std::max(extent.depth, inner.depth + 1);
    extent.parts = std::min(extent.parts + inner.parts, most_type_parts + 1);
  }
  if (extent.depth > deepest_nesting + 1) throw Damaged("a type is nested too deeply");
  if (extent.parts > most_type_parts) throw Damaged("a type holds too many others");
  if (!has_its_elements(type)) throw Damaged("a type doesn't hold what its kind does");
  extents_[&type] = extent;
}

void SnapshotReader::check(const ir::Location& location) {
  const std::size_t depth = extents_.at(location.caller.get()).depth + 1;
  if (depth > deepest_nesting + 1) throw Damaged("calls are nested too deeply");
  extents_[&location] = {depth, 0};
}

void SnapshotReader::check(const ir::Storage& storage) {
  if (!storage.in_file && storage.bytes != storage.data.size()) throw Damaged("a storage's size is wrong");
}

template <class Held>
Held decode(Content content, std::span<const std::uint8_t> bytes) {
  return undamaged([&] {
    SnapshotReader in(bytes, content);
    Held held;
    transfer(in, held);
    in.expect_end();
    return held;
  });
}

void collect(const ir::Block& block, std::vector<ir::Value*>& values) {
  values.insert(values.end(), block.inputs().begin(), block.inputs().end());
  for (const ir::Node* node : block) {
    for (const ir::Block* inner : node->blocks()) collect(*inner, values);
    values.insert(values.end(), node->outputs().begin(), node->outputs().end());
  }
}

void collect(ir::Block* block, std::vector<ir::Block*>& blocks) {
  blocks.push_back(block);
  for (const ir::Node* node : *block)
    for (ir::Block* inner : node->blocks()) collect(inner, blocks);
}

}  // namespace

std::vector<std::uint8_t> encode(const ir::Program& program) { return encode(Content::program, program); }
std::vector<std::uint8_t> encode(const ir::Graph& graph) { return encode(Content::graph, graph); }
std::vector<std::uint8_t> encode(const ir::Constant& constant) { return encode(Content::constant, constant); }

ir::Program decode_program(std::span<const std::uint8_t> bytes) { return decode<ir::Program>(Content::program, bytes); }
ir::Graph decode_graph(std::span<const std::uint8_t> bytes) { return decode<ir::Graph>(Content::graph, bytes); }
ir::Constant decode_constant(std::span<const std::uint8_t> bytes) { return decode<ir::Constant>(Content::constant, bytes); }

std::vector<ir::Value*> values_in_order(const ir::Graph& graph) {
  std::vector<ir::Value*> values;
  collect(*graph.top(), values);
  return values;
}

std::vector<ir::Block*> blocks_in_order(const ir::Graph& graph) {
  std::vector<ir::Block*> blocks;
  collect(const_cast<ir::Block*>(graph.top()), blocks);
  return blocks;
}

}  // namespace compatcheck::frontend
