// The flat, versioned form in which programs and graphs pass between the tool and its TorchScript helper program.
// No libtorch here: both sides compile this file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"

namespace compatcheck::frontend {

inline constexpr std::uint32_t snapshot_version = 6;

// Blocks, types and constants nested deeper than this are refused with ModelError, on both sides: what comes after
// walks them by recursion.
inline constexpr std::size_t deepest_nesting = 1000;

// And types that hold more than so many others, each counted as often as it is met: what comes after walks them whole.
inline constexpr std::size_t most_type_parts = 10'000;

std::vector<std::uint8_t> encode(const ir::Program& program);
std::vector<std::uint8_t> encode(const ir::Graph& graph);  // constants and all
std::vector<std::uint8_t> encode(const ir::Constant& constant);

// Throw ModelError on bytes that are not a snapshot of this version or are cut short: the other side may have died.
// Storages, types and locations that were shared are shared again. Node::schema() is null; value ids are new.
ir::Program decode_program(std::span<const std::uint8_t> bytes);
ir::Graph decode_graph(std::span<const std::uint8_t> bytes);
ir::Constant decode_constant(std::span<const std::uint8_t> bytes);

// Every value in the order in which a snapshot names them: the same on both sides, whatever the ids are.
std::vector<ir::Value*> values_in_order(const ir::Graph& graph);

// The graph's top block, then those in it, each before the blocks inside it.
std::vector<ir::Block*> blocks_in_order(const ir::Graph& graph);

}  // namespace compatcheck::frontend
