// The flat, versioned form in which programs and graphs pass between the tool and its TorchScript helper program.
// No libtorch here: both sides compile this file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"

namespace compatcheck::frontend {

inline constexpr std::uint32_t snapshot_version = 1;

std::vector<std::uint8_t> encode(const ir::Program& program);
std::vector<std::uint8_t> encode(const ir::Graph& graph);  // constants and all

// Throw ModelError on bytes that are not a snapshot of this version or are cut short: the other side may have died.
ir::Program decode_program(std::span<const std::uint8_t> bytes);
ir::Graph decode_graph(std::span<const std::uint8_t> bytes);

}  // namespace compatcheck::frontend
