// The quantizer that torch saves with a quantized tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "files/pickle_tree.h"
#include "ir/quantizer.h"

namespace compatcheck::files {

// The bytes of a storage by its key, "3". Empty if there is none.
using StorageBytes = std::function<std::vector<std::uint8_t>(const std::string& key)>;

// Reads (qscheme, scale, zero point), or (qscheme, scales, zero points, axis) with tensors as the second and third. Null for
// anything else.
std::shared_ptr<const ir::Quantizer> saved_quantizer(const PickleTree& tree, const PickleItem& parameters,
                                                     const StorageBytes& bytes);

}  // namespace compatcheck::files
