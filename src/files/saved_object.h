// Reads files of torch.save: a zip archive with a pickle, and a record for each storage.
#pragma once

#include <cstddef>

#include "files/zip.h"
#include "ir/constant.h"

namespace compatcheck::files {

// Tensors, numbers, strings, None, and tuples, lists and dicts of them, at most `most_values`. Throws ModelError.
ir::Constant read_saved_object(const InputFile& file, const ZipDirectory& directory, std::size_t most_values = 10'000);

// Throws ModelError if the archive states that its numbers are big-endian.
void refuse_big_endian(const InputFile& file, const ZipDirectory& directory);

}  // namespace compatcheck::files
