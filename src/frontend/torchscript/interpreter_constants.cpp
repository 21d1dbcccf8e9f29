#include "frontend/torchscript/interpreter_constants.h"

#include <ATen/ATen.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/function.h>

#include "compatcheck/error.h"

namespace compatcheck::frontend::torchscript {
namespace {

at::ScalarType scalar_type(ir::DType dtype) { return static_cast<at::ScalarType>(dtype); }

// The plain integers behind a quantized tensor.
at::ScalarType underlying(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::qi8: return at::kChar;
    case ir::DType::qu8: return at::kByte;
    case ir::DType::qi32: return at::kInt;
    default: return scalar_type(dtype);
  }
}

c10::TypePtr simple(ir::TypeKind kind) {
  using ir::TypeKind;
  switch (kind) {
    case TypeKind::tensor: return c10::TensorType::get();
    case TypeKind::integer:
    case TypeKind::layout:
    case TypeKind::memory_format:
    case TypeKind::scalar_type: return c10::IntType::get();
    case TypeKind::floating: return c10::FloatType::get();
    case TypeKind::boolean: return c10::BoolType::get();
    case TypeKind::complex: return c10::ComplexType::get();
    case TypeKind::number: return c10::NumberType::get();
    case TypeKind::string: return c10::StringType::get();
    case TypeKind::none: return c10::NoneType::get();
    case TypeKind::device: return c10::DeviceObjType::get();
    case TypeKind::generator: return c10::GeneratorType::get();
    case TypeKind::qscheme: return c10::QSchemeType::get();
    default: return c10::AnyType::get();
  }
}

}  // namespace

c10::IValue make_list(const c10::TypePtr& element, const std::vector<c10::IValue>& items) {
  c10::impl::GenericList list(element);
  list.reserve(items.size());
  for (const c10::IValue& item : items) list.push_back(item);
  return list;
}

c10::TypePtr ConstantReader::named(const std::string& name) {
  const auto found = sources_.classes().get_type(c10::QualifiedName(name));
  return found ? c10::TypePtr(found) : c10::TypePtr(c10::AnyType::get());
}

c10::TypePtr ConstantReader::type(const ir::Type& described) {
  using ir::TypeKind;
  const auto element = [&](std::size_t i) {
    return i < described.elements.size() && described.elements[i] ? type(*described.elements[i])
                                                                  : c10::TypePtr(c10::AnyType::get());
  };
  switch (described.kind) {
    case TypeKind::list: return c10::ListType::create(element(0));
    case TypeKind::optional: return c10::OptionalType::create(element(0));
    case TypeKind::dict: return c10::DictType::create(element(0), element(1));
    case TypeKind::tuple: {
      if (!described.name.empty())
        if (const auto fields = named(described.name)->cast<c10::TupleType>()) return fields;
      std::vector<c10::TypePtr> elements;
      for (std::size_t i = 0; i < described.elements.size(); ++i) elements.push_back(element(i));
      return c10::TupleType::create(std::move(elements));
    }
    case TypeKind::named:
    case TypeKind::module: return named(described.name);
    default: return simple(described.kind);
  }
}

c10::Storage ConstantReader::storage(const std::shared_ptr<const ir::Storage>& held) {
  if (const auto known = storages_.find(held.get()); known != storages_.end()) return known->second.storage;
  void* data = const_cast<std::uint8_t*>(held->data.data());  // ours alone: the graph was decoded for this run
  if (held->in_file) {
    if (!file_) file_.emplace(std::filesystem::path(sources_.file));
    if (!mapped_) mapped_.emplace(*file_);
    const auto bytes = mapped_->bytes();
    if (held->file_offset > bytes.size() || held->bytes > bytes.size() - held->file_offset)
      throw ModelError("record " + held->record + " reaches beyond the end of the file");
    data = bytes.data() + held->file_offset;
  }
  c10::Storage made(c10::Storage::use_byte_size_t(), held->bytes, at::DataPtr(data, at::kCPU), nullptr, false);
  storages_.emplace(held.get(), Known{held, made});
  return made;
}

at::Tensor ConstantReader::quantized(const at::Tensor& numbers, const ir::TensorView& view) const {
  const ir::Quantizer& quantizer = *view.quantizer;
  if (!quantizer.per_channel) return at::_make_per_tensor_quantized_tensor(numbers, quantizer.scale, quantizer.zero_point);
  const at::Tensor zero_points = quantizer.float_zero_points.empty() ? at::tensor(quantizer.zero_points, at::kLong)
                                                                     : at::tensor(quantizer.float_zero_points, at::kFloat);
  return at::_make_per_channel_quantized_tensor(numbers, at::tensor(quantizer.scales, at::kDouble), zero_points, quantizer.axis);
}

at::Tensor ConstantReader::tensor(const ir::TensorView& view) {
  const bool is_quantized = ir::is_quantized(view.dtype) && view.quantizer;
  const auto options = at::TensorOptions(is_quantized ? underlying(view.dtype) : scalar_type(view.dtype));
  if (!view.storage) return at::zeros(view.sizes, options);  // a graph as text has no values
  at::Tensor made = at::empty({0}, options);
  made.set_(storage(view.storage), view.offset, view.sizes, view.strides);
  return is_quantized ? quantized(made, view) : made;
}

c10::IValue ConstantReader::list(const ir::ListConstant& held) {
  std::vector<c10::IValue> items;
  for (const ir::Constant& item : held.items) items.push_back(read(item));
  const c10::TypePtr element = held.element    ? type(*held.element)
                               : items.empty() ? c10::TypePtr(c10::TensorType::get())
                                               : items[0].type();
  return make_list(element, items);
}

c10::IValue ConstantReader::dict(const ir::DictConstant& held) {
  c10::impl::GenericDict made(held.key ? type(*held.key) : c10::AnyType::get(),
                              held.value ? type(*held.value) : c10::AnyType::get());
  for (const auto& [key, value] : held.items) made.insert(read(key), read(value));
  return made;
}

c10::IValue ConstantReader::enumerator(const ir::EnumConstant& held) {
  const auto type = named(held.class_name)->cast<c10::EnumType>();
  if (!type || !held.value) throw ModelError("the enum " + held.class_name + " is not in the file");
  return c10::IValue(c10::make_intrusive<c10::ivalue::EnumHolder>(type, held.name, read(*held.value)));
}

c10::IValue ConstantReader::read(const ir::Constant& constant) {
  struct Read {
    ConstantReader& reader;
    c10::IValue operator()(std::monostate) const { return {}; }
    c10::IValue operator()(const ir::TensorView& view) const { return reader.tensor(view); }
    c10::IValue operator()(const ir::ListConstant& held) const { return reader.list(held); }
    c10::IValue operator()(const ir::DictConstant& held) const { return reader.dict(held); }
    c10::IValue operator()(const ir::EnumConstant& held) const { return reader.enumerator(held); }
    c10::IValue operator()(const ir::ObjectConstant& held) const { return reader.sources_.object(held.object); }
    c10::IValue operator()(const ir::DeviceConstant&) const { return at::Device(at::kCPU); }  // whatever the file says
    c10::IValue operator()(const ir::TupleConstant& held) const {
      std::vector<c10::IValue> items;
      for (const ir::Constant& item : held.items) items.push_back(reader.read(item));
      const auto fields = held.type ? reader.type(*held.type)->cast<c10::TupleType>() : nullptr;
      return fields && fields->schema() ? c10::ivalue::Tuple::createNamed(std::move(items), fields)
                                        : c10::ivalue::Tuple::create(std::move(items));
    }
    c10::IValue operator()(const ir::FunctionConstant&) const { return {}; }  // its user asks by name
    c10::IValue operator()(const ir::OpaqueConstant& held) const {
      throw ModelError("a constant of type " + held.type_name + " can't be run");
    }
    c10::IValue operator()(const std::complex<double>& value) const { return c10::complex<double>(value.real(), value.imag()); }
    c10::IValue operator()(std::int64_t value) const { return value; }
    c10::IValue operator()(double value) const { return value; }
    c10::IValue operator()(bool value) const { return value; }
    c10::IValue operator()(const std::string& value) const { return value; }
  };
  return std::visit(Read{*this}, constant.value);
}

torch::jit::Function& ConstantReader::function(const std::string& name) {
  if (torch::jit::Function* found = sources_.classes().find_function(c10::QualifiedName(name))) return *found;
  throw ModelError("the function " + name + " is not in the file");
}

}  // namespace compatcheck::frontend::torchscript
