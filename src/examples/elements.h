// The elements of example tensors, for whoever runs a model on them.
#pragma once

#include "files/input_file.h"
#include "files/zip.h"
#include "ir/constant.h"

namespace compatcheck::examples {

// Every tensor becomes contiguous and carries its bytes. `directory`: of a zip archive, else null. Throws ModelError for what
// can't be read or takes more than `most_element_bytes`.
void read_elements(ir::Constant& value, const files::InputFile& file, const files::ZipDirectory* directory);

inline constexpr std::uint64_t most_element_bytes = std::uint64_t{4} << 30;

}  // namespace compatcheck::examples
