// The effects of a node beside its outputs, as far as operator and schema show them.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/graph.h"

namespace compatcheck::passes {

// Whether a value of this type is, or can lead to, memory that an operator may write: tensors, lists, dicts, objects.
bool holds_memory(const ir::TypeRef& type);

// The operands whose memory the node itself (not its blocks) writes.
std::vector<std::size_t> written_operands(const ir::Node& node);
bool writes(const ir::Node& node);
bool gives_what_it_writes(const ir::Node& node);  // its one result is the tensor or list itself
bool writes_anything(const ir::Block& block);     // its own blocks included

// Whether it is a tensor_split by places that may not ascend: x.tensor_split([3, 1]).
bool gives_overlapping_parts(const ir::Node& split);

// Another run with the same arguments may give other values.
bool is_random(const ir::Node& node);

// Must stay although nothing reads its outputs, for another reason than a write: it raises, or nobody knows.
bool has_effect(const ir::Node& node);

// prim::Print, aten::warn, profiling marks, gradient mode: nothing that a model computes depends on them.
bool is_remark(const ir::Node& node);

}  // namespace compatcheck::passes
