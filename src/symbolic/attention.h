// Which calls of scaled dot-product attention mean what ONNX's Attention means.
#pragma once

#include <cstdint>

#include "symbolic/call.h"

namespace compatcheck::symbolic {

// How far ONNX Runtime's Attention computes what PyTorch does. It has no kernel for doubles, refuses tensors without elements and
// a scale of 0 or below, and takes a causal mask or one that is given, not both.
enum class AttentionFit : std::uint8_t { no, unless_empty, yes };
AttentionFit attention_fit(const Call& call);

// Whether a mask, if one is given, ends with the numbers of queries and of keys. ONNX Runtime broadcasts only what comes before.
bool mask_has_sizes(const Call& call);

// The mask among the arguments: PyTorch's kernels name it in two ways.
std::string_view attention_mask(const Call& call);

}  // namespace compatcheck::symbolic
