// Graphs given as text: what print(model.graph) writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "ir/graph.h"

namespace compatcheck::frontend::text {

// The first line that isn't blank or a comment opens a graph, or the file's ending says text and it is text.
bool looks_like_graph(std::span<const std::uint8_t> head, const std::filesystem::path& path);

// No byte in it is a control character that texts don't have.
bool is_text(std::span<const std::uint8_t> head);

// Throws ModelError with place and line.
ir::Graph read_graph(std::span<const std::uint8_t> bytes, const std::string& display_name);

}  // namespace compatcheck::frontend::text
