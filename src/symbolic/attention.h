// Which calls of scaled dot-product attention mean what ONNX's Attention means.
#pragma once

#include <string_view>

#include "symbolic/call.h"

namespace compatcheck::symbolic {

// How far ONNX Runtime's Attention computes what PyTorch does. It has no kernel for doubles, refuses tensors without elements and
// a scale of 0 or below, and takes a causal mask or one that is given, not both. Halves it rounds after each step.
struct AttentionFit {
  bool fits = false;  // everything but the following members fits
  bool may_be_empty = false;
  bool halves = false;
  bool exact() const { return fits && !may_be_empty && !halves; }
};
AttentionFit attention_fit(const Call& call);

// Whether a mask, if given, ends with the numbers of queries and keys. ONNX Runtime broadcasts only the dimensions before
// these.
bool mask_has_sizes(const Call& call);

// The mask among the arguments: PyTorch's kernels name it in two ways.
std::string_view attention_mask(const Call& call);

}  // namespace compatcheck::symbolic
