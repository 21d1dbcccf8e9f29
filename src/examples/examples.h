// Example inputs from a file: what --inputs-from names.
#pragma once

#include <filesystem>

#include "files/input_file.h"
#include "ir/constant.h"

namespace compatcheck::examples {

// Tensors are views of the file, whose elements are read only on request: Storage states the record and, unless that is
// deflated, the place in the file. For .pb files it is the place in input_K.pb; none if elements are stored one by one.
struct Examples {
  // The argument of torch.save, or a dict of arrays by their names.
  ir::Constant value;
  // Arrays of .npz and .pb files: they may have been named by whoever saved them, or by nobody.
  bool names_may_be_order = false;
};

// Whether the elements are read, too: tensors are then contiguous and carry their bytes.
enum class Elements : bool { leave, read };

// Reads an open file, a .pt or .npz. Throws ModelError, without the file's name.
Examples read(const files::InputFile& file, Elements elements = Elements::leave);

// A .pt file (torch.save of tensors, numbers, None, and tuples, lists and dicts of them), an .npz file, or a folder of
// input_0.pb, input_1.pb … (TensorProto). Nothing in the file is run. Throws UsageError, naming the file and why.
Examples read(const std::filesystem::path& file, Elements elements = Elements::leave);

}  // namespace compatcheck::examples
