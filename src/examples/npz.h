// numpy.savez: a zip archive with one .npy record for each array.
#pragma once

#include "frontend/zip.h"
#include "ir/constant.h"

namespace compatcheck::examples {

// A dict of arrays by name, in the file's order. Of each array only the head is read. Throws ModelError.
ir::Constant read_npz(const frontend::InputFile& file, const frontend::ZipDirectory& directory);

}  // namespace compatcheck::examples
