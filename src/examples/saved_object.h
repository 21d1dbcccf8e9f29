// What torch.save wrote: a zip archive with a pickle, and a record for each storage.
#pragma once

#include "frontend/zip.h"
#include "ir/constant.h"

namespace compatcheck::examples {

// Tensors, numbers, strings, None, and tuples, lists and dicts of them. Throws ModelError.
ir::Constant read_saved_object(const frontend::InputFile& file, const frontend::ZipDirectory& directory);

}  // namespace compatcheck::examples
