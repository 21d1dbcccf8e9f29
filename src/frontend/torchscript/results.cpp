#include "frontend/torchscript/results.h"

#include <ATen/ATen.h>

#include <cstring>

#include "compatcheck/error.h"

namespace compatcheck::frontend::torchscript {
namespace {

ir::Constant tensor(at::Tensor held) {
  if (!held.defined()) return {};
  if (held.is_quantized()) held = held.dequantize();
  if (held.layout() != at::kStrided) held = held.to_dense();
  held = held.detach().resolve_conj().resolve_neg().contiguous();
  const auto dtype = ir::dtype_from_number(static_cast<std::int64_t>(held.scalar_type()));
  if (!dtype) throw ModelError("gives a tensor of an unknown dtype");
  auto storage = std::make_shared<ir::Storage>();
  storage->bytes = held.nbytes();
  storage->data.resize(held.nbytes());
  if (held.nbytes() > 0) std::memcpy(storage->data.data(), held.const_data_ptr(), held.nbytes());
  return {ir::TensorView{.dtype = *dtype,
                         .sizes = held.sizes().vec(),
                         .strides = held.strides().vec(),
                         .storage = std::move(storage),
                         .quantizer = nullptr}};
}

}  // namespace

ir::Constant result_of(const c10::IValue& value) {
  if (value.isNone()) return {};
  if (value.isTensor()) return tensor(value.toTensor());
  if (value.isBool()) return {value.toBool()};
  if (value.isInt()) return {value.toInt()};
  if (value.isDouble()) return {value.toDouble()};
  if (value.isComplexDouble()) return {std::complex<double>(value.toComplexDouble())};
  if (value.isString()) return {value.toStringRef()};
  if (value.isList()) {
    ir::ListConstant made;
    for (const c10::IValue& item : value.toListRef()) made.items.push_back(result_of(item));
    return {std::move(made)};
  }
  if (value.isTuple()) {
    ir::TupleConstant made;
    for (const c10::IValue& item : value.toTupleRef().elements()) made.items.push_back(result_of(item));
    return {std::move(made)};
  }
  if (value.isGenericDict()) {
    ir::DictConstant made;
    for (const auto& entry : value.toGenericDict()) made.items.emplace_back(result_of(entry.key()), result_of(entry.value()));
    return {std::move(made)};
  }
  if (value.isObject()) {  // its attributes
    const auto object = value.toObject();
    ir::DictConstant made;
    for (std::size_t i = 0; i < object->type()->numAttributes(); ++i)
      made.items.emplace_back(ir::Constant{object->type()->getAttributeName(i)}, result_of(object->getSlot(i)));
    return {std::move(made)};
  }
  throw ModelError("gives a " + value.type()->annotation_str() + ", which can't be compared");
}

}  // namespace compatcheck::frontend::torchscript
