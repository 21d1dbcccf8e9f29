#include <algorithm>

#include "frontend/snapshot.h"
#include "frontend/snapshot_reader.h"

namespace compatcheck::frontend {
namespace {

using snapshot_format::Content;
using wire::Reader;

class Decoder {
 public:
  Decoder(std::span<const std::uint8_t> bytes, Content content) : in_(bytes, content) {}
  ir::Program program();
  ir::Graph graph();
  ir::Constant constant(std::size_t depth = 0);
  void expect_end() const { in_.expect_end(); }

 private:
  ir::Constants constants(std::size_t depth);
  ir::DictConstant dict(std::size_t depth);
  ir::TensorView tensor();
  ir::EnumConstant enumerator(std::size_t depth);

  void block(ir::Block& into, std::size_t depth);
  void node(ir::Block& into, std::size_t depth);
  ir::Value* used_value();
  const ir::TypeRef& value_type();

  ir::Function function();
  ir::Class class_();
  void check(const ir::Program& program) const;

  SnapshotReader in_;
  ir::Graph* graph_ = nullptr;
  std::vector<ir::Value*> values_;  // null once out of scope
  std::uint64_t objects_wanted_ = 0;
};

ir::TensorView Decoder::tensor() {
  ir::TensorView tensor;
  tensor.dtype = in_.dtype();
  tensor.sizes = in_.numbers();
  tensor.strides = in_.numbers();
  tensor.offset = in_.number();
  tensor.storage = in_.storage();
  tensor.requires_grad = in_.boolean();
  tensor.device = in_.text();
  tensor.quantizer = in_.quantizer();
  if (tensor.sizes.size() != tensor.strides.size()) Reader::damaged("a tensor's sizes and strides differ in rank");
  return tensor;
}

ir::Constants Decoder::constants(std::size_t depth) {
  // Grown as they are read: lists in lists may each claim what is left.
  ir::Constants all;
  for (std::size_t left = in_.count(); left > 0; --left) all.push_back(constant(depth));
  return all;
}

ir::DictConstant Decoder::dict(std::size_t depth) {
  ir::DictConstant dict;
  dict.key = in_.type();
  dict.value = in_.type();
  for (std::size_t left = in_.count(); left > 0; --left) {
    ir::Constant key = constant(depth);
    dict.items.emplace_back(std::move(key), constant(depth));
  }
  return dict;
}

ir::EnumConstant Decoder::enumerator(std::size_t depth) {
  ir::EnumConstant held;
  held.class_name = in_.text();
  held.name = in_.text();
  if (in_.boolean()) held.value = std::make_shared<ir::Constant>(constant(depth));
  return held;
}

// The alternative's place in Constant::Variant.
template <class Held>
consteval std::size_t tag() {
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
    case tag<std::string>(): return {in_.text()};
    case tag<ir::TensorView>(): return {tensor()};
    case tag<ir::ListConstant>(): return {ir::ListConstant{in_.type(), constants(inner)}};
    case tag<ir::TupleConstant>(): return {ir::TupleConstant{in_.type(), constants(inner)}};
    case tag<ir::DictConstant>(): return {dict(inner)};
    case tag<ir::ObjectConstant>(): {
      const std::uint64_t object = in_.unsigned_number();
      objects_wanted_ = std::max(objects_wanted_, object + 1);
      return {ir::ObjectConstant{static_cast<std::uint32_t>(object)}};
    }
    case tag<ir::EnumConstant>(): return {enumerator(inner)};
    case tag<ir::DeviceConstant>(): return {ir::DeviceConstant{in_.text()}};
    case tag<ir::FunctionConstant>(): return {ir::FunctionConstant{in_.text()}};
    case tag<ir::OpaqueConstant>(): return {ir::OpaqueConstant{in_.text()}};
    default: Reader::damaged("a constant is unknown");
  }
}

ir::Value* Decoder::used_value() {
  ir::Value* value = in_.at(values_);
  if (!value) Reader::damaged("a value is used outside its block");
  return value;
}

const ir::TypeRef& Decoder::value_type() {
  const ir::TypeRef& type = in_.type();
  if (!type) Reader::damaged("a value has no type");
  return type;
}

void Decoder::node(ir::Block& into, std::size_t depth) {
  const std::string& op = in_.text();
  const std::string& overload = in_.text();
  const std::string& module = in_.text();
  const ir::LocationRef& location = in_.location();
  std::vector<ir::Value*> inputs(in_.count());
  for (ir::Value*& input : inputs) input = used_value();
  ir::Node* node = graph_->create(op, inputs);
  into.append(node);
  node->set_overload(overload);
  node->set_module(module);
  node->set_location(location);
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) {
    const std::string& name = in_.text();
    node->set_attribute(name, constant());
  }
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) block(*node->add_block(), depth + 1);
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) {
    ir::Value* output = node->add_output(value_type());
    output->set_name(in_.text());
    values_.push_back(output);
  }
  if (!ir::arity_fault(*node).empty()) Reader::damaged("a node has too few inputs, outputs or blocks");
}

void Decoder::block(ir::Block& into, std::size_t depth) {
  if (depth > deepest_nesting) Reader::damaged("branches and loops are nested too deeply");
  const std::size_t outside = values_.size();
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) {
    const ir::TypeRef& held = value_type();
    values_.push_back(into.add_input(held, in_.text()));
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
  function.name = in_.text();
  function.parameters.resize(in_.count());
  for (ir::Parameter& parameter : function.parameters) {
    parameter.name = in_.text();
    parameter.type = in_.type();
    if (in_.boolean()) parameter.default_value = constant();
  }
  function.returns.resize(in_.count());
  for (ir::TypeRef& returned : function.returns) returned = in_.type();
  function.graph = graph();
  return function;
}

ir::Class Decoder::class_() {
  ir::Class held;
  held.name = in_.text();
  held.is_module = in_.boolean();
  held.is_interface = in_.boolean();
  held.attributes.resize(in_.count());
  for (ir::ClassAttribute& attribute : held.attributes) {
    attribute.name = in_.text();
    attribute.type = in_.type();
    attribute.is_parameter = in_.boolean();
    attribute.is_buffer = in_.boolean();
  }
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) {
    const std::string& name = in_.text();
    held.constants[name] = constant();
  }
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) {
    const std::string& method = in_.text();
    held.methods[method] = in_.text();
  }
  return held;
}

ir::Program Decoder::program() {
  ir::Program program;
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) {
    const std::string& key = in_.text();
    program.classes[key] = class_();
  }
  for (std::size_t i = 0, count = in_.count(); i < count; ++i) {
    const std::string& key = in_.text();
    program.functions[key] = function();
  }
  program.objects.resize(in_.count());
  for (ir::Object& object : program.objects) {
    object.class_name = in_.text();
    object.attributes = constants(0);
  }
  program.root = static_cast<std::uint32_t>(in_.unsigned_number());
  program.recorded_inputs.resize(in_.count());
  for (ir::RecordedInput& input : program.recorded_inputs) {
    input.name = in_.text();
    input.type = in_.type();
  }
  program.notes.resize(in_.count());
  for (ir::LoadNote& note : program.notes) {
    note.kind = static_cast<ir::LoadNote::Kind>(std::min(in_.byte(), static_cast<std::uint8_t>(ir::LoadNote::Kind::other)));
    note.subject = in_.text();
    note.message = in_.text();
  }
  program.stub_schemas = in_.texts();
  program.library_schemas = in_.texts();
  program.producer = in_.text();
  program.libtorch_version = in_.text();
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

ir::Constant decode_constant(std::span<const std::uint8_t> bytes) {
  Decoder decoder(bytes, Content::constant);
  ir::Constant constant = decoder.constant();
  decoder.expect_end();
  return constant;
}

}  // namespace compatcheck::frontend
