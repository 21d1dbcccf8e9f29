#include "symbolic/torchao.h"

#include "symbolic/demands.h"
#include "symbolic/families.h"

namespace compatcheck::symbolic {

std::optional<Blocks> blocks_of(const Call& call) {
  const auto& input = tensor_of(call, "input").shape;
  const auto blocks = call.dims("block_size");
  if (!input || !blocks) return std::nullopt;
  demand_equal(Dim(static_cast<std::int64_t>(blocks->size())), Dim(static_cast<std::int64_t>(input->size())),
               "the number of block sizes");
  Blocks made;
  for (std::size_t i = 0; i < input->size(); ++i) {
    const Dim &size = (*input)[i], &block = (*blocks)[i];
    const bool whole = provably_equal(size, block), single = block.number() == 1;
    if (!whole && (!block.is_number() || size.is_unknown())) return std::nullopt;
    if (!whole && *block.number() < 1) throw Impossible{"block sizes must be at least 1"};
    if (!whole && !single) {
      Demands demands;
      demands.multiple(size, block, "dimension " + std::to_string(i) + " of the input");
      demands.hold();
    }
    const Dim number = single ? size : whole ? Dim(1) : floor_div(size, block);
    made.numbers.push_back(number);
    made.sizes.push_back(whole && !single ? 0 : *block.number());
    made.parted.push_back(whole ? size : number);
    if (!whole && !single) made.parted.push_back(block);
    if (!single) made.inner.push_back(static_cast<std::int64_t>(made.parted.size()) - 1);
  }
  return made;
}

namespace {

Facts as_input(const Call& call) {
  blocks_of(call);
  return {tensor_fact(call.dtype("output_dtype"), tensor_of(call, "input").shape)};
}

// A scale and a zero point for each block; dimensions that a block fills are left out unless `keepdim`.
Facts chosen_for_blocks(const Call& call) {
  const auto blocks = blocks_of(call);
  const auto keep = call.boolean("keepdim");
  std::optional<Shape> shape;
  if (blocks && keep) {
    shape.emplace();
    for (std::size_t i = 0; i < blocks->numbers.size(); ++i)
      if (*keep || blocks->sizes[i] != 0) shape->push_back(blocks->numbers[i]);
  }
  const auto given = tensor_of(call, "input").dtype;
  const auto mapping = call.string("mapping_type");
  std::optional<ir::DType> zero_point = call.dtype("zero_point_dtype");
  if (call.is_none("zero_point_dtype") && mapping) zero_point = *mapping == "ASYMMETRIC" ? ir::DType::i32 : given;
  return {tensor_fact(call.is_none("scale_dtype") ? given : call.dtype("scale_dtype"), shape), tensor_fact(zero_point, shape)};
}

// Without a block of several elements PyTorch reduces all dimensions, and keeps none.
Verdict blocks_reduce(const Call& call) {
  const auto blocks = blocks_of(call);
  const bool reduces = !blocks || !blocks->inner.empty();
  return {.truth = reduces ? Truth::yes : Truth::no, .message = reduces ? "" : "no block has several elements"};
}

}  // namespace

void register_torchao(Registry& registry) {
  for (const char* op : {"torchao::quantize_affine", "torchao::dequantize_affine"}) registry.facts(op, as_input);
  registry.facts("torchao::choose_qparams_affine", chosen_for_blocks);
  registry.condition("blocks_reduce", blocks_reduce);
}

}  // namespace compatcheck::symbolic
