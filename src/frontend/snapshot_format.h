// What the two halves of the snapshot agree on beside the order of fields.
#pragma once

#include <array>
#include <cstdint>

namespace compatcheck::frontend::snapshot_format {

inline constexpr std::array<std::uint8_t, 4> magic = {'C', 'C', 'S', 'N'};

enum class Content : std::uint8_t { program, graph, constant };

// Tables come before what refers to them; number 0 of types, locations and storages is null. A type or location
// refers to earlier ones only.
//
//   magic, version, content, strings, types, locations, storages, body

}  // namespace compatcheck::frontend::snapshot_format
