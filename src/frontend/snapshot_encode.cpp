#include <map>
#include <unordered_map>

#include "frontend/snapshot.h"
#include "frontend/snapshot_format.h"
#include "frontend/wire.h"

namespace compatcheck::frontend {
namespace {

using snapshot_format::Content;
using wire::Writer;

[[noreturn]] void too_deep(const char* what) {
  throw ModelError(std::string(what) + " nested deeper than " + std::to_string(deepest_nesting) + " levels");
}

// Records that are written once and then named by number.
class Table {
 public:
  std::uint64_t add(std::vector<std::uint8_t> record) {
    const auto [place, added] = known_.try_emplace(std::move(record), known_.size() + 1);
    if (added) all_.raw(place->first);
    return place->second;
  }
  void write(Writer& out) && {
    out.unsigned_number(known_.size());
    out.raw(std::move(all_).take());
  }

 private:
  std::map<std::vector<std::uint8_t>, std::uint64_t> known_;
  Writer all_;
};

class Encoder {
 public:
  void program(const ir::Program& program);
  void graph(const ir::Graph& graph);
  void constant(const ir::Constant& constant, std::size_t depth = 0);
  std::vector<std::uint8_t> finish(Content content) &&;

 private:
  void string(Writer& out, std::string_view text);
  void strings(Writer& out, const std::vector<std::string>& all);
  void type(Writer& out, const ir::TypeRef& type) { out.unsigned_number(type_number(type, 0)); }
  std::uint64_t type_number(const ir::TypeRef& type, std::size_t depth);
  void tensor_type(Writer& out, const ir::TensorType& tensor);
  std::uint64_t location_number(const ir::LocationRef& location, std::size_t depth);
  std::uint64_t storage_number(const std::shared_ptr<const ir::Storage>& storage);

  void constants(const ir::Constants& all, std::size_t depth);
  void tensor(const ir::TensorView& tensor);

  void block(const ir::Block& block, std::size_t depth);
  void node(const ir::Node& node, std::size_t depth);
  void value(const ir::Value& value);
  void use(const ir::Value& value);

  void function(const ir::Function& function);
  void class_(const ir::Class& class_);

  Writer out_;
  Writer strings_, storages_;
  Table types_, locations_;
  std::unordered_map<std::string, std::uint64_t> string_numbers_;
  std::unordered_map<const void*, std::uint64_t> type_numbers_, location_numbers_, storage_numbers_;
  std::vector<std::uint64_t> value_numbers_;  // by Value::id(); 0: not defined yet, else position + 1
  std::uint64_t next_value_ = 0;
};

void Encoder::string(Writer& out, std::string_view text) {
  const auto [place, added] = string_numbers_.try_emplace(std::string(text), string_numbers_.size());
  if (added) strings_.string(text);
  out.unsigned_number(place->second);
}

void Encoder::strings(Writer& out, const std::vector<std::string>& all) {
  out.unsigned_number(all.size());
  for (const std::string& text : all) string(out, text);
}

void optional_numbers(Writer& out, const std::optional<std::vector<std::optional<std::int64_t>>>& numbers) {
  out.boolean(numbers.has_value());
  if (!numbers) return;
  out.unsigned_number(numbers->size());
  for (const auto& number : *numbers) {
    out.boolean(number.has_value());
    if (number) out.number(*number);
  }
}

void write_numbers(Writer& out, const std::vector<std::int64_t>& all) {
  out.unsigned_number(all.size());
  for (const std::int64_t number : all) out.number(number);
}

void write_reals(Writer& out, const std::vector<double>& all) {
  out.unsigned_number(all.size());
  for (const double number : all) out.real(number);
}

void write_quantizer(Writer& out, const ir::Quantizer* quantizer) {
  out.boolean(quantizer != nullptr);
  if (!quantizer) return;
  out.boolean(quantizer->per_channel);
  out.real(quantizer->scale);
  out.number(quantizer->zero_point);
  write_reals(out, quantizer->scales);
  write_numbers(out, quantizer->zero_points);
  write_reals(out, quantizer->float_zero_points);
  out.number(quantizer->axis);
}

void Encoder::tensor_type(Writer& out, const ir::TensorType& tensor) {
  out.boolean(tensor.dtype.has_value());
  if (tensor.dtype) out.byte(static_cast<std::uint8_t>(*tensor.dtype));
  optional_numbers(out, tensor.sizes);
  optional_numbers(out, tensor.strides);
  out.byte(tensor.requires_grad ? (*tensor.requires_grad ? 2 : 1) : 0);
  string(out, tensor.device);
  write_quantizer(out, tensor.quantizer.get());
}

std::uint64_t Encoder::type_number(const ir::TypeRef& type, std::size_t depth) {
  if (!type) return 0;
  if (const auto known = type_numbers_.find(type.get()); known != type_numbers_.end()) return known->second;
  if (depth > deepest_nesting) too_deep("a type is");
  Writer record;
  record.byte(static_cast<std::uint8_t>(type->kind));
  if (type->kind == ir::TypeKind::tensor) tensor_type(record, type->tensor);
  record.unsigned_number(type->elements.size());
  for (const ir::TypeRef& element : type->elements) record.unsigned_number(type_number(element, depth + 1));
  string(record, type->name);
  strings(record, type->field_names);
  return type_numbers_[type.get()] = types_.add(std::move(record).take());
}

std::uint64_t Encoder::location_number(const ir::LocationRef& location, std::size_t depth) {
  if (!location) return 0;
  if (const auto known = location_numbers_.find(location.get()); known != location_numbers_.end()) return known->second;
  if (depth > deepest_nesting) too_deep("calls are");
  Writer record;
  string(record, location->file);
  record.number(location->line);
  record.number(location->column);
  string(record, location->function);
  string(record, location->text);
  record.unsigned_number(location_number(location->caller, depth + 1));
  return location_numbers_[location.get()] = locations_.add(std::move(record).take());
}

std::uint64_t Encoder::storage_number(const std::shared_ptr<const ir::Storage>& storage) {
  if (!storage) return 0;
  const auto [place, added] = storage_numbers_.try_emplace(storage.get(), storage_numbers_.size() + 1);
  if (added) {
    storages_.boolean(storage->in_file);
    storages_.unsigned_number(storage->file_offset);
    storages_.unsigned_number(storage->bytes);
    string(storages_, storage->record);
    storages_.blob(storage->data);
  }
  return place->second;
}

void Encoder::tensor(const ir::TensorView& tensor) {
  out_.byte(static_cast<std::uint8_t>(tensor.dtype));
  write_numbers(out_, tensor.sizes);
  write_numbers(out_, tensor.strides);
  out_.number(tensor.offset);
  out_.unsigned_number(storage_number(tensor.storage));
  out_.boolean(tensor.requires_grad);
  string(out_, tensor.device);
  write_quantizer(out_, tensor.quantizer.get());
}

void Encoder::constants(const ir::Constants& all, std::size_t depth) {
  out_.unsigned_number(all.size());
  for (const ir::Constant& item : all) constant(item, depth);
}

void Encoder::constant(const ir::Constant& held, std::size_t depth) {
  if (depth > deepest_nesting) too_deep("a constant is");
  out_.byte(static_cast<std::uint8_t>(held.value.index()));
  struct Put {
    Encoder& to;
    std::size_t inner;
    void operator()(std::monostate) const {}
    void operator()(std::int64_t value) const { to.out_.number(value); }
    void operator()(double value) const { to.out_.real(value); }
    void operator()(bool value) const { to.out_.boolean(value); }
    void operator()(const std::complex<double>& value) const {
      to.out_.real(value.real());
      to.out_.real(value.imag());
    }
    void operator()(const std::string& value) const { to.string(to.out_, value); }
    void operator()(const ir::TensorView& value) const { to.tensor(value); }
    void operator()(const ir::ListConstant& value) const {
      to.type(to.out_, value.element);
      to.constants(value.items, inner);
    }
    void operator()(const ir::TupleConstant& value) const {
      to.type(to.out_, value.type);
      to.constants(value.items, inner);
    }
    void operator()(const ir::DictConstant& value) const {
      to.type(to.out_, value.key);
      to.type(to.out_, value.value);
      to.out_.unsigned_number(value.items.size());
      for (const auto& [key, item] : value.items) {
        to.constant(key, inner);
        to.constant(item, inner);
      }
    }
    void operator()(const ir::ObjectConstant& value) const { to.out_.unsigned_number(value.object); }
    void operator()(const ir::EnumConstant& value) const {
      to.string(to.out_, value.class_name);
      to.string(to.out_, value.name);
      to.out_.boolean(value.value != nullptr);
      if (value.value) to.constant(*value.value, inner);
    }
    void operator()(const ir::DeviceConstant& value) const { to.string(to.out_, value.device); }
    void operator()(const ir::FunctionConstant& value) const { to.string(to.out_, value.name); }
    void operator()(const ir::OpaqueConstant& value) const { to.string(to.out_, value.type_name); }
  };
  std::visit(Put{*this, depth + 1}, held.value);
}

void Encoder::value(const ir::Value& value) {
  type(out_, value.type());
  string(out_, value.name());
  value_numbers_[value.id()] = ++next_value_;
}

void Encoder::use(const ir::Value& value) {
  const std::uint64_t number = value_numbers_[value.id()];
  if (number == 0) throw InternalError("snapshot: a value is used before it is defined: %" + value.name());
  out_.unsigned_number(number - 1);
}

void Encoder::node(const ir::Node& node, std::size_t depth) {
  string(out_, node.op());
  string(out_, node.overload());
  string(out_, node.module());
  out_.unsigned_number(location_number(node.location(), 0));
  out_.unsigned_number(node.inputs().size());
  for (const ir::Value* input : node.inputs()) use(*input);
  out_.unsigned_number(node.attributes().size());
  for (const ir::Attribute& attribute : node.attributes()) {
    string(out_, attribute.name);
    constant(attribute.value);
  }
  out_.unsigned_number(node.blocks().size());
  for (const ir::Block* inner : node.blocks()) block(*inner, depth + 1);
  out_.unsigned_number(node.outputs().size());
  for (const ir::Value* output : node.outputs()) value(*output);
}

void Encoder::block(const ir::Block& block, std::size_t depth) {
  if (depth > deepest_nesting) too_deep("branches and loops are");
  out_.unsigned_number(block.inputs().size());
  for (const ir::Value* input : block.inputs()) value(*input);
  std::uint64_t nodes = 0;
  for ([[maybe_unused]] const ir::Node* each : block) ++nodes;
  out_.unsigned_number(nodes);
  for (const ir::Node* each : block) node(*each, depth);
  out_.unsigned_number(block.outputs().size());
  for (const ir::Value* output : block.outputs()) use(*output);
}

void Encoder::graph(const ir::Graph& graph) {
  value_numbers_.assign(graph.value_limit(), 0);
  next_value_ = 0;
  block(*graph.top(), 0);
}

void Encoder::function(const ir::Function& function) {
  string(out_, function.name);
  out_.unsigned_number(function.parameters.size());
  for (const ir::Parameter& parameter : function.parameters) {
    string(out_, parameter.name);
    type(out_, parameter.type);
    out_.boolean(parameter.default_value.has_value());
    if (parameter.default_value) constant(*parameter.default_value);
  }
  out_.unsigned_number(function.returns.size());
  for (const ir::TypeRef& returned : function.returns) type(out_, returned);
  graph(function.graph);
}

void Encoder::class_(const ir::Class& class_) {
  string(out_, class_.name);
  out_.boolean(class_.is_module);
  out_.boolean(class_.is_interface);
  out_.unsigned_number(class_.attributes.size());
  for (const ir::ClassAttribute& attribute : class_.attributes) {
    string(out_, attribute.name);
    type(out_, attribute.type);
    out_.boolean(attribute.is_parameter);
    out_.boolean(attribute.is_buffer);
  }
  out_.unsigned_number(class_.constants.size());
  for (const auto& [name, held] : class_.constants) {
    string(out_, name);
    constant(held);
  }
  out_.unsigned_number(class_.methods.size());
  for (const auto& [method, key] : class_.methods) {
    string(out_, method);
    string(out_, key);
  }
}

void Encoder::program(const ir::Program& program) {
  out_.unsigned_number(program.classes.size());
  for (const auto& [key, held] : program.classes) {
    string(out_, key);
    class_(held);
  }
  out_.unsigned_number(program.functions.size());
  for (const auto& [key, held] : program.functions) {
    string(out_, key);
    function(held);
  }
  out_.unsigned_number(program.objects.size());
  for (const ir::Object& object : program.objects) {
    string(out_, object.class_name);
    constants(object.attributes, 0);
  }
  out_.unsigned_number(program.root);
  out_.unsigned_number(program.recorded_inputs.size());
  for (const ir::RecordedInput& input : program.recorded_inputs) {
    string(out_, input.name);
    type(out_, input.type);
  }
  out_.unsigned_number(program.notes.size());
  for (const ir::LoadNote& note : program.notes) {
    out_.byte(static_cast<std::uint8_t>(note.kind));
    string(out_, note.subject);
    string(out_, note.message);
  }
  strings(out_, program.stub_schemas);
  strings(out_, program.library_schemas);
  string(out_, program.producer);
  string(out_, program.libtorch_version);
  out_.boolean(program.traced);
  out_.boolean(program.training);
}

std::vector<std::uint8_t> Encoder::finish(Content content) && {
  Writer all;
  all.raw(snapshot_format::magic);
  all.unsigned_number(snapshot_version);
  all.byte(static_cast<std::uint8_t>(content));
  all.unsigned_number(string_numbers_.size());
  all.raw(std::move(strings_).take());
  std::move(types_).write(all);
  std::move(locations_).write(all);
  all.unsigned_number(storage_numbers_.size());
  all.raw(std::move(storages_).take());
  all.raw(std::move(out_).take());
  return std::move(all).take();
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

std::vector<std::uint8_t> encode(const ir::Program& program) {
  Encoder encoder;
  encoder.program(program);
  return std::move(encoder).finish(Content::program);
}

std::vector<std::uint8_t> encode(const ir::Graph& graph) {
  Encoder encoder;
  encoder.graph(graph);
  return std::move(encoder).finish(Content::graph);
}

std::vector<std::uint8_t> encode(const ir::Constant& constant) {
  Encoder encoder;
  encoder.constant(constant);
  return std::move(encoder).finish(Content::constant);
}

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
