#include <algorithm>

#include "frontend/snapshot.h"
#include "frontend/snapshot_format.h"
#include "frontend/wire.h"

namespace compatcheck::frontend {
namespace {

using snapshot_format::Content;
using wire::Reader;

class Decoder {
 public:
  Decoder(std::span<const std::uint8_t> bytes, Content content);
  ir::Program program();
  ir::Graph graph();
  void expect_end() const { in_.expect_end(); }

 private:
  void read_strings();
  void read_types();
  void read_locations();
  void read_storages();

  template <class Item> const Item& at(const std::vector<Item>& table) {
    const std::uint64_t number = in_.unsigned_number();
    if (number >= table.size()) Reader::damaged("it refers to what isn't there");
    return table[static_cast<std::size_t>(number)];
  }
  const std::string& string() { return at(strings_); }
  std::vector<std::string> strings();
  const ir::TypeRef& type() { return at(types_); }
  ir::TensorType tensor_type();
  ir::DType dtype();
  std::vector<std::int64_t> numbers();
  std::optional<std::vector<std::optional<std::int64_t>>> optional_numbers();

  ir::Constant constant(std::size_t depth = 0);
  ir::Constants constants(std::size_t depth);
  ir::DictConstant dict(std::size_t depth);
  ir::TensorView tensor();
  ir::Quantizer quantizer();
  ir::EnumConstant enumerator(std::size_t depth);

  void block(ir::Block& into, std::size_t depth);
  void node(ir::Block& into, std::size_t depth);
  ir::Value* used_value();

  ir::Function function();
  ir::Class class_();
  void check(const ir::Program& program) const;

  Reader in_;
  std::vector<std::string> strings_;
  std::vector<ir::TypeRef> types_;
  std::vector<ir::LocationRef> locations_;
  std::vector<std::shared_ptr<const ir::Storage>> storages_;
  ir::Graph* graph_ = nullptr;
  std::vector<ir::Value*> values_;  // null once out of scope
  std::uint64_t objects_wanted_ = 0;
};

Decoder::Decoder(std::span<const std::uint8_t> bytes, Content content) : in_(bytes) {
  for (const std::uint8_t expected : snapshot_format::magic)
    if (in_.byte() != expected) Reader::damaged("it isn't a snapshot");
  if (in_.unsigned_number() != snapshot_version)
    throw ModelError("the loader speaks another version of the snapshot: it belongs to another compatcheck");
  if (in_.byte() != static_cast<std::uint8_t>(content)) Reader::damaged("it holds something else");
  read_strings();
  read_types();
  read_locations();
  read_storages();
}

void Decoder::read_strings() {
  const std::size_t count = in_.count();
  strings_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) strings_.push_back(in_.string());
}

void Decoder::read_types() {
  const std::size_t count = in_.count();
  types_.reserve(count + 1);
  types_.push_back(nullptr);
  std::vector<std::size_t> depths = {0};  // of each type, so that a chain of small records can't nest without end
  for (std::size_t i = 0; i < count; ++i) {
    auto type = std::make_shared<ir::Type>();
    const std::uint8_t kind = in_.byte();
    if (kind > static_cast<std::uint8_t>(ir::TypeKind::var)) Reader::damaged("a type is unknown");
    type->kind = static_cast<ir::TypeKind>(kind);
    if (type->kind == ir::TypeKind::tensor) type->tensor = tensor_type();
    type->elements.resize(in_.count());
    std::size_t depth = 0;
    for (ir::TypeRef& element : type->elements) {
      const std::uint64_t number = in_.unsigned_number();
      if (number >= types_.size()) Reader::damaged("a type refers to a later one");
      element = types_[static_cast<std::size_t>(number)];
      depth = std::max(depth, depths[static_cast<std::size_t>(number)] + 1);
    }
    if (depth > deepest_nesting + 1) Reader::damaged("a type is nested too deeply");
    type->name = string();
    type->field_names = strings();
    types_.push_back(std::move(type));
    depths.push_back(depth);
  }
}

void Decoder::read_locations() {
  const std::size_t count = in_.count();
  locations_.reserve(count + 1);
  locations_.push_back(nullptr);
  std::vector<std::size_t> depths = {0};  // releasing a chain is recursive
  for (std::size_t i = 0; i < count; ++i) {
    auto location = std::make_shared<ir::Location>();
    location->file = string();
    location->line = static_cast<int>(in_.number());
    location->column = static_cast<int>(in_.number());
    location->function = string();
    location->text = string();
    const std::uint64_t caller = in_.unsigned_number();
    if (caller >= locations_.size()) Reader::damaged("a location refers to a later one");
    location->caller = locations_[static_cast<std::size_t>(caller)];
    depths.push_back(depths[static_cast<std::size_t>(caller)] + 1);
    if (depths.back() > deepest_nesting + 1) Reader::damaged("calls are nested too deeply");
    locations_.push_back(std::move(location));
  }
}

void Decoder::read_storages() {
  const std::size_t count = in_.count();
  storages_.reserve(count + 1);
  storages_.push_back(nullptr);
  for (std::size_t i = 0; i < count; ++i) {
    auto storage = std::make_shared<ir::Storage>();
    storage->in_file = in_.boolean();
    storage->file_offset = in_.unsigned_number();
    storage->bytes = in_.unsigned_number();
    storage->record = string();
    const auto data = in_.blob();
    storage->data.assign(data.begin(), data.end());
    if (!storage->in_file && storage->bytes != data.size()) Reader::damaged("a storage's size is wrong");
    storages_.push_back(std::move(storage));
  }
}

std::vector<std::string> Decoder::strings() {
  std::vector<std::string> all(in_.count());
  for (std::string& text : all) text = string();
  return all;
}

std::vector<std::int64_t> Decoder::numbers() {
  std::vector<std::int64_t> all(in_.count());
  for (std::int64_t& number : all) number = in_.number();
  return all;
}

std::optional<std::vector<std::optional<std::int64_t>>> Decoder::optional_numbers() {
  if (!in_.boolean()) return std::nullopt;
  std::vector<std::optional<std::int64_t>> all(in_.count());
  for (auto& number : all)
    if (in_.boolean()) number = in_.number();
  return all;
}

ir::DType Decoder::dtype() {
  if (const auto known = ir::dtype_from_number(in_.byte())) return *known;
  Reader::damaged("an element type is unknown");
}

ir::TensorType Decoder::tensor_type() {
  ir::TensorType tensor;
  if (in_.boolean()) tensor.dtype = dtype();
  tensor.sizes = optional_numbers();
  tensor.strides = optional_numbers();
  if (const std::uint8_t grad = in_.byte()) tensor.requires_grad = grad == 2;
  tensor.device = string();
  return tensor;
}

ir::Quantizer Decoder::quantizer() {
  ir::Quantizer quantizer;
  quantizer.per_channel = in_.boolean();
  quantizer.scale = in_.real();
  quantizer.zero_point = in_.number();
  quantizer.scales.resize(in_.count());
  for (double& scale : quantizer.scales) scale = in_.real();
  quantizer.zero_points = numbers();
  quantizer.axis = in_.number();
  return quantizer;
}

ir::TensorView Decoder::tensor() {
  ir::TensorView tensor;
  tensor.dtype = dtype();
  tensor.sizes = numbers();
  tensor.strides = numbers();
  tensor.offset = in_.number();
  tensor.storage = at(storages_);
  tensor.requires_grad = in_.boolean();
  tensor.device = string();
  if (in_.boolean()) tensor.quantizer = std::make_shared<ir::Quantizer>(quantizer());
  tensor.wrapped_number = in_.boolean();
  if (tensor.sizes.size() != tensor.strides.size()) Reader::damaged("a tensor's sizes and strides differ in rank");
  return tensor;
}

ir::Constants Decoder::constants(std::size_t depth) {
  ir::Constants all(in_.count());
  for (ir::Constant& item : all) item = constant(depth);
  return all;
}

ir::DictConstant Decoder::dict(std::size_t depth) {
  ir::DictConstant dict;
  dict.key = type();
  dict.value = type();
  dict.items.resize(in_.count());
  for (auto& [key, item] : dict.items) {
    key = constant(depth);
    item = constant(depth);
  }
  return dict;
}

ir::EnumConstant Decoder::enumerator(std::size_t depth) {
  ir::EnumConstant held;
  held.class_name = string();
  held.name = string();
  if (in_.boolean()) held.value = std::make_shared<ir::Constant>(constant(depth));
  return held;
}

// The alternative's place in Constant::Variant.
template <class Held> consteval std::size_t tag() {
  return []<class... All>(std::variant<All...>*) {
    std::size_t index = 0, at = 0;
    ((std::is_same_v<Held, All> ? void(index = at++) : void(at++)), ...);
    return index;
  }(static_cast<ir::Constant::Variant*>(nullptr));
}

ir::Constant Decoder::constant(std::size_t depth) {
  if (depth > deepest_nesting) Reader::damaged("a constant is nested too deeply");
  const std::size_t inner = depth + 1;
  switch (in_.byte()) {
    case tag<std::monostate>(): return {};
    case tag<std::int64_t>(): return {in_.number()};
    case tag<double>(): return {in_.real()};
    case tag<bool>(): return {in_.boolean()};
    case tag<std::complex<double>>(): {
      const double real = in_.real();
      return {std::complex<double>(real, in_.real())};
    }
    case tag<std::string>(): return {string()};
    case tag<ir::TensorView>(): return {tensor()};
    case tag<ir::ListConstant>(): return {ir::ListConstant{type(), constants(inner)}};
    case tag<ir::TupleConstant>(): return {ir::TupleConstant{type(), constants(inner)}};
    case tag<ir::DictConstant>(): return {dict(inner)};
    case tag<ir::ObjectConstant>(): {
      const std::uint64_t object = in_.unsigned_number();
      objects_wanted_ = std::max(objects_wanted_, object + 1);
      return {ir::ObjectConstant{static_cast<std::uint32_t>(object)}};
    }
    case tag<ir::EnumConstant>(): return {enumerator(inner)};
    case tag<ir::DeviceConstant>(): return {ir::DeviceConstant{string()}};
    case tag<ir::FunctionConstant>(): return {ir::FunctionConstant{string()}};
    case tag<ir::OpaqueConstant>(): return {ir::OpaqueConstant{string()}};
    default: Reader::damaged("a constant is unknown");
  }
}

ir::Value* Decoder::used_value() {
  ir::Value* value = at(values_);
  if (!value) Reader::damaged("a value is used outside its block");
  return value;
}

void Decoder::node(ir::Block& into, std::size_t depth) {
  const std::string& op = string();
  const std::string& overload = string();
  const std::string& module = string();
  const ir::LocationRef& location = at(locations_);
  std::vector<ir::Value*> inputs(in_.count());
  for (ir::Value*& input : inputs) input = used_value();
  ir::Node* node = graph_->create(op, inputs);
  into.append(node);
  node->set_overload(overload);
  node->set_module(module);
  node->set_location(location);
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) {
    const std::string& name = string();
    node->set_attribute(name, constant());
  }
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) block(*node->add_block(), depth + 1);
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) {
    ir::Value* output = node->add_output(type());
    output->set_name(string());
    values_.push_back(output);
  }
}

void Decoder::block(ir::Block& into, std::size_t depth) {
  if (depth > deepest_nesting) Reader::damaged("branches and loops are nested too deeply");
  const std::size_t outside = values_.size();
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) {
    const ir::TypeRef& held = type();
    values_.push_back(into.add_input(held, string()));
  }
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) node(into, depth);
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) into.add_output(used_value());
  std::fill(values_.begin() + static_cast<std::ptrdiff_t>(outside), values_.end(), nullptr);
}

ir::Graph Decoder::graph() {
  ir::Graph graph;
  graph_ = &graph;
  values_.clear();
  block(*graph.top(), 0);
  return graph;
}

ir::Function Decoder::function() {
  ir::Function function;
  function.name = string();
  function.parameters.resize(in_.count());
  for (ir::Parameter& parameter : function.parameters) {
    parameter.name = string();
    parameter.type = type();
    if (in_.boolean()) parameter.default_value = constant();
  }
  function.returns.resize(in_.count());
  for (ir::TypeRef& returned : function.returns) returned = type();
  function.graph = graph();
  return function;
}

ir::Class Decoder::class_() {
  ir::Class held;
  held.name = string();
  held.is_module = in_.boolean();
  held.is_interface = in_.boolean();
  held.attributes.resize(in_.count());
  for (ir::ClassAttribute& attribute : held.attributes) {
    attribute.name = string();
    attribute.type = type();
    attribute.is_parameter = in_.boolean();
    attribute.is_buffer = in_.boolean();
  }
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) {
    const std::string& name = string();
    held.constants[name] = constant();
  }
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) {
    const std::string& method = string();
    held.methods[method] = string();
  }
  return held;
}

ir::Program Decoder::program() {
  ir::Program program;
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) {
    const std::string& key = string();
    program.classes[key] = class_();
  }
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) {
    const std::string& key = string();
    program.functions[key] = function();
  }
  program.objects.resize(in_.count());
  for (ir::Object& object : program.objects) {
    object.class_name = string();
    object.attributes = constants(0);
  }
  program.root = static_cast<std::uint32_t>(in_.unsigned_number());
  program.recorded_inputs.resize(in_.count());
  for (ir::RecordedInput& input : program.recorded_inputs) {
    input.name = string();
    input.type = type();
  }
  program.notes.resize(in_.count());
  for (ir::LoadNote& note : program.notes) {
    note.kind = static_cast<ir::LoadNote::Kind>(
        std::min(in_.byte(), static_cast<std::uint8_t>(ir::LoadNote::Kind::other)));
    note.subject = string();
    note.message = string();
  }
  program.stub_schemas = strings();
  program.producer = string();
  program.libtorch_version = string();
  program.traced = in_.boolean();
  program.training = in_.boolean();
  check(program);
  return program;
}

// What passes index without asking.
void Decoder::check(const ir::Program& program) const {
  if (objects_wanted_ > program.objects.size() || program.root >= std::max<std::size_t>(program.objects.size(), 1))
    Reader::damaged("it refers to an object that isn't there");
  for (const ir::Object& object : program.objects) {
    const auto held = program.classes.find(object.class_name);
    if (held == program.classes.end()) Reader::damaged("an object's class isn't there");
    if (held->second.attributes.size() != object.attributes.size())
      Reader::damaged("an object hasn't the attributes of its class");
  }
  for (const auto& [name, held] : program.classes)
    for (const auto& [method, key] : held.methods)
      if (!program.functions.contains(key)) Reader::damaged("a method isn't there");
}

}  // namespace

ir::Program decode_program(std::span<const std::uint8_t> bytes) {
  Decoder decoder(bytes, Content::program);
  ir::Program program = decoder.program();
  decoder.expect_end();
  return program;
}

ir::Graph decode_graph(std::span<const std::uint8_t> bytes) {
  Decoder decoder(bytes, Content::graph);
  ir::Graph graph = decoder.graph();
  decoder.expect_end();
  return graph;
}

}  // namespace compatcheck::frontend
