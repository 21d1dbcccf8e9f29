// numpy.savez: a zip archive with one .npy record for each array.
#pragma once

#include "files/zip.h"
#include "ir/constant.h"

namespace compatcheck::examples {

// Returns a dict of arrays by name, in the file's order. Only the head of each array is read. Throws ModelError.
ir::Constant read_npz(const files::InputFile& file, const files::ZipDirectory& directory);

}  // namespace compatcheck::examples
