// Small tensors as printed: ` 1  2 [ CPULongType{2} ]`, `{0.5}`, `<Tensor>`.
#pragma once

#include <complex>
#include <optional>
#include <string>
#include <vector>

#include "ir/constant.h"
#include "ir/scanner.h"

namespace compatcheck::ir {

using Element = std::complex<long double>;  // holds every 64-bit integer

// Elements in order, whatever the strides; nullopt without data at hand or for types that have no numbers here.
std::optional<std::vector<Element>> elements_of(const TensorView& tensor);

// A contiguous tensor that carries its bytes; without data if the type has no plain encoding (quantized, 8-bit floats).
TensorView tensor_of(DType dtype, std::vector<std::int64_t> sizes, const std::vector<Element>& elements);

// Null if a printed tensor doesn't begin here. What can't be made out comes back without data.
std::optional<TensorView> read_printed_tensor(Scanner& scanner);

std::string write_tensor(const TensorView& tensor);

}  // namespace compatcheck::ir
